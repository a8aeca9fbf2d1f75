"""The access log: a line a request with method, route template, status and time. Never a path's values or a query."""

import logging
from time import monotonic

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope

from mirobody_site.tenancy.envelope import send_error
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.faults import describe_fault

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

        async def send_and_note(message: ASGISendEvent) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception as exception:
            logger.error("unhandled %s", describe_fault(exception))  # noqa: TRY400 - the traceback's text may hold health content
            if status is not None:
                raise
            await send_error(ServerError(), send_and_note)
        finally:
            milliseconds = round((monotonic() - begun) * 1000)
            route = state.get(ROUTE_KEY, UNKNOWN_ROUTE)
            logger.info("%s %s %s %dms", scope["method"], route, status or "-", milliseconds)
