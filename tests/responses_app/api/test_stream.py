"""Streams through HTTP (wire contract, section 4): when what is sent, the side channel, replays, callers who leave."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from responses_app.models import Response
from responses_app.services import following
from responses_app.streaming.backends import event_log, request_slots
from tests.faults.installation import hold_open
from tests.responses_app.api.conftest import (
    LOOKUP,
    HeldTurns,
    Script,
    create,
    create_stream,
    follow,
    output_for,
    retrieve,
    wait_until,
    write_record,
)
from tests.support.envelope import assert_error
from tests.support.grammar import DONE, check_stream, parse_frames
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Cut, Request, Step, Upstream, body_of

PHONE = Call("phone_lookup", {"name": "Dr Li"})
MEMBERS = Call("list_family_members", {})
READ = Call("query_health_data", {"indicators": ["fasting glucose"]})
SIDE_CHANNEL = ("response.mirobody_tool_call", "response.mirobody_tool_result")


def test_the_events_of_a_text_answer(api: httpx.Client, script: Script) -> None:
    stream = create_stream(api, input=f"Hi {script(Step(text=['Hello.']))}")
    assert stream.types == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_the_events_of_reasoning_and_a_handoff(api: httpx.Client, script: Script) -> None:
    stream = create_stream(api, input=f"Call {script(Step(reasoning=['Hm.'], calls=[PHONE]))}", tools=[LOOKUP])
    assert stream.types[2:-1] == [
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]


def test_several_steps_are_one_lifecycle_and_one_message(api: httpx.Client, script: Script) -> None:
    mark = script(
        Step(text=["Let me look."], calls=[MEMBERS]),
        Step(calls=[READ]),
        Step(text=["Nothing."], calls=[PHONE]),
    )
    stream = create_stream(api, input=f"Look {mark}", tools=[LOOKUP])
    assert [event["item"]["type"] for event in stream.of("response.output_item.added")] == ["message", "function_call"]
    assert [kind for kind in stream.types if kind in SIDE_CHANNEL] == [*SIDE_CHANNEL, *SIDE_CHANNEL]


def test_the_snapshot_comes_before_the_model_answers(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Hi {script(Step(reasoning=[gate], text=['Hello.']))}"}) as live:
        assert live.next()["type"] == "response.created"
        assert live.next()["type"] == "response.in_progress"
        gate.set()
        assert live.check().text == "Hello."


@pytest.mark.parametrize(
    ("step", "kind", "delta"),
    [
        (lambda gate: Step(text=["Hel", gate, "lo."]), "response.output_text.delta", "Hel"),
        (lambda gate: Step(reasoning=["Hm", gate, "."]), "response.reasoning_summary_text.delta", "Hm"),
    ],
    ids=["text", "reasoning"],
)
def test_deltas_reach_the_caller_while_the_model_still_speaks(
    api: httpx.Client, script: Script, step: Any, kind: str, delta: str
) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Hi {script(step(gate))}"}) as live:
        assert live.until(kind)[-1]["delta"] == delta
        gate.set()
        assert live.check().response["status"] == "completed"


def test_a_tool_result_reaches_the_caller_while_the_next_step_is_still_thought_out(
    api: httpx.Client, script: Script
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Let me look."], calls=[MEMBERS]), Step(text=[gate, "Nobody."]))
    with open_stream(api, {"input": f"Who? {mark}"}) as live:
        seen = live.until("response.mirobody_tool_result")
        assert "response.output_text.delta" in [event["type"] for event in seen]
        gate.set()
        live.check()


def test_a_comment_keeps_an_idle_stream_alive(
    api: httpx.Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "IDLE_SECONDS", 0.01)
    gate = threading.Event()
    body = {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", "stream": True}
    raw = b""
    with api.stream("POST", "/v1/responses", json=body) as answer:
        for chunk in answer.iter_raw():
            raw += chunk
            if b"\n\n: " in raw:
                gate.set()
    assert raw.count(b"\n\n: ") > 0
    assert check_stream(raw).text == "Hello."


@hypothesis_settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="["), min_size=1, max_size=30),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    pieces=st.integers(1, 4),
)
def test_any_text_cut_anywhere_arrives_whole(
    api: httpx.Client, script: Script, text: str, cuts: list[int], pieces: int
) -> None:
    size = -(-len(text) // pieces)
    spoken = [text[start : start + size] for start in range(0, len(text), size)]
    stream = create_stream(api, input=f"Say {script(Step(text=spoken, reasoning=spoken, splits=cuts))}")
    assert stream.text == stream.reasoning == text


def test_every_position_of_the_provider_bytes_can_be_a_cut(api: httpx.Client, script: Script) -> None:
    whole = Step(text=["血糖 👍🏽"])
    size = len(body_of(whole))
    for offset in range(0, size, 97):
        step = Step(text=["血糖 👍🏽"], splits=range(offset, size, 97))
        assert create_stream(api, input=f"Say {script(step)}").text == "血糖 👍🏽"


def test_unicode_line_ends_and_controls(api: httpx.Client, script: Script) -> None:
    odd = 'a\u2028b\u2029c\u0085d\re\nf\u0000g"\\ data: [DONE]\n\nevent: x'
    mark = script(
        Step(reasoning=[odd], text=[odd, odd], calls=[Call("phone_lookup", {"name": odd})]),
        Step(text=["Found."]),
    )
    stream = create_stream(api, input=f"Say {mark}", tools=[LOOKUP], instructions=odd, metadata={"odd": odd})
    assert (stream.text, stream.reasoning) == (odd + odd, odd)
    assert retrieve(api, stream.response["id"]) == stream.response
    resumed = create(api, input=[output_for(stream.function_calls[0], odd)], previous_response_id=stream.response["id"])
    assert resumed["output_text"] == "Found."


def test_a_long_result_is_cut_in_the_stream_and_whole_in_the_response(api: httpx.Client, script: Script) -> None:
    records = [{"indicator": "Fasting glucose", "value": "5.4", "time": f"2026-01-{day:02}"} for day in range(1, 32)]
    assert api.post("/v1/data", json={"retention": "permanent", "records": records}).status_code == 200
    every = Call("query_health_data", {"indicators": ["fasting glucose"], "operation": "readings", "limit": 200})
    stream = create_stream(api, input=f"All? {script(Step(calls=[every]), Step(text=['So many.']))}")
    called, result = stream.tool_steps
    assert (result["truncated"], len(result["result"])) == (True, 4096)
    assert len(stream.response["tool_steps"][0]["result"]["results"][0]["readings"]) == 31
    assert called["id"] == result["id"] == "mtc_0"


OFF: dict[str, dict[str, Any]] = {
    "header": {"headers": {"X-Mirobody-Events": "standard"}},
    "stream_options": {"stream_options": {"mirobody_events": False}},
    "the client that throws": {"headers": {"X-Stainless-Helper-Method": "stream", "X-Stainless-Lang": "js"}},
}


@pytest.mark.parametrize("off", OFF.values(), ids=OFF.keys())
def test_the_side_channel_can_be_off_for_every_reader(api: httpx.Client, script: Script, off: dict[str, Any]) -> None:
    mark = script(Step(text=["Let me look."], calls=[MEMBERS]), Step(text=["Nobody."]))
    stream = create_stream(api, input=f"Who? {mark}", **off)
    response_id = stream.response["id"]
    assert stream.tool_steps == []
    assert len(stream.response["tool_steps"]) == 1
    assert check_stream(follow(api, response_id)).events == stream.events
    event_log().discard(response_id)
    assert check_stream(follow(api, response_id)).tool_steps == []


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-Stainless-Helper-Method": "stream"}, {"X-Stainless-Lang": "js"}, {"X-Stainless-Lang": "python"}],
)
def test_the_side_channel_is_on_otherwise(api: httpx.Client, script: Script, headers: dict[str, str]) -> None:
    mark = script(Step(calls=[MEMBERS]), Step(text=["Nobody."]))
    assert len(create_stream(api, input=f"Who? {mark}", headers=headers).tool_steps) == 2


def test_the_side_channel_says_nothing_of_whose_data_it_is(account: Account, script: Script) -> None:
    with account.client() as api:
        write_record(api, "Fasting glucose", "5.4", user="alice-private-name", unit="mmol/L")
        mark = script(Step(calls=[READ, MEMBERS]), Step(text=["So."]))
        stream = create_stream(api, input=f"So? {mark}", user="alice-private-name")
    assert len(stream.tool_steps) == 4
    assert "alice-private-name" not in str(stream.tool_steps)


def rich_stream(api: httpx.Client, script: Script) -> Any:
    mark = script(
        Step(reasoning=["Let ", "me ", "think."], text=["Let ", "me look."], calls=[MEMBERS]),
        Step(text=["No", "body."], calls=[PHONE, PHONE]),
    )
    return create_stream(api, input=f"Who? {mark}", tools=[LOOKUP])


def test_a_replay_is_the_stream_again_from_any_event_on(api: httpx.Client, script: Script) -> None:
    stream = rich_stream(api, script)
    response_id = stream.response["id"]
    assert check_stream(follow(api, response_id)).events == stream.events
    for number in range(len(stream.events) + 2):
        raw = follow(api, response_id, starting_after=str(number))
        assert raw.endswith(DONE)
        assert parse_frames(raw.removesuffix(DONE)) == stream.events[number + 1 :]


def test_a_replay_after_the_log_is_gone_has_its_own_numbers(api: httpx.Client, script: Script) -> None:
    stream = rich_stream(api, script)
    response_id = stream.response["id"]
    event_log().discard(response_id)
    rebuilt = check_stream(follow(api, response_id))
    assert rebuilt.response == stream.response == retrieve(api, response_id)
    assert (rebuilt.text, rebuilt.reasoning) == (stream.text, stream.reasoning)
    assert len(rebuilt.of("response.output_text.delta")) == 1
    assert len(rebuilt.of("response.function_call_arguments.delta")) == 2
    assert len(rebuilt.tool_steps) == 2
    answer = api.get(f"/v1/responses/{response_id}", params={"stream": "true", "starting_after": "3"})
    assert_error(answer, 400, "invalid_value", "starting_after")


ENDINGS = {
    "failed": Step(text=["So far", Cut()]),
    "failed at once": Step(status=400),
    "incomplete": Step(text=["So far"], finish="length"),
    "empty": Step(),
}


@pytest.mark.parametrize("step", ENDINGS.values(), ids=ENDINGS.keys())
def test_every_ending_can_be_replayed_and_rebuilt(api: httpx.Client, script: Script, step: Step) -> None:
    stream = create_stream(api, input=f"Hi {script(step)}")
    response_id = stream.response["id"]
    assert check_stream(follow(api, response_id)).events == stream.events
    event_log().discard(response_id)
    assert check_stream(follow(api, response_id)).response == stream.response


def test_a_json_response_can_be_replayed(api: httpx.Client, script: Script) -> None:
    response = create(api, input=f"Hi {script(Step(text=['Hello.']))}")
    assert check_stream(follow(api, response["id"])).response == response


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"stream": "maybe"}, "stream"),
        ({"stream": "true", "starting_after": "x"}, "starting_after"),
        ({"stream": "true", "starting_after": "-1"}, "starting_after"),
    ],
)
def test_a_replay_with_bad_parameters(api: httpx.Client, params: dict[str, str], param: str) -> None:
    response = create(api, input="Hi")
    assert_error(api.get(f"/v1/responses/{response['id']}", params=params), 400, "invalid_value", param)


def test_a_second_reader_follows_a_running_response(api: httpx.Client, account: Account, script: Script) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}"}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        running = retrieve(api, response_id)
        assert (running["status"], running["usage"], running["completed_at"]) == ("in_progress", None, None)
        with account.client() as second, second.stream("GET", f"/v1/responses/{response_id}?stream=true") as answer:
            chunks = answer.iter_raw()
            raw = next(chunks)
            assert b"response.created" in raw
            gate.set()
            raw += b"".join(chunks)
        assert check_stream(raw).events == live.check().events


def test_a_caller_who_leaves_does_not_end_a_stored_turn(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}"}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
    gate.set()
    assert check_stream(follow(api, response_id)).text == "Hello."
    assert retrieve(api, response_id)["status"] == "completed"


def leave_early(account: Account, body: dict[str, Any], upstream: Upstream) -> None:
    """Sends a JSON request and closes the connection as soon as the model is asked."""
    content = json.dumps(body).encode()
    address = urlsplit(account.base_url)
    head = [
        "POST /v1/responses HTTP/1.1",
        f"Host: {address.netloc}",
        f"Authorization: Bearer {account.key}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
    ]
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + content)
        wait_until(lambda: upstream.requests(body["input"]))


def test_a_json_caller_who_leaves_does_not_end_a_stored_turn(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream
) -> None:
    gate = threading.Event()
    first = create(api, input="Hi")
    mark = script(Step(text=["Hel", gate, "lo."]))
    leave_early(account, {"input": f"Hi {mark}", "previous_response_id": first["id"]}, upstream)
    response_id = Response.objects.get(previous=first["id"]).pk
    gate.set()
    assert check_stream(follow(api, response_id)).text == "Hello."


def talking(_: Request) -> Iterator[str]:
    """A model that does not come to an end."""
    for _ in range(1000):
        time.sleep(0.01)
        yield "and so on "


def leave_stream_early(account: Account, body: dict[str, Any], upstream: Upstream) -> None:
    """Sends a streaming request and closes the connection in the middle of the answer."""
    with account.client() as api, open_stream(api, body) as live:
        live.until("response.output_text.delta")


MODELS_LEFT_ALONE = {"talking": Step(text=talking), "silent": Step(text=["Hel", threading.Event()])}


@pytest.mark.parametrize("leave", [leave_early, leave_stream_early], ids=["json", "stream"])
@pytest.mark.parametrize("step", MODELS_LEFT_ALONE.values(), ids=MODELS_LEFT_ALONE.keys())
def test_a_caller_who_leaves_ends_a_turn_that_leaves_no_row(
    account: Account, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, leave: Any, step: Step
) -> None:
    monkeypatch.setattr(following, "_ABANDONED_SECONDS", 0.05)
    mark = script(step)
    leave(account, {"input": f"Go on {mark}", "store": False}, upstream)
    assert upstream.requests(mark)[0].gone.wait(9)


def test_callers_who_leave_at_once_end_turns_that_leave_no_row(
    account: Account, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_ABANDONED_SECONDS", 0.05)
    marks = [script(Step(text=["Hel", threading.Event()])) for _ in range(20)]
    with account.client() as api:
        for number, mark in enumerate(marks):
            body = {"input": f"Go on {mark}", "store": False, "stream": number % 2 == 0}
            hold_open(api, body).close()
    # The server reads what a caller sent even if it has left already, and has taken in most of them by then.
    wait_until(lambda: sum(bool(upstream.requests(mark)) for mark in marks) > len(marks) // 2)
    wait_until(lambda: all(request.gone.is_set() for mark in marks for request in upstream.requests(mark)))


def test_what_was_asked_is_taken_back_when_its_caller_leaves_before_a_worker_took_it(
    account: Account, held_turns: HeldTurns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_ABANDONED_SECONDS", 0.05)
    with account.client() as api:
        for stream in (True, False):
            caller = hold_open(api, {"input": "Go on", "store": False, "stream": stream})
            wait_until(lambda: held_turns.ids)
            response_id = held_turns.ids.pop()
            assert asyncio.run(request_slots().waits(response_id))
            caller.close()
            wait_until(lambda response_id=response_id: not asyncio.run(request_slots().waits(response_id)))


FAULTS_BEFORE_THE_TURN = {
    "no input": ({}, 400, "missing_required_parameter", "input"),
    "unknown model": ({"input": "Hi", "model": "gpt"}, 400, "model_not_found", "model"),
    "unknown previous": (
        {"input": "Hi", "previous_response_id": "resp_0"},
        404,
        "previous_response_not_found",
        "previous_response_id",
    ),
}


@pytest.mark.parametrize(
    ("body", "status", "code", "param"), FAULTS_BEFORE_THE_TURN.values(), ids=FAULTS_BEFORE_THE_TURN.keys()
)
def test_a_fault_before_the_turn_is_a_plain_error(
    api: httpx.Client, body: dict[str, Any], status: int, code: str, param: str
) -> None:
    assert_error(api.post("/v1/responses", json=body | {"stream": True}), status, code, param)


def test_proxies_are_told_not_to_hold_a_stream_back(api: httpx.Client) -> None:
    with open_stream(api, {"input": "Hi"}) as live:
        headers = live.response.headers
        live.check()
    assert headers["x-accel-buffering"] == "no"
    assert "no-cache" in headers["cache-control"]
    assert "content-length" not in headers
