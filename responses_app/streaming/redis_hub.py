"""Two connections to Redis for all readers of an event loop: one for messages, one for questions. Not here: logs."""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import redis.asyncio

from mirobody_site.tenancy import redis_clients
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.redis_clients import FAULTS, async_client
from mirobody_site.tenancy.redis_questions import Command, RedisQuestions

log = logging.getLogger(__name__)

CHECK_SECONDS = 2.0
"""How often it is seen whether what readers wait in is still there, and whether messages can come."""
_INBOX_BYTES = 1024 * 1024
_INBOX_MESSAGES = 1024
_MESSAGES_AT_ONCE = 100


class Inbox:
    """One reader's messages, oldest first.

    Attributes:
        behind: Whether messages may be missing after those that are here: the reader has to look for itself.
    """

    __slots__ = ("_messages", "_size", "_waiter", "behind", "channel")

    def __init__(self, channel: "Channel") -> None:
        self.channel = channel
        self.behind = True
        self._messages: deque[bytes] = deque()
        self._size = 0
        self._waiter: asyncio.Future[bool] | None = None

    def __bool__(self) -> bool:
        return bool(self._messages)

    @property
    def is_awaited(self) -> bool:
        """Whether its reader has nothing to do."""
        return self._waiter is not None

    def put(self, message: bytes) -> None:
        """Adds a message. A reader too slow for its inbox loses what is in it, and is behind."""
        self._messages.append(message)
        self._size += len(message)
        if self._size > _INBOX_BYTES or len(self._messages) > _INBOX_MESSAGES:
            self.drop()
        self.wake()

    def pop(self) -> bytes:
        """The oldest message."""
        message = self._messages.popleft()
        self._size -= len(message)
        return message

    def drop(self) -> None:
        """Forgets all messages."""
        self._messages.clear()
        self._size = 0
        self.behind = True

    def fall_behind(self) -> None:
        """Has the reader look for itself once it has read what is here."""
        self.behind = True
        self.wake()

    def wake(self) -> None:
        """Ends the reader's wait."""
        _resolve(self._waiter, True)

    async def changed(self, limit: float) -> bool:
        """Waits until it is woken; False when it was not for ``limit`` seconds."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(max(0.0, limit), _resolve, self._waiter, False)
        try:
            return await self._waiter
        finally:
            timer.cancel()
            self._waiter = None


class Channel:
    """A pub/sub channel that readers of this loop listen to, and the key that is there as long as it makes sense."""

    __slots__ = ("inboxes", "key", "name", "subscribed")

    def __init__(self, name: bytes, key: bytes) -> None:
        self.name = name
        self.key = key
        self.inboxes: set[Inbox] = set()
        self.subscribed = False


class RedisHub:
    """What one event loop has to do with the Redis at ``url``. It lives as long as the loop."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._client = async_client(url)
        self._channels: dict[bytes, Channel] = {}
        self._connection: redis.asyncio.Connection | None = None
        self._listener: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._to_subscribe: set[bytes] = set()
        self._to_unsubscribe: set[bytes] = set()
        self._ping_due = False
        self._heard = False
        self._away_since: float | None = None
        self._questions = RedisQuestions(url)
        self.server = ""
        """The run of the server that messages come from."""

    @property
    def inboxes(self) -> list[Inbox]:
        """The inboxes of all readers."""
        return [inbox for channel in self._channels.values() for inbox in channel.inboxes]

    @contextmanager
    def joined(self, name: bytes, key: bytes) -> Iterator[Inbox]:
        """An inbox for the messages of channel ``name``; its reader is behind at first, see ``ready``."""
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = Channel(name, key)
            self._to_subscribe.add(name)
            self._send_soon()
        inbox = Inbox(channel)
        channel.inboxes.add(inbox)
        if self._listener is None or self._listener.done():
            self._away_since = self._loop.time()
            self._listener = self._loop.create_task(self._listen())
        try:
            yield inbox
        finally:
            channel.inboxes.discard(inbox)
            self._leave(channel)

    async def ready(self, inbox: Inbox) -> None:
        """Waits until messages come in: what is looked up from then on has no gap to them. Raises ``ServerError``."""
        while not inbox.channel.subscribed:
            left = redis_clients.TIMEOUT_SECONDS
            if self._away_since is not None:
                left = self._away_since + redis_clients.PATIENCE_SECONDS - self._loop.time()
            if left <= 0:
                raise ServerError
            await inbox.changed(left)

    async def ask(self, *commands: Command) -> list[Any]:
        """The raw replies to ``commands``; what is asked at the same time goes together. Raises ``ServerError``."""
        return await self._questions.ask(*commands)

    async def server_now(self) -> str:
        """The run of the server that answers questions. Raises ``ServerError``."""
        (info,) = await self.ask(("INFO", "server"))
        return _run_of(info)

    async def _listen(self) -> None:
        """Takes messages for as long as the loop runs, or until Redis is away and nobody waits."""
        watch = self._loop.create_task(self._watch())
        try:
            while True:
                try:
                    await self._receive()
                except FAULTS as error:
                    if self._away_since is None:
                        log.warning("event log's messages broke off: %s", type(error).__name__)
                except Exception:
                    log.exception("event log's messages broke off")
                self._lost()
                if not self._channels:
                    return
                await asyncio.sleep(redis_clients.RETRY_SECONDS)
        finally:
            watch.cancel()
            await self._questions.close()

    async def _receive(self) -> None:
        connection = cast(Any, self._client.connection_pool).make_connection()
        try:
            async with asyncio.timeout(redis_clients.TIMEOUT_SECONDS):
                await connection.connect()
                await connection.send_command("INFO", "server")
                self.server = _run_of(await connection.read_response())
            self._connection = connection
            self._heard = True
            self._to_subscribe = set(self._channels)
            self._send_soon()
            while True:
                for _ in range(_MESSAGES_AT_ONCE):
                    self._take(await connection.read_response(timeout=math.inf, disconnect_on_error=False))
                # What is buffered is read without a wait: give way to the readers.
                await asyncio.sleep(0)
        finally:
            self._connection = None
            await connection.disconnect(nowait=True)

    def _take(self, message: Any) -> None:
        self._heard = True
        kind = message[0]
        if kind not in (b"message", b"subscribe"):
            return
        channel = self._channels.get(message[1])
        if channel is None:
            return
        if kind == b"message":
            for inbox in channel.inboxes:
                inbox.put(message[2])
            return
        channel.subscribed = True
        self._away_since = None
        for inbox in channel.inboxes:
            inbox.wake()
        self._leave(channel)

    def _leave(self, channel: Channel) -> None:
        """Ends the subscription of a channel that nobody listens to; one that is under way must have come first."""
        if channel.inboxes or self._channels.get(channel.name) is not channel:
            return
        if self._connection is None:
            del self._channels[channel.name]
        elif channel.subscribed:
            del self._channels[channel.name]
            self._to_unsubscribe.add(channel.name)
            self._send_soon()

    def _lost(self) -> None:
        if self._away_since is None:
            self._away_since = self._loop.time()
        self._to_unsubscribe.clear()
        for channel in list(self._channels.values()):
            channel.subscribed = False
            for inbox in channel.inboxes:
                inbox.fall_behind()
            self._leave(channel)

    def _send_soon(self) -> None:
        if self._connection is not None and self._sender is None:
            self._sender = self._loop.create_task(self._send())

    async def _send(self) -> None:
        """Sends what is to be sent; what comes to be meanwhile goes together."""
        try:
            while (connection := self._connection) and (command := self._next_command()):
                try:
                    async with asyncio.timeout(redis_clients.TIMEOUT_SECONDS):
                        await connection.send_command(*command)
                except FAULTS:
                    # The listener notices the end of its connection, and begins anew.
                    await connection.disconnect(nowait=True)
                    return
        finally:
            self._sender = None

    def _next_command(self) -> Command | None:
        if self._to_unsubscribe:
            names, self._to_unsubscribe = self._to_unsubscribe, set()
            return ("UNSUBSCRIBE", *names)
        if self._to_subscribe:
            names, self._to_subscribe = self._to_subscribe, set()
            return ("SUBSCRIBE", *names)
        if self._ping_due:
            self._ping_due = False
            return ("PING",)
        return None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self._check_connection()
            with suppress(ServerError):
                await self._check_keys()

    async def _check_connection(self) -> None:
        """Ends a connection that has been silent, though asked for a sign of life, since the last time."""
        connection = self._connection
        if connection is None:
            return
        if not self._heard:
            await connection.disconnect(nowait=True)
            return
        self._heard = False
        self._ping_due = True
        self._send_soon()

    async def _check_keys(self) -> None:
        keys = list({channel.key for channel in self._channels.values()})
        if not keys:
            return
        (count,) = await self.ask(("EXISTS", *keys))
        if count == len(keys):
            return
        found = await self.ask(*(("EXISTS", key) for key in keys))
        missing = {key for key, exists in zip(keys, found, strict=True) if not exists}
        for channel in self._channels.values():
            if channel.key in missing:
                for inbox in channel.inboxes:
                    inbox.fall_behind()


class RedisHubs:
    """One hub for each event loop; a loop's connections are no use to another."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._hubs: dict[asyncio.AbstractEventLoop, RedisHub] = {}

    def current(self) -> RedisHub:
        """The running loop's hub."""
        loop = asyncio.get_running_loop()
        hub = self._hubs.get(loop)
        if hub is None:
            for other in list(self._hubs):
                if other.is_closed():
                    self._hubs.pop(other, None)
            hub = self._hubs[loop] = RedisHub(self._url)
        return hub

    @property
    def inboxes(self) -> list[Inbox]:
        """The inboxes of all readers of this process."""
        return [inbox for hub in list(self._hubs.values()) for inbox in hub.inboxes]


def _resolve(waiter: "asyncio.Future[bool] | None", value: bool) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(value)


def _run_of(info: bytes) -> str:
    lines = (line.partition(b":") for line in info.splitlines())
    return next((value.decode() for name, _, value in lines if name == b"run_id"), "")
