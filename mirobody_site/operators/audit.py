"""Writes the audit of operators. An entry that cannot be written stops what it is about."""

import ipaddress
import json
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from mirobody_site.operators.models import AuditEntry
from mirobody_site.tenancy.log_context import current_request_id

Action = AuditEntry.Action


def record(request: HttpRequest, action: AuditEntry.Action, **about: Any) -> AuditEntry:
    """Writes who does what now, and from where.

    ``about``: columns of ``AuditEntry`` (``object_type``, ``object_id``, ``subject_hash``, ``reason``, ``ticket``), and
    ``figures`` as a mapping of counts. None of them may hold content or the name of a Subject.
    """
    actor = _actor(request)
    return AuditEntry.objects.create(
        happened_at=timezone.now(),
        action=action,
        actor_id=about.pop("actor_id", actor.pk if actor else None),
        actor_name=about.pop("actor_name", actor.get_username() if actor else ""),
        address=_address(request),
        request_id=current_request_id() or "",
        page=_page(request),
        figures=json.dumps(about.pop("figures", {})),
        **about,
    )


def _actor(request: HttpRequest) -> User | None:
    user = getattr(request, "user", None)
    return user if isinstance(user, User) else None


def _address(request: HttpRequest) -> str | None:
    """The address that the connection comes from; the server resolves trusted proxies before."""
    given = request.META.get("REMOTE_ADDR", "")
    try:
        return str(ipaddress.ip_address(given))
    except ValueError:
        return None


def _page(request: HttpRequest) -> str:
    match = request.resolver_match
    return (match.url_name or "")[:100] if match else ""
