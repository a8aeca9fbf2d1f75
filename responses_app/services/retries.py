"""A retry is given the turn it repeats: by its Idempotency-Key, or as the twin of a request whose caller was lost.

Nothing of a request is kept for it but keyed hashes and ids. Source: the wire contract, section 1.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto

from django.utils import timezone

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.idempotency import (
    AlreadyRemembered,
    IdempotencyKey,
    find_remembered,
    forget_answers,
    idempotency_conflict,
)
from responses_app.mcp.servers import NOTHING_OFFERED, McpOffer
from responses_app.models import Response
from responses_app.models.response import RUNNING
from responses_app.protocol.ids import new_response_id
from responses_app.services.asking import Asked
from responses_app.services.intake import accept
from responses_app.services.lifetimes import KEPT_EVENTS_SECONDS, twin_lifetime
from responses_app.services.lost_turns import fail_if_lost
from responses_app.services.mcp_offers import offered
from responses_app.services.turn_order import TurnOrder, order_from_row
from responses_app.streaming.backends import event_log, request_twins
from responses_app.streaming.event_log import Answer, LogGone

_ENTERING_SECONDS = 10.0
"""How long a retry waits for the request it repeats to be accepted or refused."""
_LOOK_SECONDS = 0.05


class _State(Enum):
    """What a retry finds of the turn it repeats."""

    GIVES_AN_ANSWER = auto()
    ENDED = auto()
    ABSENT = auto()


@dataclass(frozen=True, slots=True)
class Entered:
    """A request that repeats none. Its retries find it from now on, and wait until it is begun or withdrawn."""

    asked: Asked
    response_id: str


def accept_once(asked: Asked) -> TurnOrder:
    """The turn of the request: started, or the one that runs or ran for it already. Raises an ``ApiError``."""
    order = entered_or_known(asked)
    return order if isinstance(order, TurnOrder) else begin(order)


def entered_or_known(asked: Asked) -> TurnOrder | Entered:
    """The order of the turn that the request repeats, or what is to be begun. Raises an ``ApiError``."""
    entered = Entered(asked, new_response_id())
    key = asked.idempotency_key
    return (_known_by_key(asked, key) if key else _known_by_twin(asked, entered.response_id)) or entered


def begin(entered: Entered, offer: McpOffer = NOTHING_OFFERED) -> TurnOrder:
    """Starts its turn. ``offer``: what its MCP servers offer. Raises an ``ApiError``."""
    key = entered.asked.idempotency_key
    while True:
        try:
            return accept(entered.asked, entered.response_id, offer)
        except AlreadyRemembered:
            known = _known_by_key(entered.asked, key) if key else None
            if known is not None:
                return known
        except BaseException:
            withdraw(entered)
            raise


async def begin_with_servers(entered: Entered) -> TurnOrder:
    """Asks its MCP servers what they offer, and starts its turn. Raises an ``ApiError``."""
    try:
        offer = await offered(entered.asked.request)
    except BaseException:
        await in_thread(withdraw, entered)
        raise
    return await in_thread(begin, entered, offer)


def withdraw(entered: Entered) -> None:
    """The request was refused: a retry of it is an ordinary request."""
    with suppress(ServerError):
        request_twins().withdraw(entered.asked.twin, entered.response_id)


def _known_by_twin(asked: Asked, response_id: str) -> TurnOrder | None:
    """The order of the turn that the request repeats. ``None``: it repeats none, and may be repeated itself now."""
    passed_over: list[str] = []
    give_up_at = time.monotonic() + _ENTERING_SECONDS
    while True:
        found = request_twins().enter(
            asked.twin, response_id, twin_lifetime(), again=asked.again, passed_over=passed_over
        )
        if found is None:
            return None
        state, order = _look(asked, found)
        if state is _State.GIVES_AN_ANSWER:
            request_twins().attend(asked.twin, found, twin_lifetime())
            return replace(order, twin=asked.twin)
        if state is _State.ENDED or time.monotonic() > give_up_at:
            passed_over.append(found)
        else:
            time.sleep(_LOOK_SECONDS)


def _known_by_key(asked: Asked, key: IdempotencyKey) -> TurnOrder | None:
    """The order of the turn that was started under the key. ``None``: there is none, or its answer is gone."""
    row = find_remembered(key)
    order = _remembered(asked, row.answer) if row is not None else None
    if order is not None:
        request_twins().attend(asked.twin, order.response_id, twin_lifetime())
        return replace(order, twin=asked.twin, remembered=True)
    if row is not None:
        forget_answers([row.answer])
    return None


def _remembered(asked: Asked, response_id: str) -> TurnOrder | None:
    """The order of the key's turn; ``None`` when its response is gone. Raises ``ConflictError`` when it was not stored
    and is not kept any more."""
    if asked.request.store:
        row = Response.objects.live(timezone.now()).filter(pk=response_id).first()
        return order_from_row(row) if row else None
    try:
        event_log().outcome(response_id)
    except LogGone:
        raise idempotency_conflict("The answer to this request was not stored, and is not kept any more.") from None
    return _order_like(asked, response_id)


def _look(asked: Asked, response_id: str) -> tuple[_State, TurnOrder]:
    if asked.request.store:
        return _look_at_row(asked, response_id)
    order = _order_like(asked, response_id)
    try:
        outcome = event_log().outcome(response_id)
    except LogGone:
        return _State.ABSENT, order
    gives = outcome is None or _is_an_answer(outcome)
    return _State.GIVES_AN_ANSWER if gives else _State.ENDED, order


def _look_at_row(asked: Asked, response_id: str) -> tuple[_State, TurnOrder]:
    row = Response.objects.select_related("subject").filter(pk=response_id).first()
    if row is None:
        return _State.ABSENT, _order_like(asked, response_id)
    order = order_from_row(row)
    now = fail_if_lost(row) if row.deleted_at is None else None
    gives = now is not None and (now.status in RUNNING or _ended_well_just_now(now))
    return _State.GIVES_AN_ANSWER if gives else _State.ENDED, order


def _ended_well_just_now(row: Response) -> bool:
    if row.status not in ("completed", "incomplete"):
        return False
    ended_at: int = json.loads(row.body)["completed_at"] or 0
    return time.time() - ended_at <= KEPT_EVENTS_SECONDS


def _is_an_answer(outcome: Answer) -> bool:
    return outcome.status == 200 and json.loads(outcome.body)["status"] in ("completed", "incomplete")  # noqa: PLR2004


def _order_like(asked: Asked, response_id: str) -> TurnOrder:
    """The order of a turn without a row, as far as who waits for it needs it."""
    return TurnOrder(
        response_id=response_id,
        account_id=asked.key.account_id,
        api_key_id=asked.key.pk,
        subject_id=None,
        user=asked.user or None,
        created_at=int(time.time()),
        side_channel=asked.side_channel,
        request=asked.request,
        compacts=asked.compacts,
    )
