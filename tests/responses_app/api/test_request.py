"""The fields of ``POST /v1/responses``: their types, ranges, defaults and echo, for JSON and stream alike."""

from typing import Any

import httpx
import pytest

from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import LOOKUP, Script, create
from tests.support.upstream import Step, Upstream

Json = dict[str, Any]

JSON_VALUES = {"string": "x", "boolean": True, "integer": 3, "number": 1.5, "array": [], "object": {}}
TYPES = {
    "model": "string",
    "instructions": "string",
    "store": "boolean",
    "previous_response_id": "string",
    "session_id": "string",
    "tools": "array",
    "parallel_tool_calls": "boolean",
    "mode": "string",
    "background": "boolean",
    "metadata": "object",
    "user": "string",
    "strict": "boolean",
    "text": "object",
    "temperature": "number",
    "top_p": "number",
    "max_output_tokens": "integer",
    "max_tool_calls": "integer",
    "reasoning": "object",
    "truncation": "string",
    "service_tier": "string",
    "safety_identifier": "string",
    "prompt_cache_key": "string",
    "prompt_cache_retention": "string",
    "stream_options": "object",
    "top_logprobs": "integer",
    "include": "array",
}
"""The fields of one JSON type. ``input``, ``tool_choice`` and ``builtin_tools`` have two."""

DEFAULTS: Json = {
    "model": "mirobody-flash",
    "previous_response_id": None,
    "session_id": None,
    "store": True,
    "tools": [],
    "tool_choice": "auto",
    "instructions": None,
    "error": None,
    "incomplete_details": None,
    "metadata": {},
    "background": False,
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "truncation": "disabled",
    "service_tier": "default",
    "safety_identifier": None,
    "prompt_cache_key": None,
    "text": {"format": {"type": "text"}},
    "reasoning": None,
    "user": None,
}
"""What a response echoes of a request that gives its input alone."""

ECHOED: Json = {
    "model": "mirobody-expert",
    "instructions": "Be brief.",
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "metadata": {"trace": "abc", "空": "值"},
    "temperature": 0.25,
    "top_p": 0.5,
    "max_output_tokens": 100,
    "max_tool_calls": 3,
    "reasoning": {"effort": "low", "summary": "auto"},
    "truncation": "auto",
    "service_tier": "flex",
    "safety_identifier": "person-1",
    "prompt_cache_key": "cache-1",
    "top_logprobs": 5,
    "text": {"format": {"type": "text"}, "verbosity": "low"},
}
ACCEPTED: Json = {
    "prompt_cache_retention": "24h",
    "stream_options": {"include_obfuscation": False},
    "include": ["message.output_text.logprobs"],
    "builtin_tools": "auto",
    "mode": "agent",
    "background": False,
    "store": True,
    "user": "alice",
}
"""Further documented fields, with which and ``ECHOED`` every one but those of later editions is given."""

LOWEST: Json = {
    "temperature": 0,
    "top_p": 0,
    "max_output_tokens": 1,
    "max_tool_calls": 1,
    "top_logprobs": 0,
    "safety_identifier": "",
    "prompt_cache_key": "",
    "instructions": "",
    "metadata": {"": ""},
}
HIGHEST: Json = {
    "temperature": 2,
    "top_p": 1,
    "max_output_tokens": 2**31,
    "max_tool_calls": 2**31,
    "top_logprobs": 20,
    "safety_identifier": "界" * 64,
    "prompt_cache_key": "x" * 64,
    "instructions": "x" * 100_000,
    "metadata": {f"{number:02}".ljust(64, "界"): "😀" * 512 for number in range(16)},
    "user": "界" * 256,
}

OUT_OF_RANGE = [
    ({"temperature": -0.01}, "invalid_value", "temperature"),
    ({"temperature": 2.01}, "invalid_value", "temperature"),
    ({"top_p": -0.01}, "invalid_value", "top_p"),
    ({"top_p": 1.01}, "invalid_value", "top_p"),
    ({"max_output_tokens": 0}, "invalid_value", "max_output_tokens"),
    ({"max_output_tokens": -1}, "invalid_value", "max_output_tokens"),
    ({"max_tool_calls": 0}, "invalid_value", "max_tool_calls"),
    ({"top_logprobs": -1}, "invalid_value", "top_logprobs"),
    ({"top_logprobs": 21}, "invalid_value", "top_logprobs"),
    ({"safety_identifier": "x" * 65}, "value_too_long", "safety_identifier"),
    ({"prompt_cache_key": "x" * 65}, "value_too_long", "prompt_cache_key"),
    ({"prompt_cache_retention": "48h"}, "invalid_value", "prompt_cache_retention"),
    ({"session_id": ""}, "invalid_value", "session_id"),
    ({"session_id": "x" * 129}, "value_too_long", "session_id"),
    ({"user": "x" * 257}, "value_too_long", "user"),
    ({"mode": "turbo"}, "invalid_value", "mode"),
    ({"truncation": "sometimes"}, "invalid_value", "truncation"),
    ({"service_tier": "gold"}, "invalid_value", "service_tier"),
    ({"include": ["everything"]}, "invalid_value", "include[0]"),
    ({"include": ["reasoning.encrypted_content", 5]}, "invalid_type", "include[1]"),
    ({"include": [None]}, "invalid_type", "include[0]"),
    ({"reasoning": {"effort": "huge"}}, "invalid_value", "reasoning.effort"),
    ({"reasoning": {"effort": 5}}, "invalid_type", "reasoning.effort"),
    ({"reasoning": {"summary": "long"}}, "invalid_value", "reasoning.summary"),
    ({"text": {"verbosity": "mute"}}, "invalid_value", "text.verbosity"),
    ({"text": {"format": "text"}}, "invalid_type", "text.format"),
    ({"text": {"format": {"type": "xml"}}}, "invalid_value", "text.format.type"),
    ({"text": {"format": {}}}, "missing_required_parameter", "text.format.type"),
    ({"stream_options": {"mirobody_events": "no"}}, "invalid_type", "stream_options.mirobody_events"),
    ({"stream_options": {"include_obfuscation": 1}}, "invalid_type", "stream_options.include_obfuscation"),
    ({"metadata": {"a": 5}}, "invalid_type", "metadata.a"),
    ({"metadata": {"a": {"b": "c"}}}, "invalid_type", "metadata.a"),
    ({"metadata": {"a": "x" * 513}}, "value_too_long", "metadata.a"),
    ({"metadata": {"x" * 65: "a"}}, "value_too_long", "metadata"),
    ({"metadata": {str(number): "a" for number in range(17)}}, "too_many_items", "metadata"),
    ({"builtin_tools": "all"}, "invalid_value", "builtin_tools"),
    ({"builtin_tools": 5}, "invalid_type", "builtin_tools"),
    ({"builtin_tools": {}}, "invalid_type", "builtin_tools"),
    ({"builtin_tools": True}, "invalid_type", "builtin_tools"),
    ({"builtin_tools": ["query_health_data", 5]}, "invalid_type", "builtin_tools[1]"),
    ({"tool_choice": 5}, "invalid_type", "tool_choice"),
    ({"tool_choice": []}, "invalid_type", "tool_choice"),
]

NOT_YET = [
    ({"text": {"format": {"type": "json_object"}}}, "text"),
    ({"text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}}}, "text"),
    ({"tools": [{"type": "web_search"}]}, "tools[0]"),
    ({"tools": [LOOKUP, {"type": "file_search"}]}, "tools[1]"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"conversation": {"id": "conv_1"}}, "conversation"),
    ({"conversation": ""}, "conversation"),
    ({"prompt": {"id": "pmpt_1"}}, "prompt"),
]


def ids(cases: list[Any]) -> list[str]:
    return [str(case[0])[:60] for case in cases]


@pytest.mark.parametrize(
    "body", [{}, *({"input": blank} for blank in (None, "", "   ", "\n\t", "\u3000", []))], ids=str
)
def test_input_is_required(api: httpx.Client, body: Json) -> None:
    refused(api, body, "missing_required_parameter", "input")


@pytest.mark.parametrize("value", [5, 1.5, True, False, {}, {"role": "user", "content": "hi"}], ids=str)
def test_input_of_a_wrong_type(api: httpx.Client, value: object) -> None:
    refused(api, {"input": value}, "invalid_type", "input")


@pytest.mark.parametrize(("field", "right"), TYPES.items(), ids=TYPES.keys())
def test_a_field_of_a_wrong_type(api: httpx.Client, field: str, right: str) -> None:
    fitting = {right, "integer"} if right == "number" else {right}
    for kind, value in JSON_VALUES.items():
        if kind not in fitting:
            refused(api, {"input": "hi", field: value}, "invalid_type", field)


@pytest.mark.parametrize("value", ["true", 1, 0, [], {}], ids=str)
def test_stream_of_a_wrong_type(api: httpx.Client, value: object) -> None:
    answer = api.post("/v1/responses", json={"input": "hi", "stream": value})
    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == ("invalid_type", "stream")


@pytest.mark.parametrize(("fields", "code", "param"), OUT_OF_RANGE, ids=ids(OUT_OF_RANGE))
def test_a_value_out_of_range(api: httpx.Client, fields: Json, code: str, param: str) -> None:
    refused(api, {"input": "hi"} | fields, code, param)


@pytest.mark.parametrize("fields", [LOWEST, HIGHEST], ids=["lowest", "highest"])
def test_values_at_their_limits(api: httpx.Client, fields: Json) -> None:
    response = accepted(api, {"input": "hi"} | fields)
    assert {name: response[name] for name in fields} == fields


@pytest.mark.parametrize(("fields", "param"), NOT_YET, ids=ids(NOT_YET))
def test_what_is_not_supported(api: httpx.Client, fields: Json, param: str) -> None:
    refused(api, {"input": "hi"} | fields, "unsupported_parameter", param)


def test_the_defaults(api: httpx.Client) -> None:
    response = accepted(api, {"input": "hi"})
    assert {name: response[name] for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize(
    "field", [*TYPES, "stream", "tool_choice", "builtin_tools", "conversation", "prompt", "unknown"]
)
def test_null_counts_as_absent(api: httpx.Client, field: str) -> None:
    response = create(api, input="hi", **{field: None})
    assert {name: response[name] for name in DEFAULTS} == DEFAULTS


def test_null_counts_as_absent_inside_objects(api: httpx.Client) -> None:
    nulls: Json = {
        "text": {"format": None, "verbosity": None},
        "stream_options": {"include_obfuscation": None, "mirobody_events": None},
        "metadata": {"a": None},
        "tool_choice": None,
    }
    response = accepted(api, {"input": "hi"} | nulls)
    assert {name: response[name] for name in DEFAULTS} == DEFAULTS
    assert accepted(api, {"input": "hi", "reasoning": {"effort": None}})["reasoning"] == {
        "effort": None,
        "summary": None,
    }
    text_format = {"format": {"type": "text", "name": None, "schema": None}}
    assert accepted(api, {"input": "hi", "text": text_format})["text"] == DEFAULTS["text"]


def test_null_counts_as_absent_inside_tools(api: httpx.Client) -> None:
    flat = {"type": "function", "name": "a", "description": None, "parameters": None, "strict": None, "function": None}
    nested = {"type": "function", "name": None, "function": {"name": "b", "description": None, "parameters": None}}
    response = accepted(api, {"input": "hi", "tools": [flat, nested]})
    empty = {"description": None, "parameters": {"type": "object", "properties": {}}, "strict": None}
    assert response["tools"] == [{"type": "function", "name": name, **empty} for name in ("a", "b")]


@pytest.mark.parametrize("field", ECHOED)
def test_a_field_is_echoed(api: httpx.Client, field: str) -> None:
    assert accepted(api, {"input": "hi", field: ECHOED[field]})[field] == ECHOED[field]


@pytest.mark.parametrize("field", ["temperature", "top_p"])
def test_a_whole_number_is_a_number(api: httpx.Client, field: str) -> None:
    assert accepted(api, {"input": "hi", field: 1})[field] == 1


def test_all_fields_together_are_echoed_and_none_is_inherited(api: httpx.Client) -> None:
    first = accepted(api, {"input": "hi"} | ECHOED | ACCEPTED)
    assert {name: first[name] for name in ECHOED} == ECHOED
    second = accepted(api, {"input": "go on", "user": "alice", "previous_response_id": first["id"]})
    expected = DEFAULTS | {"user": "alice", "previous_response_id": first["id"]}
    assert {name: second[name] for name in expected} == expected


@pytest.mark.parametrize("how", [({"strict": True}, {}), ({}, {"X-Mirobody-Strict": "1"})], ids=["body", "header"])
def test_strict_refuses_the_first_unknown_field(api: httpx.Client, how: tuple[Json, dict[str, str]]) -> None:
    strict, headers = how
    unknown = {"input": "hi", "zeta": 1, "alpha": 2}
    refused(api, unknown | strict, "unsupported_parameter", "zeta", headers=headers)
    known = accepted(api, {"input": "hi"} | ECHOED | ACCEPTED | strict, headers)
    assert {name: known[name] for name in ECHOED} == ECHOED
    accepted(api, {"input": "hi", "unknown": None} | strict, headers)


@pytest.mark.parametrize("strict", [{}, {"strict": False}], ids=["absent", "false"])
def test_unknown_fields_are_ignored_unless_strict(api: httpx.Client, strict: Json) -> None:
    response = accepted(api, {"input": "hi", "client_metadata": {"a": 1}, "zeta": [], "": 1} | strict)
    assert {name: response[name] for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("nested", [{"text": {"a": 1}}, {"reasoning": {"a": 1}}, {"stream_options": {"a": 1}}], ids=str)
def test_strict_looks_at_the_top_level_alone(api: httpx.Client, nested: Json) -> None:
    accepted(api, {"input": "hi", "strict": True} | nested)


@pytest.mark.parametrize("model", ["mirobody-flash", "mirobody-expert"])
def test_the_models(api: httpx.Client, upstream: Upstream, script: Script, model: str) -> None:
    mark = script(Step(text=["Fine."]))
    assert accepted(api, {"input": f"hi {mark}", "model": model})["model"] == model
    assert [request.body["model"] for request in upstream.requests(mark)] == [model, model]


@pytest.mark.parametrize("model", ["", "gpt-5", "mirobody", "Mirobody-Flash", "mirobody-flash ", "x" * 5000])
def test_an_unknown_model(api: httpx.Client, model: str) -> None:
    message = refused(api, {"input": "hi", "model": model}, "model_not_found", "model")
    assert len(message) < 500


@pytest.mark.parametrize(
    ("builtin_tools", "offered"),
    [
        ({}, {"query_health_data", "list_family_members"}),
        ({"builtin_tools": "auto"}, {"query_health_data", "list_family_members"}),
        ({"builtin_tools": "none"}, set()),
        ({"builtin_tools": []}, set()),
        ({"builtin_tools": ["query_health_data"]}, {"query_health_data"}),
        ({"builtin_tools": ["query_health_data", "query_health_data"]}, {"query_health_data"}),
    ],
    ids=["absent", "auto", "none", "empty", "one", "twice"],
)
def test_builtin_tools_trim_what_the_model_is_offered(
    api: httpx.Client, upstream: Upstream, script: Script, builtin_tools: Json, offered: set[str]
) -> None:
    mark = script(Step(text=["Fine."]))
    accepted(api, {"input": f"hi {mark}"} | builtin_tools)
    domain_tools = {"query_health_data", "list_family_members"}
    for request in upstream.requests(mark):
        assert set(request.tool_names) & domain_tools == offered


def test_an_unknown_builtin_tool_is_answered_with_the_known_ones(api: httpx.Client) -> None:
    body = {"input": "hi", "builtin_tools": ["query_health_data", "rm"]}
    message = refused(api, body, "invalid_value", "builtin_tools[1]")
    known = "query_health_data", "list_family_members", "search_medical_evidence", "read_source"
    assert "rm" in message
    assert all(name in message for name in known)


def test_instructions_reach_the_model_for_this_turn_only(api: httpx.Client, upstream: Upstream, script: Script) -> None:
    mark, again = script(Step(text=["Fine."])), script(Step(text=["Fine."]))
    first = accepted(api, {"input": f"hi {mark}", "instructions": "Answer like a pirate."})
    accepted(api, {"input": f"go on {again}", "previous_response_id": first["id"]})
    assert all("Answer like a pirate." in request.system for request in upstream.requests(mark))
    assert not any("pirate" in str(request.messages) for request in upstream.requests(again))


def test_what_is_echoed_has_no_effect(api: httpx.Client, upstream: Upstream, script: Script) -> None:
    mark = script(Step(text=["A text of more than one token."]))
    fields = {"temperature": 0.1, "top_p": 0.1, "max_output_tokens": 16, "max_tool_calls": 1, "top_logprobs": 3}
    response = accepted(api, {"input": f"hi {mark}"} | fields)
    assert (response["status"], response["output_text"]) == ("completed", "A text of more than one token.")
    assert not any(fields.keys() & request.body.keys() for request in upstream.requests(mark))


@pytest.mark.parametrize("store", [{}, {"store": True}, {"store": False}], ids=str)
def test_store_decides_whether_get_finds_it(api: httpx.Client, store: Json) -> None:
    response = accepted(api, {"input": "hi"} | store)
    kept = store.get("store", True)
    assert response["store"] is kept
    assert api.get(f"/v1/responses/{response['id']}").status_code == (200 if kept else 404)


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh"])
def test_every_documented_effort_is_accepted(api: httpx.Client, effort: str) -> None:
    assert api.post("/v1/responses", json={"input": "hi", "reasoning": {"effort": effort}}).status_code == 200
