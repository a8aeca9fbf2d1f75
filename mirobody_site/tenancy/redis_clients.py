"""How Redis is reached: clients, their limits, what a fault becomes. Not here: keys and what they hold."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

from mirobody_site.tenancy.errors import ServerError

TIMEOUT_SECONDS = 5.0
"""The longest that one command may take."""
PATIENCE_SECONDS = 15.0
"""How long who reads or writes a log waits for a Redis that is away, or for a log that a restart took along."""
RETRY_SECONDS = 0.2
FAULTS = (redis.RedisError, OSError, TimeoutError)
"""What a client raises when Redis is out of reach."""

# What threads share; one that finds all in use waits for its turn.
_CONNECTIONS = 16


def sync_client(url: str) -> redis.Redis:
    """A client for threads; nothing it does takes longer than a few seconds."""
    pool = redis.BlockingConnectionPool.from_url(
        url,
        protocol=2,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        max_connections=_CONNECTIONS,
        timeout=TIMEOUT_SECONDS,
        # A write repeated after a lost answer would be there twice or be refused: whoever asked has to know.
        retry=Retry(NoBackoff(), 0),
    )
    return redis.Redis.from_pool(pool)


def async_client(url: str) -> redis.asyncio.Redis:
    """A client for one event loop. It has no time limit of its own: its user sets them."""
    return redis.asyncio.Redis.from_url(
        url,
        protocol=2,
        # With a limit the client sends by asyncio.wait_for, which on Python 3.11 can lose a cancellation.
        socket_timeout=None,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
    )


@contextmanager
def redis_faults() -> Iterator[None]:
    """Turns what the Redis client raises, and a time limit passed, into ``ServerError``."""
    try:
        yield
    except FAULTS as error:
        raise ServerError from error


def milliseconds(seconds: float) -> int:
    """``seconds`` as Redis counts them, at least one: zero would mean for ever, or be refused."""
    return max(1, round(seconds * 1000))
