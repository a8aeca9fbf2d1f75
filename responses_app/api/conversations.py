"""The doors of sessions and of Subjects: authenticate, read the path, call one service, render."""

import re
import unicodedata
from functools import cache
from typing import cast
from urllib.parse import unquote
from zoneinfo import available_timezones

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponseBase, JsonResponse
from django.utils import timezone
from rest_framework.request import Request

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import InvalidRequestError, NotFoundError
from mirobody_site.tenancy.http import AsyncApiView, check_user, named_user, read_json_object
from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.api import described
from responses_app.services.erasure import Erased, erase_subject
from responses_app.services.session_ending import end_session, session_listing
from tools_app.records.subjects import change_subject

MAX_DISPLAY_NAME_LENGTH = 200
_NAMED = re.compile(rb"/v1/(?:sessions|subjects)/([^/]+)/?")
DEFAULT_SUBJECT = "@default"
"""How a path names an account's default Subject."""


class SessionView(AsyncApiView):
    """``/v1/sessions/{session_id}``."""

    @described.list_session
    async def get(self, request: Request, **_: str) -> HttpResponseBase:
        """The session's live responses."""
        user = named_user(request)
        ids = await in_thread(_listing, _account_id(request), user, _last_segment(request))
        return JsonResponse(
            {"object": "session", "session_id": _last_segment(request), "subject": user, "responses": ids}
        )

    @described.end_session
    async def delete(self, request: Request, **_: str) -> HttpResponseBase:
        """Ends the session's working data, and with ``responses=true`` its responses too."""
        user = named_user(request)
        name, responses = _last_segment(request), _flag(request, "responses")
        deleted = await in_thread(_end, _account_id(request), user, name, responses)
        return JsonResponse({"status": "ok", "session_id": name, "deleted": deleted, "subject": user})


class SubjectView(AsyncApiView):
    """``/v1/subjects/{user}``."""

    @described.read_subject
    async def get(self, request: Request, **_: str) -> HttpResponseBase:
        """What the Subject is: its time zone and its name for others."""
        return _shown(await in_thread(_subject, _account_id(request), _user_of_path(request)))

    @described.change_subject
    async def patch(self, request: Request, **_: str) -> HttpResponseBase:
        """Changes the zone or the name; a Subject that was never seen is made."""
        user, body = _user_of_path(request), read_json_object(request)
        check_user(user)
        zone, name = _time_zone(body.get("time_zone")), _display_name(body.get("display_name"))
        if zone is None and name is None:
            message = "Say what to change: time_zone or display_name."
            raise InvalidRequestError(message, code="missing_required_parameter")
        return _shown(await in_thread(change_subject, _account_id(request), user, zone, name, timezone.now()))

    @described.erase_subject
    async def delete(self, request: Request, **_: str) -> HttpResponseBase:
        """Erases the Subject and all that is its."""
        user = _user_of_path(request)
        erased = await in_thread(_erase, _account_id(request), user)
        deleted = {"records": erased.records, "files": 0, "conversations": erased.conversations}
        return JsonResponse({"status": "ok", "subject": user or None, "deleted": deleted})


def _user_of_path(request: Request) -> str:
    name = _last_segment(request)
    return "" if name == DEFAULT_SUBJECT else name


def _shown(subject: Subject) -> HttpResponseBase:
    return JsonResponse(
        {
            "object": "subject",
            "subject": subject.user_key or None,
            "time_zone": subject.time_zone,
            "display_name": subject.display_name or None,
            "created_at": subject.created_at.isoformat(),
        }
    )


def _time_zone(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidRequestError("time_zone must be a string.", code="invalid_type", param="time_zone")
    # Files that systems keep beside the zones are no names of places.
    if value not in _zones():
        message = "time_zone must be a name of the IANA time zone database, such as Asia/Shanghai."
        raise InvalidRequestError(message, param="time_zone")
    return value


@cache
def _zones() -> frozenset[str]:
    return frozenset(name for name in available_timezones() if name[0].isupper() and name != "Factory")


def _display_name(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidRequestError("display_name must be a string.", code="invalid_type", param="display_name")
    if len(value) > MAX_DISPLAY_NAME_LENGTH:
        message = f"display_name must be at most {MAX_DISPLAY_NAME_LENGTH} characters."
        raise InvalidRequestError(message, code="value_too_long", param="display_name")
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise InvalidRequestError("display_name must not hold control characters.", param="display_name")
    return value.strip()


def _account_id(request: Request) -> int:
    return cast(ApiKey, request.auth).account_id


def _last_segment(request: Request) -> str:
    """The name at the end of the path as the caller wrote it, so that it may hold an escaped slash.

    A name with a plain one is none: taking what stands after it would find, and erase, somebody else.
    """
    scope = cast(ASGIRequest, request._request).scope
    path = _NAMED.fullmatch(scope["raw_path"].removeprefix(scope.get("root_path", "").encode()))
    if path is None:
        raise NotFoundError("There is nothing at this address; a slash in a name is written %2F.")
    try:
        return unquote(path[1].decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        raise NotFoundError("The path is not valid UTF-8.") from None


def _subject(account_id: int, user: str | None) -> Subject:
    subject = find_subject(account_id, user or "")
    if subject is None:
        raise NotFoundError("There is no such Subject.")
    return subject


def _listing(account_id: int, user: str | None, name: str) -> list[str]:
    subject = find_subject(account_id, user or "")
    return session_listing(subject.pk if subject else None, name, timezone.now())


def _end(account_id: int, user: str | None, name: str, responses: bool) -> int:
    deleted = end_session(find_subject(account_id, user or ""), name, responses, timezone.now())
    forget_free_pages()
    return deleted


def _erase(account_id: int, user: str) -> Erased:
    erased = erase_subject(_subject(account_id, user))
    forget_free_pages()
    return erased


def _flag(request: Request, name: str) -> bool:
    value = request.GET.get(name, "false")
    if value not in ("true", "false"):
        raise InvalidRequestError(f"'{name}' must be true or false.", param=name)
    return value == "true"
