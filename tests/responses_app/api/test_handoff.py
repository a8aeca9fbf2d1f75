"""Client tools and the handoff (wire contract, section 6): what is refused in which words, resuming, replaying."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.responses_app.api.conftest import (
    BOOKING,
    LOOKUP,
    Json,
    Script,
    calls_of,
    create,
    create_stream,
    message,
    output_for,
)
from tests.support.envelope import assert_error
from tests.support.sse import open_stream
from tests.support.upstream import Call, Request, Step, Upstream, text_of
from tools_app.registry import HARNESS_TOOL_NAMES

PHONE = Call("phone_lookup", {"name": "Dr Li"})
BOOK = Call("book_appointment", {"date": "2026-03-02"})
MEMBERS = Call("list_family_members", {})
READ = Call("query_health_data", {"indicators": ["fasting glucose"]})
TOOLS = [LOOKUP, BOOKING]
NONE_PENDING = "previous response has no pending function calls"
NOT_CALLED = (
    "function_call_output without matching function_call items — replay the full transcript, "
    "or resume via previous_response_id"
)
MIXED = "cannot mix message items with function_call_output when resuming via previous_response_id"

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])


def handoff(api: httpx.Client, script: Script, *after: Step, **body: Any) -> Json:
    """A response that hands two calls off, phone_lookup first; ``after`` is what the model does once it is resumed."""
    mark = script(Step(calls=[PHONE, BOOK]), *(after or [Step(text=["Booked."])]))
    return create(api, **{"input": f"Book {mark}", "tools": TOOLS} | body)


def outputs_for(response: Json, *outputs: Any) -> list[Json]:
    given = outputs or ("+49 30 1", "yes")
    return [output_for(call, output) for call, output in zip(calls_of(response), given, strict=True)]


def assert_paired(request: Request) -> None:
    """Every assistant message with calls is followed by one tool message per call, in the order of the calls."""
    waiting: list[str] = []
    for chat_message in request.messages:
        if waiting:
            assert (chat_message["role"], chat_message.get("tool_call_id")) == ("tool", waiting.pop(0))
        else:
            assert chat_message["role"] != "tool"
        waiting = waiting or [call["id"] for call in chat_message.get("tool_calls") or []]
    assert not waiting


def assert_refused(answer: httpx.Response, text: str) -> None:
    assert_error(answer, 400, "invalid_value", "input")
    assert answer.json()["error"]["message"] == text


UNKNOWN = {"type": "function_call_output", "call_id": "call_unknown", "output": "x"}
REFUSED_RESUMES: dict[str, tuple[Any, str]] = {
    "mixed": (lambda a, b: [message("and?"), a, b], MIXED),
    "mixed before unknown": (lambda a, b: [UNKNOWN, message("and?")], MIXED),
    "mixed with the calls": (
        lambda a, b: [
            {"type": "function_call", "call_id": a["call_id"], "name": "phone_lookup", "arguments": "{}"},
            a,
            b,
        ],
        MIXED,
    ),
    "unknown": (lambda a, b: [a, b, UNKNOWN], 'unknown call_id(s): ["call_unknown"]'),
    "two unknown": (
        lambda a, b: [UNKNOWN, a, UNKNOWN | {"call_id": "电话"}],
        'unknown call_id(s): ["call_unknown", "电话"]',
    ),
    "unknown before duplicate": (lambda a, b: [a, a, UNKNOWN], 'unknown call_id(s): ["call_unknown"]'),
    "duplicate": (lambda a, b: [a, b, a], 'duplicate call_id(s): ["{a}"]'),
    "duplicate before missing": (lambda a, b: [b, b], 'duplicate call_id(s): ["{b}"]'),
    "first missing": (lambda a, b: [b], 'missing function_call_output for call_id(s): ["{a}"]'),
    "second missing": (lambda a, b: [a], 'missing function_call_output for call_id(s): ["{b}"]'),
    "a message instead": (
        lambda a, b: [message("and?")],
        "previous response has pending function call(s) — provide function_call_output items for: {a}, {b}",
    ),
    "text instead": (
        lambda a, b: "and?",
        "previous response has pending function call(s) — provide function_call_output items for: {a}, {b}",
    ),
}


@both_ways
@pytest.mark.parametrize(("build", "text"), REFUSED_RESUMES.values(), ids=REFUSED_RESUMES.keys())
def test_a_resume_that_does_not_fit_is_refused_and_changes_nothing(
    api: httpx.Client, script: Script, stream: bool, build: Any, text: str
) -> None:
    paused = handoff(api, script)
    first, second = outputs_for(paused)
    body = {"input": build(first, second), "previous_response_id": paused["id"], "stream": stream}
    wanted = text.replace("{a}", first["call_id"]).replace("{b}", second["call_id"])
    assert_refused(api.post("/v1/responses", json=body), wanted)
    assert create(api, input=[first, second], previous_response_id=paused["id"])["output_text"] == "Booked."


@both_ways
@pytest.mark.parametrize(("items", "text"), [([UNKNOWN], NONE_PENDING), ([message("and?"), UNKNOWN], MIXED)])
def test_outputs_for_a_response_that_is_no_handoff(
    api: httpx.Client, stream: bool, items: list[Json], text: str
) -> None:
    plain = create(api, input="Hi")
    body = {"input": items, "previous_response_id": plain["id"], "stream": stream}
    assert_refused(api.post("/v1/responses", json=body), text)


def called(call_id: str) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "phone_lookup", "arguments": '{"name": "Li"}'}


def output(call_id: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "x"}


REFUSED_REPLAYS = {
    "output alone": ([output("c1")], NOT_CALLED),
    "output of another call": ([message("Hi"), called("c1"), output("c1"), output("c2")], NOT_CALLED),
    "two outputs of one call": ([called("c1"), output("c1"), output("c1")], 'duplicate call_id(s): ["c1"]'),
    "no output": (
        [message("Hi"), called("c1"), called("c2"), output("c1")],
        'missing function_call_output for call_id(s): ["c2"]',
    ),
}


@both_ways
@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(("items", "text"), REFUSED_REPLAYS.values(), ids=REFUSED_REPLAYS.keys())
def test_a_replay_that_does_not_fit_is_refused(
    api: httpx.Client, stream: bool, store: bool, items: list[Json], text: str
) -> None:
    body = {"input": items, "stream": stream, "store": store, "tools": TOOLS}
    assert_refused(api.post("/v1/responses", json=body), text)


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "out of order"])
def test_a_resume_reaches_the_model_paired(api: httpx.Client, script: Script, upstream: Upstream, order: int) -> None:
    mark = script(Step(calls=[PHONE, BOOK]), Step(text=lambda request: [" and ".join(request.tool_outputs)]))
    paused = create(api, input=f"Book {mark}", tools=TOOLS)
    resumed = create(api, input=outputs_for(paused, "+49 30 1", "yes")[::order], previous_response_id=paused["id"])
    assert resumed["output_text"] == "+49 30 1 and yes"
    assert resumed["previous_response_id"] == paused["id"]
    assert_paired(upstream.requests(mark)[1])


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("order", [1, -1], ids=["in order", "out of order"])
def test_a_replay_reaches_the_model_paired(
    api: httpx.Client, script: Script, upstream: Upstream, store: bool, order: int
) -> None:
    mark = script(
        Step(text=["One moment."], calls=[PHONE, BOOK]),
        Step(text=lambda request: [" and ".join(request.tool_outputs)]),
    )
    question = message(f"Book {mark}")
    paused = create(api, input=[question], tools=TOOLS, store=store)
    transcript = [question, *paused["output"], *outputs_for(paused, "+49 30 1", "yes")[::order]]
    finished = create(api, input=transcript, tools=TOOLS, store=store)
    assert finished["output_text"] == "+49 30 1 and yes"
    assert finished["previous_response_id"] is None
    assert_paired(upstream.requests(mark)[1])


def test_streamed_call_ids_resume(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=["One moment."], calls=[PHONE]), Step(text=["Found."]))
    paused = create_stream(api, input=f"Call {mark}", tools=[LOOKUP])
    (call,) = paused.function_calls
    done = paused.of("response.output_item.done")[-1]["item"]
    added = paused.of("response.output_item.added")[-1]["item"]
    assert added["call_id"] == done["call_id"] == call["call_id"]
    assert added["id"] == done["id"] == call["id"] != call["call_id"]
    resumed = create_stream(api, input=[output_for(call)], previous_response_id=paused.response["id"])
    assert resumed.text == "Found."


def test_outputs_as_lists_of_parts(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Found."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    parts = [{"type": "input_text", "text": "+49"}, {"type": "input_text", "text": "30 1"}]
    create(api, input=outputs_for(paused, parts), previous_response_id=paused["id"])
    assert upstream.requests(mark)[1].tool_outputs == ["+49\n30 1"]


@pytest.mark.parametrize("item_id", [None, "fc_unknown", "call_id"])
def test_the_id_of_an_output_item_means_nothing(api: httpx.Client, script: Script, item_id: str | None) -> None:
    paused = handoff(api, script)
    outputs = [item | {"id": item_id, "status": "completed"} for item in outputs_for(paused)]
    assert create(api, input=outputs, previous_response_id=paused["id"])["output_text"] == "Booked."


def test_server_results_beside_a_handoff_reach_the_resumed_model(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(calls=[READ, PHONE, MEMBERS]), Step(text=["So."]))
    paused = create(api, input=f"Both {mark}", tools=[LOOKUP])
    resumed = create(api, input=outputs_for(paused, "+49 30 1"), previous_response_id=paused["id"])
    assert resumed["tool_steps"] == []
    request = upstream.requests(mark)[1]
    assert_paired(request)
    assert len(request.tool_outputs) == 3
    assert "+49 30 1" in request.tool_outputs


def test_a_resumed_turn_can_hand_off_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[PHONE]), Step(calls=[BOOK]), Step(text=["Done."]))
    first = create(api, input=f"Book {mark}", tools=TOOLS)
    second = create(api, input=outputs_for(first, "+49 30 1"), previous_response_id=first["id"])
    third = create(api, input=outputs_for(second, "yes"), previous_response_id=second["id"])
    assert third["output_text"] == "Done."
    assert upstream.requests(mark)[2].tool_outputs == ["+49 30 1", "yes"]
    assert_refused(
        api.post("/v1/responses", json={"input": outputs_for(first, "again"), "previous_response_id": first["id"]}),
        NONE_PENDING,
    )


def test_any_output_resolves_a_call(api: httpx.Client, script: Script) -> None:
    paused = handoff(api, script)
    resumed = create(api, input=outputs_for(paused, "cancelled", ""), previous_response_id=paused["id"])
    assert create(api, input="Then hi", previous_response_id=resumed["id"])["status"] == "completed"


def test_of_simultaneous_resumes_exactly_one_runs(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Found."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    body = {"input": outputs_for(paused, "+49 30 1"), "previous_response_id": paused["id"]}
    together = threading.Barrier(8)

    def resume(_: int) -> httpx.Response:
        together.wait(20)
        return api.post("/v1/responses", json=body)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(resume, range(8)))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) == 7
    for answer in refused:
        assert_refused(answer, NONE_PENDING)
    assert len(upstream.requests(mark)) == 2


@pytest.mark.parametrize("store", [True, False])
def test_a_failed_resume_gives_the_handoff_back(api: httpx.Client, script: Script, store: bool) -> None:
    mark = script(Step(calls=[PHONE]), Step(status=400, heals_after=1, text=["Found."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    body = {"input": outputs_for(paused, "+49 30 1"), "previous_response_id": paused["id"], "store": store}
    assert_error(api.post("/v1/responses", json=body), 502, "upstream_error")
    assert create(api, **body)["output_text"] == "Found."


def test_a_deleted_resume_gives_the_handoff_back(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    mark = script(Step(calls=[PHONE]), Step(text=["Look", gate, "ing."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    body = {"input": outputs_for(paused, "+49 30 1"), "previous_response_id": paused["id"]}
    with open_stream(api, body) as live:
        running = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        assert_refused(api.post("/v1/responses", json=body), NONE_PENDING)
        assert api.delete(f"/v1/responses/{running}").status_code == 200
        gate.set()
        assert live.check().response["status"] == "cancelled"
    assert create(api, **body)["output_text"] == "Looking."


def test_a_store_false_resume_resumes_and_adds_nothing(api: httpx.Client, script: Script) -> None:
    paused = handoff(api, script)
    body = {"input": outputs_for(paused), "previous_response_id": paused["id"]}
    resumed = create(api, **body, store=False)
    assert resumed["output_text"] == "Booked."
    assert api.get(f"/v1/responses/{resumed['id']}").status_code == 404
    assert_refused(api.post("/v1/responses", json=body), NONE_PENDING)


def test_a_handoff_answered_on_another_branch_can_still_be_continued(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    paused = handoff(api, script)
    create(api, input=outputs_for(paused, "+49 30 1", "yes"), previous_response_id=paused["id"])
    mark = script(Step(text=["Hi again."]))
    assert create(api, input=f"Hi {mark}", previous_response_id=paused["id"])["output_text"] == "Hi again."
    assert_paired(upstream.requests(mark)[0])


def test_deleting_a_handoff_goes_back_to_the_response_before(api: httpx.Client, script: Script) -> None:
    before = create(api, input="Hi")
    paused = handoff(api, script, previous_response_id=before["id"])
    assert api.delete(f"/v1/responses/{paused['id']}").status_code == 200
    assert create(api, input="And now?", previous_response_id=before["id"])["status"] == "completed"


INHERITED = {
    "model": "mirobody-expert",
    "instructions": "Answer like a sailor.",
    "builtin_tools": ["list_family_members"],
    "tools": [BOOKING, LOOKUP],
}


def without_harness(names: list[str]) -> list[str]:
    """The tools that ``builtin_tools`` and the caller's own ``tools`` choose."""
    return [name for name in names if name not in HARNESS_TOOL_NAMES]


def test_a_resume_takes_from_its_handoff_what_it_does_not_give(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Found."]))
    paused = create(api, input=f"Call {mark}", **INHERITED)
    resumed = create(api, input=outputs_for(paused, "+49 30 1"), previous_response_id=paused["id"])
    for name in ("model", "instructions", "tools"):
        assert resumed[name] == paused[name]
    first, second = upstream.requests(mark)
    for name in ("model", "tools", "tool_choice"):
        assert second.body[name] == first.body[name]
    assert second.system == first.system
    assert without_harness(second.tool_names) == ["list_family_members", "book_appointment", "phone_lookup"]


def test_what_was_taken_over_is_taken_over_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[PHONE]), Step(calls=[BOOK]), Step(text=["Booked."]))
    first = create(api, input=f"Call {mark}", **INHERITED)
    nothing = dict.fromkeys(INHERITED)
    second = create(api, input=outputs_for(first, "+49 30 1"), previous_response_id=first["id"], **nothing)
    third = create(api, input=outputs_for(second, "yes"), previous_response_id=second["id"])
    assert third["output_text"] == "Booked."
    for name in ("model", "instructions", "tools"):
        assert third[name] == first[name]
    assert upstream.requests(mark)[2].tool_names == upstream.requests(mark)[0].tool_names


def test_what_a_resume_gives_itself_holds(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Found."]))
    paused = create(api, input=f"Call {mark}", **INHERITED)
    own = {"model": "mirobody-flash", "instructions": "Be brief.", "builtin_tools": "none", "tools": [BOOKING]}
    resumed = create(api, input=outputs_for(paused, "+49 30 1"), previous_response_id=paused["id"], **own)
    assert (resumed["model"], resumed["instructions"]) == ("mirobody-flash", "Be brief.")
    request = upstream.requests(mark)[1]
    assert without_harness(request.tool_names) == ["book_appointment"]
    assert "Be brief." in request.system
    assert "sailor" not in request.system


def test_a_new_user_turn_inherits_nothing(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Ahoy."]))
    first = create(api, input=f"Hi {mark}", **INHERITED)
    second = create(api, input=f"Hi again {mark}", previous_response_id=first["id"])
    assert (second["model"], second["instructions"], second["tools"]) == ("mirobody-flash", None, [])
    request = upstream.requests(mark)[1]
    assert "sailor" not in request.system
    assert len(request.tool_names) > len(INHERITED["builtin_tools"])
    assert not {"book_appointment", "phone_lookup"} & set(request.tool_names)


@pytest.mark.parametrize(
    "choice",
    [{"type": "function", "name": "phone_lookup"}, {"type": "function", "function": {"name": "phone_lookup"}}],
    ids=["flat", "nested"],
)
def test_a_named_tool_is_the_choice_of_the_first_model_call_alone(
    api: httpx.Client, script: Script, upstream: Upstream, choice: Json
) -> None:
    mark = script(Step(calls=[MEMBERS]), Step(calls=[PHONE]), Step(text=["Found."]))
    paused = create(api, input=f"Call {mark}", tools=TOOLS, tool_choice=choice)
    assert paused["tool_choice"] == {"type": "function", "name": "phone_lookup"}
    resumed = create(api, input=outputs_for(paused, "+49 30 1"), previous_response_id=paused["id"])
    assert resumed["tool_choice"] == "auto"
    assert [request.body["tool_choice"] for request in upstream.requests(mark)] == [
        {"type": "function", "function": {"name": "phone_lookup"}},
        "auto",
        "auto",
    ]


@both_ways
@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "name": "cook"},
        {"type": "function", "function": {"name": "cook"}},
        {"type": "function", "name": "query_health_data"},
        {"type": "function"},
        {"type": "file_search"},
        {"type": "allowed_tools", "mode": "auto", "tools": []},
        "required",
        "phone_lookup",
    ],
    ids=str,
)
def test_any_other_tool_choice_is_unsupported(api: httpx.Client, stream: bool, choice: Any) -> None:
    body = {"input": "Hi", "tools": TOOLS, "tool_choice": choice, "stream": stream}
    assert_error(api.post("/v1/responses", json=body), 400, "unsupported_parameter", "tool_choice")


def test_tool_choice_none_turns_every_tool_off(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    earlier = create(api, input=f"Who? {script(Step(calls=[MEMBERS]), Step(text=['Nobody.']))}")
    mark = script(Step(text=["As I said, nobody."]))
    body = {"tools": TOOLS, "tool_choice": "none", "previous_response_id": earlier["id"]}
    response = create(api, input=f"Again {mark}", **body)
    assert response["tool_choice"] == "none"
    (request,) = upstream.requests(mark)
    assert request.tool_names == []
    assert [m["role"] for m in request.messages] == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_without_parallel_calls_at_most_one_client_call_is_handed_off(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(calls=[READ, PHONE, BOOK]), Step(text=["Found."]))
    paused = create(api, input=f"Call {mark}", tools=TOOLS, parallel_tool_calls=False)
    assert [call["name"] for call in calls_of(paused)] == ["phone_lookup"]
    assert paused["parallel_tool_calls"] is False
    create(api, input=outputs_for(paused, "+49 30 1"), previous_response_id=paused["id"])
    assert_paired(upstream.requests(mark)[1])


def test_the_models_names_for_its_calls_do_not_matter(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(
        Step(calls=[Call("phone_lookup", {"name": "a"}, id="x"), Call("phone_lookup", {"name": "b"}, id="x")]),
        Step(text=lambda request: [json.dumps(request.tool_outputs)]),
    )
    paused = create(api, input=f"Two {mark}", tools=[LOOKUP])
    resumed = create(api, input=outputs_for(paused, "for a", "for b")[::-1], previous_response_id=paused["id"])
    assert json.loads(resumed["output_text"]) == ["for a", "for b"]
    assert_paired(upstream.requests(mark)[1])


def test_an_output_with_an_image_reaches_the_model(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["A map."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    parts = [
        {"type": "input_text", "text": f"See {mark}"},
        {"type": "input_image", "image_url": "https://example.org/map.png"},
    ]
    create(api, input=outputs_for(paused, parts), previous_response_id=paused["id"])
    seen = [
        request for request in upstream.requests("") if "map.png" in str(request.body) and mark in str(request.body)
    ]
    assert len(seen) == 1
    assert any(f"See {mark}" in text_of(m) for m in seen[0].messages if m["role"] == "tool")
