"""The event log in process memory, for turns and readers that live in one process. Its contract is EventLog's."""

import asyncio
import contextlib
import threading
from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterable, Sequence

from responses_app.streaming.event_log import Answer, LogGone
from responses_app.streaming.expiring import ExpiringMap
from responses_app.streaming.sse import skip_frames

# A late reader takes a long log in pieces, so that many of them do not each copy the whole.
_BATCHES_AT_ONCE = 256

_Waiters = dict[asyncio.AbstractEventLoop, set["asyncio.Future[None]"]]


class _Log:
    """One response's batches, who waits for more of them, and how it ended."""

    __slots__ = ("answer", "batches", "discarded", "first_sequences", "stop_requested", "waiters")

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.first_sequences: list[int] = []
        self.answer: Answer | None = None
        self.discarded = False
        self.stop_requested = False
        self.waiters: _Waiters = {}

    def add(self, first_sequence: int, frames: Sequence[bytes]) -> None:
        if frames:
            self.first_sequences.append(first_sequence)
            self.batches.append(b"".join(frames))

    def position_after(self, sequence: int) -> int:
        """Index of the first batch that may hold a frame with a number above ``sequence``."""
        return max(0, bisect_right(self.first_sequences, sequence + 1) - 1)

    def unseen(self, position: int, sequence: int) -> list[bytes]:
        """The batches from ``position`` on, without frames up to number ``sequence``."""
        end = position + _BATCHES_AT_ONCE
        numbered = zip(self.first_sequences[position:end], self.batches[position:end], strict=True)
        return [skip_frames(batch, sequence + 1 - first) if first <= sequence else batch for first, batch in numbered]

    def add_waiter(self) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self.waiters.setdefault(loop, set()).add(waiter)
        return waiter

    def remove_waiter(self, waiter: "asyncio.Future[None]") -> None:
        loop = waiter.get_loop()
        waiting = self.waiters.get(loop, set())
        waiting.discard(waiter)
        if not waiting:
            self.waiters.pop(loop, None)

    def take_waiters(self) -> _Waiters:
        waiters, self.waiters = self.waiters, {}
        return waiters


class InProcessEventLog:
    """EventLog over a dictionary. Expired logs are freed when the next one is opened or finished."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: ExpiringMap[_Log] = ExpiringMap()

    def open(self, response_id: str, lifetime: float) -> None:
        with self._lock:
            self._logs.put(response_id, _Log(), lifetime)

    def extend(self, response_ids: Sequence[str], lifetime: float) -> None:
        with self._lock:
            for response_id in response_ids:
                log = self._logs.get(response_id)
                if log and log.answer is None:
                    self._logs.keep(response_id, lifetime)

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        with self._lock:
            log = self._writable(response_id)
            log.add(first_sequence, frames)
            waiters = log.take_waiters()
        _wake(waiters)

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        with self._lock:
            log = self._writable(response_id)
            log.add(first_sequence, frames)
            log.answer = answer
            self._logs.keep(response_id, keep)
            waiters = log.take_waiters()
        _wake(waiters)

    def discard(self, response_id: str) -> None:
        with self._lock:
            log = self._logs.pop(response_id)
            if log:
                log.discarded = True
            waiters = log.take_waiters() if log else {}
        _wake(waiters)

    def discard_ended(self, response_id: str) -> None:
        with self._lock:
            log = self._logs.get(response_id)
            if log and log.answer is not None:
                self._logs.pop(response_id)

    def request_stop(self, response_id: str) -> None:
        with self._lock:
            log = self._logs.get(response_id)
            if log:
                log.stop_requested = True

    def stop_requested(self, response_id: str) -> bool:
        with self._lock:
            log = self._logs.get(response_id)
            return log is not None and log.stop_requested

    async def read(self, response_id: str, starting_after: int | None = None) -> AsyncGenerator[bytes, None]:
        sequence = -1 if starting_after is None else starting_after
        with self._lock:
            log = self._live(response_id)
            position = log.position_after(sequence)
        while True:
            with self._lock:
                self._check_readable(response_id, log)
                batches = log.unseen(position, sequence)
                position += len(batches)
                ended = log.answer is not None and position == len(log.batches)
                waiter = None if batches or ended else log.add_waiter()
            if waiter:
                await self._wait(response_id, log, waiter)
                continue
            if frames := b"".join(batches):
                yield frames
            if ended:
                return

    async def answer(self, response_id: str) -> Answer:
        with self._lock:
            log = self._live(response_id)
        while True:
            with self._lock:
                self._check_readable(response_id, log)
                if log.answer is not None:
                    return log.answer
                waiter = log.add_waiter()
            await self._wait(response_id, log, waiter)

    async def _wait(self, response_id: str, log: _Log, waiter: "asyncio.Future[None]") -> None:
        """Waits for a change of ``log`` or the end of its time."""
        try:
            await asyncio.wait({waiter}, timeout=max(0.0, self._logs.remaining(response_id)))
        finally:
            with self._lock:
                log.remove_waiter(waiter)

    def _live(self, response_id: str) -> _Log:
        log = self._logs.get(response_id)
        if log is None:
            raise LogGone
        return log

    def _check_readable(self, response_id: str, log: _Log) -> None:
        """Who was there before a log ended may read it to its end, however long that takes."""
        if log.answer is None or log.discarded:
            self._live(response_id)

    def _writable(self, response_id: str) -> _Log:
        log = self._live(response_id)
        if log.answer is not None:
            raise LogGone
        return log


def _wake(waiters: _Waiters) -> None:
    for loop, futures in waiters.items():
        # A loop that is closed has no readers any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: Iterable["asyncio.Future[None]"]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
