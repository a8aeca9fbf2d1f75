"""The llama-index-llms-openai package: complete, chat, stream, an agent with a tool, both ways of going on."""

from typing import Any

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.llms import ChatMessage, LLMMetadata
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai import OpenAIResponses
from scenarios import (
    API_KEY,
    BASE_URL,
    CUT,
    MODEL,
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


class Responses(OpenAIResponses):
    """The library takes models that it does not know for such without tools."""

    @property
    def metadata(self) -> LLMMetadata:
        return super().metadata.model_copy(update={"is_function_calling_model": True})


def llm(**given: Any) -> Responses:
    named = {"model": MODEL, "api_key": API_KEY} | given
    return Responses(api_base=BASE_URL, context_window=100_000, max_retries=0, **named)


def book_appointment(date: str) -> str:
    """Books a day."""
    return f"Booked: {date}"


def agent(**given: Any) -> FunctionAgent:
    return FunctionAgent(tools=[book_appointment], llm=llm(**given), system_prompt="Help.")


@scenario
def text() -> str:
    return llm().complete(TEXT).text


@scenario
def stream() -> list[str]:
    return [chunk.delta for chunk in llm().stream_chat([ChatMessage(role="user", content=TEXT)]) if chunk.delta]


@scenario
async def tool() -> str:
    return str(await agent().run(TOOL))


@scenario
async def tool_streamed() -> str:
    run = agent().run(TOOL)
    pieces = [event.delta async for event in run.stream_events() if isinstance(event, AgentStream)]
    await run
    return "".join(pieces)


@scenario
async def second_turn() -> str:
    memory = ChatMemoryBuffer.from_defaults(token_limit=10_000)
    await agent().run(TEXT, memory=memory)
    await agent().run(TOOL, memory=memory)
    return str(await agent().run(RECALL, memory=memory))


@scenario
def server_state() -> str:
    stateful = llm(track_previous_responses=True)
    stateful.chat([ChatMessage(role="user", content=TEXT)])
    return stateful.chat([ChatMessage(role="user", content=RECALL)]).message.content or ""


@scenario
def user() -> str:
    return llm(user=USER).complete(RECORD).text


@scenario
def user_streamed() -> str:
    return "".join(chunk.delta or "" for chunk in llm(user=USER).stream_complete(RECORD))


@scenario
def bad_request() -> str:
    return llm(model="no-such-model").complete(TEXT).text


@scenario
def unauthorized() -> str:
    return llm(api_key=WRONG_KEY).complete(TEXT).text


@scenario
def not_found() -> str:
    return llm(additional_kwargs={"previous_response_id": "resp_unknown"}).complete(TEXT).text


@scenario
def rate_limited() -> list[str]:
    return [llm(api_key=USED_UP_KEY).complete(TEXT).text for _ in range(2)]


@scenario
def cut_in_mid_stream() -> list[Any]:
    return [chunk.delta for chunk in llm().stream_complete(CUT)]


@scenario
def cut() -> str:
    return llm().complete(CUT).text


tell()
