"""The access log and its figures: method, route template, status and time. Never a path's values or a query."""

import logging
from time import monotonic

from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    HTTPResponseStartEvent,
    Scope,
)

from mirobody_site.tenancy.envelope import send_error
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.faults import describe_fault
from mirobody_site.tenancy.metrics import OPEN_STREAMS, count_request

ROUTE_KEY = "mirobody.route"
UNKNOWN_ROUTE = "(no route)"
logger = logging.getLogger(__name__)


class AccessLogMiddleware:
    """ASGI middleware that writes the line when the answer has ended, and answers when the application broke before.

    The status is ``-`` when the caller left before there was one. The route template is what the application leaves in
    the scope's state under ``ROUTE_KEY``.
    """

    def __init__(self, app: ASGI3Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = monotonic()
        state = scope.setdefault("state", {})
        status: int | None = None
        streaming = False

        async def send_and_note(message: ASGISendEvent) -> None:
            nonlocal status, streaming
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_event_stream(message):
                    streaming = True
                    OPEN_STREAMS.inc()
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception as exception:
            logger.error("unhandled %s", describe_fault(exception))  # noqa: TRY400 - the traceback's text may hold health content
            if status is not None:
                raise
            await send_error(ServerError(), send_and_note)
        finally:
            if streaming:
                OPEN_STREAMS.dec()
            _note(scope["method"], state.get(ROUTE_KEY, UNKNOWN_ROUTE), status, monotonic() - begun)


def _is_event_stream(start: HTTPResponseStartEvent) -> bool:
    return any(name.lower() == b"content-type" and value == b"text/event-stream" for name, value in start["headers"])


def _note(method: str, route: str, status: int | None, seconds: float) -> None:
    milliseconds = round(seconds * 1000)
    fields = {"method": method, "route": route, "status": status, "duration_ms": milliseconds}
    logger.info("%s %s %s %dms", method, route, status or "-", milliseconds, extra=fields)
    count_request(method, route, status, seconds)
