"""The tiers as ``/v1/models`` lists them, in OpenAI's shape. Their figures are in catalogue.py.

Source: the wire contract, section 10.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field

from responses_app.protocol.catalogue import Pricing, Tier

_LISTED_SINCE = 1_767_225_600
"""OpenAI's shape wants a time, in Unix seconds; the tiers have none that would tell anything."""


class ListedPricing(Pricing):
    """What a tier's tokens cost."""

    currency: Literal["USD"] = "USD"
    per_tokens: Literal[1_000_000] = Field(default=1_000_000, description="The prices are for this many tokens.")


class ListedModel(BaseModel):
    """A model that ``model`` may name. ``context_window`` and ``max_output_tokens`` are in tokens."""

    id: str
    object: Literal["model"] = "model"
    created: int = _LISTED_SINCE
    owned_by: Literal["mirobody"] = "mirobody"
    context_window: int
    max_output_tokens: int
    pricing: ListedPricing


class ModelList(BaseModel):
    """Every model, the default one first."""

    object: Literal["list"] = "list"
    data: list[ListedModel]


def model_object(name: str, tier: Tier) -> dict[str, Any]:
    """One tier as it is listed."""
    return ListedModel(
        id=name,
        context_window=tier.context_window,
        max_output_tokens=tier.max_output_tokens,
        pricing=ListedPricing(**tier.pricing.model_dump()),
    ).model_dump()
