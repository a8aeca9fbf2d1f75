"""The official OpenAI client on a server process: create, stream, retrieve, delete, cancel, hand off and resume."""

import json
import threading
import time
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseCreatedEvent,
    ResponseIncompleteEvent,
    ResponseStreamEvent,
)
from pydantic import BaseModel

from tests.support.process import ServerProcess
from tests.support.upstream import Call, Cut, Step, Upstream

PATIENCE_SECONDS = 20.0

BOOK: dict[str, Any] = {
    "type": "function",
    "name": "book_appointment",
    "description": "Book a clinic appointment for the end user.",
    "parameters": {
        "type": "object",
        "properties": {"date": {"type": "string", "description": "ISO date"}},
        "required": ["date"],
    },
}


@pytest.fixture
def client(analyst_server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=analyst_server.api_base, api_key=analyst_server.key, max_retries=0)


@pytest.fixture
def scripted(scripted_server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=scripted_server.api_base, api_key=scripted_server.key, max_retries=0)


def test_create_and_retrieve(client: OpenAI) -> None:
    created = client.responses.create(model="mirobody-flash", input="What is my latest weight?", user="alice")
    assert "kg" in created.output_text
    assert created.usage is not None
    assert client.responses.retrieve(created.id).to_dict() == created.to_dict()


def test_compact_and_count(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script("sdk-compact", Step(text=["They like cedars."]), repeat_last=True)
    window = scripted.responses.compact(model="mirobody-flash", input=f"I like cedars. {mark}")
    assert (window.object, window.output[-1].type) == ("response.compaction", "compaction")
    items = [item.to_dict() for item in window.output]
    asked: Any = [*items, {"role": "user", "content": f"Which trees? {mark}"}]
    scripted.responses.create(model="mirobody-flash", input=asked)
    assert "They like cedars." in str(upstream.requests(mark)[-1].messages)
    counted = scripted.responses.input_tokens.count(model="mirobody-flash", input="How are you?")
    assert (counted.object, counted.input_tokens) == ("response.input_tokens", 4)


def test_stream(client: OpenAI) -> None:
    stream = client.responses.create(
        model="mirobody-flash", input="What is my latest weight?", user="alice", stream=True
    )
    events = list(stream)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    last = events[-1]
    assert last.type == "response.completed"
    assert text == last.response.output_text != ""


def test_stream_helper(client: OpenAI) -> None:
    question = "How is my fasting glucose trending?"
    with client.responses.stream(model="mirobody-flash", input=question, user="alice") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text != ""


def test_delete(client: OpenAI) -> None:
    created = client.responses.create(model="mirobody-flash", input="Hello", user="alice")
    client.responses.delete(created.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(created.id)


def test_handoff_resumed_from_stored_state(client: OpenAI) -> None:
    question = "Check my recent glucose and book a follow-up if it is trending up."
    handoff = client.responses.create(model="mirobody-flash", input=question, user="alice", tools=[BOOK])
    (call,) = [item for item in handoff.output if item.type == "function_call"]
    date = json.loads(call.arguments)["date"]
    done = client.responses.create(
        model="mirobody-flash",
        previous_response_id=handoff.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": f"Booked: {date} 09:30, Dr. Chen"}],
        user="alice",
    )
    assert f"Booked: {date} 09:30, Dr. Chen" in done.output_text


def test_handoff_resumed_by_replaying_the_output(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script(
        "sdk-replay",
        Step(reasoning=["Hm."], text=["Booking. "], calls=[Call("book_appointment", {"date": "2026-07-14"})]),
        Step(text=lambda request: [request.tool_outputs[-1]]),
    )
    history: list[Any] = [{"role": "user", "content": f"Book it {mark}"}]
    options: dict[str, Any] = {"model": "mirobody-flash", "tools": [BOOK], "store": False, "user": "alice"}
    first = scripted.responses.create(input=history, **options)
    history += first.output
    history += [
        {"type": "function_call_output", "call_id": item.call_id, "output": "Booked"}
        for item in first.output
        if item.type == "function_call"
    ]
    assert scripted.responses.create(input=history, **options).output_text == "Booked"


class Vitals(BaseModel):
    hr: int
    note: str


def test_parse_in_model_mode(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script("sdk-parse", Step(text=['{"hr": 61, ', '"note": "ok"}']))
    options: dict[str, Any] = {"model": "mirobody-flash", "text_format": Vitals, "extra_body": {"mode": "model"}}
    parsed = scripted.responses.parse(input=f"HR 61 {mark}", **options)
    assert parsed.output_parsed == Vitals(hr=61, note="ok")
    with scripted.responses.stream(input=f"HR 61 {mark}", **options) as stream:
        assert stream.get_final_response().output_parsed == Vitals(hr=61, note="ok")


def test_parse_of_a_call_in_model_mode(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script("sdk-parse-call", Step(calls=[Call("book_appointment", {"date": "2026-07-14"})]))
    with scripted.responses.stream(
        model="mirobody-flash", input=f"Go {mark}", tools=[BOOK], text_format=Vitals, extra_body={"mode": "model"}
    ) as stream:
        final = stream.get_final_response()
    assert final.output_parsed is None
    assert [item.type for item in final.output] == ["function_call"]


def test_a_providers_faults_in_model_mode_raise(scripted: OpenAI, upstream: Upstream) -> None:
    bare = {"mode": "model"}
    refused = upstream.script("sdk-bare-400", Step(status=400), repeat_last=True)
    with pytest.raises(openai.BadRequestError):
        scripted.responses.create(model="mirobody-flash", input=refused, extra_body=bare)
    limited = upstream.script("sdk-bare-429", Step(status=429, headers={"Retry-After": "7"}), repeat_last=True)
    with pytest.raises(openai.RateLimitError) as fault:
        scripted.responses.create(model="mirobody-flash", input=limited, extra_body=bare)
    assert fault.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("status", [400, 401])
def test_a_providers_fault_raises(scripted: OpenAI, upstream: Upstream, status: int) -> None:
    mark = upstream.script(f"sdk-fault-{status}", Step(status=status), repeat_last=True)
    with pytest.raises(openai.InternalServerError) as fault:
        scripted.responses.create(model="mirobody-flash", input=mark)
    assert fault.value.status_code == 502
    assert fault.value.code == "upstream_error"


def test_a_fault_in_mid_stream_raises(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script("sdk-cut", Step(text=["Half an ans", Cut()]))
    stream = scripted.responses.create(model="mirobody-flash", input=mark, stream=True)
    with pytest.raises(openai.APIError):
        list(stream)


def polled(client: OpenAI, response_id: str) -> Response:
    """The response once it is neither queued nor in progress."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (response := client.responses.retrieve(response_id)).status in ("queued", "in_progress"):
        assert time.monotonic() < deadline, "the turn did not end"
        time.sleep(0.01)
    return response


def test_in_the_background(client: OpenAI) -> None:
    queued = client.responses.create(
        model="mirobody-flash", input="What is my latest weight?", user="alice", background=True
    )
    assert (queued.status, queued.output_text) == ("queued", "")
    done = polled(client, queued.id)
    assert done.status == "completed"
    assert "kg" in done.output_text


def test_a_broken_background_stream_is_taken_up_where_it_broke(scripted: OpenAI, upstream: Upstream) -> None:
    gate = threading.Event()
    mark = upstream.script("sdk-resume", Step(reasoning=["Hm."], text=["One ", "two ", gate, "three."]))
    seen: list[ResponseStreamEvent] = []
    with scripted.responses.create(model="mirobody-flash", input=mark, background=True, stream=True) as stream:
        for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
    assert [event.type for event in seen[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert isinstance(seen[0], ResponseCreatedEvent)
    response_id, last = seen[0].response.id, seen[-1].sequence_number
    gate.set()
    seen += scripted.responses.retrieve(response_id, stream=True, starting_after=last)
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    assert "".join(event.delta for event in seen if event.type == "response.output_text.delta") == "One two three."
    assert isinstance(seen[-1], ResponseCompletedEvent)
    assert seen[-1].response.to_dict() == scripted.responses.retrieve(response_id).to_dict()
    assert [event.to_dict() for event in scripted.responses.retrieve(response_id, stream=True)] == [
        event.to_dict() for event in seen
    ]


def test_the_stream_helper_takes_a_background_response_up(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script("sdk-helper-resume", Step(text=["One ", "two."]))
    queued = scripted.responses.create(model="mirobody-flash", input=mark, background=True)
    with scripted.responses.stream(response_id=queued.id, starting_after=2) as stream:
        numbers = [event.sequence_number for event in stream]
        final = stream.get_final_response()
    assert numbers[0] == 3
    assert (final.status, final.output_text) == ("completed", "One two.")


def test_cancel(scripted: OpenAI, upstream: Upstream) -> None:
    mark = upstream.script("sdk-cancel", Step(text=["So far", threading.Event()]))
    running = scripted.responses.create(model="mirobody-flash", input=mark, background=True)
    events = scripted.responses.retrieve(running.id, stream=True)
    assert any(event.type == "response.output_text.delta" for event in events)
    cancelled = scripted.responses.cancel(running.id)
    assert (cancelled.status, cancelled.output_text) == ("cancelled", "So far")
    *_, last = events
    assert isinstance(last, ResponseIncompleteEvent)
    assert last.response.to_dict() == scripted.responses.cancel(running.id).to_dict() == cancelled.to_dict()


def test_what_has_ended_cannot_be_cancelled(client: OpenAI) -> None:
    done = client.responses.create(model="mirobody-flash", input="Hello", user="alice")
    with pytest.raises(openai.BadRequestError) as fault:
        client.responses.cancel(done.id)
    assert fault.value.code == "response_not_cancellable"
