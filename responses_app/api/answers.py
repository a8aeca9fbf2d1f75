"""How a turn's last word, and its stream, become Django answers."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from django.http import HttpResponse, StreamingHttpResponse

from responses_app.streaming.event_log import Answer


def rendered(answer: Answer) -> HttpResponse:
    """The answer to a JSON caller."""
    headers = {"Retry-After": answer.retry_after} if answer.retry_after else {}
    return HttpResponse(answer.body, status=answer.status, content_type="application/json", headers=headers)


def event_stream(chunks: AsyncGenerator[bytes, None]) -> StreamingHttpResponse:
    """The answer that sends whole frames as they come."""
    response = StreamingHttpResponse(chunks, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    # nginx would hold the stream back until its end.
    response["X-Accel-Buffering"] = "no"
    return response


async def joined(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """``first``, then ``rest``."""
    async with aclosing(rest):
        yield first
        async for chunk in rest:
            yield chunk
