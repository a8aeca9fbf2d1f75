"""The contract of ``Twins``, on both of its stores."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from responses_app.streaming.twins import MOST, InProcessTwins, RedisTwins, Twins
from tests.support.redis_server import RedisServer, redis_server, shared_redis_server

__all__ = ["redis_server", "shared_redis_server"]

LIFETIME = 60.0


@pytest.fixture(params=["in process", "in redis"])
def twins(request: pytest.FixtureRequest) -> Twins:
    if request.param == "in process":
        return InProcessTwins()
    server: RedisServer = request.getfixturevalue("redis_server")
    return RedisTwins(server.url)


def enter(twins: Twins, response_id: str, *, again: bool = False, passed_over: tuple[str, ...] = ()) -> str | None:
    return twins.enter("t", response_id, LIFETIME, again=again, passed_over=passed_over)


def leave(twins: Twins, response_id: str, *, lost: bool) -> bool:
    return asyncio.run(twins.leave("t", response_id, LIFETIME, lost=lost))


def give_up(twins: Twins, response_id: str) -> bool:
    return asyncio.run(twins.give_up("t", response_id))


def test_equal_requests_are_all_entered(twins: Twins) -> None:
    assert [enter(twins, response_id) for response_id in ("a", "b")] == [None, None]


def test_one_that_is_made_again_repeats_the_newest(twins: Twins) -> None:
    assert enter(twins, "a", again=True) is None
    enter(twins, "b")
    assert enter(twins, "c", again=True) == "b"
    assert twins.enter("other", "c", LIFETIME, again=True) is None


def test_a_lost_one_is_given_once_and_first(twins: Twins) -> None:
    for response_id in ("a", "b"):
        enter(twins, response_id)
    assert leave(twins, "a", lost=True)
    assert enter(twins, "c", again=True) == "a"
    assert enter(twins, "d") is None


def test_at_once_a_lost_one_is_given_to_one(twins: Twins) -> None:
    enter(twins, "a")
    leave(twins, "a", lost=True)
    with ThreadPoolExecutor(8) as callers:
        found = list(callers.map(lambda number: enter(twins, f"r{number}"), range(8)))
    assert sorted(found, key=str) == [*[None] * 7, "a"]


def test_those_passed_over_are_forgotten(twins: Twins) -> None:
    enter(twins, "a")
    leave(twins, "a", lost=True)
    enter(twins, "b", passed_over=("a",))
    assert enter(twins, "c", again=True, passed_over=("b",)) is None
    assert enter(twins, "d", again=True) == "c"


def test_a_withdrawn_one_was_never_there(twins: Twins) -> None:
    enter(twins, "a")
    twins.withdraw("t", "a")
    assert enter(twins, "b", again=True) is None


def test_the_last_caller_is_the_one_that_counts(twins: Twins) -> None:
    enter(twins, "a")
    twins.attend("t", "a", LIFETIME)
    assert not leave(twins, "a", lost=True)
    assert enter(twins, "b") is None
    assert leave(twins, "a", lost=True)
    assert enter(twins, "c") == "a"


def test_who_attends_a_lost_one_finds_it_lost_no_more(twins: Twins) -> None:
    enter(twins, "a")
    leave(twins, "a", lost=True)
    twins.attend("t", "a", LIFETIME)
    assert not give_up(twins, "a")
    assert leave(twins, "a", lost=True)
    assert give_up(twins, "a")
    assert enter(twins, "b", again=True) is None


def test_one_whose_caller_was_served_is_forgotten(twins: Twins) -> None:
    enter(twins, "a")
    assert leave(twins, "a", lost=False)
    assert enter(twins, "b", again=True) is None


def test_only_the_newest_are_known(twins: Twins) -> None:
    for number in range(MOST + 1):
        enter(twins, f"r{number}")
    newest = [f"r{number}" for number in range(1, MOST + 1)]
    assert enter(twins, "x", again=True, passed_over=tuple(newest)) is None


def test_everything_goes_by_itself(redis_server: RedisServer) -> None:
    twins = RedisTwins(redis_server.url)
    enter(twins, "a")
    enter(twins, "b")
    leave(twins, "a", lost=True)
    twins.attend("t", "b", LIFETIME)
    lives = [redis_server.client.pttl(key) for key in redis_server.client.scan_iter()]
    assert len(lives) == 3
    assert all(0 < life <= LIFETIME * 1000 for life in lives)
