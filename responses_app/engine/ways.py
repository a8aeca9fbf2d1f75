"""The ways of asking a provider for what it may refuse or leave aside, best first, and which of them a model needs.

Not here: what is asked for, and how an answer is checked (bare_turn.py, output_format.py).
"""

import threading
import time
from collections.abc import Hashable
from enum import IntEnum

_KEPT_SECONDS = 600.0
_MOST_KEPT = 512


class ChoiceWay(IntEnum):
    """How a tool call is asked for: by ``tool_choice``, by that without thinking (which several providers do not have
    together), or in words."""

    NATIVE = 0
    UNTHINKING = 1
    IN_WORDS = 2


class FormatWay(IntEnum):
    """How JSON is asked for: by its own format, by that of any JSON object and in words, or in words alone."""

    NATIVE = 0
    ANY_OBJECT = 1
    IN_WORDS = 2


class KnownWays:
    """For some minutes the way that was needed last, so that the others are not tried in vain. Shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._needed: dict[Hashable, tuple[int, float]] = {}

    def needed(self, key: Hashable) -> int:
        """The way to begin with; 0 when nothing is known."""
        with self._lock:
            way, until = self._needed.get(key, (0, 0.0))
        return way if time.monotonic() < until else 0

    def note(self, key: Hashable, way: int) -> None:
        """This way was needed. Past the limit the one noted first is forgotten."""
        with self._lock:
            self._needed.pop(key, None)
            if len(self._needed) >= _MOST_KEPT:
                del self._needed[next(iter(self._needed))]
            self._needed[key] = (way, time.monotonic() + _KEPT_SECONDS)

    def forget(self, key: Hashable) -> None:
        """Nothing is known any more."""
        with self._lock:
            self._needed.pop(key, None)


class Ways:
    """The ways of one turn's asking for one thing. ``way`` is the present one, ``last`` the last there is."""

    def __init__(self, known: KnownWays, key: Hashable, last: int) -> None:
        self._known = known
        self._key = key
        self._last = last
        self._begun = self.way = known.needed(key)

    def another(self) -> bool:
        """Goes on to the next way, if there is one."""
        if self.way >= self._last:
            return False
        self.way += 1
        return True

    def worked(self) -> None:
        """The present way led to what was asked for."""
        if self.way > self._begun:
            self._known.note(self._key, self.way)

    def failed(self) -> None:
        """Nor did the present way: the next turn tries them all."""
        self._known.forget(self._key)
