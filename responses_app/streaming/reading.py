"""What a streaming caller is sent: the log's frames, signs of life between them, the end mark. Not here: HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from responses_app.streaming.event_log import EventLog
from responses_app.streaming.sse import DONE, KEEP_ALIVE


async def stream(
    log: EventLog, response_id: str, starting_after: int | None = None, keep_alive: float = 15.0
) -> AsyncGenerator[bytes, None]:
    """The frames of ``EventLog.read``, a comment line for every ``keep_alive`` seconds without one, then ``[DONE]``.

    An item holds whole frames only. Raises ``LogGone`` and ``ServerError`` as the log does, at the first step or later.
    """
    async with aclosing(log.read(response_id, starting_after)) as frames:
        step = asyncio.ensure_future(_next(frames))
        try:
            while True:
                await asyncio.wait({step}, timeout=keep_alive)
                if not step.done():
                    yield KEEP_ALIVE
                    continue
                batch = step.result()
                if batch is None:
                    break
                yield batch
                step = asyncio.ensure_future(_next(frames))
        finally:
            step.cancel()
            # A read still under way would outlive its reader, and cannot be closed.
            await asyncio.wait({step})
    yield DONE


async def _next(frames: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(frames, None)
