"""The caps of a turn: until when it may run, and how many model calls it and its sub-turns may make together."""

import threading
from dataclasses import dataclass


class ModelCalls:
    """How many model calls are left. Sub-turns take theirs from the turn's own, from other threads.

    ``source`` is whose calls these are a share of: of those ``reserved`` are left alone.
    """

    def __init__(self, limit: int, source: "ModelCalls | None" = None, reserved: int = 0) -> None:
        self._lock = threading.Lock()
        self._left = limit
        self._source = source
        self._reserved = reserved

    def take(self, reserved: int = 0) -> bool:
        """One more call, unless no more than ``reserved`` are left."""
        with self._lock:
            if self._left <= reserved or (self._source and not self._source.take(self._reserved)):
                return False
            self._left -= 1
            return True


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of a turn. ``deadline`` is on the monotonic clock, in seconds."""

    deadline: float
    model_calls: ModelCalls
