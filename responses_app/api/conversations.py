"""The doors of sessions and of a Subject's erasure: authenticate, read the path, call one service, render."""

from typing import cast
from urllib.parse import unquote

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponseBase, JsonResponse
from django.utils import timezone
from rest_framework.request import Request

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import InvalidRequestError, NotFoundError
from mirobody_site.tenancy.http import AsyncApiView, named_user
from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.services.erasure import Erased, erase_subject
from responses_app.services.session_ending import end_session, session_listing

DEFAULT_SUBJECT = "@default"
"""How a path names an account's default Subject."""


class SessionView(AsyncApiView):
    """``/v1/sessions/{session_id}``."""

    async def get(self, request: Request, **_: str) -> HttpResponseBase:
        """The session's live responses."""
        user = named_user(request)
        ids = await in_thread(_listing, _account_id(request), user, _last_segment(request))
        return JsonResponse(
            {"object": "session", "session_id": _last_segment(request), "subject": user, "responses": ids}
        )

    async def delete(self, request: Request, **_: str) -> HttpResponseBase:
        """Ends the session's working data, and with ``responses=true`` its responses too."""
        user = named_user(request)
        name, responses = _last_segment(request), _flag(request, "responses")
        deleted = await in_thread(_end, _account_id(request), user, name, responses)
        return JsonResponse({"status": "ok", "session_id": name, "deleted": deleted, "subject": user})


class SubjectView(AsyncApiView):
    """``/v1/subjects/{user}``."""

    async def delete(self, request: Request, **_: str) -> HttpResponseBase:
        """Erases the Subject and all that is its."""
        name = _last_segment(request)
        user = "" if name == DEFAULT_SUBJECT else name
        erased = await in_thread(_erase, _account_id(request), user)
        deleted = {"records": erased.records, "files": 0, "conversations": erased.conversations}
        return JsonResponse({"status": "ok", "subject": user or None, "deleted": deleted})


def _account_id(request: Request) -> int:
    return cast(ApiKey, request.auth).account_id


def _last_segment(request: Request) -> str:
    """The name at the end of the path as the caller wrote it, so that it may hold an escaped slash."""
    raw = cast(ASGIRequest, request._request).scope["raw_path"]
    try:
        return unquote(raw.rstrip(b"/").rsplit(b"/", 1)[-1].decode("ascii"), errors="strict")
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
