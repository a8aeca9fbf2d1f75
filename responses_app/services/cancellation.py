"""Cancels a running response: at once while nobody has begun its turn, else by asking whoever runs it to stop."""

import json
from contextlib import suppress
from functools import partial

from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.idempotency import AlreadyRemembered, IdempotencyKey, find_remembered, remember
from responses_app.models import Response
from responses_app.models.response import RUNNING
from responses_app.services.locking import lock_conversation_of
from responses_app.services.lost_turns import give_back_claims
from responses_app.services.retrieval import retrieve
from responses_app.services.sessions import unlock
from responses_app.services.turn_order import order_from_row
from responses_app.services.turns import UnbegunTurn, cancelled_turn, tell, untaken
from responses_app.streaming.backends import event_log


def cancel(account_id: int, response_id: str, user: str | None) -> Response:
    """The account's response, cancelled, or still in progress: then its turn was asked to stop, and will.

    Raises ``NotFoundError`` as ``retrieve``, and ``InvalidRequestError`` for one that ended otherwise.
    """
    row = cancelled_or_running(account_id, response_id, user)
    if row.status == "cancelled":
        return row
    if not _cancel_untaken(row):
        event_log().request_stop(row.pk)
    return cancelled_or_running(account_id, response_id, user)


def cancel_once(account_id: int, response_id: str, user: str | None, key: IdempotencyKey | None) -> Response:
    """The same under an ``Idempotency-Key``, which says nothing new: one that is cancelled answers with itself.

    Raises ``ConflictError`` when the key was used for another request.
    """
    known = find_remembered(key) if key is not None else None
    row = cancel(account_id, response_id, user)
    if key is not None and known is None:
        with suppress(AlreadyRemembered), transaction.atomic():
            remember(key, row.subject_id, row.pk)
    return row


def cancelled_or_running(account_id: int, response_id: str, user: str | None) -> Response:
    """The response as it is now. Raises as ``cancel``."""
    row = retrieve(account_id, response_id, user)
    if row.status not in (*RUNNING, "cancelled"):
        raise InvalidRequestError(
            f"The response has status '{row.status}' and cannot be cancelled.", code="response_not_cancellable"
        )
    return row


def cancel_unreachable(account_id: int, response_id: str, user: str | None) -> Response:
    """The same for a turn that cannot be asked, its event log being gone: what it still says is not kept."""
    row = cancelled_or_running(account_id, response_id, user)
    if row.status in RUNNING:
        _end(row, cancelled_turn(order_from_row(row)), only_untaken=False)
    return cancelled_or_running(account_id, response_id, user)


@transaction.atomic
def _cancel_untaken(row: Response) -> bool:
    turn = cancelled_turn(order_from_row(row))
    if not _end(row, turn, only_untaken=True):
        return False
    transaction.on_commit(partial(tell, turn))
    return True


@transaction.atomic
def _end(row: Response, turn: UnbegunTurn, only_untaken: bool) -> bool:
    """Whether the response was running until now and ends here. What it held is given back."""
    lock_conversation_of(row.pk)
    running = Response.objects.running().filter(pk=row.pk, deleted_at=None)
    chosen = untaken(running) if only_untaken else running
    body = json.dumps(turn.closing.response, ensure_ascii=False)
    if not chosen.update(status="cancelled", body=body, ended_at=timezone.now()):
        return False
    unlock([row.pk])
    give_back_claims([row.pk])
    return True
