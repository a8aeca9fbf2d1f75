"""The doors of /v1/responses: authenticate, read the request, call one service, render its answer."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from functools import partial

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from rest_framework.request import Request

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.http import AsyncApiView, named_user, read_json_object
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.api import described
from responses_app.api.answers import event_stream, joined, rendered
from responses_app.api.reading import TOOL_NAMES, account_of, action_key, asked, body_of_action, is_strict
from responses_app.models import Response
from responses_app.models.response import RUNNING
from responses_app.protocol.request import parse_request
from responses_app.services.cancellation import cancel_once, cancel_unreachable, cancelled_or_running
from responses_app.services.deletion import delete_responses
from responses_app.services.following import (
    accepted,
    creators_answer,
    creators_stream,
    followed,
    stream_without_log,
)
from responses_app.services.mcp_offers import needs_offer
from responses_app.services.queueing import queued_answer
from responses_app.services.retries import Entered, begin, begin_with_servers, entered_or_known
from responses_app.services.retrieval import input_page, may_follow, rebuilt_stream, retrieve, shown_body
from responses_app.services.turn_order import TurnOrder
from responses_app.streaming.backends import event_log
from responses_app.streaming.event_log import LogGone

_STOP_SECONDS = 20.0
"""How long a caller who cancels waits for the turn's end: many times what a live turn takes to notice."""


class ResponsesView(AsyncApiView):
    """``/v1/responses``."""

    @described.create_response
    async def post(self, request: Request) -> HttpResponseBase:
        """Creates a response: its stream, its last word as JSON, or at once that it is queued."""
        order = await accepted(_accepted(request))
        if order.request.stream:
            chunks = creators_stream(order)
            # Its caller may leave before the answer begins, and is followed from here on.
            return event_stream(joined(await anext(chunks), chunks))
        if order.request.background:
            return _json(queued_answer(order))
        return rendered(await creators_answer(order))


class ResponseView(AsyncApiView):
    """``/v1/responses/{response_id}``."""

    @described.retrieve_response
    async def get(self, request: Request, response_id: str) -> HttpResponseBase:
        """The stored response, or with ``?stream=true`` its events, from the start or after ``starting_after``."""
        wants_stream = _flag(request, "stream")
        starting_after = _whole_number(request, "starting_after")
        find = partial(retrieve, account_of(request), response_id, named_user(request))
        row = await in_thread(find)
        if not wants_stream:
            return _json(await in_thread(shown_body, row))
        return event_stream(await _stored_stream(row, find, starting_after))

    @described.delete_response
    async def delete(self, request: Request, response_id: str) -> HttpResponseBase:
        """Deletes the stored response."""
        await in_thread(_retrieve_and_delete, account_of(request), response_id, named_user(request))
        return JsonResponse({"id": response_id, "object": "response.deleted", "deleted": True})


class CancelView(AsyncApiView):
    """``/v1/responses/{response_id}/cancel``."""

    @described.cancel_response
    async def post(self, request: Request, response_id: str) -> HttpResponseBase:
        """Cancels the response if it still runs, and answers with it once it has ended."""
        named = (account_of(request), response_id, _user_of_action(request))
        row = await in_thread(cancel_once, *named, action_key(request, named[2]))
        if row.status in RUNNING:
            row = await _stopped(*named)
        return _json(await in_thread(shown_body, row))


class InputItemsView(AsyncApiView):
    """``/v1/responses/{response_id}/input_items``."""

    @described.list_input_items
    async def get(self, request: Request, response_id: str) -> HttpResponseBase:
        """A page of the input items of the response's turn, newest first unless ``order=asc``."""
        limit = _whole_number(request, "limit")
        order = request.GET.get("order", "desc")
        row = await in_thread(retrieve, account_of(request), response_id, named_user(request))
        return JsonResponse(input_page(row, limit, order, request.GET.get("after")))


async def _accepted(request: Request) -> TurnOrder:
    """The started turn of a request."""
    order = await in_thread(_accepted_or_entered, request)
    return order if isinstance(order, TurnOrder) else await begin_with_servers(order)


def _accepted_or_entered(request: Request) -> TurnOrder | Entered:
    """Takes a while for a large body, so it must not run on the event loop; nor may it wait for other servers, since
    the threads are few."""
    body = read_json_object(request)
    user = named_user(request, body.get("user"))
    parsed = parse_request(body, TOOL_NAMES, strict=is_strict(request))
    order = entered_or_known(asked(request, user, body, parsed))
    return order if isinstance(order, TurnOrder) or needs_offer(parsed) else begin(order)


def _user_of_action(request: Request) -> str | None:
    """The Subject that a call without parameters of its own names; SDKs send it no body at all."""
    return named_user(request, body_of_action(request).get("user"))


async def _stopped(account_id: int, response_id: str, user: str | None) -> Response:
    """The response once its turn, which was asked to stop, has ended; as it is when that takes too long."""
    try:
        await asyncio.wait_for(event_log().answer(response_id), _STOP_SECONDS)
    except TimeoutError:
        pass
    except LogGone:
        return await in_thread(cancel_unreachable, account_id, response_id, user)
    return await in_thread(cancelled_or_running, account_id, response_id, user)


def _retrieve_and_delete(account_id: int, response_id: str, user: str | None) -> None:
    if not delete_responses([retrieve(account_id, response_id, user)]):
        # Another one deleted it in between.
        retrieve(account_id, response_id, user)
    forget_free_pages()


async def _stored_stream(
    row: Response, find: Callable[[], Response], starting_after: int | None
) -> AsyncGenerator[bytes, None]:
    """The events from the log while it is there and may be shown, else rebuilt from the stored object."""
    if not await in_thread(may_follow, row):
        return await _rebuilt(row, starting_after)
    rest = partial(stream_without_log, json.loads(row.body), row.side_channel)
    chunks = followed(row.pk, starting_after, rest)
    try:
        first = await anext(chunks)
    except LogGone:
        # It may have ended, or been deleted, since it was read.
        row = await in_thread(find)
        if row.status not in RUNNING:
            return await _rebuilt(row, starting_after)
        return rest(-1 if starting_after is None else starting_after)
    return joined(first, chunks)


async def _rebuilt(row: Response, starting_after: int | None) -> AsyncGenerator[bytes, None]:
    if starting_after is not None:
        raise InvalidRequestError(
            "The events of this response are not kept any more; read the stream without 'starting_after'.",
            param="starting_after",
        )
    return _one_chunk(rebuilt_stream(await in_thread(shown_body, row), row.side_channel))


async def _one_chunk(chunk: bytes) -> AsyncGenerator[bytes, None]:
    yield chunk


def _json(body: str) -> HttpResponse:
    return HttpResponse(body, content_type="application/json")


def _flag(request: Request, name: str) -> bool:
    value = request.GET.get(name, "false").lower()
    if value not in ("true", "false", "1", "0", ""):
        raise InvalidRequestError(f"Invalid value for '{name}': expected true or false.", param=name)
    return value in ("true", "1")


def _whole_number(request: Request, name: str) -> int | None:
    value = request.GET.get(name)
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise InvalidRequestError(f"Invalid value for '{name}': expected a whole number.", param=name)
    return int(value)
