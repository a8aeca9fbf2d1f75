"""The official OpenAI client on a server process: create, stream, retrieve, delete, hand off and resume."""

import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.process import ServerProcess
from tests.support.upstream import Call, Cut, Step, Upstream

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
