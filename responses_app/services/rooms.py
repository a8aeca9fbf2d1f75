"""How much a request's model reads: from the catalogue. What is done with it is told in engine/room.py."""

from django.conf import settings

from responses_app.engine.room import Room
from responses_app.engine.transcript import entries_from_input, entry_text
from responses_app.protocol.catalogue import Tier
from responses_app.protocol.request import ResponseRequest
from responses_app.services.sealed_items import openers
from responses_app.services.turn_order import TurnOrder

_ANSWERS_SHARE = 8
"""The answer is left this part of the context window, or less where the tier gives less."""


def room_of(request: ResponseRequest) -> Room:
    """What the request's tier reads."""
    tier: Tier = settings.MODEL_CATALOGUE[request.model]
    answers = min(tier.max_output_tokens, tier.context_window // _ANSWERS_SHARE)
    return Room(tier.context_window - answers, truncates=request.truncation == "auto")


def check_input_fits(order: TurnOrder) -> None:
    """Refuses an input that is too long by itself, before anything is kept of it. Raises ``InvalidRequestError``."""
    request = order.request
    said = map(entry_text, entries_from_input(request.items, openers(order)))
    room_of(request).check([*said, request.instructions or ""])
