"""A server with workers is ready as long as one of them lives."""

import httpx
import pytest
from pytest_django import Settings

from mirobody_site import workers
from mirobody_site.workers import Heartbeat, live_workers
from tests.support.redis_server import RedisServer, redis_server, shared_redis_server
from tests.support.waiting import wait_until

__all__ = ["redis_server", "shared_redis_server"]


@pytest.fixture
def served(redis_server: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> RedisServer:
    """The Redis of a server with workers, whose heartbeats come fast."""
    settings.REDIS_URL = settings.CELERY_BROKER_URL = redis_server.url
    monkeypatch.setattr(workers, "RENEW_SECONDS", 0.05)
    return redis_server


def workers_check(anonymous: httpx.Client) -> tuple[int, str]:
    answer = anonymous.get("/readyz")
    return answer.status_code, answer.json()["checks"]["workers"]


def test_ready_from_the_first_worker_to_the_last(served: RedisServer, anonymous: httpx.Client) -> None:
    assert workers_check(anonymous) == (503, "failed")
    first, second = Heartbeat("first"), Heartbeat("second")
    first.start()
    second.start()
    wait_until(lambda: live_workers(served.client) == 2)
    assert workers_check(anonymous) == (200, "ok")
    first.stop()
    assert workers_check(anonymous) == (200, "ok")
    second.stop()
    assert workers_check(anonymous) == (503, "failed")


def test_a_worker_that_says_nothing_any_more_is_gone(served: RedisServer, anonymous: httpx.Client) -> None:
    seconds, _ = served.client.time()
    served.client.zadd(workers.KEY, {"killed": int(seconds) - workers.LIVE_SECONDS - 1})
    assert workers_check(anonymous) == (503, "failed")


def test_a_worker_is_back_after_redis_lost_everything(served: RedisServer) -> None:
    heartbeat = Heartbeat("steady")
    heartbeat.start()
    wait_until(lambda: live_workers(served.client) == 1)
    served.client.flushall()
    served.client.client_kill_filter(_type="normal", skipme=True)
    wait_until(lambda: live_workers(served.client) == 1)
    heartbeat.stop()
    assert live_workers(served.client) == 0


def test_nothing_is_left_of_workers_that_are_gone(served: RedisServer) -> None:
    served.client.zadd(workers.KEY, {"killed-long-ago": 1})
    heartbeat = Heartbeat("steady")
    heartbeat.start()
    wait_until(lambda: served.client.zrange(workers.KEY, 0, -1) == [b"steady"])
    assert served.client.ttl(workers.KEY) > 0
    heartbeat.stop()
    assert not served.client.exists(workers.KEY)
