"""The event log in Redis Streams, for turns and readers in different processes. Its contract is EventLog's."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from typing import cast

from mirobody_site.tenancy import redis_clients
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.redis_clients import milliseconds, redis_faults, sync_client
from responses_app.streaming.event_log import IDLE_SECONDS, Answer, LogGone, Piece
from responses_app.streaming.redis_entries import (
    DISCARD,
    DISCARD_ENDED,
    END,
    EXTEND,
    GONE,
    OPEN,
    REQUEST_STOP,
    end_channel,
    entry_id,
    log_key,
    pack_entry,
    unpack_answer,
    unpack_entry,
)
from responses_app.streaming.redis_hub import Inbox, RedisHub, RedisHubs
from responses_app.streaming.redis_writer import RedisWriter
from responses_app.streaming.sse import skip_frames

_ENTRIES_AT_ONCE = 64


class RedisEventLog:
    """EventLog over the Redis at ``url``.

    A log that expired, or that Redis dropped, is noticed by who waits in it 2 s later. Through a restart of Redis
    writers and readers wait for 15 s; what a turn said by then, and says after, is all there.
    """

    def __init__(self, url: str) -> None:
        self._redis = sync_client(url)
        self._writer = RedisWriter(url)
        self._hubs = RedisHubs(url)

    def open(self, response_id: str, lifetime: float, frames: Sequence[bytes] = ()) -> None:
        entry = pack_entry(0, len(frames), False, b"".join(frames)) if frames else b""
        with redis_faults():
            self._redis.eval(OPEN, 1, log_key(response_id), milliseconds(lifetime), entry, entry_id(len(frames)))

    def extend(self, response_ids: Collection[str], lifetime: float) -> None:
        if not response_ids:
            return
        keys = [log_key(response_id) for response_id in response_ids]
        self._writer.extended(response_ids, lifetime)
        with redis_faults():
            self._redis.eval(EXTEND, len(keys), *keys, milliseconds(lifetime))

    def begin(self, response_id: str) -> None:
        self._writer.begin(response_id)

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        self._writer.append(response_id, first_sequence, frames)

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        self._writer.finish(response_id, first_sequence, frames, answer, keep)

    def so_far(self, response_id: str) -> bytes:
        with redis_faults():
            found = cast(list[tuple[bytes, dict[bytes, bytes]]], self._redis.xrange(log_key(response_id), "1-0", "+"))
        entries = [unpack_entry(fields[b"p"]) for _, fields in found]
        if not entries or entries[0].first or entries[-1].last:
            return b""
        return b"".join(entry.frames for entry in entries)

    def outcome(self, response_id: str) -> Answer | None:
        key = log_key(response_id)
        with redis_faults():
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.exists(key)
            pipeline.xrange(key, END, END)
            exists, found = pipeline.execute()
        if not exists:
            raise LogGone
        return unpack_answer(found[0][1][b"a"]) if found else None

    def discard(self, response_id: str) -> None:
        self._writer.discarded(response_id)
        with redis_faults():
            self._redis.eval(DISCARD, 1, log_key(response_id))

    def discard_ended(self, response_id: str) -> None:
        with redis_faults():
            self._redis.eval(DISCARD_ENDED, 1, log_key(response_id))

    def request_stop(self, response_id: str) -> None:
        with redis_faults():
            self._redis.eval(REQUEST_STOP, 1, log_key(response_id))

    def stop_requested(self, response_id: str) -> bool:
        return self._writer.stop_requested(response_id)

    async def adiscard(self, response_id: str) -> None:
        self._writer.discarded(response_id)
        await self._hubs.current().ask(("EVAL", DISCARD, 1, log_key(response_id)))

    async def arequest_stop(self, response_id: str) -> None:
        await self._hubs.current().ask(("EVAL", REQUEST_STOP, 1, log_key(response_id)))

    async def read(
        self, response_id: str, starting_after: int | None = None, idle: float = IDLE_SECONDS
    ) -> AsyncGenerator[Piece, None]:
        hub, key = self._hubs.current(), log_key(response_id)
        with hub.joined(key, key) as inbox:
            reader = _Reader(hub, inbox, 0 if starting_after is None else starting_after + 1)
            while not reader.ended:
                if inbox:
                    frames = reader.take()
                elif inbox.behind:
                    frames = await reader.catch_up()
                elif await inbox.changed(idle):
                    continue
                else:
                    yield Piece(b"", reader.number - 1)
                    continue
                if frames:
                    yield Piece(frames, reader.number - 1)

    async def answer(self, response_id: str) -> Answer:
        hub, key = self._hubs.current(), log_key(response_id)
        with hub.joined(end_channel(response_id), key) as inbox:
            search = _Search(hub, inbox)
            while True:
                if inbox:
                    message = inbox.pop()
                    if message == GONE:
                        raise LogGone
                    return unpack_answer(message)
                if not inbox.behind:
                    await inbox.changed(IDLE_SECONDS)
                elif found := await search.entries(END, 1):
                    return unpack_answer(found[0][b"a"])

    def close(self) -> None:
        """Writes what is left to write, and ends the writing thread until it is needed again."""
        self._writer.close()


class _Search:
    """Looks up what is in a log, through faults that pass."""

    def __init__(self, hub: RedisHub, inbox: Inbox) -> None:
        self._hub = hub
        self._inbox = inbox
        self._key = inbox.channel.key
        self._seen_on: str | None = None
        self._missing_since: float | None = None

    async def entries(self, start: bytes, count: int) -> list[dict[bytes, bytes]]:
        """Up to ``count`` entries from the id ``start`` on, without a gap to what comes into the inbox.

        Raises ``LogGone``, and ``ServerError`` when Redis is away for too long.
        """
        await self._hub.ready(self._inbox)
        self._inbox.behind = False
        exists, found = await self._ask(start, count)
        if exists:
            self._seen_on, self._missing_since = self._hub.server, None
        else:
            await self._wait_for_it()
        return [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in found]

    async def _ask(self, start: bytes, count: int) -> tuple[int, list[tuple[bytes, list[bytes]]]]:
        key, clock = self._key, asyncio.get_running_loop().time
        give_up_at = clock() + redis_clients.PATIENCE_SECONDS
        while True:
            try:
                exists, found = await self._hub.ask(("EXISTS", key), ("XRANGE", key, start, "+", "COUNT", count))
            except ServerError:
                if clock() > give_up_at:
                    raise
                await asyncio.sleep(redis_clients.RETRY_SECONDS)
            else:
                return exists, found

    async def _wait_for_it(self) -> None:
        """A log that was there before Redis was started again is written anew by its turn, if that still runs."""
        now = asyncio.get_running_loop().time()
        self._missing_since = self._missing_since or now
        if self._seen_on in (None, await self._server()):
            raise LogGone
        if now - self._missing_since > redis_clients.PATIENCE_SECONDS:
            raise LogGone
        self._inbox.behind = True
        await self._inbox.changed(redis_clients.RETRY_SECONDS)

    async def _server(self) -> str | None:
        try:
            return await self._hub.server_now()
        except ServerError:
            return ""


class _Reader:
    """Where one reader is, and what comes next for it.

    Attributes:
        number: The number of the next frame it has to be given.
        ended: Whether there is none.
    """

    def __init__(self, hub: RedisHub, inbox: Inbox, number: int) -> None:
        self._inbox = inbox
        self._search = _Search(hub, inbox)
        self.number = number
        self.ended = False

    def take(self) -> bytes:
        """What is in the inbox, as far as it follows on what was read. Raises ``LogGone``."""
        parts = []
        while self._inbox and not self.ended:
            message = self._inbox.pop()
            if message == GONE:
                raise LogGone
            frames = self._unseen(message)
            if frames is None:
                self._inbox.drop()
                break
            parts.append(frames)
        return b"".join(parts)

    async def catch_up(self) -> bytes:
        """What is in the log; the rest of a long one comes later. Raises ``LogGone`` and ``ServerError``."""
        found = await self._search.entries(entry_id(self.number + 1), _ENTRIES_AT_ONCE)
        parts = [self._unseen(fields[b"p"]) for fields in found]
        if None in parts:
            raise LogGone
        if len(found) == _ENTRIES_AT_ONCE:
            self._inbox.behind = True
        return b"".join(part for part in parts if part)

    def _unseen(self, packed: bytes) -> bytes | None:
        """The frames of an entry that are new to the reader; None when some before them are missing."""
        entry = unpack_entry(packed)
        if entry.first > self.number:
            return None
        self.ended = entry.last
        if entry.end <= self.number:
            return b""
        skipped = self.number - entry.first
        self.number = entry.end
        return skip_frames(entry.frames, skipped) if skipped else entry.frames
