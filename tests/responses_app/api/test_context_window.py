"""What becomes of a conversation that is longer than the model's context window (``truncation``)."""

from typing import Any

import httpx
import pytest
from pytest_django import Settings

from responses_app.engine.tokens import count_tokens
from responses_app.protocol.catalogue import catalogue
from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import LOOKUP, Script, create, create_stream, message, write_record
from tests.support.envelope import assert_error
from tests.support.upstream import Call, Step, Upstream, text_of

Json = dict[str, Any]

WINDOW = 800
TAKEN = 700
"""An eighth is left to the answer."""
LONG = "word " * 900
CODE = "context_length_exceeded"
TOO_LONG = {"error": {"message": "This model's maximum context length is 400 tokens.", "code": CODE}}


@pytest.fixture(autouse=True)
def small_window(settings: Settings) -> None:
    settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"context_window": WINDOW}})
    settings.HARNESS_TOOLS = []
    settings.BUILTIN_TOOLS = ["list_family_members"]


def told(upstream: Upstream, mark: str) -> list[tuple[str, str]]:
    return [(each["role"], text_of(each)) for each in upstream.requests(mark)[-1].messages]


@pytest.fixture
def mark(script: Script) -> str:
    return script(Step(text=["Fine."]), repeat_last=True)


@pytest.mark.parametrize("mode", ["agent", "model"])
class TestDisabled:
    def test_says_by_how_much_before_anything_is_kept(self, api: httpx.Client, mode: str) -> None:
        surplus = count_tokens(LONG) - TAKEN
        body = {"input": LONG, "mode": mode, "user": "nobody"}
        assert f"{surplus} too many" in refused(api, body, CODE, "input")
        assert api.get("/v1/subjects/nobody").status_code == 404

    def test_counts_what_goes_with_the_input(self, api: httpx.Client, mode: str) -> None:
        tool = LOOKUP | {"description": LONG}
        answer = api.post("/v1/responses", json={"input": "Hi", "mode": mode, "tools": [tool]})
        assert_error(answer, 400, CODE, "input")
        stream = create_stream(api, input="Hi", mode=mode, tools=[tool])
        assert stream.error
        assert (stream.error["code"], stream.response["error"]["code"]) == (CODE, CODE)

    def test_a_huge_text_without_many_tokens_is_counted(self, api: httpx.Client, mark: str, mode: str) -> None:
        accepted(api, {"mode": mode, "input": f"{' ' * 5_000} {mark}", "tools": []})


class TestAuto:
    def test_drops_the_oldest_and_keeps_the_rules(self, api: httpx.Client, upstream: Upstream, mark: str) -> None:
        history = [message("Be kind.", "system")]
        for number in range(9):
            history += [message(f"{number} " + "word " * 60), message("word " * 60, "assistant")]
        body = {"mode": "model", "truncation": "auto", "input": [*history, message(f"So? {mark}")]}
        response = accepted(api, body)
        roles = [role for role, _ in told(upstream, mark)]
        assert roles[:2] == ["system", "user"]
        assert 3 < len(roles) < len(history)
        assert sum(count_tokens(text) for _, text in told(upstream, mark)) <= TAKEN
        assert response["truncation"] == "auto"
        listed = api.get(f"/v1/responses/{response['id']}/input_items", params={"limit": 100}).json()["data"]
        assert len(listed) == len(history) + 1

    def test_counts_only_what_was_sent(self, api: httpx.Client, script: Script) -> None:
        mark = script(Step(text=["Fine."], usage=None), repeat_last=True)
        history = [message("word " * 300), message("Yes.", "assistant")] * 4
        usage = create(api, mode="model", truncation="auto", input=[*history, message(f"So? {mark}")])["usage"]
        assert usage["billed_tokens"]["estimated"]
        assert usage["input_tokens"] <= usage["billed_tokens"]["input"] <= TAKEN

    def test_parts_no_call_from_its_output(self, api: httpx.Client, upstream: Upstream, mark: str) -> None:
        calls = [{"type": "function_call", "call_id": each, "name": "phone_lookup", "arguments": "{}"} for each in "AB"]
        outputs = [{"type": "function_call_output", "call_id": each, "output": "word " * 200} for each in "AB"]
        history = [message("word " * 200), *calls, *outputs, message("Done.", "assistant"), message(f"Again? {mark}")]
        for words in (1, 150, 300, 450, 600):
            body = {"mode": "model", "truncation": "auto", "input": history, "instructions": "word " * words}
            accepted(api, body)
            messages = upstream.requests(mark)[-1].messages
            made = [call["id"] for each in messages for call in each.get("tool_calls", [])]
            assert made == [each["tool_call_id"] for each in messages if each["role"] == "tool"]

    def test_a_session_never_outgrows_the_window(self, api: httpx.Client, upstream: Upstream, mark: str) -> None:
        for number in range(6):
            create(
                api, session_id="s", truncation="auto", input=f"{number} {'word ' * 80} {mark}", builtin_tools="none"
            )
            assert sum(count_tokens(text) for _, text in told(upstream, mark)) <= TAKEN
        assert not any(text.startswith("0 ") for _, text in told(upstream, mark))
        answer = api.post("/v1/responses", json={"session_id": "s", "input": f"{'word ' * 400} {mark}"})
        assert_error(answer, 400, CODE, "input")
        create(api, session_id="s", truncation="auto", input=f"Still there? {mark}", builtin_tools="none")

    def test_what_cannot_be_dropped_is_refused(self, api: httpx.Client) -> None:
        answer = api.post("/v1/responses", json={"truncation": "auto", "mode": "model", "input": LONG})
        assert_error(answer, 400, CODE, "input")


def test_results_that_do_not_fit_are_left_out_in_mid_turn(
    api: httpx.Client, upstream: Upstream, script: Script, settings: Settings
) -> None:
    settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"context_window": 3_000}})
    settings.BUILTIN_TOOLS = ["query_health_data"]
    for day in range(1, 29):
        write_record(api, "weight", "72.5 kg", user="max", time=f"2026-10-{day:02}T08:00:00Z")
    look = Step(calls=[Call("query_health_data", {"indicators": ["weight"], "limit": 28})])
    mark = script(look, look, look, Step(text=["Enough."]))
    response = create(api, user="max", input=f"My weights? {mark}")
    assert response["output_text"] == "Enough."
    assert len(response["tool_steps"]) == 3
    assert "left out" in upstream.requests(mark)[-1].tool_outputs[0]
    assert all("left out" not in str(step["result"]) for step in response["tool_steps"])


def test_what_the_model_itself_made_too_long_is_incomplete(api: httpx.Client, script: Script) -> None:
    look = Step(text=["I look."], calls=[Call("list_family_members", {"note": "word " * 700})])
    response = create(api, input=f"Go {script(look)}", builtin_tools=["list_family_members"])
    assert response["incomplete_details"] == {"reason": CODE}
    assert response["output_text"] == "I look."


class TestAProviderThatTakesLess:
    @pytest.mark.parametrize(
        "error",
        [
            TOO_LONG,
            {
                "error": {
                    "message": "the request exceeds the available context size",
                    "type": "exceed_context_size_error",
                }
            },
            {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}},
        ],
        ids=["code", "size", "prompt"],
    )
    def test_is_the_callers_to_mend(self, api: httpx.Client, script: Script, error: Json) -> None:
        for mode in ("agent", "model"):
            body = {"input": f"Hi {script(Step(status=400, error_body=error), repeat_last=True)}", "mode": mode}
            answer = api.post("/v1/responses", json=body | {"builtin_tools": "none"})
            assert_error(answer, 400, CODE, "input")
            said = answer.json()["error"]["message"]
            assert (said == error["error"]["message"]) == (mode == "model")

    def test_is_given_less_where_that_is_allowed(self, api: httpx.Client, script: Script, upstream: Upstream) -> None:
        def step(request: Any) -> Step:
            long = len(request.messages) > 3
            return Step(status=400, error_body=TOO_LONG) if long else Step(text=["Fine."])

        mark = script(step, repeat_last=True)
        history = [message("word " * 100), message("Yes.", "assistant")] * 3
        body = {"mode": "model", "input": [*history, message(f"So? {mark}")]}
        assert_error(api.post("/v1/responses", json=body), 400, CODE, "input")
        assert accepted(api, body | {"truncation": "auto"})["output_text"] == "Fine."
