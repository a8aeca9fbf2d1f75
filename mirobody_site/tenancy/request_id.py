"""Request ids: the caller's own when sane, otherwise a new one, on every answer and in the logs.

Works on ASGI messages, outside of Django, so that answers Django's middleware never sees carry one as well.
"""

import re
import secrets

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, HTTPScope, Scope

from mirobody_site.tenancy.log_context import log_context

HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class RequestIdMiddleware:
    """ASGI middleware that gives each HTTP request its id and puts ``X-Request-Id`` on its answer."""

    def __init__(self, app: ASGI3Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request_id = _request_id(scope)

        async def send_with_id(message: ASGISendEvent) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (HEADER, request_id.encode())]
            await send(message)

        with log_context(request_id=request_id):
            return await self.app(scope, receive, send_with_id)


def _request_id(scope: HTTPScope) -> str:
    given = [value for name, value in scope["headers"] if name.lower() == HEADER]
    if len(given) == 1 and _SANE.fullmatch(given[0]):
        return given[0].decode()
    return f"req_{secrets.token_hex(16)}"
