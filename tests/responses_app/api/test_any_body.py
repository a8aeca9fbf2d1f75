"""Whatever is sent to ``/v1/responses``, the answer is a response, a stream that keeps its grammar, or the envelope."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from responses_app.protocol.request import ResponseRequest
from tests.support.envelope import assert_error
from tests.support.grammar import check_response, check_stream

Json = dict[str, Any]

quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

FIELDS = [*ResponseRequest.model_fields, "user", "conversation", "prompt", "unknown"]
ITEM_KEYS = ["type", "role", "content", "call_id", "name", "arguments", "output", "summary", "encrypted_content", "id"]
PART_KEYS = ["type", "text", "refusal", "image_url", "detail", "file_data", "filename", "file_id", "file_url"]
ITEM_TYPES = [
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "item_reference",
    "compaction",
    "web_search_call",
]
PART_TYPES = ["input_text", "output_text", "refusal", "input_image", "input_file", "text", "reasoning_text"]
WORDS = [
    "",
    "hi",
    "user",
    "assistant",
    "system",
    "function",
    "auto",
    "none",
    "c1",
    "phone_lookup",
    "query_health_data",
    "{}",
    "\x00",
    "mirobody-expert",
    "reasoning.encrypted_content",
    "resp_" + "0" * 32,
    "data:image/png;base64,AA==",
    "a" * 65,
]

text = st.sampled_from(WORDS) | st.text(max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=6
)


def objects(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Json]:
    """Objects with all of the one and any of the other."""
    return st.fixed_dictionaries(required, optional=optional)


names = st.sampled_from(["a", "b", "phone_lookup", "transfer_to_x"])
files = objects({}, dict.fromkeys(("image_url", "detail", "file_data", "filename", "file_id", "file_url"), text))
parts = st.one_of(
    objects({"type": st.sampled_from(["input_text", "output_text"]), "text": text}, {"annotations": anything}),
    objects({"type": st.just("refusal"), "refusal": text}, {}),
    objects({"type": st.just("input_image"), "image_url": text}, {"detail": st.sampled_from(["auto", "low"])}),
    objects({"type": st.just("input_file"), "file_data": text}, {"filename": text}),
    st.builds(lambda kind, part: part | {"type": kind}, st.sampled_from(PART_TYPES), files),
)
contents = text | st.lists(parts, max_size=3)
roles = st.sampled_from(["user", "assistant", "system", "developer"])
extras = {"id": text, "status": text, "phase": text}
call_ids = st.sampled_from(["c1", "c2"])
items = st.one_of(
    objects({"role": roles, "content": contents}, extras),
    objects({"type": st.just("message"), "role": roles, "content": contents}, extras),
    objects({"type": st.just("reasoning")}, extras | {"summary": st.just([]), "encrypted_content": text}),
    objects({"type": st.just("function_call"), "call_id": call_ids, "name": names, "arguments": text}, extras),
    objects({"type": st.just("function_call_output"), "call_id": call_ids, "output": contents}, extras),
    objects({"type": st.sampled_from(ITEM_TYPES)}, extras | {"role": roles, "content": contents}),
)
pairs = st.builds(
    lambda name, arguments, output: [
        {"type": "function_call", "call_id": "p1", "name": name, "arguments": arguments},
        {"type": "function_call_output", "call_id": "p1", "output": output},
    ],
    names,
    text,
    contents,
)
histories = st.builds(
    lambda begun, pair, rest: [*begun, *pair, *rest],
    st.lists(items, max_size=2),
    pairs | st.just([]),
    st.lists(items, max_size=2),
)
schemas = st.recursive(
    st.sampled_from([{}, True, {"type": "string"}, {"type": "object"}, {"enum": ["a"]}, {"$ref": "#"}]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(text, inner, max_size=2),
            "items": inner,
            "required": st.lists(text, max_size=2, unique=True),
            "$schema": text | anything,
            "$ref": text,
            "$defs": st.dictionaries(text, inner, max_size=1),
            "pattern": text,
        },
    ),
    max_leaves=4,
).filter(lambda schema: schema is not True)
functions = objects({"name": names}, {"description": text, "parameters": schemas, "strict": st.booleans()})
tools = functions.map(lambda tool: {"type": "function"} | tool) | functions.map(
    lambda tool: {"type": "function", "function": tool}
)
choices = names.map(lambda name: {"type": "function", "name": name})

FITTING: dict[str, st.SearchStrategy[Any]] = {
    "tools": st.lists(tools, max_size=2),
    "tool_choice": st.sampled_from(["auto", "auto", "none"]) | choices,
    "metadata": st.dictionaries(st.text(max_size=5), text, max_size=3),
    "stream": st.booleans(),
    "store": st.booleans(),
    "strict": st.booleans(),
    "model": st.sampled_from(["mirobody-flash", "mirobody-expert"]),
    "text": objects({}, {"format": st.just({"type": "text"}), "verbosity": st.sampled_from(["low", "high"])}),
    "reasoning": objects({}, {"effort": st.sampled_from(["none", "high"]), "summary": st.just("auto")}),
    "include": st.just(["reasoning.encrypted_content"]),
    "user": st.text(st.characters(exclude_categories=["C"]), max_size=5),
    "instructions": text,
    "background": st.booleans(),
    "top_p": st.floats(0, 1),
    "temperature": st.floats(0, 2),
}
bodies = st.fixed_dictionaries({"input": text | histories}, optional=FITTING)
# The provider behind these tests calls no tool, so that a choice of one cannot be kept.
model_bodies = bodies.map(lambda body: {**body, "mode": "model", "tool_choice": "auto"})


def spoilt(values: st.SearchStrategy[Json], keys: list[str]) -> st.SearchStrategy[Json]:
    """The objects with anything at all under one of the keys."""
    return st.builds(lambda value, key, other: value | {key: other}, values, st.sampled_from(keys), anything)


spoilt_bodies = spoilt(bodies, FIELDS)
spoilt_items = spoilt(items, ITEM_KEYS) | spoilt(parts, PART_KEYS).map(lambda part: {"role": "user", "content": [part]})
spoilt_tools = spoilt(functions, ["name", "description", "parameters", "strict", "function"]).map(
    lambda tool: {"type": "function"} | tool
)
any_fields = st.dictionaries(st.sampled_from(FIELDS) | text, anything, max_size=6)


def check_answer(answer: httpx.Response) -> None:
    """A response, a stream that keeps its grammar, or the envelope of a request that is the caller's fault."""
    if answer.status_code != 200:
        error = answer.json()["error"]
        assert answer.status_code in (400, 404), answer.text
        assert_error(answer, answer.status_code, error["code"], error["param"])
        assert error["param"] is None or isinstance(error["param"], str)
    elif answer.headers["content-type"].startswith("text/event-stream"):
        assert check_stream(answer.content).response["status"] == "completed"
    else:
        response = check_response(answer.json())
        assert response["status"] == ("queued" if response["background"] else "completed")


@given(body=bodies | model_bodies)
@quickly
def test_a_body_that_fits_by_its_types(api: httpx.Client, body: Json) -> None:
    check_answer(api.post("/v1/responses", json=body))


@given(body=spoilt_bodies)
@quickly
def test_a_body_with_one_field_of_any_value(api: httpx.Client, body: Json) -> None:
    check_answer(api.post("/v1/responses", json=body))


@given(item=spoilt_items)
@quickly
def test_an_item_with_one_key_of_any_value(api: httpx.Client, item: Json) -> None:
    check_answer(api.post("/v1/responses", json={"input": [item]}))


@given(tool=spoilt_tools)
@quickly
def test_a_tool_with_one_key_of_any_value(api: httpx.Client, tool: Json) -> None:
    check_answer(api.post("/v1/responses", json={"input": "hi", "tools": [tool]}))


@given(body=any_fields)
@quickly
def test_a_body_of_any_values(api: httpx.Client, body: Json) -> None:
    check_answer(api.post("/v1/responses", json=body))
    check_answer(api.post("/v1/responses", json={"input": "hi"} | body))


@given(value=anything)
@quickly
def test_a_body_of_any_json(api: httpx.Client, value: Any) -> None:
    check_answer(api.post("/v1/responses", json=value))


@given(raw=st.binary(max_size=60) | st.binary(max_size=20).map(lambda raw: b'{"input": "' + raw + b'"}'))
@quickly
def test_a_body_of_any_bytes(api: httpx.Client, raw: bytes) -> None:
    check_answer(api.post("/v1/responses", content=raw, headers={"Content-Type": "application/json"}))


@given(path=st.text(st.characters(codec="ascii") | st.sampled_from("é\x00%/?#.."), max_size=20))
@quickly
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_any_response_id(api: httpx.Client, method: str, path: str) -> None:
    quoted = "".join(f"%{byte:02X}" for byte in path.encode())
    answer = api.request(method, f"/v1/responses/{quoted}")
    assert answer.status_code in (404, 405), answer.text
    assert_error(answer, answer.status_code, answer.json()["error"]["code"], None)
