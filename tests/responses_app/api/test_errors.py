"""The error table at the doors of /v1/responses: paths, methods, keys, bodies, and that a stream changes none of it."""

import json
import secrets
from typing import Any

import httpx
import pytest

from tests.responses_app.api.both_ways import refused
from tests.responses_app.api.conftest import LOOKUP, Script, create, retrieve
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import SECRET, Step

Json = dict[str, Any]

MADE_UP = "resp_" + "0" * 32


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_another_method_on_the_collection(api: httpx.Client, method: str) -> None:
    answer = api.request(method, "/v1/responses")
    assert answer.headers["allow"] == "POST"
    if method == "HEAD":
        assert (answer.status_code, answer.content) == (405, b"")
    else:
        assert_error(answer, 405, "method_not_allowed")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("response_id", [MADE_UP, "anything"])
def test_another_method_on_a_response(api: httpx.Client, method: str, response_id: str) -> None:
    answer = api.request(method, f"/v1/responses/{response_id}")
    assert_error(answer, 405, "method_not_allowed")
    assert {"GET", "DELETE"} <= set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_under_a_response_that_does_not_exist(api: httpx.Client, method: str) -> None:
    response = create(api, input="hi")
    for response_id in (response["id"], MADE_UP):
        assert_error(api.request(method, f"/v1/responses/{response_id}/anything"), 404, "not_found")


@pytest.mark.parametrize("path", ["/v1/files", "/v1/sessions", "/v1/subjects", "/v1/responsesx", "/v1/response"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_paths_that_do_not_exist_yet(api: httpx.Client, method: str, path: str) -> None:
    assert_error(api.request(method, path), 404, "not_found")


def test_a_trailing_slash_changes_nothing(api: httpx.Client) -> None:
    created = api.post("/v1/responses/", json={"input": "hi"})
    assert (created.status_code, created.history) == (200, [])
    path = f"/v1/responses/{created.json()['id']}"
    assert api.get(f"{path}/").json() == api.get(path).json() == created.json()
    assert api.head(path).status_code == 200
    assert api.delete(f"{path}/").json() == {"id": created.json()["id"], "object": "response.deleted", "deleted": True}
    assert_error(api.get(path), 404, "not_found")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "missing_api_key"),
        ("Bearer", "missing_api_key"),
        ("Token abc", "missing_api_key"),
        ("Bearer mb_live_" + "x" * 43, "invalid_api_key"),
        ("Bearer sk-something-else", "invalid_api_key"),
    ],
)
def test_the_key_is_asked_for_before_anything_is_read(server: str, stream: bool, header: str | None, code: str) -> None:
    headers = {} if header is None else {"Authorization": header}
    for body in (json.dumps({"input": "hi", "stream": stream}), "no json"):
        assert_error(httpx.post(f"{server}/v1/responses", content=body, headers=headers), 401, code)
    for method in ("GET", "DELETE"):
        assert_error(httpx.request(method, f"{server}/v1/responses/{MADE_UP}", headers=headers), 401, code)


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json", "text/html"])
@pytest.mark.parametrize("body", [b"", b"[]", b'{"stream": true', b'{"stream": true, "input": "\\ud83d"}'], ids=repr)
def test_a_broken_body_is_a_plain_error_whatever_is_accepted(api: httpx.Client, accept: str, body: bytes) -> None:
    assert_error(api.post("/v1/responses", content=body, headers={"Accept": accept}), 400, "invalid_json")


def test_the_last_of_two_equal_keys_counts(api: httpx.Client) -> None:
    answer = api.post("/v1/responses", content=b'{"input": "hi", "user": 5, "user": "alice"}')
    assert answer.json()["user"] == "alice"


def test_previous_response_not_found(api: httpx.Client) -> None:
    for previous in (MADE_UP, "", "anything", "msg_1", "resp_\x00", "resp_" + "é" * 32, "x" * 256):
        body = {"input": "hi", "previous_response_id": previous}
        said = refused(api, body, "previous_response_not_found", "previous_response_id", status=404)
        assert previous in said


def test_a_fault_of_the_provider(api: httpx.Client, script: Script) -> None:
    mark = script(Step(status=400))
    answer = api.post("/v1/responses", json={"input": f"hi {mark}"})
    assert_error(answer, 502, "upstream_error")
    assert SECRET not in answer.text


FAULTS: list[tuple[Json, str, str]] = [
    ({"input": "hi", "model": "gpt"}, "model_not_found", "model"),
    ({"input": "hi", "tools": [LOOKUP, LOOKUP]}, "invalid_value", "tools[1].name"),
    ({"input": "hi", "tools": [{"type": "function", "name": "query_health_data"}]}, "invalid_value", "tools[0].name"),
    ({"input": "hi", "tools": [{"type": "function", "name": "a b"}]}, "invalid_value", "tools[0].name"),
    ({"input": "hi", "tools": [{"type": "function"}]}, "missing_required_parameter", "tools[0].name"),
    ({"input": "hi", "tools": [{"type": "web_search"}]}, "unsupported_parameter", "tools[0]"),
    ({"input": "hi", "tools": [{"name": "a"}]}, "unsupported_parameter", "tools[0]"),
    ({"input": "hi", "tools": ["a"]}, "invalid_type", "tools[0]"),
    ({"input": "hi", "tools": [None]}, "invalid_type", "tools[0]"),
    ({"input": "hi", "tool_choice": "required"}, "unsupported_parameter", "tool_choice"),
    ({"input": "hi", "tool_choice": {"type": "function", "name": "absent"}}, "unsupported_parameter", "tool_choice"),
    ({"input": "hi", "tool_choice": {"type": "function", "name": ""}}, "unsupported_parameter", "tool_choice"),
    ({"input": [{"role": "user", "content": "hi"}, {"type": "nonsense"}]}, "invalid_value", "input[1]"),
]

BAD_SCHEMAS: list[tuple[Any, str]] = [
    ("x", "invalid_type"),
    ([], "invalid_type"),
    ({"type": "string"}, "invalid_value"),
    ({"type": ["object"]}, "invalid_value"),
    ({"type": "object", "properties": []}, "invalid_value"),
    ({"type": "object", "required": "name"}, "invalid_value"),
    ({"type": "object", "properties": {"a": {"type": "text"}}}, "invalid_value"),
    ({"$schema": 5}, "invalid_value"),
    ({"$schema": ["x"]}, "invalid_value"),
]


@pytest.mark.parametrize(("body", "code", "param"), FAULTS, ids=[str(body)[15:75] for body, *_ in FAULTS])
def test_a_fault_of_the_request_is_told_the_same_both_ways(
    api: httpx.Client, body: Json, code: str, param: str
) -> None:
    refused(api, body, code, param)


@pytest.mark.parametrize(("schema", "code"), BAD_SCHEMAS, ids=[str(schema) for schema, _ in BAD_SCHEMAS])
def test_parameters_that_are_no_schema_of_an_object(api: httpx.Client, schema: Any, code: str) -> None:
    tools = [LOOKUP, {"type": "function", "name": "a", "parameters": schema}]
    refused(api, {"input": "hi", "tools": tools}, code, "tools[1].parameters")


def test_a_refused_request_leaves_nothing_and_its_twin_still_runs(api: httpx.Client) -> None:
    first = create(api, input="hi")
    body = {"input": "go on", "previous_response_id": first["id"]}
    refused(api, body | {"temperature": 3}, "invalid_value", "temperature")
    assert create(api, **body)["previous_response_id"] == first["id"]
    assert retrieve(api, first["id"]) == first


def test_no_error_repeats_what_was_said(api: httpx.Client) -> None:
    private = f"private-{secrets.token_hex(4)}"
    bodies: list[Json] = [
        {"input": [{"role": "user", "content": private}, 5]},
        {"input": [{"role": "user", "content": {"text": private}}]},
        {"input": private, "temperature": private},
        {"input": private, "mode": private},
        {"input": "hi", "instructions": [private]},
        {"input": "hi", "metadata": {"a": private * 100}},
    ]
    for body in bodies:
        answer = api.post("/v1/responses", json=body)
        assert answer.status_code == 400
        assert private not in answer.text
    answer = api.post("/v1/responses", content=f'{{"input": "{private}", '.encode())
    assert private not in answer.text


def test_errors_carry_the_callers_request_id(account: Account) -> None:
    with account.client(**{"X-Request-Id": "mine-1"}) as client:
        for answer in (client.post("/v1/responses", json={}), client.get(f"/v1/responses/{MADE_UP}")):
            assert answer.headers["x-request-id"] == "mine-1"
        with client.stream("POST", "/v1/responses", json={"input": "hi", "stream": True}) as streamed:
            assert streamed.headers["x-request-id"] == "mine-1"
            streamed.read()
