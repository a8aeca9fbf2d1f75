"""The tiers that callers choose from: how much each takes and gives, and what its tokens cost. Not here: who answers.

Source: the wire contract, section 10.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

_MICRO_USD = 1_000_000
_PER_TOKENS = 1_000_000


class Pricing(BaseModel):
    """USD for a million tokens. ``cached_input`` is the price of input tokens that the provider had cached."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)

    def cost(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> int:
        """What these tokens cost, in millionths of a USD. ``cached_tokens`` are a part of ``input_tokens``."""
        cached = min(cached_tokens, input_tokens)
        usd_millions = (input_tokens - cached) * self.input + cached * self.cached_input + output_tokens * self.output
        return round(usd_millions * _MICRO_USD / _PER_TOKENS)


class Tier(BaseModel):
    """One model of the API. ``context_window`` and ``max_output_tokens`` are in tokens; ``input_modalities`` is what
    may stand in an input."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_window: int = Field(gt=0)
    max_output_tokens: int = Field(gt=0)
    pricing: Pricing
    input_modalities: frozenset[Literal["text", "image", "file"]] = frozenset(("text", "image", "file"))

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The tier with some of its figures changed, those of ``pricing`` one by one. Raises ``ValueError``."""
        pricing = self.pricing.model_dump() | changes.get("pricing", {})
        return self.model_validate(self.model_dump() | dict(changes) | {"pricing": pricing})


TIERS: Mapping[str, Tier] = {
    "mirobody-flash": Tier(
        context_window=131_072,
        max_output_tokens=16_384,
        pricing=Pricing(input=0.1, cached_input=0.025, output=0.4),
    ),
    "mirobody-expert": Tier(
        context_window=131_072,
        max_output_tokens=32_768,
        pricing=Pricing(input=1.25, cached_input=0.125, output=10.0),
    ),
}
"""What the tiers are unless a deployment says otherwise; the first is the default one."""


def catalogue(changes: Mapping[str, Any]) -> dict[str, Tier]:
    """The tiers by name, with ``changes`` by name. Raises ``ValueError`` for an unknown tier or figure."""
    unknown = set(changes) - set(TIERS)
    if unknown:
        raise ValueError(f"there is no tier {', '.join(sorted(unknown))}; the tiers are {', '.join(TIERS)}")
    return {name: tier.changed(changes.get(name, {})) for name, tier in TIERS.items()}
