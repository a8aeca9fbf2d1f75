"""What a caller is given of a turn while it runs: from the event log and, when that is lost, from the stored row.

Asynchronous: a waiting caller costs a coroutine. Not here: HTTP, and what a log or a row holds.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.envelope import error_body
from mirobody_site.tenancy.errors import ApiError, InvalidRequestError, RateLimitError, ServerError, UpstreamError
from responses_app.engine.assembly import number
from responses_app.engine.steps import Failed
from responses_app.engine.turn import UnpreparedTurn
from responses_app.models import Response
from responses_app.models.response import RUNNING
from responses_app.protocol import events
from responses_app.protocol.response import ResponseObject, new_response
from responses_app.services.dispatch import dispatch_turn
from responses_app.services.lifetimes import UNTAKEN_SECONDS, twin_lifetime
from responses_app.services.lost_turns import fail_if_lost
from responses_app.services.mcp_offers import forget
from responses_app.services.retrieval import rebuilt_stream, shown_body
from responses_app.services.turn_order import TurnOrder
from responses_app.streaming.backends import event_log, request_slots, request_twins
from responses_app.streaming.event_log import IDLE_SECONDS, Answer, LogGone
from responses_app.streaming.sse import DONE, KEEP_ALIVE, encode_event, tells_the_end

log = logging.getLogger(__name__)

Frames = AsyncGenerator[bytes, None]
"""Whole SSE frames."""
Rest = Callable[[int], Frames]
"""What is sent after the frame with this number (-1: from the start) once the event log is lost."""

_LOOK_SECONDS = 1.0
"""How often a row is looked at for its end, by those whose event log was lost."""
_ABANDONED_SECONDS = 5
"""How long a turn that leaves no row waits for its caller's retry after the caller is gone."""
_FORGOTTEN_SECONDS = 60
"""How long its events stay then."""

_background: set["asyncio.Task[None]"] = set()
"""Only these references keep the tasks alive."""


async def accepted(accept: Coroutine[Any, Any, TurnOrder]) -> TurnOrder:
    """The turn that ``accept`` starts. A caller who leaves meanwhile leaves that turn as well."""
    accepting = asyncio.ensure_future(accept)
    try:
        return await asyncio.shield(accepting)
    except asyncio.CancelledError:
        _keep(_leave(accepting))
        raise


async def creators_answer(order: TurnOrder) -> Answer:
    """Waits for the end of the turn that this caller started. Raises ``ServerError`` when it is lost without a row."""
    async with _attended(order):
        try:
            return await event_log().answer(order.response_id)
        except (LogGone, ServerError):
            return await _stored_answer(order)


async def creators_stream(order: TurnOrder) -> Frames:
    """The stream of the turn that this caller started. Whatever happens, it ends with a terminal event."""
    rest = partial(stream_without_log, new_response(order.identity, order.request), order.side_channel)
    async with _attended(order) as attendance, aclosing(_followed_or_rest(order.response_id, rest)) as frames:
        async for chunk in frames:
            # A client may leave as soon as it has the last event.
            attendance.served |= tells_the_end(chunk)
            yield chunk


async def followed(response_id: str, starting_after: int | None, rest: Rest) -> Frames:
    """The log's frames, a comment line while there are none, and ``[DONE]``; ``rest`` when the log is lost.

    Raises ``LogGone`` when it is lost before anything of it was sent.
    """
    last, begun = -1 if starting_after is None else starting_after, False
    try:
        async with aclosing(event_log().read(response_id, starting_after, IDLE_SECONDS)) as pieces:
            async for piece in pieces:
                last, begun = piece.last, True
                yield piece.frames or KEEP_ALIVE
    except (LogGone, ServerError) as error:
        log.info("a reader goes on without the event log of %s: %s", response_id, type(error).__name__)
        if not begun:
            raise LogGone from None
        async with aclosing(rest(last)) as frames:
            async for chunk in frames:
                yield chunk
        return
    yield DONE


async def _followed_or_rest(response_id: str, rest: Rest) -> Frames:
    try:
        async with aclosing(followed(response_id, None, rest)) as frames:
            async for chunk in frames:
                yield chunk
    except LogGone:
        async with aclosing(rest(-1)) as frames:
            async for chunk in frames:
                yield chunk


async def stream_without_log(snapshot: ResponseObject, side_channel: bool, last: int) -> Frames:
    """A turn's stream after number ``last`` without its log: whole when nothing was sent of it, else its end.

    Waits for the end of a stored turn that still runs. One that has no row, or lost it, has failed: ``snapshot`` is the
    response as it began.
    """
    row: Response | None = await in_thread(_as_it_is_now, snapshot["id"])
    while row is not None and row.status in RUNNING:
        yield KEEP_ALIVE
        await asyncio.sleep(_LOOK_SECONDS)
        row = await in_thread(_as_it_is_now, snapshot["id"])
    body = _failed(snapshot, side_channel) if row is None else await in_thread(shown_body, row)
    yield rebuilt_stream(body, side_channel) if last < 0 else _ending(json.loads(body), last)


def _failed(snapshot: ResponseObject, side_channel: bool) -> str:
    turn = UnpreparedTurn(snapshot, side_channel, Failed(ServerError()))
    return json.dumps(turn.close(turn.ending).response, ensure_ascii=False)


def _ending(response: dict[str, Any], last: int) -> bytes:
    """The last events for a reader who misses some: a fault, and the response as it is stored."""
    fault = ServerError("The events of this response were lost; it is shown whole in the last one.")
    told = _fault_of(response) if response["error"] else fault
    kind = response["status"] if response["status"] in ("completed", "failed") else "incomplete"
    ending = number([events.error(told), events.lifecycle(kind, response)], last + 1)
    return b"".join(map(encode_event, ending)) + DONE


def _fault_of(response: dict[str, Any]) -> ApiError:
    error = response["error"]
    kinds = (UpstreamError, InvalidRequestError, RateLimitError)
    kind = next((kind for kind in kinds if kind.type == error["type"]), ServerError)
    fault = kind(error["message"])
    fault.code = error["code"]
    return fault


async def _stored_answer(order: TurnOrder) -> Answer:
    """The end of a stored turn from its row, once it has ended."""
    row = await in_thread(_as_it_is_now, order.response_id) if order.request.store else None
    while row is not None and row.status in RUNNING:
        await asyncio.sleep(_LOOK_SECONDS)
        row = await in_thread(_as_it_is_now, order.response_id)
    if row is None:
        raise ServerError
    body = await in_thread(shown_body, row)
    response = json.loads(body)
    if response["error"]:
        fault = _fault_of(response)
        return Answer(fault.status, error_body(fault))
    return Answer(HTTPStatus.OK, body.encode())


def _as_it_is_now(response_id: str) -> Response | None:
    row = Response.objects.filter(pk=response_id, deleted_at=None).first()
    return fail_if_lost(row) if row else None


@dataclass(slots=True)
class _Attendance:
    """Whether the caller was given the end of what it waits for."""

    served: bool = False


@asynccontextmanager
async def _attended(order: TurnOrder) -> AsyncGenerator[_Attendance, None]:
    """The caller waits for a turn. One whose caller is lost can be found by its retry. One that leaves no row lives as
    long as its callers, and is forgotten with the last."""
    attendance = _Attendance()
    if order.request.store:
        try:
            yield attendance
        except (asyncio.CancelledError, GeneratorExit):
            if not attendance.served:
                _keep(_lost(order))
            raise
        return
    sender = asyncio.ensure_future(_send_again(order)) if settings.CELERY_BROKER_URL else None
    try:
        yield attendance
    except (asyncio.CancelledError, GeneratorExit):
        _keep(_stop_and_forget(order))
        raise
    finally:
        if sender:
            sender.cancel()
    await _served(order)


async def _send_again(order: TurnOrder) -> None:
    while True:
        await asyncio.sleep(UNTAKEN_SECONDS)
        try:
            if not await request_slots().waits(order.response_id):
                return
            await in_thread(dispatch_turn, order.response_id, store=False)
        except ServerError:
            log.warning("turn of %s could not be sent again; it is tried once more", order.response_id)


async def _leave(accepting: "asyncio.Future[TurnOrder]") -> None:
    try:
        order = await accepting
    except ApiError:
        # Nothing was started.
        return
    await (_lost(order) if order.request.store else _stop_and_forget(order))


def _keep(work: Any) -> None:
    task = asyncio.ensure_future(work)
    _background.add(task)
    task.add_done_callback(_background.discard)


async def _lost(order: TurnOrder) -> bool:
    """The caller is gone, and may come again. Whether nobody else waits for the turn."""
    try:
        return await request_twins().leave(order.twin, order.response_id, twin_lifetime(), lost=True)
    except ServerError:
        log.warning("that the caller of %s is gone could not be noted", order.response_id)
        return True


async def _served(order: TurnOrder) -> None:
    """The caller of a turn that leaves no row has its answer. What is left of the turn goes with its last caller."""
    try:
        last = await request_twins().leave(order.twin, order.response_id, twin_lifetime(), lost=False)
    except ServerError:
        last = True
    if last and not order.remembered:
        await _forget(order.response_id)


async def _taken_up(order: TurnOrder) -> bool:
    """Whether a lost caller has come again."""
    try:
        return not await request_twins().give_up(order.twin, order.response_id)
    except ServerError:
        return False


async def _stop_and_forget(order: TurnOrder) -> None:
    """Ends a turn that leaves no row, unless a retry of its lost caller takes it up."""
    response_id = order.response_id
    if not await _lost(order):
        return
    await asyncio.sleep(_ABANDONED_SECONDS)
    if await _taken_up(order):
        return
    try:
        await event_log().arequest_stop(response_id)
        # One that nobody has begun never begins, and what was asked does not wait for a worker any longer.
        await in_thread(request_slots().take, response_id)
        await in_thread(forget, order)
    except ServerError:
        log.warning("turn of %s could not be stopped; it runs to its end", response_id)
    await asyncio.sleep(_FORGOTTEN_SECONDS - _ABANDONED_SECONDS)
    await _forget(response_id)


async def _forget(response_id: str) -> None:
    try:
        await event_log().adiscard(response_id)
    except ServerError:
        log.warning("event log of %s could not be discarded; it expires by itself", response_id)
