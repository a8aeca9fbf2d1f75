"""The agent turn as a caller sees it (wire contract, section 3): what goes where in the response object, and the caps.

Every test runs for JSON and for a stream; ``ask`` checks either, and that ``GET`` gives the same object.
"""

from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import BOOKING, LOOKUP, Ask, Script, calls_of, create, write_record
from tests.support.upstream import Call, Hang, Raw, Step, Upstream, Usage

READ = Call("query_health_data", {"indicators": ["fasting glucose"]})
MEMBERS = Call("list_family_members", {})
PHONE = Call("phone_lookup", {"name": "Dr Li"})


def kinds(response: dict[str, Any]) -> list[str]:
    return [item["type"] for item in response["output"]]


def test_text(ask: Ask, script: Script) -> None:
    response = ask(input=f"Hi {script(Step(text=['Hello ', 'there.']))}")
    assert response["output_text"] == "Hello there."
    assert kinds(response) == ["message"]


def test_reasoning_comes_before_the_message(ask: Ask, script: Script) -> None:
    response = ask(input=f"Hi {script(Step(reasoning=['I think ', 'so.'], text=['Yes.']))}")
    assert kinds(response) == ["reasoning", "message"]
    assert response["output"][0]["summary"] == [{"type": "summary_text", "text": "I think so."}]


def test_one_message_holds_the_text_of_several_steps(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(
        Step(text=["Let me look."], calls=[MEMBERS]),
        Step(text=["And again."], calls=[MEMBERS]),
        Step(text=["Nobody shares with you."]),
    )
    response = ask(input=f"Who? {mark}")
    assert kinds(response) == ["message"]
    assert [text for text in response["output_text"].split("\n\n") if text] == [
        "Let me look.",
        "And again.",
        "Nobody shares with you.",
    ]
    assert [step["id"] for step in response["tool_steps"]] == ["mtc_0", "mtc_1"]
    assert len(upstream.requests(mark)[2].tool_outputs) == 2


def test_text_before_a_client_call(ask: Ask, script: Script) -> None:
    response = ask(input=f"Call him {script(Step(text=['One moment.'], calls=[PHONE]))}", tools=[LOOKUP])
    assert kinds(response) == ["message", "function_call"]
    assert response["status"] == "completed"
    assert response["output"][1]["arguments"] == '{"name": "Dr Li"}'


def test_reasoning_after_the_message_opened_is_counted_and_not_shown(ask: Ask, script: Script) -> None:
    mark = script(
        Step(text=["Let me look."], calls=[MEMBERS], usage=Usage(reasoning=3)),
        Step(reasoning=["Late thought."], text=["Done."], usage=Usage(reasoning=4)),
    )
    response = ask(input=f"Who? {mark}")
    assert kinds(response) == ["message"]
    assert "Late thought." not in str(response)
    assert response["usage"]["output_tokens_details"]["reasoning_tokens"] == 7


def test_reasoning_of_several_steps_before_the_message_is_one_item(ask: Ask, script: Script) -> None:
    mark = script(Step(reasoning=["First."], calls=[MEMBERS]), Step(reasoning=["Second."], text=["Done."]))
    response = ask(input=f"Who? {mark}")
    assert kinds(response) == ["reasoning", "message"]
    assert response["output"][0]["summary"][0]["text"].split() == ["First.", "Second."]


def test_reasoning_before_a_handoff(ask: Ask, script: Script) -> None:
    response = ask(input=f"Call {script(Step(reasoning=['Hm.'], calls=[PHONE]))}", tools=[LOOKUP])
    assert kinds(response) == ["reasoning", "function_call"]


def test_an_empty_answer_is_an_empty_message(ask: Ask, script: Script) -> None:
    response = ask(input=f"Hi {script(Step())}")
    assert (response["status"], response["output_text"], kinds(response)) == ("completed", "", ["message"])


def test_reasoning_alone_is_followed_by_an_empty_message(ask: Ask, script: Script) -> None:
    response = ask(input=f"Hi {script(Step(reasoning=['Hm.']))}")
    assert (response["status"], kinds(response)) == ("completed", ["reasoning", "message"])


def test_item_ids_are_the_responses_own(ask: Ask, script: Script) -> None:
    mark = script(Step(reasoning=["Hm."], text=["So."], calls=[PHONE, PHONE]))
    first, second = (ask(input=f"Call {mark}", tools=[LOOKUP]) for _ in range(2))
    ids = [item["id"] for response in (first, second) for item in response["output"]]
    assert len(set(ids)) == 8
    for response in (first, second):
        own = response["id"].removeprefix("resp_")
        assert all(own in item["id"] for item in response["output"])


def test_server_tools_read_the_subjects_records(
    ask: Ask, api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    write_record(api, "Fasting glucose", "5.4", user="alice", unit="mmol/L", time="2026-03-01")
    mark = script(Step(calls=[READ]), Step(text=["5.4 mmol/L."]))
    response = ask(input=f"Glucose? {mark}", user="alice")
    (step,) = response["tool_steps"]
    assert (step["name"], step["status"], step["arguments"]) == ("query_health_data", "completed", READ.arguments)
    assert step["result"]["results"][0]["readings"][0]["value"] == 5.4
    assert response["health_records"] == [{"tool": "query_health_data", "data": step["result"]}]
    assert response["citations"] == []
    assert "5.4" in upstream.requests(mark)[1].tool_outputs[0]


def test_a_result_without_records_is_no_health_record(ask: Ask, script: Script) -> None:
    response = ask(input=f"Glucose? {script(Step(calls=[READ]), Step(text=['Nothing there.']))}")
    assert len(response["tool_steps"]) == 1
    assert response["health_records"] == []


def test_every_successful_health_result_is_kept_in_order(ask: Ask, api: httpx.Client, script: Script) -> None:
    write_record(api, "Fasting glucose", "5.4", unit="mmol/L")
    write_record(api, "Body weight", "70", unit="kg")
    weight = Call("query_health_data", {"indicators": ["body weight"]})
    response = ask(input=f"Both? {script(Step(calls=[READ]), Step(calls=[weight]), Step(text=['So.']))}")
    names = [entry["data"]["results"][0]["indicator"] for entry in response["health_records"]]
    assert len(names) == 2
    assert "glucose" in names[0].lower()
    assert "weight" in names[1].lower()


def test_a_failing_tool_is_told_to_the_model_and_the_turn_goes_on(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[Call("query_health_data", {"operation": "guess"})]), Step(text=["I could not look."]))
    response = ask(input=f"Glucose? {mark}")
    assert [step["status"] for step in response["tool_steps"]] == ["failed"]
    assert response["output_text"] == "I could not look."
    assert response["health_records"] == []
    assert "error" in upstream.requests(mark)[1].tool_outputs[0]


def test_parallel_server_calls_each_run_once(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[READ, MEMBERS, READ], interleaved=True), Step(text=["So."]))
    response = ask(input=f"All? {mark}")
    assert [step["name"] for step in response["tool_steps"]] == [
        "query_health_data",
        "list_family_members",
        "query_health_data",
    ]
    assert len(upstream.requests(mark)[1].tool_outputs) == 3


def test_interleaved_parallel_client_calls_keep_their_own_arguments(ask: Ask, script: Script) -> None:
    tools = [{"type": "function", "name": name} for name in ("t1", "t2", "t3")]
    made = [Call(f"t{n}", {f"key{n}": f"value {n}"}, fragments=4) for n in (1, 2, 3)]
    response = ask(input=f"All {script(Step(calls=made, interleaved=True))}", tools=tools)
    assert [(call["name"], call["arguments"]) for call in calls_of(response)] == [
        ("t1", '{"key1": "value 1"}'),
        ("t2", '{"key2": "value 2"}'),
        ("t3", '{"key3": "value 3"}'),
    ]


@pytest.mark.parametrize("made", [[READ, PHONE], [PHONE, READ]])
def test_in_one_step_server_calls_run_and_client_calls_are_handed_off(
    ask: Ask, script: Script, upstream: Upstream, made: list[Call]
) -> None:
    mark = script(Step(calls=made))
    response = ask(input=f"Both {mark}", tools=[LOOKUP])
    assert [call["name"] for call in calls_of(response)] == ["phone_lookup"]
    assert [(step["name"], step["status"]) for step in response["tool_steps"]] == [("query_health_data", "completed")]
    assert len(upstream.requests(mark)) == 1


@pytest.mark.parametrize("ids", [["x", "x"], ["", ""], ["a" * 120, "b" * 5]])
def test_call_ids_are_the_servers(ask: Ask, script: Script, ids: list[str]) -> None:
    made = [Call("phone_lookup", {"name": name}, id=call_id) for name, call_id in zip("ab", ids, strict=True)]
    response = ask(input=f"Two {script(Step(calls=made))}", tools=[LOOKUP])
    call_ids = [call["call_id"] for call in calls_of(response)]
    assert len(set(call_ids)) == 2
    assert not set(call_ids) & set(ids)
    assert all(call_id.startswith("call_") and len(call_id) <= 64 for call_id in call_ids)


MALFORMED = {
    "null": Call("phone_lookup", "null"),
    "no finite number": Call("phone_lookup", '{"name": 1e999}'),
    "a list": Call("phone_lookup", "[]"),
    "a string": Call("phone_lookup", '"x"'),
    "a number": Call("phone_lookup", "5"),
    "cut off": Call("phone_lookup", '{"name": "Dr'),
    "not a number": Call("phone_lookup", '{"name": NaN}'),
    "of a server tool": Call("query_health_data", "[]"),
    "an unknown tool": Call("book_flight", {}),
}


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_call_is_told_to_the_model_and_the_turn_goes_on(
    ask: Ask, script: Script, upstream: Upstream, malformed: Call
) -> None:
    mark = script(Step(calls=[malformed]), Step(text=["Sorry."]))
    response = ask(input=f"Call {mark}", tools=[LOOKUP])
    assert (response["status"], response["output_text"], calls_of(response)) == ("completed", "Sorry.", [])
    assert "error" in upstream.requests(mark)[1].tool_outputs[0]


@pytest.mark.parametrize("arguments", ["", "{}"])
def test_no_arguments_are_an_empty_object(ask: Ask, script: Script, arguments: str) -> None:
    response = ask(input=f"Call {script(Step(calls=[Call('phone_lookup', arguments)]))}", tools=[LOOKUP])
    assert [call["arguments"] for call in calls_of(response)] == ["{}"]


def test_long_malformed_arguments_are_not_echoed(ask: Ask, script: Script, upstream: Upstream) -> None:
    endless = Call("phone_lookup", '{"name": "' + "x" * 2_000_000)
    mark = script(Step(calls=[endless]), Step(text=["Sorry."]))
    response = ask(input=f"Call {mark}", tools=[LOOKUP])
    assert response["output_text"] == "Sorry."
    assert len(str(upstream.requests(mark)[1].body)) < 20_000


def test_the_sibling_of_a_malformed_call_runs_once(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[Call("query_health_data", '{"a": '), MEMBERS]), Step(text=["So."]))
    response = ask(input=f"Both {mark}")
    assert [step["name"] for step in response["tool_steps"]] == ["list_family_members"]
    assert len(upstream.requests(mark)[1].tool_outputs) == 2


def test_no_client_call_is_handed_off_beside_a_malformed_one(ask: Ask, script: Script) -> None:
    mark = script(Step(calls=[PHONE, Call("phone_lookup", "[]")]), Step(calls=[PHONE]))
    response = ask(input=f"Both {mark}", tools=[LOOKUP])
    assert [call["arguments"] for call in calls_of(response)] == ['{"name": "Dr Li"}']


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_an_answer_cut_short_is_incomplete_and_keeps_what_was_said(
    ask: Ask, script: Script, finish: str, reason: str
) -> None:
    response = ask(input=f"Tell {script(Step(text=['So far'], finish=finish))}")
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": reason}
    assert response["output_text"] == "So far"
    assert response["output"][-1]["status"] == "incomplete"


def test_calls_of_an_answer_cut_short_are_not_made(ask: Ask, script: Script) -> None:
    response = ask(input=f"Call {script(Step(text=['So'], calls=[PHONE], finish='length'))}", tools=[LOOKUP])
    assert (response["status"], kinds(response)) == ("incomplete", ["message"])


def test_the_cap_on_model_calls(ask: Ask, script: Script, upstream: Upstream, settings: Settings) -> None:
    settings.TURN_MODEL_CALLS = 3
    mark = script(Step(calls=[MEMBERS]), repeat_last=True)
    response = ask(input=f"Again {mark}")
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_model_calls"})
    assert len(response["tool_steps"]) == len(upstream.requests(mark)) == 3


@pytest.mark.parametrize("text", [[Hang()], ["So far", Hang()]], ids=["at once", "in mid-answer"])
def test_the_cap_on_a_turns_time(ask: Ask, script: Script, settings: Settings, text: list[Any]) -> None:
    settings.TURN_DEADLINE_SECONDS = 0.5
    response = ask(input=f"Wait {script(Step(text=text))}")
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_duration"})


def test_a_turn_that_ran_out_of_calls_can_be_continued(
    api: httpx.Client, script: Script, settings: Settings, upstream: Upstream
) -> None:
    settings.TURN_MODEL_CALLS = 1
    first = create(api, input=f"Again {script(Step(calls=[MEMBERS]), repeat_last=True)}")
    mark = script(Step(text=["Done."]))
    second = create(api, input=f"Go on {mark}", previous_response_id=first["id"])
    assert second["output_text"] == "Done."
    assert [message["role"] for message in upstream.requests(mark)[0].messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]


CUT_BYTES = {
    "a byte at a time": Step(text=["检查结果：", "血糖5.4 👍🏽"], write_size=1),
    "three bytes at a time": Step(text=["检查结果：血糖", "5.4 👍🏽"], write_size=3),
    "carriage returns": Step(text=["检查结果：血糖5.4 👍🏽"], line_end=b"\r\n", write_size=7),
    "comments": Step(text=["检查结果：血糖5.4 👍🏽"], comments=True),
    "no space": Step(text=["检查结果：血糖5.4 👍🏽"], space=False),
    "no end mark": Step(text=["检查结果：血糖5.4 👍🏽"], done=False),
    "an odd frame": Step(text=[Raw(b": hello\n\n"), "检查结果：血糖5.4 👍🏽"]),
}


@pytest.mark.parametrize("step", CUT_BYTES.values(), ids=CUT_BYTES.keys())
def test_however_the_provider_cuts_its_bytes_the_text_is_whole(ask: Ask, script: Script, step: Step) -> None:
    assert ask(input=f"回答 {script(step)}")["output_text"] == "检查结果：血糖5.4 👍🏽"


def test_one_call_in_pieces_cut_anywhere(ask: Ask, script: Script) -> None:
    call = Call("book_appointment", '{"date": "三月一日"}', fragments=9, repeat_name=True)
    response = ask(input=f"Book {script(Step(calls=[call], write_size=2))}", tools=[BOOKING])
    assert [item["arguments"] for item in calls_of(response)] == ['{"date": "三月一日"}']
