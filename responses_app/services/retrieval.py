"""Finds a stored response for its caller, and rebuilds its stream when the event log is gone."""

import json
from typing import Any

from django.utils import timezone

from mirobody_site.tenancy.errors import InvalidRequestError, NotFoundError
from responses_app.engine.replay import replayed_events
from responses_app.models import Response
from responses_app.protocol.input_listing import listed_input
from responses_app.selectors import find_response
from responses_app.services.leave_behind import body_without_gone, has_lost_results
from responses_app.services.lost_turns import fail_if_lost
from responses_app.services.queueing import queued_body
from responses_app.streaming.sse import DONE, encode_event

_PAGE = 20
_LARGEST_PAGE = 100


def retrieve(account_id: int, response_id: str, user: str | None) -> Response:
    """The account's response as it is now. Raises ``NotFoundError`` for all it may not or cannot see."""
    found = find_response(account_id, response_id, user)
    row = fail_if_lost(found) if found else None
    if row is None:
        raise NotFoundError(f"Response with id '{response_id}' not found.")
    return row


def shown_body(row: Response) -> str:
    """The response object as JSON text, without tool results whose records are gone."""
    return queued_body(row) if row.status == "queued" else body_without_gone(row, timezone.now())


def may_follow(row: Response) -> bool:
    """Whether the events of its turn may be shown as they were: none once a tool result of it is gone."""
    return not has_lost_results(row.pk, timezone.now())


def input_page(row: Response, limit: int | None, order: str, after: str | None) -> dict[str, Any]:
    """A page of the turn's own input items, as the API lists them. Raises ``InvalidRequestError``."""
    size = _PAGE if limit is None else limit
    if not 1 <= size <= _LARGEST_PAGE:
        raise InvalidRequestError(f"'limit' must be from 1 to {_LARGEST_PAGE}.", param="limit")
    if order not in ("asc", "desc"):
        raise InvalidRequestError("'order' must be 'asc' or 'desc'.", param="order")
    items = listed_input(row.pk, json.loads(row.input))
    if order == "desc":
        items.reverse()
    start = _position_after(items, after)
    page = items[start : start + size]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": start + size < len(items),
    }


def _position_after(items: list[dict[str, Any]], after: str | None) -> int:
    if after is None:
        return 0
    for index, item in enumerate(items):
        if item["id"] == after:
            return index + 1
    raise InvalidRequestError("'after' names no input item of this response.", param="after")


def rebuilt_stream(body: str, side_channel: bool) -> bytes:
    """The whole stream of a finished response, from its object as JSON text."""
    events = replayed_events(json.loads(body), side_channel)
    return b"".join(encode_event(event) for event in events) + DONE
