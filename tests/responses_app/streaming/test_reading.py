"""What a streaming caller is sent between the log and the socket."""

import asyncio
from contextlib import aclosing

import pytest

from responses_app.streaming.event_log import LogGone
from responses_app.streaming.reading import stream
from responses_app.streaming.sse import DONE, KEEP_ALIVE
from tests.responses_app.streaming.conftest import Place
from tests.responses_app.streaming.scenarios import ANSWER, joined, make_frames, run, until

FRAMES = make_frames(4)


def test_stream_is_the_frames_and_then_done(place: Place) -> None:
    place.log.open("resp_1", 60)
    place.log.finish("resp_1", 0, FRAMES, ANSWER, 60)
    assert run(joined(stream(place.log, "resp_1"))) == b"".join(FRAMES) + DONE
    assert run(joined(stream(place.log, "resp_1", 1))) == b"".join(FRAMES[2:]) + DONE


def test_idle_stream_shows_signs_of_life_and_loses_no_frame(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        async with aclosing(stream(place.log, "resp_1", keep_alive=0.02)) as chunks:
            assert [await anext(chunks) for _ in range(3)] == [KEEP_ALIVE] * 3
            place.log.append("resp_1", 0, FRAMES[:2])
            while (chunk := await anext(chunks)) == KEEP_ALIVE:
                pass
            assert chunk == b"".join(FRAMES[:2])
            assert await anext(chunks) == KEEP_ALIVE
            place.log.finish("resp_1", 2, FRAMES[2:], ANSWER, 60)
            rest = await joined(chunks)
            assert rest.replace(KEEP_ALIVE, b"") == b"".join(FRAMES[2:]) + DONE

    run(scenario())


def test_busy_stream_has_no_comment_lines(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        reader = asyncio.ensure_future(joined(stream(place.log, "resp_1")))
        await until(lambda: place.waiting_readers() == 1)
        place.log.finish("resp_1", 0, FRAMES, ANSWER, 60)
        assert KEEP_ALIVE not in await reader

    run(scenario())


def test_gone_log_is_known_before_the_first_byte(place: Place) -> None:
    with pytest.raises(LogGone):
        run(anext(stream(place.log, "resp_1")))


def test_log_that_vanishes_under_the_stream_ends_it_without_done(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        place.log.append("resp_1", 0, FRAMES[:1])
        chunks = stream(place.log, "resp_1")
        assert await anext(chunks) == FRAMES[0]
        waiting = asyncio.ensure_future(joined(chunks))
        await until(lambda: place.waiting_readers() == 1)
        place.log.discard("resp_1")
        with pytest.raises(LogGone):
            await waiting

    run(scenario())


@pytest.mark.parametrize("received", [0, 1])
def test_caller_who_leaves_takes_the_read_along(place: Place, received: int) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        place.log.append("resp_1", 0, FRAMES[:received])
        for _ in range(20):
            leaving = asyncio.ensure_future(joined(stream(place.log, "resp_1")))
            await until(lambda: place.waiting_readers() == 1)
            leaving.cancel()
            await asyncio.wait({leaving})
            assert leaving.cancelled()
            await until(lambda: place.waiting_readers() == 0)
        await until(lambda: len(asyncio.all_tasks()) == 1 + place.loop_tasks)

    run(scenario())


def test_stream_closed_between_two_chunks_leaves_no_read_behind(place: Place) -> None:
    async def scenario() -> None:
        place.log.open("resp_1", 60)
        place.log.append("resp_1", 0, FRAMES[:1])
        chunks = stream(place.log, "resp_1", keep_alive=0.02)
        assert [await anext(chunks), await anext(chunks)] == [FRAMES[0], KEEP_ALIVE]
        await chunks.aclose()
        await until(lambda: place.waiting_readers() == 0)
        await until(lambda: len(asyncio.all_tasks()) == 1 + place.loop_tasks)

    run(scenario())
