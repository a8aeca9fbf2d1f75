"""Django's ASGI handler for the API's paths: without what only pages for browsers need. Routes and views are Django's.

Django's own handler starts a thread for each request, to run signal receivers and middleware of sessions, cookies and
forms in it. Callers of the API have none of those, and its views give back their database connections themselves, so
that the signals of a request's beginning and end are not sent either.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from io import BytesIO
from typing import Any, cast

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from mirobody_site.tenancy.middleware import AsyncHandler, api_answers

_Receive = Callable[[], Awaitable[Mapping[str, Any]]]
_Send = Callable[[Mapping[str, Any]], Awaitable[None]]

OPERATORS_PATHS = ("/healthz", "/readyz", "/metrics")
API_PATHS = ("/v1/", *OPERATORS_PATHS)


class ApiHandler(ASGIHandler):
    """Serves what stands under ``API_PATHS``; every view there is asynchronous."""

    def load_middleware(self, is_async: bool = False) -> None:
        """The one middleware of the API, whatever the setting says."""
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        view = convert_exception_to_response(self._view_of_known_host)
        self._middleware_chain = convert_exception_to_response(api_answers(cast("AsyncHandler", view)))

    async def _view_of_known_host(self, request: HttpRequest) -> HttpResponseBase:
        # Probes and scrapers know a process by its address alone.
        if not request.path.startswith(OPERATORS_PATHS):
            # Raises for a host that is not served here.
            request.get_host()
        response: HttpResponseBase = await cast("Any", self)._get_response_async(request)
        return response

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """Answers one request; a caller who leaves cancels it."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        if scope.get("root_path"):
            set_script_prefix(get_script_prefix(scope))
        request, refusal = self.create_request(scope, body)
        if request is None:
            await self.send_response(cast("HttpResponseBase", refusal), send)
        else:
            await self._answer_unless_left(request, receive, send)

    async def read_body(self, receive: _Receive) -> BytesIO:
        """The whole body, which its limit lets stay in memory. Raises ``RequestAborted``."""
        chunks: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestAborted
            chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                return BytesIO(b"".join(chunks))

    async def _answer_unless_left(self, request: ASGIRequest, receive: _Receive, send: _Send) -> None:
        answering = asyncio.ensure_future(self._answer(request, send))
        leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancelled(leaving)
            await _cancelled(answering)
        if not answering.cancelled():
            answering.result()

    async def _answer(self, request: ASGIRequest, send: _Send) -> None:
        response = await cast("Any", self)._middleware_chain(request)
        try:
            await self.send_response(response, send)
        finally:
            request.close()


async def _cancelled(task: "asyncio.Future[Any]") -> None:
    """Returns once ``task`` is over, however it ended."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        # Asked for, so that it counts as met.
        task.exception()


def is_api_path(scope: Mapping[str, Any]) -> bool:
    """Whether the request is the API's."""
    path: str = scope["path"]
    return path.startswith(API_PATHS) or path == "/v1"
