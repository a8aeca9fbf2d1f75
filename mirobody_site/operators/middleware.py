"""Django middleware of the admin: whoever lacks a right is refused with a 403, and the refusal is audited."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from mirobody_site.operators.audit import Action, record

_OPEN_PAGES = ("login", "logout", "jsi18n")


class AuditRefusals:
    """Audits refusals of the admin. Django's admin sends a signed-in caller who is no operator to its login page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        match = request.resolver_match
        if not _is_admins(request) or match is None or match.url_name in _OPEN_PAGES:
            return
        if request.user.is_authenticated and not (request.user.is_active and request.user.is_staff):
            # Raised here it would pass by process_exception.
            record(request, Action.REFUSED)
            raise PermissionDenied

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        if isinstance(exception, PermissionDenied) and _is_admins(request):
            record(request, Action.REFUSED)


def _is_admins(request: HttpRequest) -> bool:
    return request.resolver_match is not None and "admin" in request.resolver_match.app_names
