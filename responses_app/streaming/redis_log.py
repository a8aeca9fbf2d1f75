"""The event log in Redis Streams, for turns and readers in different processes. Its contract is EventLog's.

``mirobody:log:{response_id}`` is one stream. An entry is one batch of frames: ``n`` the number of the first, ``f`` the
frames, joined. Its id is the number of the last frame plus one, so that ``starting_after`` is a position in the stream
and a batch cannot be there twice. The highest possible id ends the stream: ``s`` and ``b`` hold the answer's status and
body beside the last frames, or ``g`` says that the log was discarded. The first entry is empty and carries the time
to live, so that no stream is ever without one; nothing is trimmed, a log is as long as its one response.
``mirobody:log:{response_id}:stop`` is there when the turn is asked to end.
"""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import redis

from responses_app.streaming.event_log import Answer, LogGone
from responses_app.streaming.redis_clients import (
    BLOCK_SECONDS,
    AsyncClients,
    in_time,
    milliseconds,
    redis_faults,
    sync_client,
)
from responses_app.streaming.sse import skip_frames

_OPENED = "0-1"
_BEFORE_END = "18446744073709551615-18446744073709551614"
_END = "18446744073709551615-18446744073709551615"
_ENTRIES_AT_ONCE = 256
_STOP_CHECK_SECONDS = 0.5
_FORGET_STOP_CHECK_SECONDS = 60.0

_Fields = Mapping[bytes, bytes]


class RedisEventLog:
    """EventLog over the Redis at ``url``. A discarded log's reader is told at once or, at the latest, 5 s later."""

    def __init__(self, url: str) -> None:
        self._redis = sync_client(url)
        self._readers = AsyncClients(url)
        self._stop_checks: dict[str, tuple[bool, float]] = {}

    def open(self, response_id: str, lifetime: float) -> None:
        key = _key(response_id)
        with redis_faults(), self._redis.pipeline() as together:
            together.xadd(key, {b"n": b"0"}, id=_OPENED)
            together.pexpire(key, milliseconds(lifetime))
            together.execute()

    def extend(self, response_ids: Sequence[str], lifetime: float) -> None:
        with redis_faults(), self._redis.pipeline(transaction=False) as together:
            for response_id in response_ids:
                together.pexpire(_key(response_id), milliseconds(lifetime))
            together.execute()

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        if frames:
            entry_id = f"{first_sequence + len(frames)}-0"
            self._add(response_id, entry_id, _batch(first_sequence, frames))

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        ending = {b"s": str(answer.status).encode(), b"b": answer.body}
        self._add(response_id, _END, {**_batch(first_sequence, frames), **ending})
        self._stop_checks.pop(response_id, None)
        with redis_faults(), self._redis.pipeline(transaction=False) as together:
            together.pexpire(_key(response_id), milliseconds(keep))
            together.delete(_stop_key(response_id))
            together.execute()

    def discard(self, response_id: str) -> None:
        self._stop_checks.pop(response_id, None)
        key = _key(response_id)
        # Deleting a stream does not wake who waits for its next entry; an entry does. Not one transaction, which would
        # wake them after the deletion. A finished log refuses the entry, and nobody waits for it.
        with redis_faults(), self._redis.pipeline(transaction=False) as together:
            together.xadd(key, {b"g": b"1"}, id=_END, nomkstream=True)
            together.delete(key, _stop_key(response_id))
            together.execute(raise_on_error=False)

    def discard_ended(self, response_id: str) -> None:
        with redis_faults():
            ended = self._redis.xrange(_key(response_id), _END, _END)
        if ended:
            self.discard(response_id)

    def request_stop(self, response_id: str) -> None:
        with redis_faults():
            remaining = self._redis.pttl(_key(response_id))
            if remaining > 0:
                self._redis.set(_stop_key(response_id), b"1", px=remaining)

    def stop_requested(self, response_id: str) -> bool:
        now = time.monotonic()
        known, checked_at = self._stop_checks.get(response_id) or self._first_stop_check(now)
        if known or now - checked_at < _STOP_CHECK_SECONDS:
            return known
        with redis_faults():
            requested = bool(self._redis.exists(_stop_key(response_id)))
        self._stop_checks[response_id] = (requested, now)
        return requested

    async def read(self, response_id: str, starting_after: int | None = None) -> AsyncGenerator[bytes, None]:
        sequence = -1 if starting_after is None else starting_after
        position = f"{sequence + 1}-0" if sequence >= 0 else _OPENED
        async with aclosing(self._follow(response_id, position)) as steps:
            async for entries in steps:
                if frames := b"".join(_unseen(fields, sequence) for fields in entries):
                    yield frames
                if b"s" in entries[-1]:
                    return

    async def answer(self, response_id: str) -> Answer:
        async with aclosing(self._follow(response_id, _BEFORE_END)) as steps:
            (ending,) = await anext(steps)
        return Answer(status=int(ending[b"s"]), body=ending[b"b"])

    def _add(self, response_id: str, entry_id: str, fields: Mapping[bytes, bytes]) -> None:
        """Adds an entry to a log that exists and is not finished. Raises ``LogGone``."""
        key = _key(response_id)
        with redis_faults():
            try:
                added = self._redis.xadd(key, cast(Any, fields), id=entry_id, nomkstream=True)
            except redis.ResponseError:
                if not self._redis.xrange(key, _END, _END):
                    raise
                added = None
        if added is None:
            raise LogGone

    def _first_stop_check(self, now: float) -> tuple[bool, float]:
        """What is known of a response that was never asked about. Forgets turns that ended without a word."""
        for response_id, (_, checked_at) in list(self._stop_checks.items()):
            if now - checked_at > _FORGET_STOP_CHECK_SECONDS:
                self._stop_checks.pop(response_id, None)
        return False, now - _STOP_CHECK_SECONDS

    async def _follow(self, response_id: str, position: str) -> AsyncGenerator[list[_Fields], None]:
        """Entries after the id ``position``, as they come, for ever. Raises ``LogGone``."""
        client, key = self._readers.current(), _key(response_id)
        at: str | bytes = position
        with redis_faults():
            remaining = await in_time(client.pttl(key))
            while remaining > 0:
                block = min(milliseconds(BLOCK_SECONDS), remaining)
                found = await in_time(client.xread({key: at}, count=_ENTRIES_AT_ONCE, block=block))
                if not found:
                    remaining = await in_time(client.pttl(key))
                    continue
                entries = cast(list[tuple[bytes, _Fields]], cast(Any, found)[0][1])
                if b"g" in entries[-1][1]:
                    break
                at = entries[-1][0]
                yield [fields for _, fields in entries]
        raise LogGone


def _key(response_id: str) -> str:
    return f"mirobody:log:{response_id}"


def _stop_key(response_id: str) -> str:
    return f"{_key(response_id)}:stop"


def _batch(first_sequence: int, frames: Sequence[bytes]) -> dict[bytes, bytes]:
    return {b"n": str(first_sequence).encode(), b"f": b"".join(frames)}


def _unseen(fields: _Fields, sequence: int) -> bytes:
    return skip_frames(fields[b"f"], sequence + 1 - int(fields[b"n"]))
