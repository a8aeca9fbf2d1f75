"""``mode: "model"`` (wire contract, section 9): one bare inference, the caller's words and tools alone, no state."""

import json
import secrets
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.both_ways import refused
from tests.responses_app.api.conftest import (
    BOOKING,
    LOOKUP,
    Ask,
    Script,
    calls_of,
    create,
    create_stream,
    message,
    output_for,
    retrieve,
    wait_until,
)
from tests.support.envelope import assert_error
from tests.support.upstream import SECRET, Call, Cut, Hang, Raw, Step, Upstream, Usage

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("quick_retries")

PHONE = Call("phone_lookup", {"name": "Dr Li"}, id="provider-id.1")
BROKEN = Call("phone_lookup", "[]")


@pytest.fixture
def ask_bare(ask: Ask) -> Ask:
    """``ask`` in model mode."""

    def asked(**body: Any) -> Json:
        return ask(mode="model", **body)

    return asked


def test_the_model_is_told_the_callers_words_alone(ask_bare: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Hello ", "there."], usage=Usage(prompt=100, completion=7)))
    response = ask_bare(input=f"Hi {mark}", instructions="Be kind.", tools=[LOOKUP], builtin_tools="auto")
    assert response["output_text"] == "Hello there."
    assert (response["tool_steps"], response["health_records"], response["citations"]) == ([], [], [])
    assert response["usage"]["billed_tokens"] == {"input": 100, "output": 7, "total": 107}
    [asked] = upstream.requests(mark)
    assert [(said["role"], said["content"]) for said in asked.messages] == [
        ("system", "Be kind."),
        ("user", f"Hi {mark}"),
    ]
    assert asked.tool_names == ["phone_lookup"]


def test_without_instructions_there_is_no_system_text(ask_bare: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Hello."]))
    ask_bare(input=[message("Be kind.", "developer"), message(f"Hi {mark}")])
    [asked] = upstream.requests(mark)
    assert [said["role"] for said in asked.messages] == ["system", "user"]
    assert not {"tools", "tool_choice", "response_format"} & asked.body.keys()


def test_what_the_caller_asks_of_the_inference_is_passed_on(ask_bare: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Hello."]))
    given = {"temperature": 0.3, "top_p": 0.9, "max_output_tokens": 50, "reasoning": {"effort": "low"}}
    ask_bare(input=f"Hi {mark}", tools=[LOOKUP], parallel_tool_calls=False, **given)
    [asked] = upstream.requests(mark)
    passed_on = {
        "temperature": 0.3,
        "top_p": 0.9,
        "max_tokens": 50,
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
    }
    assert passed_on.items() <= asked.body.items()


def test_the_limit_has_another_name_with_some_models(
    ask_bare: Ask, script: Script, upstream: Upstream, settings: Settings
) -> None:
    settings.LLM_MODEL_FLASH = f"newer-{secrets.token_hex(4)}"
    refusal = {"error": {"message": "'max_tokens' is not supported with this model. Use 'max_completion_tokens'."}}
    mark = script(
        lambda request: (
            Step(status=400, error_body=refusal) if "max_tokens" in request.body else Step(text=["So"], finish="length")
        )
    )
    response = ask_bare(input=f"Hi {mark}", max_output_tokens=20)
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    ask_bare(input=f"Hi {mark}", max_output_tokens=30)
    limits = [request.body.get("max_completion_tokens") for request in upstream.requests(mark)]
    assert limits == [None, 20, 30]


def spelt(token: str, logprob: Any, *others: Json, **more: Any) -> Json:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), **more, "top_logprobs": list(others)}


def test_log_probabilities_come_with_their_text(ask_bare: Ask, script: Script, upstream: Upstream) -> None:
    other = {"token": "Ho", "logprob": -2.5, "bytes": [72, 111]}
    chunks = [("Hi", [spelt("Hi", -0.25, other)]), (" 您", [spelt(" ", -1), spelt("您", -1e400)]), (".", None)]
    frames = [
        {"choices": [{"index": 0, "delta": {"content": text}, "logprobs": {"content": told}}]} for text, told in chunks
    ]
    mark = script(Step(text=[Raw(b"data: %s\n\n" % json.dumps(frame).encode()) for frame in frames]))
    response = ask_bare(input=f"Hi {mark}", top_logprobs=1)
    [part] = response["output"][0]["content"]
    assert part["text"] == "Hi 您."
    assert part["logprobs"] == [spelt("Hi", -0.25, other), spelt(" ", -1.0), spelt("您", -9999.0)]
    asked = upstream.requests(mark)[0].body
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 1)


@pytest.mark.parametrize(
    "told", [5, [], {}, {"content": 5}, {"content": [5, {}, {"token": 5, "logprob": "x", "bytes": "x"}]}], ids=str
)
def test_log_probabilities_that_are_none_spoil_no_answer(ask_bare: Ask, script: Script, told: Any) -> None:
    frame = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": told}]}
    mark = script(Step(text=[Raw(b"data: %s\n\n" % json.dumps(frame).encode())]))
    assert ask_bare(input=f"Hi {mark}", include=["message.output_text.logprobs"])["output_text"] == "Hi"


def test_agent_mode_passes_none_of_it_on(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Hello."]))
    ask(
        input=f"Hi {mark}",
        temperature=0.3,
        top_p=0.9,
        max_output_tokens=50,
        reasoning={"effort": "low"},
        top_logprobs=3,
    )
    [asked] = upstream.requests(mark)
    passed_on = {"temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort", "logprobs"}
    assert not passed_on & asked.body.keys()


def test_reasoning_comes_before_the_text(ask_bare: Ask, script: Script) -> None:
    response = ask_bare(input=f"Hi {script(Step(reasoning=['Hm.'], text=['Yes.']))}")
    assert [item["type"] for item in response["output"]] == ["reasoning", "message"]


def test_text_is_passed_on_as_it_comes(api: httpx.Client, script: Script) -> None:
    stream = create_stream(api, mode="model", input=f"Hi {script(Step(text=['One ', 'two ', 'three.']))}")
    assert stream.types.count("response.output_text.delta") == 3


def test_an_answer_cut_off_at_its_limit_is_incomplete(ask_bare: Ask, script: Script) -> None:
    response = ask_bare(input=f"Hi {script(Step(text=['So far'], finish='length'))}", max_output_tokens=16)
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (response["max_output_tokens"], response["output_text"]) == (16, "So far")


class TestCalls:
    def test_are_handed_over_with_the_providers_ids(self, ask_bare: Ask, script: Script) -> None:
        second = Call("book_appointment", {"date": "2026-12-01"}, id="functions.book:1")
        response = ask_bare(input=f"Go {script(Step(text=['Wait.'], calls=[PHONE, second]))}", tools=[LOOKUP, BOOKING])
        assert response["status"] == "completed"
        assert [call["call_id"] for call in calls_of(response)] == ["provider-id.1", "functions.book:1"]
        assert calls_of(response)[0]["arguments"] == '{"name": "Dr Li"}'

    @pytest.mark.parametrize("bad", ["", "x" * 65, "a b", "ü", "taken", "in-the-input"])
    def test_get_another_id_where_the_providers_cannot_be(self, api: httpx.Client, script: Script, bad: str) -> None:
        mark = script(Step(calls=[Call("phone_lookup", {"name": "A"}, id="taken"), Call("phone_lookup", {}, id=bad)]))
        before = {"type": "function_call", "call_id": "in-the-input", "name": "phone_lookup", "arguments": "{}"}
        response = create(api, mode="model", input=[before, output_for(before), message(f"Go {mark}")], tools=[LOOKUP])
        first, second = (call["call_id"] for call in calls_of(response))
        assert first == "taken"
        assert second not in ("", bad)
        assert len(second) <= 64

    def test_are_replayed_with_their_outputs(self, ask_bare: Ask, script: Script, upstream: Upstream) -> None:
        mark = script(Step(calls=[PHONE]), Step(text=lambda request: [f"It is {request.tool_outputs[0]}."]))
        asked = [message(f"Which number? {mark}")]
        handoff = ask_bare(input=asked, tools=[LOOKUP])
        [call] = calls_of(handoff)
        response = ask_bare(input=[*asked, *handoff["output"], output_for(call, "555")], tools=[LOOKUP], store=True)
        assert response["output_text"] == "It is 555."
        replayed = upstream.requests(mark)[-1].messages
        assert [said.get("tool_call_id") for said in replayed if said["role"] == "tool"] == ["provider-id.1"]

    def test_one_that_is_malformed_is_told_once(self, ask_bare: Ask, script: Script, upstream: Upstream) -> None:
        mark = script(Step(calls=[BROKEN]), Step(calls=[PHONE]))
        response = ask_bare(input=f"Go {mark}", tools=[LOOKUP])
        assert [call["arguments"] for call in calls_of(response)] == ['{"name": "Dr Li"}']
        assert "JSON object" in upstream.requests(mark)[1].tool_outputs[0]

    def test_only_one_without_parallel_calls(self, ask_bare: Ask, script: Script) -> None:
        step = Step(calls=[PHONE, Call("phone_lookup", {"name": "B"})])
        assert len(calls_of(ask_bare(input=f"Go {script(step)}", tools=[LOOKUP], parallel_tool_calls=False))) == 1

    def test_a_built_in_tool_is_none_of_its(self, api: httpx.Client, script: Script) -> None:
        step = Step(calls=[Call("query_health_data", {"indicators": ["weight"]})])
        answer = api.post("/v1/responses", json={"mode": "model", "input": f"Go {script(step, step)}"})
        assert_error(answer, 502, "upstream_error")

    def test_none_means_plain_text(self, ask_bare: Ask, script: Script, upstream: Upstream) -> None:
        mark = script(Step(text=["Plain."]))
        response = ask_bare(input=f"Go {mark}", tools=[LOOKUP], tool_choice="none")
        assert (response["tool_choice"], response["output_text"]) == ("none", "Plain.")
        assert upstream.requests(mark)[0].tool_names == []


class TestNoState:
    @pytest.mark.parametrize("field", ["previous_response_id", "session_id"])
    def test_the_request_may_not_name_any(self, api: httpx.Client, field: str) -> None:
        earlier = create(api, input="Hi")["id"]
        said = refused(api, {"mode": "model", "input": "Hi", field: earlier}, "unsupported_parameter", field)
        assert "replay" in said

    def test_tools_that_the_server_would_run_are_refused(self, api: httpx.Client) -> None:
        tool = {"type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example/mcp"}
        refused(api, {"mode": "model", "input": "Hi", "tools": [tool]}, "unsupported_parameter", "tools[0]")

    def test_a_stored_one_cannot_be_continued(self, api: httpx.Client, script: Script) -> None:
        bare = create(api, mode="model", input=f"Go {script(Step(calls=[PHONE]))}", tools=[LOOKUP])
        for body in (
            {"input": "And now?", "previous_response_id": bare["id"]},
            {"input": "And now?", "previous_response_id": bare["id"], "store": False},
            {"input": "And now?", "previous_response_id": bare["id"], "session_id": "adopted"},
            {"input": [output_for(calls_of(bare)[0])], "previous_response_id": bare["id"]},
        ):
            said = refused(api, body, "invalid_value", "previous_response_id")
            assert "replay the transcript" in said
        assert api.get("/v1/sessions/adopted").status_code == 404
        assert retrieve(api, bare["id"]) == bare

    def test_the_input_may_refer_to_a_stored_item(self, api: httpx.Client, script: Script, upstream: Upstream) -> None:
        said = create(api, mode="model", input=f"Hi {script(Step(text=['Said before.']))}")["output"][0]
        mark = script(Step(text=["Well."]))
        create(api, mode="model", input=[{"type": "item_reference", "id": said["id"]}, message(f"So? {mark}")])
        assert upstream.requests(mark)[0].messages[0] == {"role": "assistant", "content": "Said before."}

    def test_nothing_is_kept_without_store(self, api: httpx.Client, script: Script) -> None:
        response = create(api, mode="model", store=False, input=f"Hi {script(Step(text=['Gone.']))}")
        assert response["output_text"] == "Gone."
        assert api.get(f"/v1/responses/{response['id']}").status_code == 404

    def test_one_in_the_background_can_be_cancelled(
        self, api: httpx.Client, script: Script, upstream: Upstream
    ) -> None:
        mark = script(Step(text=["So far", Hang()]))
        response_id = create(api, mode="model", background=True, input=f"Hi {mark}")["id"]
        wait_until(lambda: upstream.requests(mark))
        assert api.post(f"/v1/responses/{response_id}/cancel").status_code == 200
        assert retrieve(api, response_id)["status"] == "cancelled"


class TestProviderFaults:
    @pytest.mark.parametrize("status", [400, 404, 413, 422])
    def test_a_refused_request_is_the_callers_to_mend(self, api: httpx.Client, script: Script, status: int) -> None:
        body = {"error": {"message": "temperature must be 1 for this model.", "param": "temperature"}}
        mark = script(Step(status=status, error_body=body))
        request = {"mode": "model", "input": f"Hi {mark}", "temperature": 0.5}
        answer = api.post("/v1/responses", json=request)
        assert_error(answer, 400, "invalid_value", "temperature")
        assert answer.json()["error"]["message"] == "temperature must be 1 for this model."
        stream = create_stream(api, **request)
        assert stream.error
        assert (stream.error["code"], stream.error["param"]) == ("invalid_value", "temperature")
        assert stream.response["error"] == {
            "type": "invalid_request_error",
            "code": "invalid_value",
            "message": "temperature must be 1 for this model.",
        }

    @pytest.mark.parametrize(
        "body",
        [
            {"error": {"message": "Too long. See https://provider.example/docs?key=1 or call 10.1.2.3:8000."}},
            {"error": {"message": "Bad key sk-live-abcdef and sk-proj-0123456789abcdefghij in Bearer abcdefghi"}},
            {"error": {"message": "Failed at /usr/lib/python3/site-packages/serve.py line 3"}},
            {"error": {"message": "Traceback (most recent call last): File serve.py"}},
            {"error": {"message": "x" * 100_000}},
            {"error": "no object"},
            {"detail": "in other words"},
            {"detail": [{"loc": ["body"], "msg": "field required"}]},
            [{"error": {"message": "in a list"}}],
            {"error": None},
            b"<html>Bad Request</html>",
            b"",
            b"\xff\xfe",
        ],
        ids=str,
    )
    def test_its_message_is_told_without_what_is_the_operators(
        self, api: httpx.Client, script: Script, caplog: pytest.LogCaptureFixture, body: Any
    ) -> None:
        mark = script(Step(status=400, error_body=body))
        answer = api.post("/v1/responses", json={"mode": "model", "input": f"Hi {mark}"})
        assert_error(answer, 400, "invalid_value")
        message = answer.json()["error"]["message"]
        assert len(message) <= 410
        for private in ("provider.example", "10.1.2.3", "sk-", "abcdefgh", "/usr", "Traceback", "html"):
            assert private not in message
        assert "other words" not in caplog.text

    @pytest.mark.parametrize(("given", "told"), [("7", "7"), ("0.2", "1"), (None, "1"), ("1e9", "86400")])
    def test_a_rate_limit_is_told_at_once(
        self, api: httpx.Client, script: Script, upstream: Upstream, given: str | None, told: str
    ) -> None:
        mark = script(Step(status=429, headers={"Retry-After": given} if given else {}))
        answer = api.post("/v1/responses", json={"mode": "model", "input": f"Hi {mark}"})
        assert_error(answer, 429, "rate_limit_exceeded")
        assert answer.headers["retry-after"] == told
        assert SECRET not in answer.text
        assert len(upstream.requests(mark)) == 1
        stream = create_stream(api, mode="model", input=f"Hi {mark}")
        assert stream.error
        assert stream.error["code"] == stream.response["error"]["code"] == "rate_limit_exceeded"

    @pytest.mark.parametrize(
        "step",
        [
            Step(status=401),
            Step(status=403),
            Step(status=402),
            Step(status=500),
            Step(status=503),
            Step(text=[Cut()]),
            Step(text=["So far", Cut()]),
            Step(text=["So far", Raw(b'data: {"error": {"message": "%s"}}\n\n' % SECRET.encode())], finish=None),
        ],
        ids=["401", "403", "402", "500", "503", "cut", "cut in mid-stream", "an error in mid-stream"],
    )
    def test_others_are_the_servers(
        self, api: httpx.Client, script: Script, caplog: pytest.LogCaptureFixture, step: Step
    ) -> None:
        request = {"mode": "model", "input": f"Hi {script(step)}"}
        answer = api.post("/v1/responses", json=request)
        assert_error(answer, 502, "upstream_error")
        stream = create_stream(api, **request)
        assert stream.response["error"]["code"] == "upstream_error"
        assert SECRET not in answer.text + str(stream.events) + caplog.text

    def test_silence_is_the_servers(self, api: httpx.Client, script: Script, settings: Settings) -> None:
        settings.LLM_TIMEOUT_SECONDS = 0.2
        answer = api.post("/v1/responses", json={"mode": "model", "input": f"Hi {script(Step(text=[Hang()]))}"})
        assert_error(answer, 502, "upstream_error")

    def test_agent_mode_tells_nothing_of_the_providers(self, api: httpx.Client, script: Script) -> None:
        for status in (400, 422, 429):
            answer = api.post("/v1/responses", json={"input": f"Hi {script(Step(status=status))}"})
            assert_error(answer, 502, "upstream_error")
            assert SECRET not in answer.text


def test_the_built_in_analyst_answers_and_calls_the_callers_tools(ask_bare: Ask, settings: Settings) -> None:
    settings.LLM_BASE_URL = ""
    assert ask_bare(input="How is my glucose?", user="somebody")["output_text"]
    response = ask_bare(input="Book an appointment for 2026-12-07.", tools=[BOOKING])
    assert [call["name"] for call in calls_of(response)] == ["book_appointment"]
    assert response["tool_steps"] == []
    cut = ask_bare(input="What can you do?", max_output_tokens=16)
    assert cut["incomplete_details"] == {"reason": "max_output_tokens"}
    assert cut["usage"]["output_tokens"] <= 16
