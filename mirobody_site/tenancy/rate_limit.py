"""How many requests a minute a key may make: counted for all web processes together. Not here: whose limit it is.

A key's minute begins with its first request and ends 60 seconds later, for all requests in it at once.
Source: the wire contract, section 1.
"""

import logging
import math
import threading
import time
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from django.conf import settings

from mirobody_site.tenancy.errors import RateLimitError, ServerError
from mirobody_site.tenancy.redis_clients import milliseconds
from mirobody_site.tenancy.redis_questions import LoopQuestions

log = logging.getLogger(__name__)

WINDOW_SECONDS = 60.0
_AWAY_SECONDS = 5.0
"""How long Redis is not asked again once it could not count."""
_SWEEP_AT = 10_000
"""So many windows are kept in memory before those that are over are dropped."""

_COUNT = """
-- KEYS window; ARGV its length
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left to a key: ``count`` requests were made in this window, which ends in ``seconds``."""

    limit: int
    count: int
    seconds: float

    @property
    def headers(self) -> dict[str, str]:
        """``X-RateLimit-*``; ``Reset`` is in whole seconds from now."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self.count)),
            "X-RateLimit-Reset": str(self._reset),
        }

    def check(self) -> None:
        """Raises ``RateLimitError`` for a request past the limit."""
        if self.count > self.limit:
            raise RateLimitError(
                f"This API key may make {self.limit} requests a minute. Try again in {self._reset} s.",
                headers={"Retry-After": str(self._reset)},
            )

    @property
    def _reset(self) -> int:
        return max(1, math.ceil(self.seconds))


class Windows(Protocol):
    """Counts requests in each key's window."""

    async def count(self, key_id: int) -> tuple[int, float]:
        """Counts one request: how many it makes in the window, and the seconds left of that. Raises ``ServerError``."""
        ...


class InProcessWindows:
    """Windows of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: dict[int, tuple[int, float]] = {}
        """By key: the count, and the window's end on the monotonic clock."""

    async def count(self, key_id: int) -> tuple[int, float]:
        now = time.monotonic()
        with self._lock:
            count, end = self._windows.get(key_id, (0, now))
            if end <= now:
                self._drop_ended(now)
                count, end = 0, now + WINDOW_SECONDS
            self._windows[key_id] = count + 1, end
        return count + 1, end - now

    def _drop_ended(self, now: float) -> None:
        if len(self._windows) >= _SWEEP_AT:
            self._windows = {key: window for key, window in self._windows.items() if window[1] > now}


class RedisWindows:
    """Windows of all processes that share the Redis at ``url``, under ``mirobody:rate:{key id}``.

    While Redis is away each process counts for itself: what needs no Redis goes on, and no caller gets further than
    the limit times the number of processes.
    """

    def __init__(self, url: str) -> None:
        self._questions = LoopQuestions(url)
        self._own = InProcessWindows()
        self._away_until = 0.0

    async def count(self, key_id: int) -> tuple[int, float]:
        if time.monotonic() < self._away_until:
            return await self._own.count(key_id)
        try:
            counted = ("EVAL", _COUNT, 1, f"mirobody:rate:{key_id}", milliseconds(WINDOW_SECONDS))
            ((count, left),) = await self._questions.current().ask(counted)
        except ServerError as error:
            self._away_until = time.monotonic() + _AWAY_SECONDS
            log.warning("requests are counted by this process alone: %s", type(error.__cause__).__name__)
            return await self._own.count(key_id)
        return count, left / 1000


@cache
def _windows(redis_url: str) -> Windows:
    return RedisWindows(redis_url) if redis_url else InProcessWindows()


async def allowance(key_id: int, limit: int | None) -> Allowance:
    """Counts one request of a key. ``limit``: the key's own, ``None`` for the setting's."""
    count, seconds = await _windows(settings.REDIS_URL).count(key_id)
    return Allowance(limit or settings.RATE_LIMIT_RPM, count, seconds)
