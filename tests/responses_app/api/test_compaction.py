"""``POST /v1/responses/compact``: a window that stands for a conversation, and who may pass it back."""

from typing import Any

import httpx
import pytest
from openresponses_types import types as openresponses
from pytest_django import Settings

from responses_app.protocol.compaction_shapes import CompactedWindow
from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import (
    LOOKUP,
    Script,
    calls_of,
    create,
    message,
    output_for,
    retrieve,
    wait_until,
    write_record,
)
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import Call, Cut, Hang, ScriptedStep, Step, Upstream

Json = dict[str, Any]

MODEL = "mirobody-flash"
SUMMARY = "The user likes cedar trees."


def compact(api: httpx.Client, **body: Any) -> Json:
    """The checked window. Fails unless the answer is a 200."""
    answer = api.post("/v1/responses/compact", json={"model": MODEL} | body)
    assert answer.status_code == 200, answer.text
    window: Json = answer.json()
    CompactedWindow.model_validate(window)
    openresponses.CompactResource.model_validate(window)
    assert [item["type"] for item in window["output"]].index("compaction") == len(window["output"]) - 1
    return window


def texts_of(window: Json) -> list[str]:
    return ["".join(part["text"] for part in item["content"]) for item in window["output"][:-1]]


def told(upstream: Upstream, mark: str) -> str:
    return str(upstream.requests(mark)[-1].messages)


def or_summary(step: Step) -> ScriptedStep:
    """The step, unless the model is asked for a summary of the transcript that holds its mark."""
    return lambda request: Step(text=[SUMMARY]) if "Write the summary" in request.system else step


@pytest.fixture
def mark(script: Script) -> str:
    """A model that answers every request with the summary."""
    return script(Step(text=[SUMMARY]), repeat_last=True)


@pytest.fixture
def window(api: httpx.Client, mark: str) -> Json:
    return compact(api, input=[message(f"I like cedars. {mark}"), message("So do I.", "assistant")])


class TestTheWindow:
    def test_keeps_what_the_user_said_and_ends_with_the_compaction(self, window: Json, mark: str) -> None:
        assert texts_of(window) == [f"I like cedars. {mark}"]
        assert window["object"] == "response.compaction"
        assert SUMMARY not in str(window)
        assert window["usage"]["billed_tokens"]["total"] == 1050

    def test_can_be_passed_back(self, api: httpx.Client, upstream: Upstream, script: Script, window: Json) -> None:
        mark = script(Step(text=["Cedars."]), repeat_last=True)
        for mode in ("agent", "model"):
            accepted(api, {"mode": mode, "input": [*window["output"], message(f"Which trees? {mark}")]})
            assert SUMMARY in told(upstream, mark)

    def test_can_be_compacted_again(self, api: httpx.Client, upstream: Upstream, script: Script, window: Json) -> None:
        mark = script(Step(text=["Still cedars."]), repeat_last=True)
        again = compact(api, input=[*window["output"], message(f"And oaks. {mark}")])
        assert SUMMARY in upstream.requests(mark)[-1].user_text
        assert len(texts_of(again)) == 2

    def test_a_stored_turn_keeps_and_lists_it(
        self, api: httpx.Client, upstream: Upstream, script: Script, window: Json
    ) -> None:
        mark = script(Step(text=["Cedars."]), repeat_last=True)
        first = create(api, input=[*window["output"], message("Which trees?")])
        create(api, previous_response_id=first["id"], input=f"Sure? {mark}")
        assert SUMMARY in told(upstream, mark)
        listed = api.get(f"/v1/responses/{first['id']}/input_items", params={"order": "asc"}).json()["data"]
        assert listed[1]["encrypted_content"] == window["output"][-1]["encrypted_content"]
        reference = {"type": "item_reference", "id": listed[1]["id"]}
        create(api, input=[reference, message(f"Sure? {mark}")])
        assert SUMMARY in told(upstream, mark)

    def test_the_oldest_of_much_is_in_the_summary_alone(self, api: httpx.Client, mark: str) -> None:
        much = [message("Be kind.", "system"), *(message(f"{number} " + "word " * 9_000) for number in range(4))]
        kept = texts_of(compact(api, input=[*much, message(f"Now? {mark}")]))
        assert [text[:2] for text in kept] == ["Be", "2 ", "3 ", "No"]

    def test_images_stay_as_they_were(self, api: httpx.Client, mark: str) -> None:
        image = {"type": "input_image", "image_url": "https://example.com/a.png"}
        content = [{"type": "input_text", "text": mark}, image]
        window = compact(api, input=[{"role": "user", "content": content}])
        assert window["output"][0]["content"][1] == {"detail": "auto", **image}


class TestWhatIsSummarized:
    def test_the_whole_conversation_and_nothing_of_it_is_changed(
        self, api: httpx.Client, upstream: Upstream, script: Script
    ) -> None:
        write_record(api, "weight", "72.5 kg", user="kim")
        lookup = Step(calls=[Call("query_health_data", {"indicators": ["weight"]})])
        asked = script(or_summary(lookup), Step(text=["It is 72.5."]))
        first = create(api, user="kim", input=f"My weight? {asked}")
        wish = "Mind the weight."
        window = compact(api, user="kim", previous_response_id=first["id"], input="Thanks.", instructions=wish)
        assert texts_of(window) == [f"My weight? {asked}", "Thanks."]
        request = upstream.requests(asked)[-1]
        assert "72.5 kg" in request.user_text
        assert "It is 72.5." in request.user_text
        assert wish in request.system
        assert request.tool_names == []
        assert retrieve(api, first["id"], user="kim") == first
        assert api.get(f"/v1/responses/{window['id']}").status_code == 404

    def test_a_conversation_alone(self, api: httpx.Client, mark: str) -> None:
        first = create(api, input=f"I like cedars. {mark}")
        assert texts_of(compact(api, previous_response_id=first["id"])) == [f"I like cedars. {mark}"]

    def test_pending_calls_have_to_be_answered_and_stay_pending(
        self, api: httpx.Client, upstream: Upstream, script: Script
    ) -> None:
        mark = script(or_summary(Step(calls=[Call("phone_lookup", {"name": "Bob"})])), Step(text=["Called."]))
        handoff = create(api, input=f"Call Bob. {mark}", tools=[LOOKUP])
        [call] = calls_of(handoff)
        body = {"model": MODEL, "previous_response_id": handoff["id"]}
        answer = api.post("/v1/responses/compact", json=body)
        assert_error(answer, 400, "invalid_value", "input")
        assert answer.json()["error"]["message"] == (
            "previous response has pending function call(s) — provide function_call_output items for: "
            + call["call_id"]
        )
        compact(api, previous_response_id=handoff["id"], input=[output_for(call, "555-0100")])
        assert "555-0100" in upstream.requests(mark)[-1].user_text
        resumed = create(api, previous_response_id=handoff["id"], input=[output_for(call)])
        assert resumed["output_text"] == "Called."

    def test_calls_of_a_transcript_have_to_be_answered(self, api: httpx.Client) -> None:
        call = {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": "{}"}
        answer = api.post("/v1/responses/compact", json={"model": MODEL, "input": [message("Go"), call]})
        assert_error(answer, 400, "invalid_value", "input")
        assert '["c1"]' in answer.json()["error"]["message"]

    def test_the_built_in_analyst_cuts_it_down_by_rule(self, api: httpx.Client, settings: Settings) -> None:
        settings.LLM_BASE_URL = ""
        write_record(api, "weight", "72.5 kg", user="lee")
        first = create(api, user="lee", input="What is my latest weight?")
        window = compact(api, user="lee", previous_response_id=first["id"])
        assert texts_of(window) == ["What is my latest weight?"]
        assert window["usage"]["billed_tokens"]["estimated"]
        again = create(api, user="lee", input=[*window["output"], message("And my average weight?")])
        assert "72.5" in again["output_text"]


class TestWhoMayPassItBack:
    def test_only_its_subject(self, api: httpx.Client, other_account: Account, window: Json) -> None:
        body = {"input": [*window["output"], message("Which trees?")]}
        refused(api, body | {"user": "somebody"}, "invalid_value", "input[1].encrypted_content")
        with other_account.client() as stranger:
            refused(stranger, body, "invalid_value", "input[1].encrypted_content")

    @pytest.mark.parametrize("token", ["forged", "", "gAAAAABn" + "A" * 100, "\x00", "é"], ids=repr)
    def test_no_forgery(self, api: httpx.Client, token: str) -> None:
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": token}
        for path in ("/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens"):
            answer = api.post(path, json={"model": MODEL, "input": [message("Hi"), item]})
            assert_error(answer, 400, "invalid_value", "input[1].encrypted_content")

    def test_sealed_reasoning_is_no_compaction(self, api: httpx.Client, script: Script) -> None:
        mark = script(Step(reasoning=["Hm."], text=["Fine."]))
        said = create(api, input=f"Hi {mark}", include=["reasoning.encrypted_content"])["output"][0]
        item = {"type": "compaction", "encrypted_content": said["encrypted_content"]}
        refused(api, {"input": [item, message("Hi")]}, "invalid_value", "input[0].encrypted_content")

    def test_nobody_once_the_subject_is_erased(self, api: httpx.Client, mark: str) -> None:
        create(api, user="ana", input="Hi")
        window = compact(api, user="ana", input=f"I like cedars. {mark}")
        body = {"user": "ana", "input": [*window["output"], message("Which?")]}
        create(api, **body)
        assert api.delete("/v1/subjects/ana").status_code == 200
        refused(api, body, "invalid_value", "input[1].encrypted_content")
        create(api, user="ana", input="Hi")
        refused(api, body, "invalid_value", "input[1].encrypted_content")

    def test_one_from_before_its_subject_was_known(self, api: httpx.Client, mark: str) -> None:
        window = compact(api, user="new", input=f"I like cedars. {mark}")
        assert api.get("/v1/subjects/new").status_code == 404
        for _ in range(2):
            create(api, user="new", input=[*window["output"], message("Which?")])


class TestFaults:
    @pytest.mark.parametrize(
        ("body", "code", "param"),
        [
            ({"input": "Hi"}, "missing_required_parameter", "model"),
            ({"model": None, "input": "Hi"}, "missing_required_parameter", "model"),
            ({"model": "gpt-4", "input": "Hi"}, "model_not_found", "model"),
            ({"model": MODEL}, "missing_required_parameter", "input"),
            ({"model": MODEL, "input": []}, "missing_required_parameter", "input"),
            ({"model": MODEL, "input": " "}, "missing_required_parameter", "input"),
            ({"model": MODEL, "input": 5}, "invalid_type", "input"),
            ({"model": MODEL, "input": "Hi", "instructions": 5}, "invalid_type", "instructions"),
            ({"model": MODEL, "input": "Hi", "conversation": "conv_1"}, "unsupported_parameter", "conversation"),
            ({"model": MODEL, "input": "Hi", "user": 5}, "invalid_type", "user"),
        ],
        ids=str,
    )
    def test_a_bad_request(self, api: httpx.Client, body: Json, code: str, param: str) -> None:
        assert_error(api.post("/v1/responses/compact", json=body), 400, code, param)

    def test_unknown_fields_are_refused_where_that_is_asked_for(self, api: httpx.Client) -> None:
        body = {"model": MODEL, "input": "Hi", "colour": "red"}
        assert api.post("/v1/responses/compact", json=body).status_code == 200
        answer = api.post("/v1/responses/compact", json=body, headers={"X-Mirobody-Strict": "1"})
        assert_error(answer, 400, "unsupported_parameter", "colour")

    def test_an_unknown_conversation(self, api: httpx.Client, other_account: Account) -> None:
        with other_account.client() as stranger:
            theirs = create(stranger, input="Hi")["id"]
        for previous in ("resp_" + "0" * 32, theirs):
            answer = api.post("/v1/responses/compact", json={"model": MODEL, "previous_response_id": previous})
            assert_error(answer, 404, "previous_response_not_found", "previous_response_id")

    @pytest.mark.parametrize(
        "step",
        [Step(status=400), Step(text=["Half", Cut()]), Step(text=["Half"], finish="length"), Step(text=[" "])],
        ids=["refused", "cut", "too long", "empty"],
    )
    def test_no_half_summary(self, api: httpx.Client, script: Script, step: Step) -> None:
        answer = api.post("/v1/responses/compact", json={"model": MODEL, "input": f"Hi {script(step)}"})
        assert_error(answer, 502, "upstream_error")

    def test_a_caller_who_leaves_ends_it(self, api: httpx.Client, script: Script, upstream: Upstream) -> None:
        mark = script(Step(text=["So far", Hang()]))
        with pytest.raises(httpx.ReadTimeout):
            api.post("/v1/responses/compact", json={"model": MODEL, "input": f"Hi {mark}"}, timeout=1.0)
        wait_until(lambda: upstream.requests(mark)[0].gone.is_set())


def test_a_retry_is_given_the_same(api: httpx.Client, upstream: Upstream, mark: str) -> None:
    body = {"model": MODEL, "input": f"I like cedars. {mark}"}
    keyed = {"Idempotency-Key": f"compact-{mark}"}
    first, second = (api.post("/v1/responses/compact", json=body, headers=keyed).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert texts_of(first) == texts_of(second)
    assert len(upstream.requests(mark)) == 1
    for window in (first, second):
        create(api, input=[*window["output"], message("Which trees?")])
    assert_error(api.post("/v1/responses", json=body, headers=keyed), 409, "idempotency_conflict", "Idempotency-Key")
