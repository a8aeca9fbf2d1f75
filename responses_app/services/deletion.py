"""Deletes stored responses, and with a conversation's last live response all of the conversation."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from mirobody_site.tenancy.idempotency import forget_answers
from responses_app.models import Conversation, PendingCall, Response
from responses_app.services.locking import lock_conversation
from responses_app.services.lost_turns import give_back_claims
from responses_app.services.sessions import unlock
from responses_app.services.turns import cancel_untaken
from responses_app.streaming.backends import event_log


def delete_responses(rows: Collection[Response]) -> int:
    """These are gone for reads and for chaining; running ones are stopped, and write nothing any more. How many went.

    While a live response still continues from one of them only the entries that one needs stay.
    """
    for row in rows:
        event_log().request_stop(row.pk)
    chosen = Q(pk__in=[row.pk for row in rows])
    deleted = sum(bury(conversation_id, chosen, timezone.now()) for conversation_id in _conversations_of(rows))
    for row in rows:
        event_log().discard_ended(row.pk)
    return deleted


def _conversations_of(rows: Collection[Response]) -> list[int]:
    return sorted({row.conversation_id for row in rows})


@transaction.atomic
def bury(conversation_id: int, which: Q, now: datetime) -> int:
    """Takes away the conversation's responses that ``which`` selects, and all that no live response needs any more.

    Returns how many were taken away; safe to run at once with itself.
    """
    if not lock_conversation(conversation_id):
        return 0
    responses = Response.objects.filter(conversation_id=conversation_id)
    buried = list(responses.filter(which, deleted_at=None).values_list("pk", flat=True))
    cancel_untaken(responses.filter(pk__in=buried))
    Response.objects.filter(pk__in=buried).update(deleted_at=now, status="deleted", body="", request="{}")
    unlock(buried)
    give_back_claims(buried)
    PendingCall.objects.filter(response_id__in=buried).delete()
    forget_answers(buried)
    needed = _needed(conversation_id, now)
    if needed:
        responses.exclude(pk__in=needed).delete()
    else:
        Conversation.objects.filter(pk=conversation_id).delete()
    return len(buried)


def _needed(conversation_id: int, now: datetime) -> set[str]:
    """The conversation's live responses and all those they continue from."""
    responses = Response.objects.filter(conversation_id=conversation_id)
    previous = dict(responses.values_list("pk", "previous_id"))
    needed: set[str] = set()
    for live in responses.live(now).values_list("pk", flat=True):
        step: str | None = live
        while step is not None and step not in needed:
            needed.add(step)
            step = previous.get(step)
    return needed
