"""``POST /v1/responses/input_tokens``: what ``usage.input_tokens`` of a turn would be, and nothing else happens."""

from typing import Any

import httpx
import pytest

from tests.responses_app.api.conftest import LOOKUP, Script, calls_of, create, message, output_for, retrieve
from tests.support.envelope import assert_error
from tests.support.upstream import Call, Step

Json = dict[str, Any]

CALL = {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": '{"name": "Bob"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "555-0100"}


def count(api: httpx.Client, **body: Any) -> int:
    answer = api.post("/v1/responses/input_tokens", json=body)
    assert answer.status_code == 200, answer.text
    counted: Json = answer.json()
    assert set(counted) == {"object", "input_tokens"}
    assert counted["object"] == "response.input_tokens"
    tokens: int = counted["input_tokens"]
    return tokens


@pytest.mark.parametrize(
    "body",
    [
        {"input": "How is my heart?"},
        {"input": "你好，我的血压怎么样？", "instructions": "Be brief."},
        {"input": [message("Hi"), message("Hello.", "assistant"), message("So?")], "model": "mirobody-expert"},
        {"input": [message("Go"), CALL, OUTPUT, message("So?")], "tools": [LOOKUP]},
        {"input": "Hi", "tools": [LOOKUP], "tool_choice": "none"},
        {"input": "Hi", "mode": "model", "tools": [LOOKUP], "text": {"format": {"type": "text"}}},
        {"input": "Hi", "session_id": "fresh", "stream": True, "truncation": "auto"},
    ],
    ids=str,
)
def test_it_counts_what_the_turn_would(api: httpx.Client, body: Json) -> None:
    counted = count(api, **body)
    assert counted > 0
    assert create(api, **body | {"stream": False})["usage"]["input_tokens"] == counted


def test_a_resume_counts_what_it_takes_over_and_stays_pending(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[Call("phone_lookup")]), Step(text=["Done."]))
    for session in ({}, {"session_id": "s1"}):
        handoff = create(api, input=f"Go {mark}", tools=[LOOKUP], **session)
        place = session or {"previous_response_id": handoff["id"]}
        body = place | {"input": [output_for(calls_of(handoff)[0], "555-0100")]}
        counted = count(api, **body)
        resumed = create(api, **body)
        assert resumed["usage"]["input_tokens"] == counted


def test_what_could_not_be_sent_cannot_be_counted(api: httpx.Client, script: Script) -> None:
    handoff = create(api, input=f"Go {script(Step(calls=[Call('phone_lookup')]))}", tools=[LOOKUP])
    for body, status, code, param in (
        ({}, 400, "missing_required_parameter", "input"),
        ({"input": "Hi", "model": "gpt-4"}, 400, "model_not_found", "model"),
        ({"input": "Hi", "previous_response_id": "resp_" + "0" * 32}, 404, "previous_response_not_found", None),
        ({"input": "Hi", "previous_response_id": handoff["id"]}, 400, "invalid_value", "input"),
        ({"input": [message("Go"), CALL]}, 400, "invalid_value", "input"),
        ({"input": [{"type": "item_reference", "id": "msg_gone"}]}, 404, "not_found", "input[0]"),
    ):
        answer = api.post("/v1/responses/input_tokens", json=body)
        assert_error(answer, status, code, param or "previous_response_id")
    assert retrieve(api, handoff["id"]) == handoff


def test_nobody_is_made_and_nothing_is_kept(api: httpx.Client) -> None:
    count(api, input="Hi", user="nobody", session_id="none")
    assert api.get("/v1/subjects/nobody").status_code == 404
    assert api.get("/v1/sessions/none", params={"user": "nobody"}).status_code == 404
