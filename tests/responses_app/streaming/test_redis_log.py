"""What is true of the event log in Redis alone: its keys, its round trips, and a Redis that is not there."""

import asyncio
import os
import subprocess
import sys

import pytest

from responses_app.streaming import history, redis_hub
from responses_app.streaming.event_log import LogGone
from responses_app.streaming.redis_log import RedisEventLog
from tests.responses_app.streaming.scenarios import ANSWER, make_frames, read, run, until
from tests.support.redis_server import RedisServer

FRAMES = make_frames(3)


def lifetimes(server: RedisServer) -> dict[bytes, int]:
    return {key: int(server.client.pttl(key)) for key in server.client.scan_iter()}


def calls(server: RedisServer, command: str) -> int:
    return int(server.client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"])


def commands(server: RedisServer) -> int:
    return int(server.client.info("stats")["total_commands_processed"])


def clients(server: RedisServer) -> int:
    """Connections but this test's own."""
    return len(server.client.client_list()) - 1


def waiting(log: RedisEventLog) -> int:
    """Readers with nothing to do."""
    return sum(inbox.is_awaited and not inbox.behind for inbox in log._hubs.inboxes)


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


def test_asking_for_a_stop_at_every_chunk_costs_few_round_trips(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    log.open("resp_1", 60)
    before = commands(redis_server)
    for _ in range(20_000):
        log.stop_requested("resp_1")
    assert commands(redis_server) - before < 200
    log.close()


def test_what_many_turns_append_at_once_goes_together(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    ids = [f"resp_{number}" for number in range(50)]
    for response_id in ids:
        log.open(response_id, 60)
    before = calls(redis_server, "eval")
    for number in range(100):
        for response_id in ids:
            log.append(response_id, number, make_frames(1, number))
    for response_id in ids:
        log.finish(response_id, 100, [], ANSWER, 60)
    # As many round trips as the ends, each of which is waited for, and some for 5,000 batches.
    assert calls(redis_server, "eval") - before < 500
    assert run(read(log, ids[-1])) == b"".join(make_frames(100))
    log.close()


@pytest.mark.parametrize("readers", [300])
def test_any_number_of_readers_takes_two_connections(redis_server: RedisServer, readers: int) -> None:
    log = RedisEventLog(redis_server.url)

    before = clients(redis_server)

    async def scenario() -> None:
        tasks = []
        for number in range(readers):
            log.open(f"resp_{number}", 60)
            tasks.append(asyncio.ensure_future(read(log, f"resp_{number}")))
            tasks.append(asyncio.ensure_future(log.answer(f"resp_{number}")))
        await until(lambda: waiting(log) == 2 * readers)
        # Two for the loop; one of this thread, which opened the logs.
        assert clients(redis_server) - before <= 3
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await until(lambda: redis_server.client.pubsub_channels() == [])
        assert log._hubs.inboxes == []

    run(scenario())
    run(until(lambda: clients(redis_server) <= before + 1))


def test_slow_reader_costs_little_memory_and_misses_nothing(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_hub, "_INBOX_MESSAGES", 5)
    log = RedisEventLog(redis_server.url)
    frames = make_frames(500)

    async def scenario() -> None:
        log.open("resp_1", 60)
        log.append("resp_1", 0, frames[:1])
        reader = log.read("resp_1")
        received = (await anext(reader)).frames
        for number in range(1, 400):
            log.append("resp_1", number, frames[number : number + 1])
            # Not one of them is taken by the reader meanwhile.
            await asyncio.sleep(0.0005)
        log.finish("resp_1", 400, frames[400:], ANSWER, 60)
        (inbox,) = log._hubs.inboxes
        await until(lambda: inbox.behind)
        assert len(inbox._messages) <= 5
        async for piece in reader:
            received += piece.frames
        assert received == b"".join(frames)

    run(scenario())
    log.close()


def test_json_caller_listens_for_the_end_alone(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)

    async def scenario() -> None:
        log.open("resp_1", 60)
        answer = asyncio.ensure_future(log.answer("resp_1"))
        await until(lambda: waiting(log) == 1)
        assert redis_server.client.pubsub_channels() == [b"mirobody:log:resp_1:end"]
        log.append("resp_1", 0, FRAMES)
        log.finish("resp_1", len(FRAMES), [], ANSWER, 60)
        assert await answer == ANSWER

    run(scenario())
    log.close()


def test_reader_notices_a_log_that_redis_dropped(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_hub, "CHECK_SECONDS", 0.02)
    log = RedisEventLog(redis_server.url)

    async def scenario() -> None:
        log.open("resp_1", 60)
        waiters = [asyncio.ensure_future(read(log, "resp_1")), asyncio.ensure_future(log.answer("resp_1"))]
        await until(lambda: waiting(log) == 2)
        redis_server.client.flushdb()
        for waiter in waiters:
            with pytest.raises(LogGone):
                await waiter

    run(scenario())


def test_reader_whose_messages_break_off_goes_on(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    frames = make_frames(200)

    async def scenario() -> None:
        log.open("resp_1", 60)
        readers = [asyncio.ensure_future(read(log, "resp_1")) for _ in range(5)]
        answer = asyncio.ensure_future(log.answer("resp_1"))
        for number, frame in enumerate(frames):
            log.append("resp_1", number, [frame])
            if number % 20 == 0:
                await until(lambda: waiting(log) == 6)
                redis_server.client.client_kill_filter(_type="pubsub")
        log.finish("resp_1", len(frames), [], ANSWER, 60)
        assert set(await asyncio.gather(*readers)) == {b"".join(frames)}
        assert await answer == ANSWER

    run(scenario())
    log.close()


def test_a_log_that_begins_elsewhere_is_kept_whole(redis_server: RedisServer) -> None:
    frames = make_frames(6)
    web, worker = RedisEventLog(redis_server.url), RedisEventLog(redis_server.url)
    web.open("resp_1", 60, frames[:2])
    worker.begin("resp_1")
    worker.append("resp_1", 2, frames[2:4])
    worker.finish("resp_1", 4, frames[4:], ANSWER, 60)
    assert run(read(web, "resp_1")) == b"".join(frames)
    worker.close()


def test_a_long_log_is_trimmed_where_it_begins(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_BYTES", 10_000)
    monkeypatch.setattr(history, "_TRIMMED_BYTES", 8_000)
    log = RedisEventLog(redis_server.url)
    frames = make_frames(1000)

    async def scenario() -> None:
        log.open("resp_1", 60)
        live = log.read("resp_1")
        for number in range(0, 1000, 10):
            log.append("resp_1", number, frames[number : number + 10])
            assert (await anext(live)).frames == b"".join(frames[number : number + 10])
        log.finish("resp_1", 1000, [], ANSWER, 60)
        assert [piece async for piece in live] == []
        with pytest.raises(LogGone):
            await read(log, "resp_1")
        assert await read(log, "resp_1", 989) == b"".join(frames[990:])
        kept = redis_server.client.xrange("mirobody:log:resp_1")
        assert sum(len(fields[b"p"]) for _, fields in kept) < 40_000

    run(scenario())
    log.close()


def test_what_is_appended_last_is_written_at_the_processes_end(redis_server: RedisServer) -> None:
    RedisEventLog(redis_server.url).open("resp_1", 60)
    code = (
        "from responses_app.streaming.redis_log import RedisEventLog\n"
        f"log = RedisEventLog({redis_server.url!r})\n"
        "for number in range(500):\n"
        "    log.append('resp_1', number, [b'event: x\\ndata: %d\\n\\n' % number])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    RedisEventLog(redis_server.url).finish("resp_1", 500, [], ANSWER, 60)
    frames = b"".join(b"event: x\ndata: %d\n\n" % number for number in range(500))
    assert run(read(RedisEventLog(redis_server.url), "resp_1")) == frames


def test_a_forked_child_writes_by_itself(redis_server: RedisServer) -> None:
    log = RedisEventLog(redis_server.url)
    log.open("resp_1", 60)
    log.open("resp_2", 60)
    log.append("resp_1", 0, FRAMES[:1])
    child = os.fork()
    if child == 0:
        try:
            log.finish("resp_2", 0, FRAMES, ANSWER, 60)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    log.finish("resp_1", 1, FRAMES[1:], ANSWER, 60)
    for response_id in ("resp_1", "resp_2"):
        assert run(read(log, response_id)) == b"".join(FRAMES)
    log.close()
