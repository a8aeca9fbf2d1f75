"""The writing side of the event log in Redis: one thread a process writes what all turns append. Not here: reading.

A running log's frames stay in this process's memory until it ended, so that a log that Redis lost in a restart is
written anew, at the same numbers. One that is missing without a restart expired or was discarded: it stays away. The
other half second's news, stops and discards, comes in one round trip for all running logs.
"""

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, cast

from mirobody_site.tenancy import redis_clients
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.redis_clients import FAULTS, milliseconds, sync_client
from responses_app.streaming.event_log import Answer, LogGone
from responses_app.streaming.history import MAX_BYTES, History
from responses_app.streaming.redis_entries import (
    ADD,
    ADDED,
    END,
    LOOK,
    MISSING,
    RESTORE,
    entry_id,
    log_key,
    pack_answer,
    pack_entry,
    stop_key,
    unpack_entry,
)

log = logging.getLogger(__name__)

FINISH_SECONDS = 10.0
"""How long the end of a log may take to be written."""
LOOK_SECONDS = 0.5
"""How often the running logs are looked after."""
_PACE_SECONDS = 0.005
"""The least time between two round trips: what many turns append meanwhile goes together. The first goes at once."""
_PACE_SECONDS_OF_A_LOG = 0.001
_MOST_PACE_SECONDS = 0.03
"""The more turns speak at once, the more of it goes together."""
_CLOSE_SECONDS = 5.0
_THREAD_IDLE_SECONDS = 30.0
_FAULT_KEPT_SECONDS = 60.0
_LOGS_AT_ONCE = 128
_BYTES_AT_ONCE = 1024 * 1024
_RESTORED_ENTRY_BYTES = 64 * 1024

_writers: "weakref.WeakSet[RedisWriter]" = weakref.WeakSet()


def _pace(logs: int) -> float:
    return min(_MOST_PACE_SECONDS, max(_PACE_SECONDS, _PACE_SECONDS_OF_A_LOG * logs))


class _Running:
    """One log that this process writes."""

    __slots__ = (
        "answer",
        "attempted_end",
        "done",
        "expires_at",
        "fault",
        "fault_at",
        "history",
        "id",
        "keep",
        "key",
        "known",
        "restoring",
        "server",
        "stop",
        "trimmed",
        "written",
    )

    def __init__(self, response_id: str) -> None:
        self.id = response_id
        self.key = log_key(response_id)
        self.history = History()
        self.written = 0
        """Frames below this number are in Redis."""
        self.trimmed = 0
        self.answer: Answer | None = None
        self.keep = 0.0
        self.attempted_end = False
        self.known = False
        """Whether it was looked up."""
        self.restoring = False
        self.server = b""
        """The run of the server that was last seen to have it."""
        self.expires_at = float("inf")
        self.stop = False
        self.fault: type[Exception] | None = None
        self.fault_at = 0.0
        self.done = threading.Event()

    def fail(self, fault: type[Exception]) -> None:
        """Nothing more can be written; its frames are forgotten."""
        self.fault = fault
        self.fault_at = time.monotonic()
        self.history = History()
        self.done.set()

    @property
    def lifetime(self) -> float:
        return self.expires_at - time.monotonic()


class _Addition(NamedTuple):
    """The script's arguments for the next entry of a log."""

    running: _Running
    end: int
    """The number after the entry's last frame."""
    more: bool
    """Whether another one follows at once."""
    ends: bool
    again: bool
    """Whether it ends the log, and was tried before, so that an ended log is what it made."""
    arguments: list[Any]


class RedisWriter:
    """What ``EventLog`` promises to a turn, over the Redis at ``url``. Starts its thread when there is work."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.reset()
        _writers.add(self)

    def reset(self) -> None:
        """As new. A forked child has neither its parent's thread nor its turns."""
        self._redis = sync_client(self._url)
        self._changed = threading.Condition(threading.Lock())
        self._running: dict[str, _Running] = {}
        self._dirty: dict[str, _Running] = {}
        self._thread: threading.Thread | None = None
        self._waiting = False
        self._closing = False
        self._failing_since: float | None = None
        self._next_look = 0.0

    def begin(self, response_id: str) -> None:
        """See ``EventLog``."""
        with self._changed:
            self._known(response_id)

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        """See ``EventLog``."""
        with self._changed:
            self._add(self._writable(response_id), first_sequence, frames)

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        """See ``EventLog``."""
        with self._changed:
            running = self._writable(response_id)
            running.answer, running.keep = answer, keep
            self._add(running, first_sequence, frames)
        if not running.done.wait(FINISH_SECONDS):
            raise ServerError
        if running.fault:
            raise running.fault

    def stop_requested(self, response_id: str) -> bool:
        """See ``EventLog``."""
        running = self._running.get(response_id)
        if running is None:
            self.begin(response_id)
            return False
        return running.stop

    def extended(self, response_ids: Collection[str], lifetime: float) -> None:
        """Takes notice that these logs live longer."""
        with self._changed:
            for response_id in response_ids:
                if running := self._running.get(response_id):
                    running.expires_at = time.monotonic() + lifetime

    def discarded(self, response_id: str) -> None:
        """Takes notice that this log was discarded."""
        with self._changed:
            if running := self._running.get(response_id):
                running.fail(LogGone)

    def close(self) -> None:
        """Writes what is left to write, some seconds at most, and ends the thread."""
        with self._changed:
            thread, self._closing = self._thread, True
            self._changed.notify_all()
        if thread:
            thread.join(_CLOSE_SECONDS)

    def _known(self, response_id: str) -> _Running:
        running = self._running.get(response_id)
        if running is None:
            running = self._running[response_id] = _Running(response_id)
            self._mark(running)
        return running

    def _writable(self, response_id: str) -> _Running:
        running = self._known(response_id)
        if running.fault:
            raise running.fault
        if running.answer is not None:
            raise LogGone
        return running

    def _add(self, running: _Running, first_sequence: int, frames: Sequence[bytes]) -> None:
        if frames:
            running.history.add(first_sequence, first_sequence + len(frames), b"".join(frames))
        self._mark(running)

    def _mark(self, running: _Running) -> None:
        self._dirty[running.id] = running
        if self._thread is None:
            self._start()
        if self._waiting:
            self._waiting = False
            self._changed.notify()

    def _start(self) -> None:
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="event-log", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (dirty := self._next_dirty()) is not None:
            started = time.monotonic()
            try:
                self._write_and_look(dirty)
                self._failing_since = None
            except FAULTS as error:
                if self._failing_since is None:
                    log.warning("event log cannot be reached: %s", type(error).__name__)
                self._failed(dirty)
            except Exception:
                log.exception("event log could not be written")
                self._failed(dirty)
            time.sleep(max(0.0, _pace(len(dirty)) - (time.monotonic() - started)))

    def _next_dirty(self) -> list[_Running] | None:
        """What is to be written, maybe nothing when it is time to look; None when the thread has nothing to do."""
        with self._changed:
            idle_until = time.monotonic() + _THREAD_IDLE_SECONDS
            while not self._dirty:
                due = self._next_look if self._running else idle_until
                left = due - time.monotonic()
                if self._closing or (left <= 0 and not self._running):
                    self._thread = None
                    return None
                if left <= 0:
                    break
                self._waiting = True
                self._changed.wait(left)
                self._waiting = False
            if self._closing and self._failing_since is not None:
                self._thread = None
                return None
            dirty, self._dirty = list(self._dirty.values()), {}
            return dirty

    def _failed(self, dirty: Iterable[_Running]) -> None:
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        with self._changed:
            for running in dirty:
                self._dirty.setdefault(running.id, running)
            if now - self._failing_since > redis_clients.PATIENCE_SECONDS:
                self._give_up()
        time.sleep(redis_clients.RETRY_SECONDS)

    def _give_up(self) -> None:
        self._dirty.clear()
        for running in self._running.values():
            if running.fault is None:
                running.fail(ServerError)

    def _write_and_look(self, dirty: list[_Running]) -> None:
        unknown = [running for running in dirty if not running.known]
        if unknown:
            self._look_up(unknown)
        for running in dirty:
            if running.restoring:
                self._restore(running)
        self._write(dirty)
        if time.monotonic() >= self._next_look:
            self._look_after_all()
            self._next_look = time.monotonic() + LOOK_SECONDS

    def _look_up(self, unknown: Collection[_Running]) -> None:
        """Learns what others wrote to these logs before, which is kept with what this process writes."""
        with self._redis.pipeline(transaction=False) as together:
            together.info("server")
            for running in unknown:
                key = running.key
                together.pttl(key)
                together.exists(stop_key(running.id))
                together.xrange(key, "1-0", "+")
            server, *found = together.execute()
        with self._changed:
            for index, running in enumerate(unknown):
                left, stop, entries = found[3 * index : 3 * index + 3]
                if left < 0 or (entries and entries[-1][0] == END):
                    running.fail(LogGone)
                    continue
                self._seen(running, _run_of(server), left, stop)
                _put_before(running, entries)
                running.known = True

    def _seen(self, running: _Running, server: bytes, left: int, stop: int) -> None:
        running.server = server
        running.expires_at = time.monotonic() + left / 1000
        running.stop = running.stop or bool(stop)

    def _write(self, dirty: Iterable[_Running]) -> None:
        chunk: list[_Addition] = []
        size = 0
        for running in dirty:
            while (addition := self._next_addition(running)) is not None:
                chunk.append(addition)
                size += len(addition.arguments[1])
                if addition.more or size >= _BYTES_AT_ONCE or len(chunk) >= _LOGS_AT_ONCE:
                    self._add_together(chunk)
                    chunk, size = [], 0
                if not addition.more:
                    break
        if chunk:
            self._add_together(chunk)

    def _next_addition(self, running: _Running) -> _Addition | None:
        """What comes next in a log; None when all is written."""
        with self._changed:
            history = running.history
            if running.done.is_set() or (history.end <= running.written and running.answer is None):
                return None
            first, end, frames = history.since(max(running.written, history.start), _BYTES_AT_ONCE)
            more = end < history.end
            answer = pack_answer(running.answer) if running.answer and not more else b""
            trim = entry_id(history.start + 1) if history.start > running.trimmed else b""
            name = END if answer else entry_id(end)
            entry = pack_entry(first, end, bool(answer), frames)
            again, running.attempted_end = running.attempted_end, bool(answer)
            keep = milliseconds(running.keep) if answer else b""
            arguments = [name, entry, trim, answer, keep]
            return _Addition(running, end, more, bool(answer), again, arguments)

    def _add_together(self, chunk: Sequence[_Addition]) -> None:
        keys = [addition.running.key for addition in chunk]
        arguments = [value for addition in chunk for value in addition.arguments]
        results = cast(list[int], self._redis.eval(ADD, len(keys), *keys, *arguments))
        missing = []
        with self._changed:
            for addition, result in zip(chunk, results, strict=True):
                if result == MISSING:
                    missing.append(addition.running)
                elif result == ADDED or (addition.ends and addition.again):
                    self._added(addition)
                else:
                    addition.running.fail(LogGone)
        if missing:
            self._missing(missing)
            self._write(missing)

    def _added(self, addition: _Addition) -> None:
        running = addition.running
        if running.fault:
            return
        running.written = max(running.written, addition.end)
        running.trimmed = max(running.trimmed, running.history.start)
        if addition.ends:
            running.done.set()
            self._running.pop(running.id, None)

    def _look_after_all(self) -> None:
        with self._changed:
            self._forget_faults()
            logs = [running for running in self._running.values() if running.known and not running.fault]
        if not logs:
            return
        keys = [running.key for running in logs]
        with self._redis.pipeline(transaction=False) as together:
            together.info("server")
            together.eval(LOOK, len(keys), *keys)
            server, found = together.execute()
        missing = []
        with self._changed:
            for index, running in enumerate(logs):
                if found[2 * index] < 0:
                    missing.append(running)
                else:
                    self._seen(running, _run_of(server), found[2 * index], found[2 * index + 1])
        self._missing([running for running in missing if not running.done.is_set()])

    def _forget_faults(self) -> None:
        past = time.monotonic() - _FAULT_KEPT_SECONDS
        for running in list(self._running.values()):
            if running.fault and running.fault_at < past:
                del self._running[running.id]

    def _missing(self, logs: Collection[_Running]) -> None:
        """Writes anew what a restart took away; what is missing without one has expired or was discarded."""
        if not logs:
            return
        server = _run_of(self._redis.info("server"))
        for running in logs:
            if running.server == server or running.lifetime <= 0:
                with self._changed:
                    running.fail(LogGone)
            elif not running.fault:
                running.restoring = True
                self._restore(running)

    def _restore(self, running: _Running) -> None:
        server = _run_of(self._redis.info("server"))
        lifetime = milliseconds(running.lifetime)
        number = running.history.start
        while True:
            entries: list[bytes] = []
            size = 0
            while size < _BYTES_AT_ONCE:
                with self._changed:
                    stretch = running.history.since(max(number, running.history.start), _RESTORED_ENTRY_BYTES)
                if not stretch.frames:
                    break
                entries += [entry_id(stretch.end), pack_entry(stretch.first, stretch.end, False, stretch.frames)]
                number = stretch.end
                size += len(stretch.frames)
            whole = size < _BYTES_AT_ONCE
            message = pack_entry(number, number, False, b"") if whole else b""
            self._redis.eval(RESTORE, 1, running.key, lifetime, message, *entries)
            if whole:
                break
        with self._changed:
            running.restoring = False
            running.server = server
            running.written = number
        log.info("event log of %s was written anew", running.id)


def _run_of(server: Any) -> bytes:
    """Which run of the server answered; another one starts with nothing, or with what was on disk."""
    return str(server.get("run_id", "")).encode()


def _put_before(running: _Running, entries: Iterable[tuple[bytes, dict[bytes, bytes]]]) -> None:
    """Puts what is in the log already before what this process has appended meanwhile."""
    mine, whole = running.history, History()
    for _, fields in entries:
        entry = unpack_entry(fields[b"p"])
        whole.add(entry.first, entry.end, entry.frames)
    running.written = whole.end
    start = max(mine.start, whole.end)
    if mine.end > start:
        whole.add(*mine.since(start, MAX_BYTES))
    running.history = whole


@atexit.register
def _close_all() -> None:
    # The interpreter's end stops daemon threads where they stand.
    for writer in list(_writers):
        writer.close()


def _reset_all() -> None:
    for writer in list(_writers):
        writer.reset()


os.register_at_fork(after_in_child=_reset_all)
