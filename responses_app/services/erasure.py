"""Erases a Subject: records, conversations, sessions, shares, its values in other people's results, its name."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy.models import Subject
from responses_app.models import Conversation, Response
from responses_app.services.leave_behind import sweep_results_about
from responses_app.streaming.backends import event_log
from tools_app.records.models import HealthRecord
from tools_app.records.services import erase_records, note_erasure

BATCH = 1000
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure takes away, in numbers."""

    records: int
    conversations: int


def count_of(subject: Subject) -> Erased:
    """What there is of a Subject."""
    return Erased(
        records=HealthRecord.objects.filter(subject=subject).count(),
        conversations=Conversation.objects.filter(subject=subject).count(),
    )


def erase_subject(subject: Subject, on_progress: Progress = lambda _: None) -> Erased:
    """Erases the Subject. ``on_progress`` is told how many rows went with each batch.

    From the first moment its name leads to a fresh Subject and nobody reaches the old one. If this is interrupted, the
    next sweep goes on with it.
    """
    _detach(subject)
    return _erase(subject, on_progress)


def finish_erasures() -> int:
    """Goes on with erasures that were interrupted; how many."""
    unfinished = list(Subject.objects.filter(erased_at__isnull=False))
    for subject in unfinished:
        _erase(subject, lambda _: None)
    return len(unfinished)


@transaction.atomic
def _detach(subject: Subject) -> None:
    now = timezone.now()
    Subject.objects.filter(pk=subject.pk).update(
        user_key=f"erased-{secrets.token_hex(16)}", display_name="", erased_at=now
    )
    subject.shares_given.all().delete()
    subject.shares_received.all().delete()
    Response.objects.filter(subject=subject).update(deleted_at=now)
    note_erasure(subject.pk, now)


def _erase(subject: Subject, on_progress: Progress) -> Erased:
    for response_id in Response.objects.filter(subject=subject, status="in_progress").values_list("pk", flat=True):
        event_log().request_stop(response_id)
    conversations = _erase_conversations(subject, on_progress)
    records = erase_records(subject.pk, BATCH, on_progress)
    sweep_results_about(subject.pk, timezone.now(), BATCH)
    subject.delete()
    return Erased(records, conversations)


def _erase_conversations(subject: Subject, on_progress: Progress) -> int:
    erased = 0
    conversations = Conversation.objects.filter(subject=subject).order_by("pk")
    while keys := list(conversations.values_list("pk", flat=True)[:BATCH]):
        # Who reads a running one is told of its end; its log goes by itself.
        ended = Response.objects.filter(conversation_id__in=keys).exclude(status="in_progress")
        for response_id in ended.values_list("pk", flat=True):
            event_log().discard(response_id)
        with transaction.atomic():
            # Locks the responses first, as a turn's end does.
            Response.objects.filter(conversation_id__in=keys).update(status="deleted")
            Conversation.objects.filter(pk__in=keys).delete()
        on_progress(len(keys))
        erased += len(keys)
    return erased
