"""Deletes a stored response, and with a conversation's last live response all of the conversation."""

from django.db import transaction
from django.utils import timezone

from responses_app.models import Conversation, PendingCall, Response
from responses_app.streaming.backends import event_log


def delete_response(row: Response) -> None:
    """The response is gone for reads and for chaining; a running one is stopped, and writes nothing any more.

    While a live response still continues from it only the entries that one needs stay.
    """
    event_log().request_stop(row.pk)
    _delete(row)
    if row.status != "in_progress":
        event_log().discard(row.pk)


@transaction.atomic
def _delete(row: Response) -> None:
    now = timezone.now()
    # Serializes deletions within one conversation, so that two at once cannot each leave the other's remains.
    Conversation.objects.select_for_update().get(pk=row.conversation_id)
    if row.status == "in_progress":
        PendingCall.objects.filter(claimed_by=row.pk, claimed_until__isnull=False).update(
            claimed_by="", claimed_until=None
        )
    Response.objects.filter(pk=row.pk).update(deleted_at=now, body="", request="{}")
    row.pending_calls.all().delete()
    needed = _needed(row.conversation_id)
    if needed:
        Response.objects.filter(conversation_id=row.conversation_id).exclude(pk__in=needed).delete()
    else:
        Conversation.objects.filter(pk=row.conversation_id).delete()


def _needed(conversation_id: int) -> set[str]:
    """The conversation's live responses and all those they continue from."""
    responses = Response.objects.filter(conversation_id=conversation_id)
    previous = dict(responses.values_list("pk", "previous_id"))
    needed: set[str] = set()
    for live in responses.live(timezone.now()).values_list("pk", flat=True):
        step: str | None = live
        while step is not None and step not in needed:
            needed.add(step)
            step = previous.get(step)
    return needed
