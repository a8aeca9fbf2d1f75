"""Accepts a request: claims the handoff it resumes, writes its row, sends its turn off."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.idempotency import IdempotencyKey, forget_answers, remember
from mirobody_site.tenancy.log_context import current_request_id
from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.services import lock_subject
from mirobody_site.tenancy.usage import check_cap
from responses_app.mcp.servers import NOTHING_OFFERED, McpOffer
from responses_app.models import Conversation, PendingCall, Response
from responses_app.protocol.ids import new_response_id
from responses_app.protocol.request import ResponseRequest, check_tool_choice
from responses_app.protocol.response import new_response
from responses_app.services.asking import Asked
from responses_app.services.continuation import Place, place_for, previous_for
from responses_app.services.dispatch import dispatch_turn
from responses_app.services.lifetimes import expiry, turn_lifetime
from responses_app.services.lost_turns import fail_turn_never_sent, give_back_claims
from responses_app.services.mcp_offers import forget, hold
from responses_app.services.modalities import check_attachments
from responses_app.services.queueing import announced_frames
from responses_app.services.references import with_referenced_items
from responses_app.services.resume import already_resumed
from responses_app.services.rooms import check_input_fits
from responses_app.services.sealed_items import check_compactions
from responses_app.services.turn_order import TurnOrder, request_from_row, request_to_json
from responses_app.streaming.backends import event_log, request_slots


def accept(asked: Asked, response_id: str, offer: McpOffer = NOTHING_OFFERED) -> TurnOrder:
    """Starts the turn of a validated request. From the return on its events can be read from the event log.

    ``offer``: what the request's MCP servers offer.

    Raises an ``ApiError`` for a request that does not fit the conversation it continues; then nothing is kept of
    it. Raises ``AlreadyRemembered`` when another one was first under its key.
    """
    check_cap(asked.key)
    now = timezone.now()
    order = _new_order(asked, response_id, now)
    write = _write if asked.request.store else _hold
    return write(order, now, offer, asked.idempotency_key)


@transaction.atomic
def considered(asked: Asked) -> TurnOrder:
    """The order that ``accept`` would make of a request. Starts nothing, writes nothing, and raises as ``accept``."""
    now = timezone.now()
    return _unwritten(
        _new_order(asked, new_response_id(), now), find_subject(asked.key.account_id, asked.user or ""), now
    )


def _new_order(asked: Asked, response_id: str, now: datetime) -> TurnOrder:
    return TurnOrder(
        response_id=response_id,
        account_id=asked.key.account_id,
        api_key_id=asked.key.pk,
        subject_id=None,
        user=asked.user or None,
        created_at=int(now.timestamp()),
        side_channel=asked.side_channel,
        request=asked.request,
        twin=asked.twin,
        remembered=asked.idempotency_key is not None,
        compacts=asked.compacts,
    )


@transaction.atomic
def _write(order: TurnOrder, now: datetime, offer: McpOffer, key: IdempotencyKey | None) -> TurnOrder:
    """Row, claimed calls, the session's lock and the promise to run the turn, or nothing of it."""
    subject_id = lock_subject(order.account_id, order.user or "").pk
    if key is not None:
        remember(key, subject_id, order.response_id)
    order = _about(order, subject_id, now)
    place = place_for(subject_id, order.request, order.response_id, now)
    created_at = _created_at(place, now)
    order = replace(order, request=_effective(order.request, place), created_at=int(created_at.timestamp()))
    _insert(order, subject_id, place, created_at, now)
    _claim(order, now)
    _start_on_commit(order, offer)
    return order


@transaction.atomic
def _hold(order: TurnOrder, now: datetime, offer: McpOffer, key: IdempotencyKey | None) -> TurnOrder:
    """A turn that leaves no row: its order waits in a slot, and only the claim of a handoff is written."""
    subject = find_subject(order.account_id, order.user or "")
    if key is not None:
        remember(key, subject.pk if subject else None, order.response_id)
    order = _unwritten(order, subject, now)
    if not order.compacts:
        _claim(order, now)
    request_slots().put(order.response_id, order.to_json(), turn_lifetime())
    _start_on_commit(order, offer)
    return order


def _unwritten(order: TurnOrder, subject: Subject | None, now: datetime) -> TurnOrder:
    """The order with everything decided, of which nothing is written.

    A compaction takes nothing over: outputs in it answer the calls of a handoff for the summary alone.
    """
    order = _about(order, subject.pk if subject else None, now)
    previous = previous_for(order.subject_id, order.request, now)
    place = Place(previous, None, None)
    return order if order.compacts else replace(order, request=_effective(order.request, place))


def _about(order: TurnOrder, subject_id: int | None, now: datetime) -> TurnOrder:
    """The order with its Subject, and with the Subject's items that it refers to."""
    order = replace(order, subject_id=subject_id, request=with_referenced_items(order.request, subject_id, now))
    check_compactions(order)
    check_attachments(order.request)
    check_input_fits(order)
    return order


def _effective(request: ResponseRequest, place: Place) -> ResponseRequest:
    """The request with what it left to the conversation: a resume's inheritance, what a session continues, its name."""
    known = {
        "previous_response_id": place.previous.pk if place.previous else None,
        "session_id": place.session.name if place.session else None,
    }
    request = request.model_copy(update={name: value for name, value in known.items() if value is not None})
    if place.previous is not None and request.outputs:
        request = request.going_on_from(request_from_row(place.previous))
    check_tool_choice(request)
    return request


def _created_at(place: Place, now: datetime) -> datetime:
    """A session's order of turns is the order of their times, whatever the clock does."""
    return max(now, place.previous.created_at + timedelta(microseconds=1)) if place.previous else now


def _insert(order: TurnOrder, subject_id: int, place: Place, created_at: datetime, now: datetime) -> None:
    conversation = place.conversation or Conversation.objects.create(subject_id=subject_id)
    request = request_to_json(order.request)
    Response.objects.create(
        pk=order.response_id,
        account_id=order.account_id,
        api_key_id=order.api_key_id,
        subject_id=subject_id,
        conversation=conversation,
        previous=place.previous,
        status="queued" if order.request.background else "in_progress",
        side_channel=order.side_channel,
        input=json.dumps(request.pop("input")),
        request=json.dumps(request),
        added="[]",
        body=json.dumps(new_response(order.identity, order.request)),
        created_at=created_at,
        request_id=current_request_id() or "",
        lease_until=now + timedelta(seconds=turn_lifetime()),
        expires_at=None if place.session else expiry(created_at),
    )


def _claim(order: TurnOrder, now: datetime) -> None:
    """Takes the handoff that the order resumes. Of several resumes at once exactly one gets all its calls."""
    call_ids = [item.call_id for item in order.request.outputs]
    if order.request.previous_response_id is None or not call_ids:
        return
    free = PendingCall.objects.free(now).filter(response_id=order.request.previous_response_id, call_id__in=call_ids)
    claimed = free.update(claimed_by=order.response_id, claimed_until=now + timedelta(seconds=turn_lifetime()))
    if claimed != len(call_ids):
        raise already_resumed()


def _start_on_commit(order: TurnOrder, offer: McpOffer) -> None:
    # Open before anybody can see the response, and stop it.
    event_log().open(order.response_id, turn_lifetime(), announced_frames(order))
    transaction.on_commit(partial(_send, order, offer))


def _send(order: TurnOrder, offer: McpOffer) -> None:
    try:
        hold(order, offer)
        dispatch_turn(order.response_id, store=order.request.store)
    except ServerError:
        # The caller is told that it failed, and may ask again: it must not run later as well.
        _take_back(order)
        raise


def _take_back(order: TurnOrder) -> None:
    forget(order)
    forget_answers([order.response_id])
    if order.request.store:
        fail_turn_never_sent(order.response_id)
        return
    give_back_claims([order.response_id])
    # Where the broker's Redis is this one too, what waits there goes by itself.
    with suppress(ServerError):
        request_slots().take(order.response_id)
        event_log().discard(order.response_id)
