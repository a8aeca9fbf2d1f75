"""Frames to write and ways to read them, for the tests of this package."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from responses_app.streaming.event_log import Answer, EventLog
from responses_app.streaming.sse import encode_event

ANSWER = Answer(200, '{"output_text": "血糖"}'.encode(), "7")


def make_frames(count: int, start: int = 0) -> list[bytes]:
    return [
        encode_event({"type": "response.output_text.delta", "sequence_number": number, "delta": f"血糖\n\n{number}"})
        for number in range(start, start + count)
    ]


async def read(log: EventLog, response_id: str, starting_after: int | None = None) -> bytes:
    """All frames that a reader is given, after a look that every piece is whole frames and tells its last number."""
    number = -1 if starting_after is None else starting_after
    parts = []
    async with aclosing(log.read(response_id, starting_after)) as pieces:
        async for piece in pieces:
            assert piece.frames.endswith(b"\n\n")
            assert piece.frames.startswith(b"event: ")
            assert piece.last > number
            number = piece.last
            parts.append(piece.frames)
    return b"".join(parts)


async def joined(chunks: AsyncIterator[bytes]) -> bytes:
    """Everything read, after a look that every piece is whole frames."""
    pieces = [piece async for piece in chunks]
    for piece in pieces:
        assert piece.endswith(b"\n\n")
        assert piece.startswith((b"event: ", b"data: ", b": "))
    return b"".join(pieces)


async def until(condition: Callable[[], bool]) -> None:
    """Waits for a state, not for a time."""
    while not condition():  # noqa: ASYNC110 -- what is waited for happens in other threads and in Redis
        await asyncio.sleep(0.005)


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    """Runs a scenario; one that hangs fails."""

    async def limited() -> Any:
        async with asyncio.timeout(30):
            return await scenario

    return asyncio.run(limited())
