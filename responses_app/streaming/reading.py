"""What a streaming caller is sent: the log's frames, signs of life between them, the end mark. Not here: HTTP."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from responses_app.streaming.event_log import IDLE_SECONDS, EventLog
from responses_app.streaming.sse import DONE, KEEP_ALIVE


async def stream(
    log: EventLog, response_id: str, starting_after: int | None = None, keep_alive: float = IDLE_SECONDS
) -> AsyncGenerator[bytes, None]:
    """The frames of ``EventLog.read``, a comment line for every ``keep_alive`` seconds without one, then ``[DONE]``.

    An item holds whole frames only. Raises ``LogGone`` and ``ServerError`` as the log does, at the first step or later.
    """
    async with aclosing(log.read(response_id, starting_after, keep_alive)) as pieces:
        async for piece in pieces:
            yield piece.frames or KEEP_ALIVE
    yield DONE
