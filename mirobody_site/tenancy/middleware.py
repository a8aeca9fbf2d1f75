"""Django middleware of the API: every error under /v1 is the envelope, whoever made it, and nothing there is cached."""

from collections.abc import Awaitable, Callable
from functools import cache
from http import HTTPStatus
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.contrib.admindocs.views import simplify_regex
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from mirobody_site.tenancy.access_log import ROUTE_KEY
from mirobody_site.tenancy.envelope import error_response
from mirobody_site.tenancy.errors import error_for_status

SyncHandler = Callable[[HttpRequest], HttpResponseBase]
AsyncHandler = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def api_answers(get_response: SyncHandler | AsyncHandler) -> SyncHandler | AsyncHandler:
    """Finishes answers under /v1 and leaves the route's template for the access log.

    Stays asynchronous under ASGI, so that a waiting or streaming caller holds no thread.
    """
    if iscoroutinefunction(get_response):
        handler = cast("AsyncHandler", get_response)

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            try:
                return _finished(request, await handler(request))
            finally:
                _leave_route(request)

        return asynchronous

    return lambda request: _finished(request, cast("SyncHandler", get_response)(request))


def _leave_route(request: HttpRequest) -> None:
    scope = getattr(request, "scope", None)
    if scope is not None and request.resolver_match is not None:
        scope["state"][ROUTE_KEY] = _template(request.resolver_match.route)


@cache
def _template(route: str) -> str:
    return simplify_regex(route).rstrip("/") or "/"


def _finished(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if not (request.path == "/v1" or request.path.startswith("/v1/")):
        return response
    if response.status_code >= HTTPStatus.BAD_REQUEST and response.get("Content-Type") != "application/json":
        response = _enveloped(response)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    if isinstance(response, HttpResponse):
        response.headers.setdefault("Content-Length", str(len(response.content)))
    return response


def _enveloped(foreign: HttpResponseBase) -> HttpResponseBase:
    response = error_response(error_for_status(foreign.status_code))
    if "Allow" in foreign:
        response["Allow"] = foreign["Allow"]
    foreign.close()
    return response
