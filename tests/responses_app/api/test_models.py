"""``/v1/models`` (wire contract, section 10)."""

import httpx
import pytest
from pytest_django import Settings

from responses_app.protocol.catalogue import catalogue
from tests.support.envelope import assert_error

FLASH = {
    "id": "mirobody-flash",
    "object": "model",
    "created": 1_767_225_600,
    "owned_by": "mirobody",
    "context_window": 131_072,
    "max_output_tokens": 16_384,
    "pricing": {"input": 0.1, "cached_input": 0.025, "output": 0.4, "currency": "USD", "per_tokens": 1_000_000},
}


def test_both_tiers_are_listed_without_a_key(anonymous: httpx.Client) -> None:
    answer = anonymous.get("/v1/models")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["x-request-id"]
    listed = answer.json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["mirobody-flash", "mirobody-expert"]
    assert listed["data"][0] == FLASH
    assert anonymous.get("/v1/models/").json() == listed
    assert [anonymous.get(f"/v1/models/{model['id']}").json() for model in listed["data"]] == listed["data"]


@pytest.mark.parametrize("key", ["nonsense", "Bearer mb_live_unknown"])
def test_a_key_changes_nothing(anonymous: httpx.Client, key: str) -> None:
    assert anonymous.get("/v1/models", headers={"Authorization": key}).status_code == 200


def test_what_the_deployment_says_of_a_tier_is_told(anonymous: httpx.Client, settings: Settings) -> None:
    settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"context_window": 4096, "pricing": {"output": 2}}})
    told = anonymous.get("/v1/models/mirobody-flash").json()
    assert (told["context_window"], told["pricing"]["output"]) == (4096, 2.0)


def test_another_model_is_not_there(anonymous: httpx.Client) -> None:
    assert_error(anonymous.get("/v1/models/gpt-5"), 404, "not_found")
    assert_error(anonymous.get("/v1/models/%00"), 404, "not_found")


def test_they_are_only_read(anonymous: httpx.Client) -> None:
    assert_error(anonymous.post("/v1/models", json={}), 405, "method_not_allowed")
    assert_error(anonymous.delete("/v1/models/mirobody-flash"), 405, "method_not_allowed")
