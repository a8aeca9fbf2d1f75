"""Audits who signs in, and who tries to."""

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest

from mirobody_site.operators.audit import Action, record


def audit_sign_ins() -> None:
    """From now on every sign-in writes an audit entry."""
    user_logged_in.connect(_signed_in, dispatch_uid="audit_signed_in")
    user_login_failed.connect(_failed, dispatch_uid="audit_sign_in_failed")


def _signed_in(sender: Any, request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is not None and request.resolver_match is not None:
        record(request, Action.SIGNED_IN, actor_id=user.pk, actor_name=user.get_username())


def _failed(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    if request is None:
        return
    # A name that nobody has may be a password typed into the wrong field.
    known = User.objects.filter(username=credentials.get("username", "")).first()
    name = known.get_username() if known else ""
    record(request, Action.SIGN_IN_FAILED, actor_id=known.pk if known else None, actor_name=name)
