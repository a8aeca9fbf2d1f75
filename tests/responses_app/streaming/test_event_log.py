"""What every event log does, whichever holds the frames."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import count
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from responses_app.streaming.event_log import Answer, LogGone, Piece
from tests.responses_app.streaming.conftest import Place
from tests.responses_app.streaming.scenarios import ANSWER, make_frames, read, run, until

FRAMES = make_frames(6)


def write_all(place: Place, response_id: str = "resp_1", keep: float = 60) -> None:
    place.log.open(response_id, 60)
    place.log.append(response_id, 0, FRAMES[:2])
    place.log.append(response_id, 2, FRAMES[2:3])
    place.log.finish(response_id, 3, FRAMES[3:], ANSWER, keep)


def assert_not_writable(place: Place, response_id: str, first: int) -> None:
    """A later append is refused, the end at the latest, and no frame of them is kept."""

    def refused() -> bool:
        try:
            place.log.append(response_id, first, make_frames(1, first))
        except LogGone:
            return True
        return False

    refused()
    with pytest.raises(LogGone):
        place.log.finish(response_id, first + 1, [], ANSWER, 60)
    run(until(refused))


def test_late_reader_gets_everything_in_order_and_the_answer(place: Place) -> None:
    write_all(place)

    async def scenario() -> None:
        assert await read(place.log, "resp_1") == b"".join(FRAMES)
        assert await place.log.answer("resp_1") == ANSWER

    run(scenario())


def test_live_reader_gets_each_batch_before_the_next_is_written(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        reader = place.log.read("resp_1")
        for number, frame in enumerate(FRAMES):
            next_piece = asyncio.ensure_future(anext(reader))
            await until(lambda: place.waiting_readers() == 1)
            place.log.append("resp_1", number, [frame])
            assert await next_piece == Piece(frame, number)
        place.log.finish("resp_1", len(FRAMES), [], ANSWER, 60)
        assert [piece async for piece in reader] == []

    run(scenario())


@pytest.mark.parametrize("starting_after", range(9))
def test_reader_starts_after_a_number_inside_or_at_the_end_of_any_batch(place: Place, starting_after: int) -> None:
    write_all(place)
    rest = b"".join(FRAMES[starting_after + 1 :])
    assert run(read(place.log, "resp_1", starting_after)) == rest


def test_reader_may_start_after_a_number_that_is_still_to_come(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        place.log.append("resp_1", 0, FRAMES[:2])
        reader = asyncio.ensure_future(read(place.log, "resp_1", 3))
        await until(lambda: place.waiting_readers() == 1)
        place.log.append("resp_1", 2, FRAMES[2:5])
        place.log.finish("resp_1", 5, FRAMES[5:], ANSWER, 60)
        assert await reader == b"".join(FRAMES[4:])

    run(scenario())


def test_200_readers_and_answers_follow_one_writer_thread(place: Place) -> None:
    frames = make_frames(60)

    def write() -> None:
        for number, frame in enumerate(frames[:-1]):
            place.log.append("resp_1", number, [frame])
        place.log.finish("resp_1", len(frames) - 1, frames[-1:], ANSWER, 60)

    async def scenario() -> None:
        place.log.open("resp_1", 60)
        readers = [asyncio.ensure_future(read(place.log, "resp_1")) for _ in range(180)]
        answers = [asyncio.ensure_future(place.log.answer("resp_1")) for _ in range(20)]
        await until(lambda: place.waiting_readers() == 200)
        threads_before = threading.active_count()
        writer = threading.Thread(target=write)
        writer.start()
        assert set(await asyncio.gather(*readers)) == {b"".join(frames)}
        assert set(await asyncio.gather(*answers)) == {ANSWER}
        writer.join()
        # Redis has one thread for all writers, and none for readers.
        assert threading.active_count() <= threads_before + 1
        assert place.waiting_readers() == 0

    run(scenario())


def test_writers_in_many_threads_do_not_mix_their_logs(place: Place) -> None:
    ids = [f"resp_{number}" for number in range(20)]

    async def scenario() -> list[bytes]:
        for response_id in ids:
            place.log.open(response_id, 60)
        readers = [asyncio.ensure_future(read(place.log, response_id)) for response_id in ids]
        with ThreadPoolExecutor(8) as pool:
            writers = [pool.submit(write_one, place, response_id) for response_id in ids]
            results = await asyncio.gather(*readers)
        for writer in writers:
            writer.result()
        return results

    def write_one(place: Place, response_id: str) -> None:
        for number in range(20):
            place.log.append(response_id, number, [f"event: {response_id}\ndata: {number}\n\n".encode()])
        place.log.finish(response_id, 20, [], ANSWER, 60)

    for response_id, received in zip(ids, run(scenario()), strict=True):
        assert received == b"".join(f"event: {response_id}\ndata: {number}\n\n".encode() for number in range(20))


def test_readers_in_two_event_loops_follow_the_same_log(place: Place) -> None:
    place.log.open("resp_1", 60)
    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(run, read(place.log, "resp_1")) for _ in range(2)]
        run(until(lambda: place.waiting_readers() == 2))
        place.log.finish("resp_1", 0, FRAMES, ANSWER, 60)
        assert [reader.result() for reader in readers] == [b"".join(FRAMES)] * 2


def test_writer_does_not_wait_for_a_reader_that_stopped_reading(place: Place) -> None:
    frames = make_frames(2000)

    async def scenario() -> None:
        place.log.open("resp_1", 60)
        place.log.append("resp_1", 0, frames[:1])
        reader = place.log.read("resp_1")
        first = await anext(reader)
        for number, frame in enumerate(frames[1:], start=1):
            place.log.append("resp_1", number, [frame])
        place.log.finish("resp_1", len(frames), [], ANSWER, 60)
        assert first.frames + await read(place.log, "resp_1", first.last) == b"".join(frames)
        assert first.frames + b"".join([piece.frames async for piece in reader]) == b"".join(frames)

    run(scenario())


def test_cancelled_readers_leave_nothing_behind_and_the_others_go_on(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        stays = asyncio.ensure_future(read(place.log, "resp_1"))
        leaving = [asyncio.ensure_future(read(place.log, "resp_1")) for _ in range(30)]
        leaving += [asyncio.ensure_future(place.log.answer("resp_1")) for _ in range(10)]
        await until(lambda: place.waiting_readers() == 41)
        for reader in leaving:
            reader.cancel()
        await asyncio.wait(leaving)
        await until(lambda: place.waiting_readers() == 1)
        write_rest_to(place)
        assert await stays == b"".join(FRAMES)
        assert await read(place.log, "resp_1") == b"".join(FRAMES)

    def write_rest_to(place: Place) -> None:
        place.log.append("resp_1", 0, FRAMES[:5])
        place.log.finish("resp_1", 5, FRAMES[5:], ANSWER, 60)

    run(scenario())


def test_unknown_log_is_gone_for_everyone(place: Place) -> None:
    async def scenario() -> None:
        with pytest.raises(LogGone):
            await read(place.log, "resp_never")
        with pytest.raises(LogGone):
            await place.log.answer("resp_never")

    run(scenario())
    assert_not_writable(place, "resp_never", 0)
    place.log.request_stop("resp_never")
    assert not place.log.stop_requested("resp_never")
    place.log.discard("resp_never")
    assert place.held() == 0


def test_frames_of_a_log_that_is_not_finished_can_be_had_at_once(place: Place) -> None:
    assert place.log.so_far("resp_1") == b""
    place.log.open("resp_1", 60, FRAMES[:2])
    place.log.append("resp_1", 2, FRAMES[2:4])
    place.log.append("resp_1", 4, FRAMES[4:5])
    run(until(lambda: place.log.so_far("resp_1") == b"".join(FRAMES[:5])))
    place.log.finish("resp_1", 5, FRAMES[5:], ANSWER, 60)
    assert place.log.so_far("resp_1") == b""


def test_finished_log_takes_no_more(place: Place) -> None:
    write_all(place)
    assert_not_writable(place, "resp_1", 6)
    assert run(read(place.log, "resp_1")) == b"".join(FRAMES)


def test_log_that_is_never_finished_vanishes_under_its_waiting_readers(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 0.2)
        reader = asyncio.ensure_future(read(place.log, "resp_1"))
        answer = asyncio.ensure_future(place.log.answer("resp_1"))
        with pytest.raises(LogGone):
            await reader
        with pytest.raises(LogGone):
            await answer

    run(scenario())
    assert_not_writable(place, "resp_1", 0)


def test_finished_log_is_kept_for_its_time_and_no_longer(place: Place) -> None:
    write_all(place, keep=0.2)

    async def read_until_gone() -> None:
        while True:
            assert await read(place.log, "resp_1") == b"".join(FRAMES)

    with pytest.raises(LogGone):
        run(read_until_gone())


def test_finished_log_outlives_the_lifetime_it_was_opened_with(place: Place) -> None:
    place.log.open("resp_short", 0.2)
    place.log.open("resp_1", 0.2)
    place.log.finish("resp_1", 0, FRAMES, ANSWER, 60)

    async def scenario() -> None:
        with pytest.raises(LogGone):
            await place.log.answer("resp_short")
        assert await read(place.log, "resp_1") == b"".join(FRAMES)

    run(scenario())


def test_expired_logs_are_freed_though_nobody_reads_them(place: Place) -> None:
    for number in range(50):
        place.log.open(f"resp_open_{number}", 0.05)
        write_all(place, f"resp_finished_{number}", keep=0.05)

    opened = count(1)

    def freed() -> bool:
        number = next(opened)
        place.log.open(f"resp_next_{number}", 60)
        return place.held() == number

    run(until(freed))


def test_discarded_log_is_gone_at_once_for_readers_and_writer(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        place.log.append("resp_1", 0, FRAMES[:1])
        reader = place.log.read("resp_1")
        await anext(reader)
        waiting = asyncio.ensure_future(anext(reader))
        answer = asyncio.ensure_future(place.log.answer("resp_1"))
        await until(lambda: place.waiting_readers() == 2)
        place.log.discard("resp_1")
        with pytest.raises(LogGone):
            await waiting
        with pytest.raises(LogGone):
            await answer

    run(scenario())
    assert_not_writable(place, "resp_1", 1)
    assert place.held() == 0


def test_finished_log_can_be_discarded(place: Place) -> None:
    write_all(place)
    place.log.discard("resp_1")
    with pytest.raises(LogGone):
        run(place.log.answer("resp_1"))
    assert place.held() == 0


def test_readers_who_wait_are_told_the_end_of_a_log_that_is_discarded_once_it_ended(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        reader = asyncio.ensure_future(read(place.log, "resp_1"))
        answer = asyncio.ensure_future(place.log.answer("resp_1"))
        await until(lambda: place.waiting_readers() == 2)
        place.log.discard_ended("resp_1")
        place.log.finish("resp_1", 0, FRAMES, ANSWER, 60)
        place.log.discard_ended("resp_1")
        assert await reader == b"".join(FRAMES)
        assert await answer == ANSWER

    run(scenario())
    assert place.held() == 0
    with pytest.raises(LogGone):
        run(place.log.answer("resp_1"))


def test_stop_is_seen_by_the_writer_of_that_response_alone(place: Place) -> None:
    place.log.open("resp_1", 60)
    place.log.open("resp_2", 60)
    assert not place.log.stop_requested("resp_1")
    place.log.request_stop("resp_1")
    run(until(lambda: place.log.stop_requested("resp_1")))
    assert not place.log.stop_requested("resp_2")


def test_stop_leaves_nothing_after_the_end(place: Place) -> None:
    place.log.open("resp_1", 60)
    place.log.request_stop("resp_1")
    place.log.finish("resp_1", 0, FRAMES, ANSWER, 60)
    assert place.held() == 1
    place.log.discard("resp_1")
    assert place.held() == 0


@st.composite
def batchings(draw: st.DrawFn) -> list[int]:
    return draw(st.lists(st.integers(min_value=0, max_value=5), max_size=12))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=batchings(), read_before=st.integers(0, 12), starting_after=st.none() | st.integers(0, 60))
def test_frames_arrive_whole_once_and_in_order_however_they_are_batched(
    place: Place, batches: list[int], read_before: int, starting_after: int | None
) -> None:
    frames = make_frames(sum(batches))
    response_id = f"resp_{uuid4().hex}"

    def steps() -> Iterator[tuple[int, list[bytes]]]:
        start = 0
        for size in batches:
            yield start, frames[start : start + size]
            start += size

    async def scenario() -> bytes:
        place.log.open(response_id, 60)
        reader = None
        for number, (start, batch) in enumerate(steps()):
            if number == read_before:
                reader = asyncio.ensure_future(read(place.log, response_id, starting_after))
            await asyncio.sleep(0)
            place.log.append(response_id, start, batch)
        place.log.finish(response_id, len(frames), [], ANSWER, 60)
        return await (reader or read(place.log, response_id, starting_after))

    first = 0 if starting_after is None else starting_after + 1
    assert run(scenario()) == b"".join(frames[first:])


def test_log_is_opened_with_its_first_frames_and_opened_again_stays(place: Place) -> None:
    place.log.open("resp_1", 60, FRAMES[:2])
    place.log.open("resp_1", 60)
    place.log.begin("resp_1")
    place.log.append("resp_1", 2, FRAMES[2:4])
    place.log.finish("resp_1", 4, FRAMES[4:], ANSWER, 60)
    place.log.open("resp_1", 60, FRAMES[:1])
    assert run(read(place.log, "resp_1")) == b"".join(FRAMES)


def test_extended_logs_outlive_what_they_were_opened_with(place: Place) -> None:
    async def scenario() -> None:
        for response_id in ("resp_1", "resp_2", "resp_short"):
            place.log.open(response_id, 0.3)
        place.log.extend(["resp_1", "resp_2", "resp_never"], 60)
        place.log.extend([], 60)
        with pytest.raises(LogGone):
            await place.log.answer("resp_short")
        for response_id in ("resp_1", "resp_2"):
            place.log.finish(response_id, 0, FRAMES, ANSWER, 60)
            assert await read(place.log, response_id) == b"".join(FRAMES)

    run(scenario())


def test_log_that_is_not_extended_any_more_vanishes(place: Place) -> None:
    place.log.open("resp_1", 60)
    place.log.extend(["resp_1"], 0.1)
    with pytest.raises(LogGone):
        run(read(place.log, "resp_1"))


def test_finished_log_is_not_extended(place: Place) -> None:
    write_all(place, keep=0.2)

    async def extend_until_gone() -> None:
        while True:
            place.log.extend(["resp_1"], 60)
            assert await read(place.log, "resp_1") == b"".join(FRAMES)

    with pytest.raises(LogGone):
        run(extend_until_gone())


def test_idle_reader_is_told_so_and_where_it_is(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        async with aclosing(place.log.read("resp_1", idle=0.02)) as reader:
            assert await anext(reader) == Piece(b"", -1)
            place.log.append("resp_1", 0, FRAMES[:3])
            while not (piece := await anext(reader)).frames:
                pass
            assert piece == Piece(b"".join(FRAMES[:3]), 2)
            assert await anext(reader) == Piece(b"", 2)

    run(scenario())


def future_of(task: "asyncio.Task[Answer]") -> object:
    """What the task waits for: the same one as long as it was not woken."""
    return task._fut_waiter  # type: ignore[attr-defined]


def test_caller_who_waits_for_the_answer_is_not_woken_by_frames(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        answer = asyncio.ensure_future(place.log.answer("resp_1"))
        reader = asyncio.ensure_future(read(place.log, "resp_1"))
        await until(lambda: place.waiting_readers() == 2)
        waited_for = future_of(answer)
        for number, frame in enumerate(FRAMES):
            place.log.append("resp_1", number, [frame])
            await until(lambda: place.waiting_readers() == 2)
        assert future_of(answer) is waited_for
        place.log.finish("resp_1", len(FRAMES), [], ANSWER, 60)
        assert await answer == ANSWER
        await reader

    run(scenario())


def test_stop_and_discard_from_an_event_loop(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        await place.log.arequest_stop("resp_1")
        await place.log.arequest_stop("resp_never")
        await until(lambda: place.log.stop_requested("resp_1"))
        reader = asyncio.ensure_future(read(place.log, "resp_1"))
        await until(lambda: place.waiting_readers() == 1)
        await place.log.adiscard("resp_1")
        with pytest.raises(LogGone):
            await reader
        assert place.held() == 0

    run(scenario())


def test_readers_that_come_and_go_get_all_frames_while_many_threads_write(place: Place) -> None:
    frames = make_frames(120)
    ids = [f"resp_{number}" for number in range(12)]

    def write(response_id: str) -> None:
        pick = random.Random(response_id)
        number = 0
        while number < len(frames):
            size = pick.randint(1, 4)
            place.log.append(response_id, number, frames[number : number + size])
            number = min(number + size, len(frames))
            time.sleep(pick.choice([0, 0, 0.001]))
        place.log.finish(response_id, number, [], ANSWER, 60)

    async def follow(response_id: str, pick: random.Random) -> bytes:
        """Reads with breaks; each time it goes on after the last number it was told."""
        received, after, ended = b"", None, False
        while not ended:
            left = pick.randint(1, 6)
            async with aclosing(place.log.read(response_id, after)) as reader:
                ended = True
                async for piece in reader:
                    received, after, left = received + piece.frames, piece.last, left - 1
                    if left == 0:
                        ended = False
                        break
        return received

    async def scenario() -> None:
        for response_id in ids:
            place.log.open(response_id, 60)
        readers = [follow(response_id, random.Random(seed)) for seed, response_id in enumerate(ids * 5)]
        with ThreadPoolExecutor(len(ids)) as pool:
            writers = [pool.submit(write, response_id) for response_id in ids]
            assert set(await asyncio.gather(*readers)) == {b"".join(frames)}
        for writer in writers:
            writer.result()
        await until(lambda: len(asyncio.all_tasks()) == 1 + place.loop_tasks)

    run(scenario())
