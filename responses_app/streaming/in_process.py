"""The event log in process memory, for turns and readers that live in one process. Its contract is EventLog's."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence

from responses_app.streaming.event_log import IDLE_SECONDS, Answer, LogGone, Piece
from responses_app.streaming.expiring import ExpiringMap
from responses_app.streaming.history import MAX_BYTES, History

# A late reader takes a long log in pieces, so that many of them do not each copy the whole.
_BYTES_AT_ONCE = 256 * 1024


class _Waiters:
    """Who waits for something, in any event loop. Its owner locks."""

    __slots__ = ("by_loop",)

    def __init__(self) -> None:
        self.by_loop: dict[asyncio.AbstractEventLoop, set[asyncio.Future[bool]]] = {}

    def add(self) -> "asyncio.Future[bool]":
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self.by_loop.setdefault(loop, set()).add(waiter)
        return waiter

    def remove(self, waiter: "asyncio.Future[bool]") -> None:
        loop = waiter.get_loop()
        waiting = self.by_loop.get(loop, set())
        waiting.discard(waiter)
        if not waiting:
            self.by_loop.pop(loop, None)

    def wake(self) -> None:
        woken, self.by_loop = self.by_loop, {}
        for loop, futures in woken.items():
            # A loop that is closed has no readers any more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, futures, True)


class _Log:
    """One response's frames, who waits for more of them or for the end, and how it ended."""

    __slots__ = ("answer", "discarded", "for_end", "for_frames", "history", "stop_requested")

    def __init__(self) -> None:
        self.history = History()
        self.answer: Answer | None = None
        self.discarded = False
        self.stop_requested = False
        self.for_frames = _Waiters()
        self.for_end = _Waiters()

    def add(self, first_sequence: int, frames: Sequence[bytes]) -> None:
        if frames:
            self.history.add(first_sequence, first_sequence + len(frames), b"".join(frames))
            self.for_frames.wake()

    def wake_all(self) -> None:
        self.for_frames.wake()
        self.for_end.wake()


class InProcessEventLog:
    """EventLog over a dictionary. Expired logs are freed when the next one is opened or finished."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: ExpiringMap[_Log] = ExpiringMap()

    def open(self, response_id: str, lifetime: float, frames: Sequence[bytes] = ()) -> None:
        with self._lock:
            if self._logs.get(response_id) is None:
                log = _Log()
                log.add(0, frames)
                self._logs.put(response_id, log, lifetime)

    def extend(self, response_ids: Collection[str], lifetime: float) -> None:
        with self._lock:
            for response_id in response_ids:
                log = self._logs.get(response_id)
                if log and log.answer is None:
                    self._logs.keep(response_id, lifetime)

    def begin(self, response_id: str) -> None:
        """Nothing is to be done: there is but one process."""

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        with self._lock:
            self._writable(response_id).add(first_sequence, frames)

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        with self._lock:
            log = self._writable(response_id)
            log.add(first_sequence, frames)
            log.answer = answer
            self._logs.keep(response_id, keep)
            log.wake_all()

    def so_far(self, response_id: str) -> bytes:
        with self._lock:
            log = self._logs.get(response_id)
            if log is None or log.answer is not None or log.history.start:
                return b""
            return log.history.since(0, MAX_BYTES).frames

    def outcome(self, response_id: str) -> Answer | None:
        with self._lock:
            return self._live(response_id).answer

    def discard(self, response_id: str) -> None:
        with self._lock:
            log = self._logs.pop(response_id)
            if log:
                log.discarded = True
                log.wake_all()

    def discard_ended(self, response_id: str) -> None:
        with self._lock:
            log = self._logs.get(response_id)
            if log and log.answer is not None:
                # Who waits was woken by the end, and holds the log itself.
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

    async def adiscard(self, response_id: str) -> None:
        self.discard(response_id)

    async def arequest_stop(self, response_id: str) -> None:
        self.request_stop(response_id)

    async def read(
        self, response_id: str, starting_after: int | None = None, idle: float = IDLE_SECONDS
    ) -> AsyncGenerator[Piece, None]:
        number = 0 if starting_after is None else starting_after + 1
        with self._lock:
            log = self._live(response_id)
        while True:
            with self._lock:
                self._check_readable(response_id, log)
                stretch = log.history.since(number, _BYTES_AT_ONCE)
                ended = log.answer is not None and stretch.end >= log.history.end
                waiter = None if stretch.frames or ended else log.for_frames.add()
            if waiter:
                if not await self._wait(response_id, log.for_frames, waiter, idle):
                    self._check_readable(response_id, log)
                    yield Piece(b"", number - 1)
                continue
            number = stretch.end
            if stretch.frames:
                yield Piece(stretch.frames, number - 1)
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
                waiter = log.for_end.add()
            await self._wait(response_id, log.for_end, waiter, IDLE_SECONDS)

    async def _wait(self, response_id: str, waiters: _Waiters, waiter: "asyncio.Future[bool]", idle: float) -> bool:
        """Waits for a change of the log; False when none came for ``idle`` seconds or until the end of its time."""
        timeout = max(0.0, min(idle, self._logs.remaining(response_id)))
        timer = asyncio.get_running_loop().call_later(timeout, _resolve, (waiter,), False)
        try:
            return await waiter
        finally:
            timer.cancel()
            with self._lock:
                waiters.remove(waiter)

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


def _resolve(futures: Iterable["asyncio.Future[bool]"], changed: bool) -> None:
    for future in futures:
        if not future.done():
            future.set_result(changed)
