"""The error envelope ``{"error": {...}}`` as Django and ASGI answers. What the errors are lives in errors.py."""

import json
from http import HTTPStatus

from asgiref.typing import ASGISendCallable
from django.http import HttpResponse

from mirobody_site.tenancy.errors import ApiError


def error_body(error: ApiError) -> bytes:
    """The envelope as JSON, UTF-8."""
    return json.dumps({"error": error.payload()}, ensure_ascii=False, separators=(",", ":")).encode()


def error_headers(error: ApiError) -> dict[str, str]:
    """The error's own headers, and the challenge that HTTP wants on a 401."""
    challenge = {"WWW-Authenticate": "Bearer"} if error.status == HTTPStatus.UNAUTHORIZED else {}
    return {**challenge, **error.headers}


def error_response(error: ApiError) -> HttpResponse:
    """The envelope as a Django answer."""
    body = error_body(error)
    headers = {**error_headers(error), "Content-Length": str(len(body))}
    return HttpResponse(body, status=error.status, content_type="application/json", headers=headers)


async def send_error(error: ApiError, send: ASGISendCallable) -> None:
    """Answers an ASGI request with the envelope. Nothing may have been sent before."""
    body = error_body(error)
    headers = [(name.lower().encode(), value.encode()) for name, value in error_headers(error).items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": error.status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": body, "more_body": False})
