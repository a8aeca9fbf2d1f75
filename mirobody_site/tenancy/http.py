"""What every API door shares: reading a JSON body, whom a request names, and the view base classes."""

import math
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

from adrf.views import APIView as AdrfAPIView
from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from pydantic_core import from_json
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from mirobody_site.tenancy.authentication import ApiKeyAuthentication, known_key
from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import InvalidRequestError, UnsupportedMediaTypeError
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.rate_limit import allowance

USER_HEADER = "X-Mirobody-User"
USER_MAX_LENGTH = 256
_JSON_MEDIA_TYPE = re.compile(r"application/(json|[a-z0-9!#$&^_.-]+\+json)", re.IGNORECASE)


class IgnoreAccept(BaseContentNegotiation):
    """``Accept`` never decides anything: SDKs ask for ``application/json`` while they stream."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class ApiView(AdrfAPIView):  # type: ignore[misc]  # adrf has no types
    """Base of the API views: our authentication, the rate limit, JSON out, the body read by ``read_json_object``.

    Dispatched on the event loop. A handler that is no coroutine function runs in a thread, and gives its database
    connection back; one that is holds no thread while it waits. Every answer to a valid key says what is left to it.
    """

    authentication_classes = [ApiKeyAuthentication]
    permission_classes: list[Any] = []
    throttle_classes: list[Any] = []
    parser_classes: list[Any] = []
    renderer_classes = [JSONRenderer]
    content_negotiation_class = IgnoreAccept
    # Without metadata OPTIONS is an ordinary 405; DRF's would tell callers the view's docstring.
    metadata_class = None
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    view_is_async = True

    async def async_dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """As adrf's, which starts a thread for each request to find its key in."""
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            await self._begin(*args, **kwargs)
            response = await self._handler(request)(self.request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - DRF tells its own from strangers'
            response = self.handle_exception(error)
        finished: HttpResponseBase = self.finalize_response(self.request, cast("Any", response), *args, **kwargs)
        return finished

    async def _begin(self, *args: Any, **kwargs: Any) -> None:
        key = known_key(self.request)
        if key is not None:
            # Asked for again it may be known no longer, and only a thread may ask the database.
            self.request.user, self.request.auth = key.account, key
            self.initial(self.request, *args, **kwargs)
        else:
            await in_thread(self.initial, self.request, *args, **kwargs)
        if isinstance(self.request.auth, ApiKey):
            await self._count(self.request.auth)

    async def _count(self, key: ApiKey) -> None:
        left = await allowance(key.pk, key.rate_limit_rpm)
        self.headers |= left.headers
        left.check()

    def _handler(self, request: HttpRequest) -> Callable[..., Awaitable[HttpResponseBase]]:
        method = (request.method or "").lower()
        handler = getattr(self, method, None) if method in self.http_method_names else None
        if handler is None:
            return self._no_such_method
        if iscoroutinefunction(handler):
            return cast("Callable[..., Awaitable[HttpResponseBase]]", handler)
        return partial(in_thread, cast("Callable[..., HttpResponseBase]", handler))

    async def _no_such_method(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return cast("HttpResponseBase", self.http_method_not_allowed(request, *args, **kwargs))


class AsyncApiView(ApiView):
    """Base of the API views whose handlers are coroutine functions: they may wait long."""


def read_json_object(request: Request | HttpRequest) -> dict[str, Any]:
    """The body as a JSON object.

    Raises UnsupportedMediaTypeError when a content type other than JSON is declared, and InvalidRequestError
    ``invalid_json`` for a body that is empty, no object, no UTF-8, has a byte order mark, a lone surrogate or a number
    that is not finite, or nests deeper than the parser goes. Django raises RequestDataTooBig over the body limit.
    """
    _check_media_type(request.headers.get("Content-Type", ""))
    try:
        value = from_json(request.body, allow_inf_nan=False)
    except ValueError:
        # The parser's message is left out: it may quote the body.
        raise _invalid_json("The body is not valid JSON.") from None
    if not isinstance(value, dict):
        raise _invalid_json("The body must be a JSON object.")
    if _has_infinity(value):
        raise _invalid_json("The body holds a number that is too large.")
    return value


def _check_media_type(content_type: str) -> None:
    media_type = content_type.split(";", 1)[0].strip()
    if media_type and not _JSON_MEDIA_TYPE.fullmatch(media_type):
        raise UnsupportedMediaTypeError("The body must be application/json.")


def _invalid_json(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, code="invalid_json")


def _has_infinity(value: Any) -> bool:
    """Whether a number like ``1e999`` is in it, which the parser reads as infinity."""
    match value:
        case float():
            return math.isinf(value)
        case dict():
            return any(map(_has_infinity, value.values()))
        case list():
            return any(map(_has_infinity, value))
        case _:
            return False


def named_user(request: Request | HttpRequest, body_user: object = None) -> str | None:
    """The Subject a request names by body (``body_user``), query (``user``) or ``X-Mirobody-User``.

    ``None``: none is named, which means the default Subject. Raises InvalidRequestError with ``param: "user"``:
    ``invalid_type`` when it is no string, ``value_too_long`` over 256 characters, ``invalid_value`` for control
    characters, bad UTF-8, or different names in different places.
    """
    if body_user is not None and not isinstance(body_user, str):
        raise InvalidRequestError("user must be a string.", code="invalid_type", param="user")
    names = {name for name in (body_user, *_query_users(request), _header_user(request)) if name}
    for name in names:
        check_user(name)
    if len(names) > 1:
        raise _invalid_user("The request names different users.")
    return next(iter(names), None)


def _query_users(request: Request | HttpRequest) -> list[str]:
    # Django's own query dictionary replaces bad UTF-8, so that two different values could name one Subject.
    try:
        pairs = parse_qsl(request.META.get("QUERY_STRING", ""), errors="strict")
    except UnicodeDecodeError:
        raise _invalid_user("The query string is not valid UTF-8.") from None
    return [value for name, value in pairs if name == "user"]


def _header_user(request: Request | HttpRequest) -> str:
    # Django reads header bytes as Latin-1; a name outside ASCII is sent as UTF-8.
    try:
        return str(request.headers.get(USER_HEADER, "")).encode("latin-1").decode()
    except UnicodeError:
        raise _invalid_user(f"{USER_HEADER} is not valid UTF-8.") from None


def check_user(user: str) -> None:
    """Raises InvalidRequestError, ``param: "user"``, unless the text may name a Subject."""
    if len(user) > USER_MAX_LENGTH:
        message = f"user is longer than {USER_MAX_LENGTH} characters."
        raise InvalidRequestError(message, code="value_too_long", param="user")
    if any(unicodedata.category(character) == "Cc" for character in user):
        raise _invalid_user("user must not hold control characters.")


def _invalid_user(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, code="invalid_value", param="user")
