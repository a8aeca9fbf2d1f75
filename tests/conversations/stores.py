"""All that a server keeps, to be searched for markers. Its event logs are in Redis.

With ``ALL_STORES=1`` in the environment every test runs again on a server that keeps them in its memory.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis
from pytest_django import Settings

from responses_app.streaming.backends import event_log, request_slots, request_twins
from tests.responses_app.api.conftest import wait_until
from tests.support.leftovers import Markers
from tests.support.redis_server import RedisServer

KEPT_LOG_MILLISECONDS = 60_000
HASHES_AND_IDS = b"mirobody:twins:"
"""What stays longer than that: for as long as a turn may take."""


@dataclass
class Stores:
    """Everything the server keeps: the database, and Redis when the event logs are there."""

    markers: Markers
    redis: redis.Redis | None

    def left(self) -> set[str]:
        """The fields whose markers are still there."""
        return self.markers.in_rows() | self._in_redis()

    def left_to_the_byte(self) -> set[str]:
        """The same, with the bytes of the database's files."""
        return self.left() | self.markers.in_database_files()

    def a_minute_passes(self) -> None:
        """What Redis does by itself within a minute of a turn's end."""
        if self.redis:
            # The end is written, and seen, a moment before the shorter life is.
            wait_until(lambda: all(life <= KEPT_LOG_MILLISECONDS for life in self._lives()))
            assert -1 not in self._lives()
            self.redis.flushall()

    def _lives(self) -> list[int]:
        """Milliseconds that each key with content has left; -1 is for ever."""
        keys = self.redis.scan_iter() if self.redis else []
        return [self.redis.pttl(key) for key in keys if not key.startswith(HASHES_AND_IDS)] if self.redis else []

    def _in_redis(self) -> set[str]:
        return self.markers.in_redis(self.redis) if self.redis else set()


@pytest.fixture
def markers() -> Markers:
    return Markers()


@pytest.fixture(params=["in redis", "in process"] if os.environ.get("ALL_STORES") == "1" else ["in redis"])
def stores(request: pytest.FixtureRequest, settings: Settings, markers: Markers, server: str) -> Iterator[Stores]:
    """The stores of a server that keeps its event logs in its memory, and of one that keeps them in Redis."""
    if request.param == "in process":
        yield Stores(markers, None)
        return
    redis_server: RedisServer = request.getfixturevalue("redis_server")
    settings.REDIS_URL = redis_server.url
    _choose_backends_again()
    yield Stores(markers, redis_server.client)
    settings.REDIS_URL = ""
    _choose_backends_again()


def _choose_backends_again() -> None:
    event_log.cache_clear()
    request_slots.cache_clear()
    request_twins.cache_clear()
