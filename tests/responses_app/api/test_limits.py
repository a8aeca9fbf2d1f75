"""The limits on a request's size: at the limit it is taken, one over it is refused."""

from typing import Any

import httpx
import pytest
from pytest_django import Settings

from responses_app.protocol.catalogue import catalogue
from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import create, message

OUTPUT_BYTES = 1_000_000


@pytest.fixture(autouse=True)
def wide_window(settings: Settings) -> None:
    """The model's context window is no limit here."""
    settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"context_window": 10 * OUTPUT_BYTES}})


def tools(count: int) -> list[dict[str, object]]:
    return [{"type": "function", "name": f"tool_{number}"} for number in range(count)]


def replay(output: object) -> list[dict[str, object]]:
    call = {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": "{}"}
    return [message("go"), call, {"type": "function_call_output", "call_id": "c1", "output": output}]


def test_64_tools(api: httpx.Client) -> None:
    assert len(accepted(api, {"input": "hi", "tools": tools(64)})["tools"]) == 64
    refused(api, {"input": "hi", "tools": tools(65)}, "too_many_items", "tools")


def test_2000_input_items(api: httpx.Client) -> None:
    create(api, input=[message("a")] * 2000, store=False)
    refused(api, {"input": [message("a")] * 2001}, "too_many_items", "input")


@pytest.mark.parametrize(
    "output",
    ["x" * OUTPUT_BYTES, "界" * (OUTPUT_BYTES // 3), [{"type": "input_text", "text": "x" * (OUTPUT_BYTES - 100)}]],
    ids=["ASCII", "multi-byte", "part"],
)
def test_a_tool_output_within_the_limit(api: httpx.Client, output: object) -> None:
    accepted(api, {"input": replay(output), "store": False})


@pytest.mark.parametrize(
    "output",
    [
        "x" * (OUTPUT_BYTES + 1),
        "界" * (OUTPUT_BYTES // 3 + 1),
        [{"type": "input_text", "text": "x" * (OUTPUT_BYTES + 1)}],
        [{"type": "input_text", "text": "x" * (OUTPUT_BYTES // 2 + 1)}] * 2,
        [{"type": "input_image", "image_url": "data:image/png;base64," + "A" * OUTPUT_BYTES}],
        [{"type": "input_file", "file_data": "A" * (OUTPUT_BYTES + 4)}],
    ],
    ids=["ASCII", "multi-byte", "part", "two parts", "image", "file"],
)
def test_a_tool_output_over_the_limit(api: httpx.Client, output: object) -> None:
    refused(api, {"input": replay(output)}, "value_too_long", "input[2].output")


def test_a_message_may_be_larger_than_a_tool_output(api: httpx.Client) -> None:
    accepted(api, {"input": "x" * (2 * OUTPUT_BYTES), "store": False})


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {"p": {"enum": [{"a": n} for n in range(9000)]}},
        },
        {"properties": {"p": {"allOf": [{"type": "string"}] * 30_000}}},
        {"$schema": "http://127.0.0.1:9/never-fetched", "properties": {"p": {"$ref": "http://127.0.0.1:9/x"}}},
    ],
    ids=["many unequal objects", "many subschemas", "of elsewhere"],
)
def test_a_large_or_foreign_schema_costs_little(api: httpx.Client, schema: dict[str, Any]) -> None:
    """Each with each, the objects would take minutes, far beyond the client's time-out."""
    create(api, input="hi", tools=[{"type": "function", "name": "f", "parameters": schema}])
