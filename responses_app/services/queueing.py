"""Background responses until their turn begins: how they are shown, what their stream says. Begins no turn."""

import json

from responses_app.engine.assembly import announcement
from responses_app.models import Response
from responses_app.protocol.response import new_response, queued
from responses_app.services.turn_order import TurnOrder
from responses_app.streaming.sse import encode_event


def queued_answer(order: TurnOrder) -> str:
    """The creating caller's answer, as JSON text."""
    return json.dumps(queued(new_response(order.identity, order.request)), ensure_ascii=False)


def announced_frames(order: TurnOrder) -> list[bytes]:
    """The first frames of a response's stream, which do not wait for its turn."""
    return [encode_event(event) for event in announcement(new_response(order.identity, order.request))]


def queued_body(row: Response) -> str:
    """The response object of a background response whose turn has not begun, as JSON text."""
    return json.dumps(queued(json.loads(row.body)), ensure_ascii=False)
