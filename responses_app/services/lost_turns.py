"""Turns whose runner died: they fail, and what they held is given back."""

import json
from collections.abc import Collection

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from mirobody_site.tenancy.errors import ServerError
from responses_app.engine.assembly import Assembly
from responses_app.engine.steps import Failed
from responses_app.engine.usage import NOTHING_USED
from responses_app.models import PendingCall, Response
from responses_app.models.response import RUNNING
from responses_app.protocol.response import ResponseObject
from responses_app.services.locking import lock_conversation_of
from responses_app.services.sessions import unlock

_BATCH = 500
"""So many turns are failed at once; the next run takes the rest."""


def fail_if_lost(row: Response) -> Response | None:
    """The row as it is now: one that still runs past its lease has failed. ``None``: it is gone meanwhile."""
    now = timezone.now()
    if row.status not in RUNNING or row.lease_until > now:
        return row
    _fail(row, Q(lease_until__lte=now))
    return Response.objects.live(now).filter(pk=row.pk).first()


def fail_lost_turns() -> int:
    """Fails the turns whose runner died, wherever that was; returns how many. May be run twice at once."""
    lost = Q(lease_until__lte=timezone.now())
    rows = list(Response.objects.running().filter(lost).order_by("lease_until")[:_BATCH])
    for row in rows:
        _fail(row, lost)
    return len(rows)


def fail_turns_of_a_dead_process() -> int:
    """For a process that runs all turns itself, at its start: whatever is still running can have no runner.

    Returns how many turns failed.
    """
    rows = list(Response.objects.running())
    for row in rows:
        _fail(row, Q())
    # What turns held that leave no row.
    PendingCall.objects.filter(claimed_until__isnull=False).update(claimed_by="", claimed_until=None)
    return len(rows)


def fail_turn_never_sent(response_id: str) -> None:
    """Fails an accepted turn that nobody was told to run."""
    row = Response.objects.running().filter(pk=response_id, started_at=None).first()
    if row is not None:
        _fail(row, Q(started_at=None))


def _fail(row: Response, unless_changed: Q) -> None:
    closing = Assembly(json.loads(row.body), row.side_channel, None).close(
        Failed(ServerError("The server stopped while it ran this response.")), NOTHING_USED
    )
    _store_failure(row.pk, closing.response, unless_changed)


@transaction.atomic
def _store_failure(response_id: str, response: ResponseObject, unless_changed: Q) -> None:
    """Stores the end of a turn that still runs, and gives back what it held."""
    lock_conversation_of(response_id)
    running = Response.objects.running().filter(unless_changed, pk=response_id)
    if running.update(status="failed", body=json.dumps(response, ensure_ascii=False)):
        unlock([response_id])
        give_back_claims([response_id])


def give_back_claims(response_ids: Collection[str]) -> None:
    """The handoffs that these turns were resuming can be resumed again. One that was answered stays answered."""
    PendingCall.objects.filter(claimed_by__in=response_ids, claimed_until__isnull=False).update(
        claimed_by="", claimed_until=None
    )
