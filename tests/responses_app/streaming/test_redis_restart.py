"""The event log through the end of a Redis that keeps nothing, and its new start at the same address."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from mirobody_site.tenancy import redis_clients
from mirobody_site.tenancy.errors import ServerError
from responses_app.streaming import redis_hub, redis_writer
from responses_app.streaming.event_log import LogGone
from responses_app.streaming.handover import RedisRequestSlots
from responses_app.streaming.redis_log import RedisEventLog
from tests.responses_app.streaming.scenarios import ANSWER, make_frames, read, run, until
from tests.support.redis_server import RedisServer, free_port, running_redis_server

FRAMES = make_frames(200)
HALF = len(FRAMES) // 2


class Redis:
    """A server that can be ended and started again; each time it knows nothing."""

    def __init__(self, servers: ExitStack) -> None:
        self._servers = servers
        self._port = free_port()
        self.start()

    def start(self) -> None:
        self.server: RedisServer = self._servers.enter_context(running_redis_server(self._port))

    def kill(self) -> None:
        self.server.process.kill()
        self.server.process.wait()


@pytest.fixture
def redis() -> Iterator[Redis]:
    with ExitStack() as servers:
        yield Redis(servers)


@pytest.fixture
def log(redis: Redis) -> Iterator[RedisEventLog]:
    log = RedisEventLog(redis.server.url)
    yield log
    log.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_clients, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(redis_clients, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(redis_writer, "FINISH_SECONDS", 0.5)


def waiting(log: RedisEventLog) -> int:
    return sum(inbox.is_awaited and not inbox.behind for inbox in log._hubs.inboxes)


@pytest.mark.parametrize("opening", [0, 2])
def test_a_turn_under_way_is_read_to_its_end_without_gap_or_duplicate(
    redis: Redis, log: RedisEventLog, opening: int
) -> None:
    async def scenario() -> None:
        log.open("resp_1", 60, FRAMES[:opening])
        log.begin("resp_1")
        readers = [asyncio.ensure_future(read(log, "resp_1", after)) for after in (None, 5, HALF + 20)]
        answer = asyncio.ensure_future(log.answer("resp_1"))
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        await until(lambda: waiting(log) == 4 and half_written.is_set())
        redis.kill()
        go_on.set()
        await asyncio.sleep(0.3)
        redis.start()
        assert await asyncio.gather(*readers) == [b"".join(FRAMES), b"".join(FRAMES[6:]), b"".join(FRAMES[HALF + 21 :])]
        assert await answer == ANSWER
        assert await read(log, "resp_1") == b"".join(FRAMES)
        await asyncio.to_thread(writer.join)

    half_written, go_on = threading.Event(), threading.Event()

    def write() -> None:
        for number, frame in enumerate(FRAMES[opening:], start=opening):
            if number == HALF:
                half_written.set()
                go_on.wait()
            log.append("resp_1", number, [frame])
        log.finish("resp_1", len(FRAMES), [], ANSWER, 60)

    run(scenario())


def test_a_silent_turn_is_there_again_for_a_new_reader(redis: Redis, log: RedisEventLog) -> None:
    async def scenario() -> None:
        log.open("resp_1", 60)
        log.append("resp_1", 0, FRAMES[:HALF])
        early = asyncio.ensure_future(read(log, "resp_1"))
        await until(lambda: waiting(log) == 1)
        redis.kill()
        redis.start()
        await until(lambda: bool(redis.server.client.exists("mirobody:log:resp_1")))
        assert 0 < redis.server.client.pttl("mirobody:log:resp_1") <= 60_000
        late = asyncio.ensure_future(read(log, "resp_1"))
        await until(lambda: waiting(log) == 2)
        await asyncio.to_thread(log.finish, "resp_1", HALF, FRAMES[HALF:], ANSWER, 60)
        assert await asyncio.gather(early, late) == [b"".join(FRAMES)] * 2

    run(scenario())


def test_many_turns_in_many_threads_survive_two_restarts(redis: Redis, log: RedisEventLog) -> None:
    ids = [f"resp_{number}" for number in range(20)]
    restarts = [threading.Event() for _ in range(2)]
    restarted = [threading.Event() for _ in range(2)]

    def write(response_id: str) -> None:
        for number, frame in enumerate(FRAMES):
            if number % 70 == 69:
                restarts[number // 70].set()
                restarted[number // 70].wait()
            log.append(response_id, number, [frame])
        log.finish(response_id, len(FRAMES), [], ANSWER, 60)

    async def scenario() -> None:
        for response_id in ids:
            log.open(response_id, 60)
            log.begin(response_id)
        readers = [asyncio.ensure_future(read(log, response_id)) for response_id in ids * 3]
        await until(lambda: waiting(log) == len(readers))
        writers = [threading.Thread(target=write, args=(response_id,), daemon=True) for response_id in ids]
        for writer in writers:
            writer.start()
        for due, done in zip(restarts, restarted, strict=True):
            await until(due.is_set)
            redis.kill()
            redis.start()
            done.set()
        assert set(await asyncio.gather(*readers)) == {b"".join(FRAMES)}
        for writer in writers:
            await asyncio.to_thread(writer.join)

    run(scenario())


def test_what_was_discarded_or_has_expired_does_not_come_back(redis: Redis, log: RedisEventLog) -> None:
    elsewhere = RedisEventLog(redis.server.url)
    for response_id, lifetime in (("resp_discarded", 60), ("resp_expired", 0.3), ("resp_stays", 60)):
        log.open(response_id, lifetime)
        log.append(response_id, 0, FRAMES[:1])
    run(until(lambda: redis.server.client.xlen("mirobody:log:resp_stays") == 2))
    elsewhere.discard("resp_discarded")
    run(until(lambda: refused(log, "resp_discarded")))
    run(until(lambda: not redis.server.client.exists("mirobody:log:resp_expired")))
    redis.kill()
    redis.start()
    run(until(lambda: bool(redis.server.client.exists("mirobody:log:resp_stays"))))
    for response_id in ("resp_discarded", "resp_expired"):
        with pytest.raises(LogGone):
            log.finish(response_id, 1, FRAMES[1:], ANSWER, 60)
    assert redis.server.client.keys() == [b"mirobody:log:resp_stays"]


def refused(log: RedisEventLog, response_id: str) -> bool:
    try:
        log.append(response_id, 1, [])
    except LogGone:
        return True
    return False


def test_what_is_deleted_without_a_restart_does_not_come_back(redis: Redis, log: RedisEventLog) -> None:
    log.open("resp_1", 60)
    log.append("resp_1", 0, FRAMES[:1])
    run(until(lambda: redis.server.client.xlen("mirobody:log:resp_1") == 2))
    redis.server.client.flushall()
    with pytest.raises(LogGone):
        log.finish("resp_1", 1, FRAMES[1:], ANSWER, 60)
    assert redis.server.client.dbsize() == 0


def test_a_log_whose_turn_had_ended_is_waited_for_and_then_gone(
    redis: Redis, log: RedisEventLog, impatient: None
) -> None:
    async def scenario() -> None:
        log.open("resp_1", 60)
        log.append("resp_1", 0, FRAMES[:1])
        reader = log.read("resp_1")
        assert (await anext(reader)).frames == FRAMES[0]
        log.finish("resp_1", 1, FRAMES[1:], ANSWER, 60)
        (inbox,) = log._hubs.inboxes
        await until(lambda: bool(inbox))
        redis.kill()
        redis.start()
        # What was pushed before the end may still come in.
        for _ in range(100):
            await asyncio.sleep(0)
            inbox.drop()
        with pytest.raises(LogGone):
            await anext(reader)

    run(scenario())


def test_redis_that_stays_away_becomes_a_server_error_for_everyone(
    redis: Redis, log: RedisEventLog, impatient: None
) -> None:
    slots = RedisRequestSlots(redis.server.url)

    async def scenario() -> None:
        log.open("resp_1", 60)
        log.append("resp_1", 0, FRAMES[:1])
        waiters = [asyncio.ensure_future(read(log, "resp_1")), asyncio.ensure_future(log.answer("resp_1"))]
        await until(lambda: waiting(log) == 2)
        redis.kill()
        for waiter in waiters:
            with pytest.raises(ServerError):
                await waiter
        for call in (read(log, "resp_1"), log.answer("resp_1"), log.adiscard("resp_2"), log.arequest_stop("resp_2")):
            with pytest.raises(ServerError):
                await call
        with pytest.raises(ServerError):
            await slots.waits("resp_1")

    run(scenario())
    assert not log.stop_requested("resp_1")
    for call in (
        lambda: log.finish("resp_1", 1, FRAMES[1:], ANSWER, 60),
        lambda: log.open("resp_2", 60),
        lambda: log.extend(["resp_1"], 60),
        lambda: log.discard("resp_2"),
        lambda: log.discard_ended("resp_1"),
        lambda: log.request_stop("resp_1"),
        lambda: slots.put("resp_1", b"{}", 60),
        lambda: slots.take("resp_1"),
    ):
        with pytest.raises(ServerError):
            call()
    redis.start()
    log.open("resp_2", 60)
    run(until(lambda: not refused_by_fault(log)))
    assert run(read(log, "resp_2")) == b"".join(FRAMES)


def refused_by_fault(log: RedisEventLog) -> bool:
    try:
        log.finish("resp_2", 0, FRAMES, ANSWER, 60)
    except ServerError:
        return True
    return False


def test_redis_that_hangs_becomes_a_server_error(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    monkeypatch.setattr(redis_clients, "TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(redis_hub, "CHECK_SECONDS", 0.1)
    log = RedisEventLog(redis.server.url)

    async def scenario() -> None:
        log.open("resp_1", 60)
        waiters = [asyncio.ensure_future(read(log, "resp_1")), asyncio.ensure_future(log.answer("resp_1"))]
        await until(lambda: waiting(log) == 2)
        redis.server.process.send_signal(signal.SIGSTOP)
        for waiter in waiters:
            with pytest.raises(ServerError):
                await waiter

    run(scenario())
    with pytest.raises(ServerError):
        log.finish("resp_1", 0, FRAMES, ANSWER, 60)
    log.close()
