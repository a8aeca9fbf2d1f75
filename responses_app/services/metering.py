"""Counts what a turn used, at the catalogue's prices, once, when whoever ran it ends it."""

import logging
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from mirobody_site.tenancy.faults import describe_fault
from mirobody_site.tenancy.usage import Used, add_usage
from responses_app.protocol.response import ResponseObject
from responses_app.services.turn_order import TurnOrder

log = logging.getLogger(__name__)


def meter(order: TurnOrder, response: ResponseObject, model_calls: int) -> None:
    """Adds the turn's usage to its day. ``response``: the final object. Raises ``DatabaseError``."""
    usage: dict[str, Any] = response["usage"]
    billed, cached = usage["billed_tokens"], usage["input_tokens_details"]["cached_tokens"]
    pricing = settings.MODEL_CATALOGUE[order.request.model].pricing
    used = Used(
        model_calls=model_calls,
        input_tokens=billed["input"],
        cached_tokens=cached,
        output_tokens=billed["output"],
        reasoning_tokens=usage["output_tokens_details"]["reasoning_tokens"],
        cost_micro_usd=pricing.cost(billed["input"], cached, billed["output"]),
    )
    add_usage(order.account_id, order.api_key_id, order.subject_id, used)


def meter_apart(order: TurnOrder, response: ResponseObject, model_calls: int) -> None:
    """The same for a turn whose end is no row: tried once, since a second try might count it twice."""
    try:
        meter(order, response, model_calls)
    except DatabaseError as error:
        log.warning("usage of %s could not be counted: %s", order.response_id, describe_fault(error))
