"""Sweeps what has expired: responses, their conversations, health records, tool results whose records are gone."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from mirobody_site.tenancy.idempotency import forget_expired
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.models import Response
from responses_app.services.deletion import bury
from responses_app.services.erasure import finish_erasures
from responses_app.services.leave_behind import sweep_results
from tools_app.records.services import sweep_records

BATCH = 500


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep took away. ``results``: stored responses that lost a tool result."""

    responses: int
    records: int
    results: int
    subjects: int


def sweep_expired() -> Swept:
    """Takes away what has expired. Works in batches, each kept when done: it may be stopped, and run twice at once."""
    now = timezone.now()
    swept = Swept(
        responses=_sweep_responses(now),
        records=sweep_records(now, BATCH),
        results=sweep_results(now, BATCH),
        subjects=finish_erasures(),
    )
    forget_expired(now)
    forget_free_pages()
    return swept


def _sweep_responses(now: datetime) -> int:
    expired = Q(expires_at__lte=now, deleted_at=None)
    swept = 0
    while conversations := _conversations_with(expired):
        swept += sum(bury(conversation_id, expired, now) for conversation_id in conversations)
    return swept


def _conversations_with(which: Q) -> list[int]:
    responses = Response.objects.filter(which).order_by("expires_at")
    return list(dict.fromkeys(responses.values_list("conversation_id", flat=True)[:BATCH]))
