"""The frames of one log in process memory, bounded. Not here: locking, who waits for them."""

from bisect import bisect_right
from typing import NamedTuple

from responses_app.streaming.event_log import LogGone
from responses_app.streaming.sse import skip_frames

MAX_BYTES = 16 * 1024 * 1024
"""The most that a log holds: some 60,000 tokens, each in a frame of its own."""
_TRIMMED_BYTES = MAX_BYTES * 3 // 4


class Stretch(NamedTuple):
    """Joined frames with the numbers from ``first`` to below ``end``."""

    first: int
    end: int
    frames: bytes


class History:
    """Batches of frames with ascending numbers. Its owner locks.

    Attributes:
        start: The number of the first frame that is held.
        end: The number of the next frame to come.
    """

    __slots__ = ("_batches", "_firsts", "_size", "end", "start")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[bytes] = []
        self._size = 0
        self.start = 0
        self.end = 0

    def add(self, first: int, end: int, frames: bytes) -> None:
        """Adds joined frames with the numbers from ``first`` to below ``end``; the oldest go when it gets too long."""
        if not self._firsts:
            self.start = first
        self._firsts.append(first)
        self._batches.append(frames)
        self.end = end
        self._size += len(frames)
        if self._size > MAX_BYTES:
            self._trim()

    def since(self, number: int, limit: int) -> Stretch:
        """The frames from ``number`` on, up to about ``limit`` bytes. Raises ``LogGone`` when some were trimmed."""
        if number < self.start:
            raise LogGone
        if number >= self.end:
            return Stretch(number, number, b"")
        index = bisect_right(self._firsts, number) - 1
        skipped = number - self._firsts[index]
        parts = [skip_frames(self._batches[index], skipped) if skipped else self._batches[index]]
        size = len(parts[0])
        index += 1
        while index < len(self._firsts) and size < limit:
            parts.append(self._batches[index])
            size += len(self._batches[index])
            index += 1
        end = self._firsts[index] if index < len(self._firsts) else self.end
        return Stretch(number, end, b"".join(parts))

    def _trim(self) -> None:
        count = 0
        while self._size > _TRIMMED_BYTES and count < len(self._batches) - 1:
            self._size -= len(self._batches[count])
            count += 1
        del self._batches[:count], self._firsts[:count]
        self.start = self._firsts[0]
