"""Hands a request that leaves no row from the web tier to the turn that takes it. Not here: what it says."""

import threading
from typing import Protocol, cast

from mirobody_site.tenancy.redis_clients import milliseconds, redis_faults, sync_client
from responses_app.streaming.expiring import ExpiringMap
from responses_app.streaming.redis_hub import RedisHubs


class RequestSlots(Protocol):
    """Payloads by response id, each taken once and gone by itself. Raises ``ServerError`` when out of reach."""

    def put(self, response_id: str, payload: bytes, lifetime: float) -> None:
        """Holds ``payload`` for ``lifetime`` seconds."""
        ...

    def take(self, response_id: str) -> bytes | None:
        """The payload, which is gone afterwards; None when it was taken before or its time is over."""
        ...

    async def waits(self, response_id: str) -> bool:
        """Whether the payload is there still, so that nobody has taken it."""
        ...


class InProcessRequestSlots:
    """RequestSlots over a dictionary. Expired payloads are freed by the next call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._payloads: ExpiringMap[bytes] = ExpiringMap()

    def put(self, response_id: str, payload: bytes, lifetime: float) -> None:
        with self._lock:
            self._payloads.put(response_id, payload, lifetime)

    def take(self, response_id: str) -> bytes | None:
        with self._lock:
            return self._payloads.pop(response_id)

    async def waits(self, response_id: str) -> bool:
        with self._lock:
            return self._payloads.get(response_id) is not None


class RedisRequestSlots:
    """RequestSlots over the Redis at ``url``, under ``mirobody:request:{response_id}``."""

    def __init__(self, url: str) -> None:
        self._redis = sync_client(url)
        self._hubs = RedisHubs(url)

    def put(self, response_id: str, payload: bytes, lifetime: float) -> None:
        with redis_faults():
            self._redis.set(_key(response_id), payload, px=milliseconds(lifetime))

    def take(self, response_id: str) -> bytes | None:
        with redis_faults():
            return cast(bytes | None, self._redis.getdel(_key(response_id)))

    async def waits(self, response_id: str) -> bool:
        (count,) = await self._hubs.current().ask(("EXISTS", _key(response_id)))
        return bool(count)


def _key(response_id: str) -> str:
    return f"mirobody:request:{response_id}"
