"""What the tiers cost, and what a deployment may change of them."""

from typing import Any

import pytest

from responses_app.protocol.catalogue import TIERS, Pricing, catalogue

MILLION = 1_000_000


def test_cached_tokens_are_a_cheaper_part_of_the_input() -> None:
    pricing = Pricing(input=1.0, cached_input=0.25, output=4.0)
    assert pricing.cost(MILLION, 0, 0) == 1 * MILLION
    assert pricing.cost(MILLION, 400_000, 0) == 700_000
    assert pricing.cost(1000, 200, 100) == 800 + 50 + 400


def test_a_deployment_changes_single_figures() -> None:
    changed = catalogue({"mirobody-flash": {"context_window": 4096, "pricing": {"output": 9}}})
    flash = changed["mirobody-flash"]
    assert (flash.context_window, flash.pricing.output) == (4096, 9.0)
    assert flash.pricing.input == TIERS["mirobody-flash"].pricing.input
    assert changed["mirobody-expert"] == TIERS["mirobody-expert"]


@pytest.mark.parametrize(
    "changes",
    [
        {"gpt": {}},
        {"mirobody-flash": {"window": 1}},
        {"mirobody-flash": {"context_window": 0}},
        {"mirobody-flash": {"pricing": {"input": -1}}},
        {"mirobody-flash": {"pricing": {"tokens": 1}}},
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"gpt|window|input|tokens"):
        catalogue(changes)
