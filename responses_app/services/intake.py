"""Accepts a request: finds what it continues, claims the handoff it resumes, writes its row, sends its turn off."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy.errors import ConflictError, InvalidRequestError
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.services import get_or_create_subject
from responses_app.models import Conversation, PendingCall, Response
from responses_app.protocol.ids import new_response_id
from responses_app.protocol.request import ResponseRequest, check_tool_choice
from responses_app.protocol.response import new_response
from responses_app.selectors import find_previous, pending_call_ids
from responses_app.services.dispatch import dispatch_turn
from responses_app.services.lost_turns import fail_if_lost
from responses_app.services.resume import already_resumed, check_replay, check_resume, previous_not_found
from responses_app.services.turn_order import TurnOrder, request_from_row, request_to_json
from responses_app.streaming.backends import event_log, request_slots

GRACE_SECONDS = 30
"""How long after its deadline a turn may still take to store its end before it counts as lost."""
_RETRY_AFTER_SECONDS = 2


def accept(account_id: int, user: str | None, request: ResponseRequest, side_channel: bool) -> TurnOrder:
    """Starts the turn of a validated request. From the return on its events can be read from the event log.

    Raises an ``ApiError`` for a request that does not fit the conversation it continues; then nothing is kept of it.
    """
    now = timezone.now()
    subject = find_subject(account_id, user or "")
    previous = _previous(subject.pk if subject else None, request, now)
    if previous is not None and request.outputs:
        request = request.going_on_from(request_from_row(previous))
    check_tool_choice(request)
    order = TurnOrder(
        response_id=new_response_id(),
        account_id=account_id,
        subject_id=subject.pk if subject else None,
        user=user or None,
        created_at=int(now.timestamp()),
        side_channel=side_channel,
        request=request,
    )
    if request.store:
        order = _write(order, previous)
    else:
        _hold(order)
    return order


def turn_lifetime() -> float:
    """Seconds within which an accepted turn has ended: a wait in the queue and the turn may each take a deadline."""
    return 2 * float(settings.TURN_DEADLINE_SECONDS) + GRACE_SECONDS


def _previous(subject_id: int | None, request: ResponseRequest, now: datetime) -> Response | None:
    if request.previous_response_id is None:
        check_replay(request)
        return None
    previous = find_previous(subject_id, request.previous_response_id)
    if previous is None:
        raise previous_not_found(request.previous_response_id)
    _check_can_be_continued(fail_if_lost(previous))
    check_resume(request, pending_call_ids(previous.pk, now))
    return previous


def _check_can_be_continued(previous: Response) -> None:
    if previous.status in ("completed", "incomplete"):
        return
    if previous.status == "in_progress":
        raise ConflictError(
            "The previous response is still running.",
            param="previous_response_id",
            headers={"Retry-After": str(_RETRY_AFTER_SECONDS)},
        )
    raise InvalidRequestError(
        f"The previous response has status '{previous.status}' and cannot be continued.", param="previous_response_id"
    )


@transaction.atomic
def _write(order: TurnOrder, previous: Response | None) -> TurnOrder:
    """Row, claimed calls and the promise to run the turn, or nothing of it."""
    subject_id = order.subject_id or get_or_create_subject(order.account_id, order.user or "").pk
    order = replace(order, subject_id=subject_id)
    conversation = _kept(previous) if previous else Conversation.objects.create(subject_id=subject_id)
    created_at = datetime.fromtimestamp(order.created_at, UTC)
    request = request_to_json(order.request)
    Response.objects.create(
        pk=order.response_id,
        account_id=order.account_id,
        subject_id=subject_id,
        conversation=conversation,
        previous=previous,
        status="in_progress",
        side_channel=order.side_channel,
        input=json.dumps(request.pop("input")),
        request=json.dumps(request),
        added="[]",
        body=json.dumps(new_response(order.identity, order.request)),
        created_at=created_at,
        deadline_at=timezone.now() + timedelta(seconds=turn_lifetime()),
        expires_at=created_at + timedelta(days=settings.RESPONSE_TTL_DAYS),
    )
    _claim(order)
    transaction.on_commit(lambda: _start(order))
    return order


def _kept(previous: Response) -> Conversation:
    """The conversation that goes on. From here on a deletion of ``previous`` waits, and finds what continues it."""
    conversation = Conversation.objects.select_for_update().filter(pk=previous.conversation_id).first()
    if conversation is None or not Response.objects.live(timezone.now()).filter(pk=previous.pk).exists():
        raise previous_not_found(previous.pk)
    return conversation


@transaction.atomic
def _hold(order: TurnOrder) -> None:
    """A turn that leaves no row: its order waits in a slot, and only the claim of a handoff is written."""
    _claim(order)
    request_slots().put(order.response_id, order.to_json(), turn_lifetime())
    transaction.on_commit(lambda: _start(order))


def _claim(order: TurnOrder) -> None:
    """Takes the handoff that the order resumes. Of several resumes at once exactly one gets all its calls."""
    call_ids = [item.call_id for item in order.request.outputs]
    if order.request.previous_response_id is None or not call_ids:
        return
    now = timezone.now()
    free = PendingCall.objects.free(now).filter(response_id=order.request.previous_response_id, call_id__in=call_ids)
    claimed = free.update(claimed_by=order.response_id, claimed_until=now + timedelta(seconds=turn_lifetime()))
    if claimed != len(call_ids):
        raise already_resumed()


def _start(order: TurnOrder) -> None:
    event_log().open(order.response_id, turn_lifetime())
    dispatch_turn(order.response_id)
