"""The openai package: create, stream, the stream helper, both ways of going on."""

import json
from typing import Any

from openai import OpenAI
from pydantic import BaseModel
from scenarios import (
    API_KEY,
    BASE_URL,
    CUT,
    MODEL,
    MODEL_MODE,
    PLACE,
    RECALL,
    RECORD,
    SPENT_KEY,
    TEXT,
    TOOL,
    USED_UP_KEY,
    USER,
    WRONG_KEY,
    scenario,
    tell,
)

client = OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0)

BOOK: Any = {
    "type": "function",
    "name": "book_appointment",
    "description": "Books a day.",
    "parameters": {
        "type": "object",
        "properties": {"date": {"type": "string"}},
        "required": ["date"],
        "additionalProperties": False,
    },
    "strict": True,
}


class Place(BaseModel):
    city: str


def outputs(response: Any) -> list[Any]:
    """The outputs of the calls that the response hands over."""
    calls = [item for item in response.output if item.type == "function_call"]
    return [
        {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": f"Booked: {json.loads(call.arguments)['date']}",
        }
        for call in calls
    ]


@scenario
def text() -> str:
    return client.responses.create(model=MODEL, input=TEXT).output_text


@scenario
def stream() -> list[str]:
    events = client.responses.create(model=MODEL, input=TEXT, stream=True)
    return [event.delta for event in events if event.type == "response.output_text.delta"]


@scenario
def stream_helper() -> dict[str, Any]:
    with client.responses.stream(model=MODEL, input=TEXT) as events:
        pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
        return {"pieces": pieces, "final": events.get_final_response().output_text}


@scenario
def tool() -> str:
    history: list[Any] = [{"role": "user", "content": TOOL}]
    response = client.responses.create(model=MODEL, input=history, tools=[BOOK])
    history += [*response.output, *outputs(response)]
    return client.responses.create(model=MODEL, input=history, tools=[BOOK]).output_text


@scenario
def tool_streamed() -> str:
    history: list[Any] = [{"role": "user", "content": TOOL}]
    while True:
        with client.responses.stream(model=MODEL, input=history, tools=[BOOK]) as events:
            for _ in events:
                pass
            response = events.get_final_response()
        given = outputs(response)
        if not given:
            return response.output_text
        history += [*response.output, *given]


@scenario
def second_turn() -> str:
    history: list[Any] = [{"role": "user", "content": TEXT}]
    history += client.responses.create(model=MODEL, input=history, store=False).output
    history += [{"role": "user", "content": TOOL}]
    response = client.responses.create(model=MODEL, input=history, tools=[BOOK], store=False)
    history += [*response.output, *outputs(response)]
    history += client.responses.create(model=MODEL, input=history, tools=[BOOK], store=False).output
    history += [{"role": "user", "content": RECALL}]
    return client.responses.create(model=MODEL, input=history, tools=[BOOK], store=False).output_text


@scenario
def server_state() -> str:
    first = client.responses.create(model=MODEL, input=TEXT)
    second = client.responses.create(model=MODEL, input=TOOL, tools=[BOOK], previous_response_id=first.id)
    third = client.responses.create(model=MODEL, input=outputs(second), tools=[BOOK], previous_response_id=second.id)
    return client.responses.create(model=MODEL, input=RECALL, previous_response_id=third.id).output_text


@scenario
def user() -> str:
    return client.responses.create(model=MODEL, input=RECORD, user=USER).output_text


@scenario
def user_streamed() -> str:
    with client.responses.stream(model=MODEL, input=RECORD, user=USER) as events:
        return events.get_final_response().output_text


@scenario
def structured() -> Any:
    return client.responses.parse(model=MODEL, input=PLACE, text_format=Place, extra_body=MODEL_MODE).output_parsed.city


@scenario
def structured_streamed() -> Any:
    with client.responses.stream(model=MODEL, input=PLACE, text_format=Place, extra_body=MODEL_MODE) as events:
        return events.get_final_response().output_parsed.city


@scenario
def bad_request() -> Any:
    return client.responses.create(model="no-such-model", input=TEXT).output_text


@scenario
def unauthorized() -> Any:
    return client.with_options(api_key=WRONG_KEY).responses.create(model=MODEL, input=TEXT).output_text


@scenario
def not_found() -> Any:
    return client.responses.create(model=MODEL, input=TEXT, previous_response_id="resp_unknown").output_text


@scenario
def rate_limited() -> Any:
    limited = client.with_options(api_key=USED_UP_KEY)
    return [limited.responses.create(model=MODEL, input=TEXT).output_text for _ in range(2)]


@scenario
def out_of_quota() -> Any:
    return client.with_options(api_key=SPENT_KEY).responses.create(model=MODEL, input=TEXT).output_text


@scenario
def cut_in_mid_stream() -> Any:
    events = client.responses.create(model=MODEL, input=CUT, stream=True)
    return [event.delta for event in events if event.type == "response.output_text.delta"]


@scenario
def cut() -> Any:
    return client.responses.create(model=MODEL, input=CUT).output_text


tell()
