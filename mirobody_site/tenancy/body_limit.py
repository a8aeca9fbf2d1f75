"""The limit on a request's body, held while it is being received, so that no more than the limit is ever kept."""

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, HTTPScope, Scope

from mirobody_site.tenancy.envelope import send_error
from mirobody_site.tenancy.errors import RequestTooLargeError


class BodyLimitMiddleware:
    """ASGI middleware that answers 413 ``request_too_large`` to a body over ``limit`` bytes, declared or counted."""

    def __init__(self, app: ASGI3Application, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if _declared_length(scope) > self.limit:
            return await send_error(self._too_large(), send)
        body = _CountedBody(receive, self.limit)
        await self.app(scope, body.receive, send)
        if body.too_large:
            await send_error(self._too_large(), send)
        return None

    def _too_large(self) -> RequestTooLargeError:
        return RequestTooLargeError(f"The request body is larger than {self.limit} bytes.")


class _CountedBody:
    """Counts what is received. To the application, a body over the limit is a caller who left."""

    def __init__(self, receive: ASGIReceiveCallable, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self.too_large = False

    async def receive(self) -> ASGIReceiveEvent:
        message = await self._receive()
        if message["type"] != "http.request":
            return message
        self._left -= len(message["body"])
        if self._left >= 0:
            return message
        self.too_large = True
        return {"type": "http.disconnect"}


def _declared_length(scope: HTTPScope) -> int:
    declared = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
    return max((int(value) for value in declared if value.isdigit()), default=0)
