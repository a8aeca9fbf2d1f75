"""Which requests were the same, so that a retry finds the turn it repeats. Not here: what makes requests the same.

A twin is a keyed hash; what is held under it are response ids, for as long as a turn may take and a while longer.
"""

import threading
from collections.abc import Collection
from typing import Protocol, cast

from mirobody_site.tenancy.redis_clients import milliseconds, redis_faults, sync_client
from mirobody_site.tenancy.redis_questions import LoopQuestions
from responses_app.streaming.expiring import ExpiringMap

MOST = 16
"""So many of the newest requests are known by one twin."""


class Twins(Protocol):
    """The newest requests of each twin, and who waits for them. Raises ``ServerError`` when out of reach."""

    def enter(
        self, twin: str, response_id: str, lifetime: float, *, again: bool, passed_over: Collection[str] = ()
    ) -> str | None:
        """Enters a request for ``lifetime`` seconds, unless it repeats an earlier one: then that one's id is given.

        That is one whose caller was lost, and with ``again`` the newest. Those ``passed_over`` are forgotten. A lost
        one is given once: whoever is given it is its caller now.
        """
        ...

    def withdraw(self, twin: str, response_id: str) -> None:
        """Forgets a request."""
        ...

    def attend(self, twin: str, response_id: str, lifetime: float) -> None:
        """One more caller waits for the request that another one made."""
        ...

    async def leave(self, twin: str, response_id: str, lifetime: float, *, lost: bool) -> bool:
        """A caller waits no more; whether it was the last. A ``lost`` last one may come again; else it is forgotten."""
        ...

    async def give_up(self, twin: str, response_id: str) -> bool:
        """Whether a lost caller has not come again. From now on it cannot."""
        ...


class _Entries:
    """What is held of one twin."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.lost: list[str] = []
        self.attending: dict[str, int] = {}

    def forget(self, response_id: str) -> None:
        for ids in (self.ids, self.lost):
            if response_id in ids:
                ids.remove(response_id)
        self.attending.pop(response_id, None)


class InProcessTwins:
    """Twins over a dictionary."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._twins: ExpiringMap[_Entries] = ExpiringMap()

    def enter(
        self, twin: str, response_id: str, lifetime: float, *, again: bool, passed_over: Collection[str] = ()
    ) -> str | None:
        with self._lock:
            entries = self._entries(twin, lifetime)
            for other in passed_over:
                entries.forget(other)
            if entries.lost:
                return entries.lost.pop(0)
            if again and entries.ids:
                return entries.ids[-1]
            entries.ids = [*entries.ids, response_id][-MOST:]
            return None

    def withdraw(self, twin: str, response_id: str) -> None:
        with self._lock:
            entries = self._twins.get(twin)
            if entries:
                entries.forget(response_id)

    def attend(self, twin: str, response_id: str, lifetime: float) -> None:
        with self._lock:
            entries = self._entries(twin, lifetime)
            entries.attending[response_id] = entries.attending.get(response_id, 1) + 1
            if response_id in entries.lost:
                entries.lost.remove(response_id)

    async def leave(self, twin: str, response_id: str, lifetime: float, *, lost: bool) -> bool:
        with self._lock:
            entries = self._entries(twin, lifetime)
            left = entries.attending.get(response_id, 1) - 1
            entries.attending[response_id] = left
            if left > 0:
                return False
            if lost:
                entries.lost.append(response_id)
            else:
                entries.forget(response_id)
            return True

    async def give_up(self, twin: str, response_id: str) -> bool:
        with self._lock:
            entries = self._twins.get(twin)
            if entries is None or response_id not in entries.lost:
                return False
            entries.forget(response_id)
            return True

    def _entries(self, twin: str, lifetime: float) -> _Entries:
        entries = self._twins.get(twin) or _Entries()
        self._twins.put(twin, entries, lifetime)
        return entries


_ENTER = """
-- KEYS ids, lost, attending; ARGV id, lifetime, again, most, those passed over
for i = 5, #ARGV do
    redis.call('LREM', KEYS[1], 0, ARGV[i])
    redis.call('LREM', KEYS[2], 0, ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
end
local found = redis.call('LPOP', KEYS[2])
if not found and ARGV[3] == '1' then found = redis.call('LINDEX', KEYS[1], -1) end
if found then return found end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], -ARGV[4], -1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return false
"""

_FORGET = """
-- KEYS ids, lost, attending; ARGV id
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('LREM', KEYS[2], 0, ARGV[1])
"""

_ATTEND = """
-- KEYS ids, lost, attending; ARGV id, lifetime
redis.call('LREM', KEYS[2], 0, ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], (redis.call('HGET', KEYS[3], ARGV[1]) or 1) + 1)
return redis.call('PEXPIRE', KEYS[3], ARGV[2])
"""

_LEAVE = """
-- KEYS ids, lost, attending; ARGV id, lifetime, lost
local left = (redis.call('HGET', KEYS[3], ARGV[1]) or 1) - 1
if left > 0 or ARGV[3] == '1' then
    redis.call('HSET', KEYS[3], ARGV[1], left)
    redis.call('PEXPIRE', KEYS[3], ARGV[2])
end
if left > 0 then return 0 end
if ARGV[3] == '1' then
    redis.call('RPUSH', KEYS[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
else
    redis.call('LREM', KEYS[1], 0, ARGV[1])
    redis.call('HDEL', KEYS[3], ARGV[1])
end
return 1
"""

_GIVE_UP = """
-- KEYS ids, lost, attending; ARGV id
if redis.call('LREM', KEYS[2], 0, ARGV[1]) == 0 then return 0 end
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return 1
"""


class RedisTwins:
    """Twins over the Redis at ``url``, under ``mirobody:twins:{twin}`` and two names below it."""

    def __init__(self, url: str) -> None:
        self._redis = sync_client(url)
        self._questions = LoopQuestions(url)

    def enter(
        self, twin: str, response_id: str, lifetime: float, *, again: bool, passed_over: Collection[str] = ()
    ) -> str | None:
        arguments: tuple[str | int, ...] = (response_id, milliseconds(lifetime), int(again), MOST, *passed_over)
        with redis_faults():
            found = cast(bytes | None, self._redis.eval(_ENTER, 3, *_keys(twin), *arguments))
        return found.decode() if found else None

    def withdraw(self, twin: str, response_id: str) -> None:
        with redis_faults():
            self._redis.eval(_FORGET, 3, *_keys(twin), response_id)

    def attend(self, twin: str, response_id: str, lifetime: float) -> None:
        with redis_faults():
            self._redis.eval(_ATTEND, 3, *_keys(twin), response_id, milliseconds(lifetime))

    async def leave(self, twin: str, response_id: str, lifetime: float, *, lost: bool) -> bool:
        return await self._ask(_LEAVE, twin, response_id, milliseconds(lifetime), int(lost))

    async def give_up(self, twin: str, response_id: str) -> bool:
        return await self._ask(_GIVE_UP, twin, response_id)

    async def _ask(self, script: str, twin: str, *arguments: str | int) -> bool:
        (answer,) = await self._questions.current().ask(("EVAL", script, 3, *_keys(twin), *arguments))
        return bool(answer)


def _keys(twin: str) -> tuple[str, str, str]:
    ids = f"mirobody:twins:{twin}"
    return ids, f"{ids}:lost", f"{ids}:attending"
