"""Finds a stored response for its caller, and rebuilds its stream when the event log is gone."""

import json

from mirobody_site.tenancy.errors import NotFoundError
from responses_app.engine.replay import replayed_events
from responses_app.models import Response
from responses_app.selectors import find_response
from responses_app.services.lost_turns import fail_if_lost
from responses_app.streaming.sse import DONE, encode_event


def retrieve(account_id: int, response_id: str, user: str | None) -> Response:
    """The account's response as it is now. Raises ``NotFoundError`` for all it may not or cannot see."""
    row = find_response(account_id, response_id, user)
    if row is None:
        raise NotFoundError(f"Response with id '{response_id}' not found.")
    return fail_if_lost(row)


def rebuilt_stream(row: Response) -> bytes:
    """The whole stream of a finished response, from its stored object."""
    events = replayed_events(json.loads(row.body), row.side_channel)
    return b"".join(encode_event(event) for event in events) + DONE
