"""The site's paths and views that break or stream as no product view should, to see what stands around them."""

import threading
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import re_path
from rest_framework.request import Request
from rest_framework.response import Response

from mirobody_site.tenancy.http import ApiView, AsyncApiView
from mirobody_site.urls import urlpatterns as site_urls

HEALTH_CONTENT = "glucose 6.1"
go_on = threading.Event()
closed = threading.Event()


class Breaking(ApiView):
    def get(self, request: Request) -> Response:
        raise ValueError(HEALTH_CONTENT)


async def breaking_by_name(request: HttpRequest, name: str) -> HttpResponse:
    answer: HttpResponse = await Breaking.as_view()(request)
    return answer


class BreakingAsync(AsyncApiView):
    async def get(self, request: Request) -> Response:
        raise ValueError(HEALTH_CONTENT)


class Forbidding(ApiView):
    def get(self, request: Request) -> Response:
        raise PermissionDenied(HEALTH_CONTENT)


def breaking_plain(request: HttpRequest) -> HttpResponse:
    raise ValueError(HEALTH_CONTENT)


class Streaming(AsyncApiView):
    """One piece, and the next when told to."""

    async def get(self, request: Request) -> StreamingHttpResponse:
        return StreamingHttpResponse(_pieces(), content_type="text/event-stream")


async def _pieces() -> AsyncIterator[bytes]:
    try:
        yield b"first\n"
        await sync_to_async(go_on.wait, thread_sensitive=False)(20)
        yield b"second\n"
    finally:
        closed.set()


urlpatterns = [
    *site_urls,
    re_path(r"^v1/breaking/(?P<name>\w+)$", breaking_by_name),
    re_path(r"^v1/breaking-async$", BreakingAsync.as_view()),
    re_path(r"^v1/breaking-plain$", breaking_plain),
    re_path(r"^v1/forbidding$", Forbidding.as_view()),
    re_path(r"^v1/streaming$", Streaming.as_view()),
]
