"""How this package reaches Redis: clients, their limits, what a fault becomes. Not here: keys and what they hold."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

from mirobody_site.tenancy.errors import ServerError

T = TypeVar("T")

# The longest a blocking read waits before it looks whether its key still exists.
BLOCK_SECONDS = 5.0
_TIMEOUT_SECONDS = 5.0
# A thread that writes takes a connection for the length of a command, a reader that waits takes one until it is woken.
# Redis allows 10,000 clients by default, many systems 1,024 open files to a process: raise the latter for more readers.
_MAX_CONNECTIONS = 2000


def sync_client(url: str) -> redis.Redis:
    """A client for worker threads; nothing it does takes longer than a few seconds."""
    # A write repeated after a lost answer would be there twice or be refused: whoever asked has to know.
    return redis.Redis.from_url(
        url,
        protocol=2,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        max_connections=_MAX_CONNECTIONS,
        retry=Retry(NoBackoff(), 0),
    )


class AsyncClients:
    """One client for each event loop that reads; a loop's connections are no use to another."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._clients: dict[asyncio.AbstractEventLoop, redis.asyncio.Redis] = {}

    def current(self) -> redis.asyncio.Redis:
        """The running loop's client. It has no time limit of its own: see ``in_time``."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            self._forget_closed_loops()
            client = self._clients[loop] = self._connect()
        return client

    def _forget_closed_loops(self) -> None:
        for loop in list(self._clients):
            if loop.is_closed():
                self._clients.pop(loop, None)

    def _connect(self) -> redis.asyncio.Redis:
        return redis.asyncio.Redis.from_url(
            self._url,
            protocol=2,
            # With a limit the client sends by asyncio.wait_for, which on Python 3.11 can lose a cancellation.
            socket_timeout=None,
            socket_connect_timeout=_TIMEOUT_SECONDS,
            max_connections=_MAX_CONNECTIONS,
            retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
        )


async def in_time(command: Awaitable[T]) -> T:
    """The command's answer. Raises ``TimeoutError`` when it takes longer than the longest blocking read may."""
    async with asyncio.timeout(BLOCK_SECONDS + _TIMEOUT_SECONDS):
        return await command


@contextmanager
def redis_faults() -> Iterator[None]:
    """Turns what the Redis client raises, and a time limit passed, into ``ServerError``."""
    try:
        yield
    except (redis.RedisError, TimeoutError) as error:
        raise ServerError from error


def milliseconds(seconds: float) -> int:
    """``seconds`` as Redis counts them, at least one: zero would mean for ever, or be refused."""
    return max(1, round(seconds * 1000))
