"""Erases a Subject: records, conversations, sessions, shares, its values in other people's results, its name."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.models import RememberedRequest, Subject
from responses_app.models import Conversation, Response
from responses_app.services.leave_behind import sweep_results_about
from responses_app.services.turns import cancel_untaken
from responses_app.streaming.backends import event_log
from tools_app.records.selectors import count_of_records
from tools_app.records.services import erase_records, note_erasure
from tools_app.records.sharing import revoke_all

BATCH = 1000
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure takes away, in numbers."""

    records: int
    conversations: int


def receipt(status: str, counts: Erased, subject_hash: str) -> dict[str, Any]:
    """What is told of an erasure, and may be kept: numbers, the time, and the Subject's hash."""
    return {
        "status": status,
        "records": counts.records,
        "conversations": counts.conversations,
        "at": timezone.now().isoformat(timespec="seconds"),
        "subject_hash": subject_hash,
    }


def count_of(subject: Subject) -> Erased:
    """What there is of a Subject to be seen; what has expired and waits for the sweep goes uncounted."""
    now = timezone.now()
    return Erased(
        records=count_of_records(subject, now),
        conversations=Response.objects.live(now).filter(subject=subject).values("conversation").distinct().count(),
    )


def erase_subject(subject: Subject, on_progress: Progress = lambda _: None) -> Erased:
    """Erases the Subject. ``on_progress`` is told how many rows went with each batch.

    From the first moment its name leads to a fresh Subject and nobody reaches the old one. If this is interrupted, the
    next sweep goes on with it. Raises ``NotFoundError`` when another one was first.
    """
    erased = _detach(subject)
    _erase(subject, on_progress)
    return erased


def finish_erasures() -> int:
    """Goes on with erasures that were interrupted; how many it brought to an end."""
    unfinished = list(Subject.objects.filter(erased_at__isnull=False))
    return sum(_erase(subject, lambda _: None) for subject in unfinished)


@transaction.atomic
def _detach(subject: Subject) -> Erased:
    now = timezone.now()
    if not Subject.objects.select_for_update().filter(pk=subject.pk, erased_at=None).first():
        raise NotFoundError("There is no such Subject.")
    conversations = Conversation.objects.filter(subject=subject).order_by("pk").select_for_update()
    list(conversations.values_list("pk", flat=True))
    erased = count_of(subject)
    cancel_untaken(Response.objects.filter(subject=subject))
    Subject.objects.filter(pk=subject.pk).update(
        user_key=f"erased-{secrets.token_hex(16)}", display_name="", erased_at=now
    )
    RememberedRequest.objects.filter(subject=subject).delete()
    revoke_all(subject, now)
    Response.objects.filter(subject=subject).update(deleted_at=now)
    note_erasure(subject.pk, now)
    return erased


def _erase(subject: Subject, on_progress: Progress) -> bool:
    """Whether it was this call that brought it to an end: several may be at it."""
    for response_id in Response.objects.running().filter(subject=subject).values_list("pk", flat=True):
        event_log().request_stop(response_id)
    conversations = Conversation.objects.filter(subject=subject).order_by("pk")
    while erased := _erase_conversations(conversations[:BATCH]):
        on_progress(erased)
    erase_records(subject.pk, BATCH, on_progress)
    sweep_results_about(subject.pk, timezone.now(), BATCH)
    _, deleted = subject.delete()
    return Subject._meta.label in deleted


@transaction.atomic
def _erase_conversations(conversations: QuerySet[Conversation]) -> int:
    keys = list(conversations.select_for_update().values_list("pk", flat=True))
    for response_id in Response.objects.filter(conversation_id__in=keys).values_list("pk", flat=True):
        event_log().discard_ended(response_id)
    Conversation.objects.filter(pk__in=keys).delete()
    return len(keys)
