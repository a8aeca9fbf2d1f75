"""Which back ends the settings choose."""

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from responses_app.streaming import backends
from responses_app.streaming.handover import InProcessRequestSlots, RedisRequestSlots
from responses_app.streaming.in_process import InProcessEventLog
from responses_app.streaming.redis_log import RedisEventLog
from tests.responses_app.streaming.scenarios import ANSWER, run
from tests.support.redis_server import RedisServer


@pytest.fixture(autouse=True)
def fresh_choice() -> Iterator[None]:
    choices = (backends.event_log, backends.request_slots)
    for choice in choices:
        choice.cache_clear()
    yield
    for choice in choices:
        choice.cache_clear()


def test_without_redis_everything_is_in_process(settings: Settings) -> None:
    settings.REDIS_URL = ""
    assert isinstance(backends.event_log(), InProcessEventLog)
    assert isinstance(backends.request_slots(), InProcessRequestSlots)
    assert backends.event_log() is backends.event_log()
    assert backends.request_slots() is backends.request_slots()


def test_with_redis_another_process_sees_the_same(settings: Settings, redis_server: RedisServer) -> None:
    settings.REDIS_URL = redis_server.url
    writer, reader = backends.event_log(), RedisEventLog(redis_server.url)
    writer.open("resp_1", 60)
    writer.finish("resp_1", 0, [], ANSWER, 60)
    assert run(reader.answer("resp_1")) == ANSWER
    backends.request_slots().put("resp_1", b"{}", 60)
    assert RedisRequestSlots(redis_server.url).take("resp_1") == b"{}"
