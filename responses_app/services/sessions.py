"""Sessions: opening one, taking and giving back its lock, adopting a conversation, ending its working data."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from mirobody_site.tenancy.errors import ConflictError
from responses_app.models import Conversation, Response, Session

_RETRY_AFTER_SECONDS = 2


def conversation_locked(param: str | None) -> ConflictError:
    """Another turn of the conversation runs."""
    return ConflictError(
        "Another turn of this conversation is running. Try again when it has ended.",
        param=param,
        headers={"Retry-After": str(_RETRY_AFTER_SECONDS)},
    )


def open_session(subject_id: int, name: str, conversation: Conversation | None) -> Session:
    """The Subject's session of this name, made when missing: over ``conversation``, or over a new one.

    A conversation that is adopted stops expiring. Of several calls at once all get the same session.
    """
    known = Session.objects.filter(subject_id=subject_id, name=name).first()
    if known is not None:
        return known
    try:
        with transaction.atomic():
            conversation = conversation or Conversation.objects.create(subject_id=subject_id)
            session = Session.objects.create(subject_id=subject_id, name=name, conversation=conversation)
    except IntegrityError:
        return Session.objects.get(subject_id=subject_id, name=name)
    return session


def keep_for_ever(conversation: Conversation, now: datetime) -> None:
    """The live responses of a conversation that became a session's stop expiring."""
    Response.objects.filter(conversation=conversation).live(now).update(expires_at=None)


def lock(session: Session, response_id: str, now: datetime, lifetime: timedelta) -> bool:
    """Whether the session's next turn is this response's. The lock frees itself after ``lifetime``."""
    unlocked = Session.objects.unlocked(now).filter(pk=session.pk)
    return bool(unlocked.update(locked_by=response_id, locked_until=now + lifetime))


def unlock(response_ids: Collection[str]) -> None:
    """The turns of these responses have ended; sessions they held are free."""
    Session.objects.filter(locked_by__in=response_ids).update(locked_by="", locked_until=None)
