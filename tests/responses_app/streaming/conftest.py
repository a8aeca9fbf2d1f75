"""Both event logs under one name, so that one suite says what a log does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from responses_app.streaming import redis_hub
from responses_app.streaming.event_log import EventLog
from responses_app.streaming.in_process import InProcessEventLog
from responses_app.streaming.redis_log import RedisEventLog
from tests.support.redis_server import RedisServer, redis_server, shared_redis_server

__all__ = ["redis_server", "shared_redis_server"]


@dataclass(frozen=True)
class Place:
    """A log, how many readers wait in it now, how many responses it holds in memory, and how many tasks it keeps in an
    event loop, whatever the number of its readers."""

    log: EventLog
    waiting_readers: Callable[[], int]
    held: Callable[[], int]
    loop_tasks: int


@pytest.fixture(params=["in process", "redis"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(redis_hub, "CHECK_SECONDS", 0.1)
    if request.param == "in process":
        yield in_process_place()
        return
    log = RedisEventLog(request.getfixturevalue("redis_server").url)
    yield redis_place(log, request.getfixturevalue("redis_server"))
    log.close()


def in_process_place() -> Place:
    log = InProcessEventLog()

    def waiting() -> int:
        logs = [held for held, _ in list(log._logs._values.values())]
        groups = [group for held in logs for group in (held.for_frames, held.for_end)]
        return sum(len(waiters) for group in groups for waiters in list(group.by_loop.values()))

    return Place(log, waiting, lambda: len(log._logs), loop_tasks=0)


def redis_place(log: RedisEventLog, server: RedisServer) -> Place:
    def waiting() -> int:
        return sum(inbox.is_awaited and not inbox.behind for inbox in log._hubs.inboxes)

    return Place(log, waiting, lambda: int(server.client.dbsize()), loop_tasks=2)
