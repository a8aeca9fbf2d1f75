"""Faults of the model provider: what the caller of either kind is told, what is kept, and that no word of it leaks."""

from collections.abc import Sequence

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import LOOKUP, Ask, Script, create, create_stream, retrieve, wait_until
from tests.support.envelope import assert_error
from tests.support.upstream import SECRET, Call, Cut, Hang, Raw, Step, Upstream

pytestmark = pytest.mark.usefixtures("quick_retries")

MEMBERS = Call("list_family_members", {})
BROKEN = Call("phone_lookup", "[]")
ERROR_FRAME = b'data: {"error": {"message": "' + SECRET.encode() + b'"}}\n\n'

FAULTS: dict[str, Sequence[Step]] = {
    "400": [Step(status=400)],
    "401": [Step(status=401)],
    "429": [Step(status=429)],
    "500": [Step(status=500)],
    "500 in the second step": [Step(calls=[MEMBERS]), Step(status=500)],
    "cut before the first byte": [Step(text=[Cut()])],
    "cut in mid-stream": [Step(text=["So far", Cut()])],
    "cut in the reasoning": [Step(reasoning=["So far", Cut()])],
    "an error in mid-stream": [Step(text=["So far", Raw(ERROR_FRAME)], finish=None, done=False)],
    "no finish": [Step(text=["So far"], finish=None, done=False)],
    "malformed calls twice": [Step(calls=[BROKEN]), Step(calls=[BROKEN])],
    "an unknown tool twice": [Step(calls=[Call("nothing")]), Step(calls=[Call("nothing")])],
}
each_fault = pytest.mark.parametrize("steps", FAULTS.values(), ids=FAULTS.keys())


@each_fault
def test_a_json_caller_gets_a_502(
    api: httpx.Client, script: Script, caplog: pytest.LogCaptureFixture, steps: Sequence[Step]
) -> None:
    answer = api.post("/v1/responses", json={"input": f"Go {script(*steps)}", "tools": [LOOKUP]})
    assert_error(answer, 502, "upstream_error")
    assert SECRET not in answer.text + str(answer.headers) + caplog.text


@each_fault
def test_a_streaming_caller_gets_an_error_event_and_a_failed_response(
    api: httpx.Client, script: Script, caplog: pytest.LogCaptureFixture, steps: Sequence[Step]
) -> None:
    stream = create_stream(api, input=f"Go {script(*steps)}", tools=[LOOKUP])
    assert stream.error
    assert stream.error["code"] == stream.error["error"]["code"] == "upstream_error"
    assert stream.types[-2:] == ["error", "response.failed"]
    assert stream.response["error"]["type"] == stream.response["error"]["code"] == "upstream_error"
    assert retrieve(api, stream.response["id"]) == stream.response
    assert SECRET not in str(stream.events) + caplog.text


def test_a_failed_response_keeps_what_was_said(api: httpx.Client, script: Script) -> None:
    stream = create_stream(api, input=f"Go {script(Step(reasoning=['Hm.'], text=['So ', 'far', Cut()]))}")
    reasoning, message = stream.response["output"]
    assert (reasoning["status"], message["status"]) == ("completed", "incomplete")
    assert stream.response["output_text"] == "So far"


def test_an_answer_that_began_is_not_asked_for_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["So far", Cut()]))
    create_stream(api, input=f"Go {mark}")
    assert len(upstream.requests(mark)) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_fault_that_passes_is_not_seen(ask: Ask, script: Script, upstream: Upstream, status: int) -> None:
    mark = script(Step(status=status, heals_after=2, text=["Fine."]))
    assert ask(input=f"Go {mark}")["output_text"] == "Fine."
    assert len(upstream.requests(mark)) == 3


def test_a_provider_that_says_nothing_in_time(
    api: httpx.Client, script: Script, upstream: Upstream, settings: Settings
) -> None:
    settings.LLM_TIMEOUT_SECONDS = 0.2
    mark = script(Step(text=["So far", Hang()]))
    assert_error(api.post("/v1/responses", json={"input": f"Go {mark}"}), 502, "upstream_error")
    assert upstream.requests(mark)[0].gone.wait(10)


def test_a_cancel_ends_the_wait_for_a_provider_that_has_said_nothing(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(text=[Hang()]))
    response_id = create(api, input=f"Go {mark}", background=True)["id"]
    wait_until(lambda: upstream.requests(mark))
    assert api.post(f"/v1/responses/{response_id}/cancel").status_code == 200
    assert upstream.requests(mark)[0].gone.wait(10)
    assert retrieve(api, response_id)["status"] == "cancelled"


def test_a_provider_that_cannot_be_reached(api: httpx.Client, settings: Settings) -> None:
    settings.LLM_BASE_URL = "http://127.0.0.1:1/v1"
    assert_error(api.post("/v1/responses", json={"input": "Go"}), 502, "upstream_error")


def test_a_malformed_call_forgiven_once_is_not_forgiven_again_later(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[BROKEN]), Step(calls=[MEMBERS]), Step(calls=[BROKEN]), Step(text=["Never."]))
    stream = create_stream(api, input=f"Go {mark}", tools=[LOOKUP])
    assert stream.response["status"] == "failed"
    assert stream.response["error"]["code"] == "upstream_error"
    assert stream.function_calls == []
