"""Both event logs under one name, so that one suite says what a log does."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from responses_app.streaming.event_log import EventLog
from responses_app.streaming.in_process import InProcessEventLog
from responses_app.streaming.redis_log import RedisEventLog
from tests.support.redis_server import RedisServer, redis_server, shared_redis_server

__all__ = ["redis_server", "shared_redis_server"]


@dataclass(frozen=True)
class Place:
    """A log, how many readers wait in it now, and how many responses it holds in memory."""

    log: EventLog
    waiting_readers: Callable[[], int]
    held: Callable[[], int]


@pytest.fixture(params=["in process", "redis"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "in process":
        return in_process_place()
    return redis_place(request.getfixturevalue("redis_server"))


def in_process_place() -> Place:
    log = InProcessEventLog()

    def waiting() -> int:
        entries = list(log._logs._values.values())
        return sum(len(waiters) for held, _ in entries for waiters in held.waiters.values())

    return Place(log, waiting, lambda: len(log._logs))


def redis_place(server: RedisServer) -> Place:
    return Place(
        RedisEventLog(server.url),
        lambda: int(server.client.info("clients")["blocked_clients"]),
        lambda: int(server.client.dbsize()),
    )
