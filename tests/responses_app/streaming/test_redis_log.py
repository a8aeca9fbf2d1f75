"""What is true of the event log in Redis alone: its keys, its round trips, and a Redis that is not there."""

import asyncio
import signal

import pytest

from mirobody_site.tenancy.errors import ServerError
from responses_app.streaming import redis_clients
from responses_app.streaming.event_log import LogGone
from responses_app.streaming.handover import RedisRequestSlots
from responses_app.streaming.redis_log import RedisEventLog
from tests.responses_app.streaming.scenarios import ANSWER, joined, make_frames, run, until
from tests.support.redis_server import RedisServer, running_redis_server

FRAMES = make_frames(3)


def lifetimes(server: RedisServer) -> dict[bytes, int]:
    return {key: int(server.client.pttl(key)) for key in server.client.scan_iter()}


def calls(server: RedisServer, command: str) -> int:
    return int(server.client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"])


def blocked_clients(server: RedisServer) -> int:
    return int(server.client.info("clients")["blocked_clients"])


def test_every_key_has_a_time_to_live_from_the_first_moment(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    log.open("resp_1", 100)
    assert {0 < left <= 100_000 for left in lifetimes(redis_server).values()} == {True}
    log.append("resp_1", 0, FRAMES[:2])
    log.request_stop("resp_1")
    found = lifetimes(redis_server)
    assert set(found) == {b"mirobody:log:resp_1", b"mirobody:log:resp_1:stop"}
    assert all(0 < left <= 100_000 for left in found.values())
    log.finish("resp_1", 2, FRAMES[2:], ANSWER, 60)
    found = lifetimes(redis_server)
    assert set(found) == {b"mirobody:log:resp_1"}
    assert all(0 < left <= 60_000 for left in found.values())


def test_late_writer_brings_no_key_back(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    log.open("resp_1", 60)
    log.discard("resp_1")
    for write in (lambda: log.append("resp_1", 0, FRAMES), lambda: log.finish("resp_1", 0, FRAMES, ANSWER, 60)):
        with pytest.raises(LogGone):
            write()
    assert redis_server.client.dbsize() == 0


def test_asking_for_a_stop_at_every_chunk_costs_few_round_trips(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    log.open("resp_1", 60)
    before = calls(redis_server, "exists")
    for _ in range(2000):
        log.stop_requested("resp_1")
    assert calls(redis_server, "exists") - before < 100


def test_append_is_one_round_trip(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    log.open("resp_1", 60)
    before = int(redis_server.client.info("stats")["total_commands_processed"])
    for number in range(100):
        log.append("resp_1", number, make_frames(1, number))
    after = int(redis_server.client.info("stats")["total_commands_processed"])
    assert after - before <= 100 + 5


def test_reader_waits_on_over_many_blocks(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("responses_app.streaming.redis_log.BLOCK_SECONDS", 0.01)
    log = RedisEventLog(redis_server.url)

    async def scenario() -> None:
        log.open("resp_1", 60)
        before = calls(redis_server, "xread")
        reader = asyncio.ensure_future(joined(log.read("resp_1")))
        await until(lambda: calls(redis_server, "xread") >= before + 5)
        log.finish("resp_1", 0, FRAMES, ANSWER, 60)
        assert await reader == b"".join(FRAMES)

    run(scenario())


def test_reader_notices_a_log_that_redis_dropped(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("responses_app.streaming.redis_log.BLOCK_SECONDS", 0.01)
    log = RedisEventLog(redis_server.url)

    async def scenario() -> None:
        log.open("resp_1", 60)
        before = calls(redis_server, "xread")
        reader = asyncio.ensure_future(joined(log.read("resp_1")))
        await until(lambda: calls(redis_server, "xread") > before)
        redis_server.client.flushdb()
        with pytest.raises(LogGone):
            await reader

    run(scenario())


def test_redis_that_ends_becomes_a_server_error_for_everyone() -> None:
    with running_redis_server() as server:
        log, slots = RedisEventLog(server.url), RedisRequestSlots(server.url)

        async def scenario() -> None:
            log.open("resp_1", 60)
            reader = asyncio.ensure_future(joined(log.read("resp_1")))
            answer = asyncio.ensure_future(log.answer("resp_1"))
            await until(lambda: blocked_clients(server) == 2)
            server.process.kill()
            for waiting in (reader, answer):
                with pytest.raises(ServerError):
                    await waiting
            with pytest.raises(ServerError):
                await joined(log.read("resp_1"))

        run(scenario())
        for call in (
            lambda: log.open("resp_2", 60),
            lambda: log.append("resp_1", 0, FRAMES),
            lambda: log.finish("resp_1", 0, FRAMES, ANSWER, 60),
            lambda: log.discard("resp_1"),
            lambda: log.request_stop("resp_1"),
            lambda: log.stop_requested("resp_1"),
            lambda: slots.put("resp_1", b"{}", 60),
            lambda: slots.take("resp_1"),
        ):
            with pytest.raises(ServerError):
                call()


def test_redis_that_hangs_becomes_a_server_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_clients, "_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(redis_clients, "BLOCK_SECONDS", 0.0)
    with running_redis_server() as server:
        log = RedisEventLog(server.url)
        log.open("resp_1", 60)
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ServerError):
            log.append("resp_1", 0, FRAMES)
        with pytest.raises(ServerError):
            run(log.answer("resp_1"))
