"""Turns whose runner died: they fail, and what they held is given back."""

import json
from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy.errors import ServerError
from responses_app.engine.assembly import Assembly
from responses_app.engine.steps import Failed
from responses_app.engine.usage import NOTHING_USED
from responses_app.models import PendingCall, Response
from responses_app.protocol.response import ResponseObject
from responses_app.services.locking import lock_conversation_of
from responses_app.services.sessions import unlock


def fail_if_lost(row: Response) -> Response:
    """The row as it is now: one that still runs long after its deadline has failed."""
    now = timezone.now()
    if row.status == "in_progress" and row.deadline_at <= now:
        _fail(row)
        row.refresh_from_db()
    return row


def fail_turns_of_a_dead_process() -> int:
    """For a process that runs all turns itself, at its start: whatever is still in progress can have no runner.

    Returns how many turns failed.
    """
    rows = list(Response.objects.filter(status="in_progress"))
    for row in rows:
        _fail(row)
    # What turns held that leave no row.
    PendingCall.objects.filter(claimed_until__isnull=False).update(claimed_by="", claimed_until=None)
    return len(rows)


def _fail(row: Response) -> None:
    closing = Assembly(json.loads(row.body), row.side_channel, None).close(
        Failed(ServerError("The server stopped while it ran this response.")), NOTHING_USED
    )
    fail_turn(row.pk, closing.response)


@transaction.atomic
def fail_turn(response_id: str, response: ResponseObject) -> None:
    """Stores a failed ``response``, unless it is not running any more, and gives back what its turn held."""
    lock_conversation_of(response_id)
    running = Response.objects.filter(pk=response_id, status="in_progress")
    running.update(status="failed", body=json.dumps(response, ensure_ascii=False))
    unlock([response_id])
    give_back_claims([response_id])


def give_back_claims(response_ids: Collection[str]) -> None:
    """The handoffs that these turns were resuming can be resumed again. One that was answered stays answered."""
    PendingCall.objects.filter(claimed_by__in=response_ids, claimed_until__isnull=False).update(
        claimed_by="", claimed_until=None
    )
