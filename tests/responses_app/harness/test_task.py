"""The tool ``task``: a sub-turn with a context of its own, its steps in the trace, its cost in the turn's bill."""

import threading
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import LOOKUP, Ask, Json, Script, create, retrieve, wait_until, write_record
from tests.responses_app.harness.conftest import Uses, result, statuses, told
from tests.support.sse import open_stream
from tests.support.upstream import Call, Gate, Hang, Step, Upstream, Usage

READ = Call("query_health_data", {"indicators": ["body weight"]})


def task(mark: str) -> Call:
    return Call("task", {"description": "Weights", "prompt": f"Find the weight. {mark}"})


@pytest.fixture
def weight(api: httpx.Client) -> None:
    write_record(api, "Body weight", "70", unit="kg", time="2026-03-01")


def test_a_task_has_a_context_of_its_own(ask: Ask, script: Script, upstream: Upstream, weight: None) -> None:
    inner = script(Step(text=["Let me see."], calls=[READ]), Step(text=["70 kg on 2026-03-01."]))
    outer = script(Step(calls=[task(inner)]), Step(text=["You weigh 70 kg."]))
    response = ask(input=f"Secret question {outer}", instructions="Be a pirate.", tools=[LOOKUP])
    assert response["output_text"] == "You weigh 70 kg."
    assert [(step["id"], step["name"]) for step in response["tool_steps"]] == [
        ("mtc_0", "task"),
        ("mtc_1", "query_health_data"),
    ]
    assert result(response, 0) == {"result": "Let me see.\n\n70 kg on 2026-03-01."}
    assert response["health_records"] == [{"tool": "query_health_data", "data": result(response, 1)}]
    first = upstream.requests(inner)[0]
    assert "Secret" not in str(first.messages)
    assert "pirate" not in first.system
    assert not {"task", "write_todos", "phone_lookup"} & set(first.tool_names)
    assert {"query_health_data", "eval", "write_file"} <= set(first.tool_names)
    second = upstream.requests(outer)[1]
    assert told(second) == [result(response, 0)]
    assert "query_health_data" not in str(second.turn)


def test_its_model_calls_are_in_the_bill(ask: Ask, script: Script) -> None:
    inner = script(Step(calls=[READ], usage=Usage(100, 10, 5, 1)), Step(text=["70."], usage=Usage(200, 20, 6, 2)))
    outer = script(
        Step(calls=[task(inner)], usage=Usage(1000, 3, 7, 3)), Step(text=["70."], usage=Usage(2000, 4, 8, 1))
    )
    usage = ask(input=f"Weight? {outer}")["usage"]
    assert usage["billed_tokens"] == {"input": 3300, "output": 37, "total": 3337}
    assert usage["output_tokens_details"]["reasoning_tokens"] == 7
    assert usage["input_tokens_details"]["cached_tokens"] == 26
    assert usage["input_tokens"] + usage["input_tokens_details"]["system_tokens"] == 3300


def test_the_next_turn_knows_the_result_and_not_the_steps(
    api: httpx.Client, script: Script, upstream: Upstream, weight: None
) -> None:
    inner = script(Step(calls=[READ]), Step(text=["It is seventy."]))
    first = create(api, input=f"Weight? {script(Step(calls=[task(inner)]), Step(text=['So.']))}")
    mark = script(Step(text=["Fine."]))
    create(api, input=f"And? {mark}", previous_response_id=first["id"])
    said = str(upstream.requests(mark)[0].messages)
    assert "It is seventy." in said
    assert "query_health_data" not in said


def test_what_it_read_counts_for_its_result(api: httpx.Client, uses: Uses, script: Script, weight: None) -> None:
    response = uses(task(script(Step(calls=[READ]), Step(text=["70 kg."]))))
    api.delete("/v1/data", params={"all": "true"})
    shown = retrieve(api, response["id"])
    assert [step["result"] for step in shown["tool_steps"]] == [{"gone": True, "records": 1}] * 2
    assert shown["health_records"] == [{"tool": "query_health_data", "data": {"gone": True, "records": 1}}]


def test_there_is_no_task_in_a_task(uses: Uses, script: Script, upstream: Upstream) -> None:
    inner = script(Step(calls=[task("x")]), Step(text=["Then not."]))
    response = uses(task(inner))
    assert [step["name"] for step in response["tool_steps"]] == ["task"]
    assert result(response) == {"result": "Then not."}
    assert "no tool of that name" in upstream.requests(inner)[1].tool_outputs[0]


def test_a_task_shares_the_files_and_may_compute(uses: Uses, script: Script) -> None:
    write = Call("write_file", {"file_path": "/n", "content": "kept"})
    query = {"tool": "query_health_data", "arguments": {}}
    inner = script(Step(calls=[write]), Step(calls=[Call("eval", {"code": "1", "queries": [query]})]), Step(text=["."]))
    response = uses(task(inner), Call("read_file", {"file_path": "/n"}))
    assert [step["name"] for step in response["tool_steps"]] == [
        "task", "write_file", "eval", "query_health_data", "read_file",
    ]  # fmt: skip
    assert [step["id"] for step in response["tool_steps"]] == [f"mtc_{number}" for number in range(5)]
    assert result(response)["content"] == "kept"


def test_its_subject_is_the_turns(api: httpx.Client, uses: Uses, script: Script) -> None:
    write_record(api, "Body weight", "70", user="alice", unit="kg")
    foreign = Call("query_health_data", {"member": "alice"})
    response = uses(task(script(Step(calls=[READ, foreign]), Step(text=["Nothing."]))), user="bob")
    assert statuses(response) == ["completed", "completed", "failed"]
    assert "70" not in str([step["result"] for step in response["tool_steps"]])


def test_an_endless_task_leaves_calls_for_the_answer(uses: Uses, script: Script, upstream: Upstream) -> None:
    inner = script(Step(calls=[Call("list_family_members")]), repeat_last=True)
    response = uses(task(inner))
    assert len(upstream.requests(inner)) == 8
    assert result(response, 0)["incomplete"] == "max_model_calls"
    assert response["status"] == "completed"


def test_tasks_share_the_turns_model_calls(
    api: httpx.Client, script: Script, upstream: Upstream, settings: Settings
) -> None:
    settings.TURN_MODEL_CALLS = 12
    inner = script(Step(calls=[Call("list_family_members")]), repeat_last=True)
    outer = script(Step(calls=[task(inner)] * 5), Step(text=["Enough."]))
    response = create(api, input=f"Work {outer}")
    assert response["output_text"] == "Enough."
    assert len(upstream.requests(inner)) == 10
    spent = script(Step(calls=[task(inner)] * 5), repeat_last=True)
    assert create(api, input=f"Work {spent}")["incomplete_details"] == {"reason": "max_model_calls"}
    assert len(upstream.requests(inner)) + len(upstream.requests(spent)) == 10 + 12


@pytest.mark.parametrize("last", [Step(status=400), Step(calls=[Call("no_such_tool")])])
def test_a_failed_task_is_told_and_the_turn_goes_on(uses: Uses, script: Script, weight: None, last: Step) -> None:
    response = uses(task(script(Step(calls=[READ]), last, last)))
    assert statuses(response) == ["failed", "completed"]
    assert result(response, 0) == {"error": "The task failed."}
    assert (response["status"], response["output_text"]) == ("completed", "Done.")


def test_a_task_ends_before_the_turn_does(api: httpx.Client, script: Script, settings: Settings) -> None:
    settings.TURN_DEADLINE_SECONDS = 2.0
    inner = script(Step(text=["Half of", Hang()]))
    response = create(api, input=f"Work {script(Step(calls=[task(inner)]), Step(text=['In time.']))}")
    assert result(response) == {"result": "Half of", "incomplete": "max_duration"}
    assert (response["status"], response["output_text"]) == ("completed", "In time.")


def test_cancelling_reaches_it(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    inner = script(Step(text=["Half of", Hang()]))
    outer = script(Step(calls=[task(inner)]), Step(text=["Never."]))
    ended: list[Json] = []
    with open_stream(api, {"input": f"Work {outer}"}) as live:
        response_id = live.next()["response"]["id"]
        wait_until(lambda: upstream.requests(inner))
        asking = threading.Thread(target=lambda: ended.append(api.post(f"/v1/responses/{response_id}/cancel").json()))
        asking.start()
        live.check()
        asking.join()
    assert ended[0]["status"] == "cancelled"
    wait_until(upstream.requests(inner)[0].gone.is_set)


def test_more_tasks_than_threads(api: httpx.Client, script: Script, settings: Settings) -> None:
    settings.TURN_MODEL_CALLS = 200
    inner = script(Step(calls=[Call("list_family_members")]), Step(text=["Nobody."]))
    calls = [task(inner)] * (settings.TURN_THREADS + 8)
    response = create(api, input=f"Work {script(Step(calls=calls), Step(text=['Done.']))}")
    assert statuses(response) == ["completed"] * 2 * len(calls)


def test_side_by_side(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    gate = Gate()
    waits = script(Step(text=["A", gate]))
    opens: Any = lambda request: (gate.set(), ["B"])[1]  # noqa: E731
    response = create(api, input=f"Work {script(Step(calls=[task(waits), task(script(Step(text=opens)))]), Step())}")
    assert [step["result"] for step in response["tool_steps"]] == [{"result": "A"}, {"result": "B"}]


def test_words_of_a_model_support_no_figure(uses: Uses, api: httpx.Client, script: Script, weight: None) -> None:
    note = Call("write_file", {"file_path": "/n", "content": "81 kg"})
    plan = Call("write_todos", {"todos": [{"content": "Say 82 kg", "status": "pending"}]})
    inner = script(Step(calls=[READ]), Step(text=["It is 83 kg."]))
    calls = [note, Call("read_file", {"file_path": "/n"}), Call("grep", {"pattern": "81"}), plan, task(inner)]
    response = create(api, input=f"Weight? {script(Step(calls=calls), Step(text=['81 kg, 82 kg, 83 kg, 70 kg.']))}")
    supported = [bool(figure["supported_by"]) for figure in response["grounding"]["figures"]]
    assert supported == [False, False, False, True]
