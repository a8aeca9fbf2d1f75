"""Turns whose runner died: they fail, and what they held is given back."""

import json
import logging
from collections.abc import Callable, Collection
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from mirobody_site.tenancy.envelope import error_body
from mirobody_site.tenancy.errors import ServerError
from responses_app.engine.assembly import Assembly, Closing
from responses_app.engine.steps import Failed
from responses_app.engine.usage import NOTHING_USED
from responses_app.models import PendingCall, Response
from responses_app.models.response import RUNNING
from responses_app.protocol.events import Event
from responses_app.protocol.response import ResponseObject
from responses_app.services.lifetimes import KEPT_EVENTS_SECONDS
from responses_app.services.locking import lock_conversation_of
from responses_app.services.sessions import unlock
from responses_app.streaming.backends import event_log
from responses_app.streaming.event_log import Answer, LogGone
from responses_app.streaming.sse import decode_events, encode_event

log = logging.getLogger(__name__)

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
    said = _said(row)
    error = ServerError("The server stopped while it ran this response.")
    closing = Assembly.after(json.loads(row.body), said).close(Failed(error), NOTHING_USED)
    told = partial(_tell, row.pk, closing, Answer(error.status, error_body(error))) if said else None
    _store_failure(row.pk, closing.response, unless_changed, told)


def _said(row: Response) -> list[Event]:
    """All that the turn told before it was lost; nothing when its events are lost as well, or it never began."""
    try:
        said = decode_events(event_log().so_far(row.pk))
    except ServerError:
        return []
    return said if any(event["type"] == "response.in_progress" for event in said) else []


def _tell(response_id: str, closing: Closing, answer: Answer) -> None:
    """Whoever waits for the turn is told its end."""
    frames = [encode_event(event) for event in closing.events]
    try:
        event_log().finish(response_id, closing.events[0]["sequence_number"], frames, answer, KEPT_EVENTS_SECONDS)
    except (LogGone, ServerError) as error:
        log.info("who waits for lost turn %s finds its end in its row: %s", response_id, type(error).__name__)


@transaction.atomic
def _store_failure(
    response_id: str, response: ResponseObject, unless_changed: Q, told: Callable[[], None] | None
) -> None:
    """Stores the end of a turn that still runs, gives back what it held, and has it told afterwards."""
    lock_conversation_of(response_id)
    running = Response.objects.running().filter(unless_changed, pk=response_id)
    end = {"status": "failed", "body": json.dumps(response, ensure_ascii=False), "ended_at": timezone.now()}
    if running.update(**end):
        unlock([response_id])
        give_back_claims([response_id])
        if told:
            transaction.on_commit(told)


def give_back_claims(response_ids: Collection[str]) -> None:
    """The handoffs that these turns were resuming can be resumed again. One that was answered stays answered."""
    PendingCall.objects.filter(claimed_by__in=response_ids, claimed_until__isnull=False).update(
        claimed_by="", claimed_until=None
    )
