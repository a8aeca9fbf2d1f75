"""How a request reaches its turn without a row, in memory and in Redis."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from responses_app.streaming.handover import InProcessRequestSlots, RedisRequestSlots, RequestSlots
from tests.responses_app.streaming.scenarios import run, until
from tests.support.redis_server import RedisServer

PAYLOAD = '{"input": "血糖"}'.encode()


@pytest.fixture(params=["in process", "redis"])
def slots(request: pytest.FixtureRequest) -> RequestSlots:
    if request.param == "in process":
        return InProcessRequestSlots()
    server: RedisServer = request.getfixturevalue("redis_server")
    return RedisRequestSlots(server.url)


def test_payload_is_taken_once(slots: RequestSlots) -> None:
    slots.put("resp_1", PAYLOAD, 60)
    slots.put("resp_2", b"other", 60)
    assert slots.take("resp_1") == PAYLOAD
    assert slots.take("resp_1") is None
    assert slots.take("resp_2") == b"other"


def test_unknown_response_has_no_payload(slots: RequestSlots) -> None:
    assert slots.take("resp_never") is None


def test_payload_is_known_to_wait_until_it_is_taken(slots: RequestSlots) -> None:
    slots.put("resp_1", PAYLOAD, 60)
    assert run(slots.waits("resp_1"))
    slots.take("resp_1")
    assert not run(slots.waits("resp_1"))


def test_one_of_many_takers_gets_it(slots: RequestSlots) -> None:
    slots.put("resp_1", PAYLOAD, 60)
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: slots.take("resp_1"), range(64)))
    assert [payload for payload in taken if payload is not None] == [PAYLOAD]


def test_payload_expires_by_itself(slots: RequestSlots) -> None:
    slots.put("resp_lasting", PAYLOAD, 60)

    slots.put("resp_1", PAYLOAD, 0.001)

    def expired() -> bool:
        taken = slots.take("resp_1")
        slots.put("resp_1", PAYLOAD, 0.001)
        return taken is None

    run(until(expired))
    assert slots.take("resp_lasting") == PAYLOAD


def test_expired_payload_nobody_takes_is_freed_in_process() -> None:
    slots = InProcessRequestSlots()
    slots.put("resp_1", PAYLOAD, 0.001)

    def freed() -> bool:
        slots.take("resp_other")
        return len(slots._payloads) == 0

    run(until(freed))


def test_redis_slot_has_a_time_to_live(redis_server: RedisServer) -> None:
    RedisRequestSlots(redis_server.url).put("resp_1", PAYLOAD, 280)
    (key,) = redis_server.client.keys()
    assert 0 < redis_server.client.pttl(key) <= 280_000
