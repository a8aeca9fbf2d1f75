"""The doors of the OpenAPI document: the document itself, and a page to read it, which needs no network beside."""

import json
from functools import cache

from django.http import HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.http import AsyncApiView

_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src blob:"
"""Redoc writes styles into the page and searches in a worker; nothing else, and nothing of other hosts."""


class DocumentView(AsyncApiView):
    """``/v1/openapi.json``."""

    authentication_classes = []

    @extend_schema(exclude=True)
    async def get(self, request: Request) -> HttpResponseBase:
        """The document."""
        return HttpResponse(await in_thread(document), content_type="application/json")


class DocumentPageView(AsyncApiView):
    """``/v1/docs``."""

    authentication_classes = []

    @extend_schema(exclude=True)
    async def get(self, request: Request) -> HttpResponseBase:
        """The page, which fetches the document itself."""
        page = HttpResponse(render_to_string("openapi_page.html"))
        page["Content-Security-Policy"] = _POLICY
        return page


@cache
def document() -> bytes:
    """The OpenAPI document as JSON. It is the same until the process ends."""
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return json.dumps(schema, ensure_ascii=False).encode()
