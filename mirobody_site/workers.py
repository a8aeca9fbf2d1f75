"""Which Celery workers live: every worker process says so in Redis, and readiness asks. Not here: what they run.

The sorted set ``mirobody:workers`` holds each process's id with the time of its last word, in Redis' own seconds, so
that clocks of different machines do not matter.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable

import redis
from celery.signals import worker_ready, worker_shutdown
from django.conf import settings

KEY = "mirobody:workers"
RENEW_SECONDS = 10.0
LIVE_SECONDS = 30
"""A worker that has said nothing for this long counts as gone."""
_TIMEOUT_SECONDS = 2.0
logger = logging.getLogger(__name__)


def live_workers(client: redis.Redis) -> int:
    """How many worker processes live. Raises ``redis.RedisError`` when Redis does not answer."""
    return client.zcount(KEY, _now(client) - LIVE_SECONDS, "+inf")


def redis_client() -> redis.Redis:
    """A client that gives up after two seconds."""
    return redis.Redis.from_url(
        settings.REDIS_URL, protocol=2, socket_connect_timeout=_TIMEOUT_SECONDS, socket_timeout=_TIMEOUT_SECONDS
    )


class Heartbeat:
    """A thread that keeps ``worker_id`` among the live workers until stopped, whatever becomes of Redis meanwhile."""

    def __init__(self, worker_id: str) -> None:
        self.worker_id = worker_id
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begins at once."""
        self._thread.start()

    def stop(self) -> None:
        """Takes the worker off the list. Returns within a few seconds, also when Redis does not answer."""
        self._stopping.set()
        self._thread.join(timeout=2 * _TIMEOUT_SECONDS)

    def _run(self) -> None:
        with redis_client() as client:
            while True:
                self._try(self._renew, client)
                if self._stopping.wait(RENEW_SECONDS):
                    break
            self._try(self._leave, client)

    def _try(self, step: Callable[[redis.Redis], None], client: redis.Redis) -> None:
        try:
            step(client)
        except redis.RedisError as error:
            logger.warning("heartbeat of %s failed: %s", self.worker_id, type(error).__name__)

    def _renew(self, client: redis.Redis) -> None:
        now = _now(client)
        with client.pipeline() as commands:
            commands.zadd(KEY, {self.worker_id: now})
            commands.zremrangebyscore(KEY, "-inf", now - 2 * LIVE_SECONDS)
            commands.expire(KEY, 2 * LIVE_SECONDS)
            commands.execute()

    def _leave(self, client: redis.Redis) -> None:
        client.zrem(KEY, self.worker_id)


def _now(client: redis.Redis) -> int:
    seconds, _ = client.time()
    return int(seconds)


_heartbeats: list[Heartbeat] = []


@worker_ready.connect
def _start(**_: object) -> None:
    if settings.REDIS_URL:
        heartbeat = Heartbeat(f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
        _heartbeats.append(heartbeat)
        heartbeat.start()


@worker_shutdown.connect
def _stop(**_: object) -> None:
    while _heartbeats:
        _heartbeats.pop().stop()
