"""Values in process memory that are gone when their time is over. Not here: locking, and what the values are."""

import heapq
import time
from typing import Generic, TypeVar

T = TypeVar("T")


class ExpiringMap(Generic[T]):
    """Values by key, each with a lifetime in seconds. Its owner locks.

    An expired value is never given out; its memory is freed by the next ``put``, ``keep`` or ``pop`` of any key.
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[T, float]] = {}
        self._deadlines: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._values)

    def put(self, key: str, value: T, lifetime: float) -> None:
        """Holds ``value`` for ``lifetime`` seconds from now, in place of an earlier one."""
        self._drop_expired()
        deadline = time.monotonic() + lifetime
        self._values[key] = (value, deadline)
        heapq.heappush(self._deadlines, (deadline, key))

    def keep(self, key: str, lifetime: float) -> None:
        """Gives a live value a new lifetime, from now on. Raises ``KeyError``."""
        self.put(key, self._values[key][0], lifetime)

    def get(self, key: str) -> T | None:
        """The value, or None when there is none or its time is over."""
        return self._values[key][0] if self.remaining(key) > 0 else None

    def pop(self, key: str) -> T | None:
        """Like ``get``, and forgets it."""
        self._drop_expired()
        value = self.get(key)
        self._values.pop(key, None)
        return value

    def remaining(self, key: str) -> float:
        """Seconds until the value is gone; 0 or less when it is."""
        entry = self._values.get(key)
        return entry[1] - time.monotonic() if entry else 0.0

    def _drop_expired(self) -> None:
        now = time.monotonic()
        while self._deadlines and self._deadlines[0][0] <= now:
            _, key = heapq.heappop(self._deadlines)
            # A key may have been given a later deadline since; that one stands further back in the heap.
            if self.remaining(key) <= 0:
                self._values.pop(key, None)
