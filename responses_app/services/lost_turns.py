"""Turns whose runner died: they fail, and what they held is given back."""

import json
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy.errors import ServerError
from responses_app.engine.assembly import Assembly
from responses_app.engine.steps import Failed
from responses_app.engine.usage import NOTHING_USED
from responses_app.models import PendingCall, Response


def fail_if_lost(row: Response) -> Response:
    """The row as it is now: one that still runs long after its deadline has failed."""
    now = timezone.now()
    if row.status == "in_progress" and row.deadline_at <= now:
        _fail(row, now)
        row.refresh_from_db()
    return row


def fail_turns_of_a_dead_process() -> int:
    """For a process that runs all turns itself, at its start: whatever is still in progress can have no runner.

    Returns how many turns failed.
    """
    now = timezone.now()
    rows = list(Response.objects.filter(status="in_progress"))
    for row in rows:
        _fail(row, now)
    return len(rows)


@transaction.atomic
def _fail(row: Response, now: datetime) -> None:
    closing = Assembly(json.loads(row.body), row.side_channel, None).close(
        Failed(ServerError("The server stopped while it ran this response.")), NOTHING_USED
    )
    failed = Response.objects.filter(pk=row.pk, status="in_progress", deadline_at=row.deadline_at)
    if failed.update(status="failed", body=json.dumps(closing.response), deadline_at=now):
        PendingCall.objects.filter(claimed_by=row.pk, claimed_until__isnull=False).update(
            claimed_by="", claimed_until=None
        )
