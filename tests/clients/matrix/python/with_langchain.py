"""The langchain-openai package: invoke, stream, a tool loop, both ways of going on."""

from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
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
    TEXT,
    TOOL,
    USED_UP_KEY,
    USER,
    WRONG_KEY,
    scenario,
    tell,
)


class Place(BaseModel):
    city: str


def chat(**given: Any) -> ChatOpenAI:
    named = {"model": MODEL, "api_key": API_KEY} | given
    return ChatOpenAI(base_url=BASE_URL, use_responses_api=True, max_retries=0, **named)


@langchain_tool
def book_appointment(date: str) -> str:
    """Books a day."""
    return f"Booked: {date}"


def answered(model: Any, messages: list[BaseMessage], streamed: bool = False) -> list[BaseMessage]:
    """The messages after the model has said all it wants to, its calls answered."""
    while True:
        reply = joined(model, messages) if streamed else model.invoke(messages)
        messages = [*messages, reply]
        if not reply.tool_calls:
            return messages
        messages += [
            ToolMessage(book_appointment.invoke(call["args"]), tool_call_id=call["id"]) for call in reply.tool_calls
        ]


def joined(model: Any, messages: list[BaseMessage]) -> Any:
    first, *others = model.stream(messages)
    for chunk in others:
        first += chunk
    return first


def said(message: BaseMessage) -> str:
    return message.text if isinstance(message.text, str) else message.text()


@scenario
def text() -> str:
    return said(chat().invoke(TEXT))


@scenario
def stream() -> list[str]:
    return [said(chunk) for chunk in chat().stream(TEXT) if said(chunk)]


@scenario
async def stream_async() -> list[str]:
    return [said(chunk) async for chunk in chat().astream(TEXT) if said(chunk)]


@scenario
def tool() -> str:
    return said(answered(chat().bind_tools([book_appointment]), [HumanMessage(TOOL)])[-1])


@scenario
def tool_streamed() -> str:
    return said(answered(chat().bind_tools([book_appointment]), [HumanMessage(TOOL)], streamed=True)[-1])


def three_turns(model: Any, streamed: bool = False) -> str:
    messages = answered(model, [HumanMessage(TEXT)], streamed)
    messages = answered(model, [*messages, HumanMessage(TOOL)], streamed)
    return said(answered(model, [*messages, HumanMessage(RECALL)], streamed)[-1])


@scenario
def second_turn() -> str:
    return three_turns(chat().bind_tools([book_appointment]))


@scenario
def second_turn_streamed() -> str:
    return three_turns(chat().bind_tools([book_appointment]), streamed=True)


@scenario
def server_state() -> str:
    return three_turns(chat(use_previous_response_id=True).bind_tools([book_appointment]))


@scenario
def user() -> str:
    return said(chat(extra_body={"user": USER}).invoke(RECORD))


@scenario
def user_streamed() -> str:
    return "".join(said(chunk) for chunk in chat(extra_body={"user": USER}).stream(RECORD))


@scenario
def structured() -> str:
    return chat(extra_body=MODEL_MODE).with_structured_output(Place).invoke(PLACE).city


@scenario
def bad_request() -> str:
    return said(chat(model="no-such-model").invoke(TEXT))


@scenario
def unauthorized() -> str:
    return said(chat(api_key=WRONG_KEY).invoke(TEXT))


@scenario
def not_found() -> str:
    return said(chat(model_kwargs={"previous_response_id": "resp_unknown"}).invoke(TEXT))


@scenario
def rate_limited() -> list[str]:
    return [said(chat(api_key=USED_UP_KEY).invoke(TEXT)) for _ in range(2)]


@scenario
def cut_in_mid_stream() -> list[str]:
    return [said(chunk) for chunk in chat().stream(CUT)]


@scenario
def cut() -> str:
    return said(chat().invoke(CUT))


tell()
