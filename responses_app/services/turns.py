"""Runs one accepted turn: takes its order, lets the engine work, publishes events, stores the end, then tells it."""

import json
import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections, transaction
from django.utils import timezone

from mirobody_site.tenancy.connections import released
from mirobody_site.tenancy.envelope import error_body
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.faults import describe_fault
from mirobody_site.tenancy.metrics import count_turn
from responses_app.engine.assembly import Closing
from responses_app.engine.conversation import entry_to_json
from responses_app.engine.steps import AwaitClient, Cancelled, CutShort, Ending, Failed, Finished
from responses_app.engine.turn import UnpreparedTurn
from responses_app.harness.file_space import FileSpace
from responses_app.models import PendingCall, Response, Session
from responses_app.models.response import ResponseQuerySet
from responses_app.protocol.events import Event
from responses_app.protocol.response import new_response
from responses_app.services.draining import given_up
from responses_app.services.leases import lease_end, leased, log_lifetime
from responses_app.services.leave_behind import remember
from responses_app.services.lifetimes import KEPT_EVENTS_SECONDS
from responses_app.services.locking import lock_conversation_of
from responses_app.services.mcp_offers import forget
from responses_app.services.metering import meter, meter_apart
from responses_app.services.preparing import AnyTurn, prepared
from responses_app.services.sessions import unlock
from responses_app.services.turn_order import TurnOrder, order_from_json, order_from_row
from responses_app.services.turn_tools import files_before, keep_files
from responses_app.streaming.backends import event_log, request_slots
from responses_app.streaming.event_log import Answer, LogGone
from responses_app.streaming.sse import encode_event

log = logging.getLogger(__name__)

_KEEP_CANCELLED_SECONDS = 5
"""``KEPT_EVENTS_SECONDS`` for a turn that was cancelled, as a deleted one is: long enough for whoever reads now."""
_STORE_SECONDS = 30.0
"""How long a turn's end waits for a database that is away."""
_STORE_AGAIN_SECONDS = 0.5


def run_turn(response_id: str, *, store: bool) -> None:
    """Runs the turn of an accepted response to its end. A turn that is taken already, or gone, is left alone.

    ``store``: it has a row; else its order waits in a slot.
    """
    order = released(partial(_take, response_id, store))
    if order is None:
        return
    with leased(response_id, store=store):
        _run(order)


def _run(order: TurnOrder) -> None:
    started = time.monotonic()
    publisher = _Publisher(order)
    files = FileSpace(partial(released, partial(files_before, order.request)))
    with ExitStack() as held:
        turn = prepared(order, files, publisher.stop_requested, held)
        for batch in turn.events():
            publisher.publish(batch)
    if isinstance(turn.ending, Cancelled) and publisher.broken_off:
        turn.ending = Failed(ServerError("The server was stopped while it ran this response."))
    closing = released(partial(_stored_closing, order, turn, files))
    _measure(closing, turn.ending, time.monotonic() - started)
    publisher.finish(closing, _answer(closing, turn.ending))


def _measure(closing: Closing, ending: Ending, seconds: float) -> None:
    outcome = "handoff" if isinstance(ending, AwaitClient) else closing.response["status"]
    milliseconds = round(seconds * 1000)
    log.info("turn %s after %d ms", outcome, milliseconds, extra={"duration_ms": milliseconds})
    usage = closing.response["usage"]
    billed = usage["billed_tokens"] if usage else {"input": 0, "output": 0}
    count_turn(outcome, seconds, billed["input"], billed["output"])


def _take(response_id: str, store: bool) -> TurnOrder | None:
    """The order, to this caller alone: a task delivered twice runs once."""
    order = _taken_row(response_id) if store else _taken_from_slot(response_id)
    if order is not None:
        _lease_what_it_holds(order)
    return order


def _taken_from_slot(response_id: str) -> TurnOrder | None:
    held = request_slots().take(response_id)
    return order_from_json(held) if held is not None else None


def _taken_row(response_id: str) -> TurnOrder | None:
    waiting = untaken(Response.objects.filter(pk=response_id, deleted_at=None))
    # Read first: it may be deleted as soon as it is taken.
    row = waiting.select_related("subject").first()
    now = timezone.now()
    begun = {"status": "in_progress", "started_at": now, "lease_until": lease_end(now)}
    return order_from_row(row) if row and waiting.update(**begun) else None


def _lease_what_it_holds(order: TurnOrder) -> None:
    """What was kept for a turn that might wait long for a worker is kept from here on as long as its worker lives."""
    until = lease_end(timezone.now())
    try:
        if order.request.outputs:
            claimed = PendingCall.objects.filter(claimed_by=order.response_id, claimed_until__isnull=False)
            claimed.update(claimed_until=until)
        if order.request.session_id is not None:
            Session.objects.filter(locked_by=order.response_id).update(locked_until=until)
        event_log().extend([order.response_id], log_lifetime(store=order.request.store))
    except (DatabaseError, ServerError) as error:
        # What could not be shortened ends later than it should should the worker die.
        log.warning("what turn %s holds could not be leased: %s", order.response_id, type(error).__name__)


def untaken(responses: ResponseQuerySet) -> ResponseQuerySet:
    """Those whose turn nobody has begun yet."""
    return responses.running().filter(started_at=None)


def cancel_untaken(responses: ResponseQuerySet) -> None:
    """For responses that are being deleted: those whose turn nobody has begun yet never begin.

    Whoever waits for one is told that it was cancelled, once the transaction is over.
    """
    for row in untaken(responses).select_related("subject"):
        if untaken(Response.objects.filter(pk=row.pk)).update(started_at=timezone.now()):
            transaction.on_commit(partial(tell, cancelled_turn(order_from_row(row))))


@dataclass(frozen=True, slots=True)
class UnbegunTurn:
    """All that is said of a turn that never begins."""

    order: TurnOrder
    opening: list[Event]
    closing: Closing


def cancelled_turn(order: TurnOrder) -> UnbegunTurn:
    """The turn of a response that is cancelled before anybody begins it."""
    turn = UnpreparedTurn(new_response(order.identity, order.request), order.side_channel, Cancelled())
    opening = [event for batch in turn.events() for event in batch]
    return UnbegunTurn(order, opening, turn.close(turn.ending))


def tell(turn: UnbegunTurn) -> None:
    """Whoever waits for the turn is told that it was cancelled."""
    forget(turn.order)
    publisher = _Publisher(turn.order)
    if turn.opening:
        publisher.publish(turn.opening)
    publisher.finish(turn.closing, _answer(turn.closing, Cancelled()))


class _Publisher:
    """The turn's side of the event log. Without a log, a turn that leaves no row ends: nobody can read it any more."""

    def __init__(self, order: TurnOrder) -> None:
        self._order = order
        self._log = event_log()
        self._log.begin(order.response_id)
        self._gone = False
        self.broken_off = False

    def stop_requested(self) -> bool:
        if given_up():
            self.broken_off = True
            return True
        if self._gone:
            return not self._order.request.store
        return self._log.stop_requested(self._order.response_id)

    def publish(self, happened: Sequence[Event]) -> None:
        if self._gone:
            return
        try:
            self._log.append(self._order.response_id, happened[0]["sequence_number"], _frames(happened))
        except (LogGone, ServerError) as error:
            self._lost(error)

    def finish(self, closing: Closing, answer: Answer) -> None:
        if self._gone:
            return
        first = closing.events[0]["sequence_number"]
        keep = _KEEP_CANCELLED_SECONDS if closing.response["status"] == "cancelled" else KEPT_EVENTS_SECONDS
        try:
            self._log.finish(self._order.response_id, first, _frames(closing.events), answer, keep)
        except (LogGone, ServerError) as error:
            self._lost(error)

    def _lost(self, error: Exception) -> None:
        self._gone = True
        log.warning("event log of %s is gone: %s", self._order.response_id, type(error).__name__)


def _frames(happened: Sequence[Event]) -> list[bytes]:
    return [encode_event(event) for event in happened]


def _stored_closing(order: TurnOrder, turn: AnyTurn, files: FileSpace) -> Closing:
    """The turn's last words once kept. What cannot be stored has failed; what was deleted meanwhile is cancelled."""
    closing = turn.close(turn.ending)
    try:
        if _stored_in_time(order, turn, closing, files):
            if not order.request.store:
                meter_apart(order, closing.response, turn.model_calls)
            return closing
        turn.ending = Cancelled()
        meter_apart(order, closing.response, turn.model_calls)
    except DatabaseError:
        log.exception("response %s could not be stored", order.response_id)
        turn.ending = Failed(ServerError())
        closing = turn.close(turn.ending)
        _store_failure(order, turn, closing, files)
        return closing
    return turn.close(turn.ending)


def _stored_in_time(order: TurnOrder, turn: AnyTurn, closing: Closing, files: FileSpace) -> bool:
    """``_store``, through an outage of the database that is short. Raises ``DatabaseError`` after a longer one."""
    give_up_at = time.monotonic() + _STORE_SECONDS
    while True:
        try:
            return _store(order, turn, closing, files)
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() > give_up_at or given_up():
                raise
            log.warning(
                "end of %s could not be stored, it is tried again: %s", order.response_id, describe_fault(error)
            )
        close_old_connections()
        time.sleep(_STORE_AGAIN_SECONDS)


def _store_failure(order: TurnOrder, turn: AnyTurn, closing: Closing, files: FileSpace) -> None:
    try:
        _store(order, turn, closing, files)
    except DatabaseError:
        # The row stays in progress until it counts as lost; the caller is told of the failure now.
        log.exception("failure of %s could not be stored either", order.response_id)


@transaction.atomic
def _store(order: TurnOrder, turn: AnyTurn, closing: Closing, files: FileSpace) -> bool:
    """Whether the end is kept, now or by an earlier call whose connection broke before it knew: a response that was
    deleted or given up meanwhile stays as it is."""
    lock_conversation_of(order.response_id if order.request.store else order.request.previous_response_id or "")
    ended_well = isinstance(turn.ending, Finished | AwaitClient | CutShort)
    if order.request.store:
        live = Response.objects.filter(pk=order.response_id, deleted_at=None)
        end = {
            "status": closing.response["status"],
            "body": json.dumps(closing.response, ensure_ascii=False),
            "added": json.dumps([entry_to_json(entry) for entry in turn.added], ensure_ascii=False),
        }
        if not live.running().update(**end, ended_at=timezone.now()):
            return live.filter(**end).exists()
        _await_client(order.response_id, turn.ending)
        remember(order.response_id, turn.records_used)
        if ended_well:
            keep_files(order.response_id, files)
    if order.request.session_id is not None:
        unlock([order.response_id])
    if order.request.outputs:
        _settle_claim(order.response_id, ended_well)
    if order.request.store:
        # Last, since other turns of this day wait for the row.
        meter(order, closing.response, turn.model_calls)
    return True


def _await_client(response_id: str, ending: Ending) -> None:
    if isinstance(ending, AwaitClient):
        PendingCall.objects.bulk_create(
            PendingCall(response_id=response_id, call_id=call.call_id) for call in ending.calls
        )


def _settle_claim(response_id: str, ended_well: bool) -> None:
    """The handoff this turn resumed is answered for good, or given back."""
    claimed = PendingCall.objects.filter(claimed_by=response_id)
    if ended_well:
        claimed.update(claimed_until=None)
    else:
        claimed.update(claimed_by="", claimed_until=None)


def _answer(closing: Closing, ending: Ending) -> Answer:
    """The JSON caller's answer: the response, or the HTTP error of a failed turn."""
    if isinstance(ending, Failed):
        error = ending.error
        return Answer(error.status, error_body(error), error.headers.get("Retry-After", ""))
    return Answer(200, json.dumps(closing.response, ensure_ascii=False).encode())
