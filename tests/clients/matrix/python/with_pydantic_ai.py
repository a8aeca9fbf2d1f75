"""The pydantic-ai package: run, run_stream, message history, server state."""

from typing import Any

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider
from scenarios import (
    API_KEY,
    BASE_URL,
    CUT,
    MODEL,
    MODEL_MODE,
    PLACE,
    PLACE_BY_TOOL,
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


def agent(key: str = API_KEY, model: str = MODEL, **settings: Any) -> Agent[None, str]:
    client = AsyncOpenAI(base_url=BASE_URL, api_key=key, max_retries=0)
    responses = OpenAIResponsesModel(model, provider=OpenAIProvider(openai_client=client))
    made = Agent(responses, instructions="Help.", model_settings=OpenAIResponsesModelSettings(**settings))

    @made.tool_plain
    def book_appointment(date: str) -> str:
        return f"Booked: {date}"

    return made


async def streamed(agent: Agent[None, str], prompt: str, **given: Any) -> tuple[list[str], Any]:
    """The pieces of the answer as they come, and the messages so far."""
    async with agent.run_stream(prompt, **given) as run:
        return [piece async for piece in run.stream_text(delta=True, debounce_by=None)], run.all_messages()


@scenario
async def text() -> str:
    return (await agent().run(TEXT)).output


@scenario
async def stream() -> list[str]:
    return (await streamed(agent(), TEXT))[0]


@scenario
async def tool() -> str:
    return (await agent().run(TOOL)).output


@scenario
async def tool_streamed() -> str:
    return "".join((await streamed(agent(), TOOL))[0])


@scenario
async def second_turn() -> str:
    first = await agent().run(TEXT)
    second = await agent().run(TOOL, message_history=first.all_messages())
    return (await agent().run(RECALL, message_history=second.all_messages())).output


@scenario
async def second_turn_streamed() -> str:
    _, messages = await streamed(agent(), TEXT)
    _, messages = await streamed(agent(), TOOL, message_history=messages)
    return "".join((await streamed(agent(), RECALL, message_history=messages))[0])


@scenario
async def server_state() -> str:
    stateful = agent(openai_previous_response_id="auto")
    first = await stateful.run(TEXT)
    second = await stateful.run(TOOL, message_history=first.all_messages())
    return (await stateful.run(RECALL, message_history=second.all_messages())).output


@scenario
async def user() -> str:
    return (await agent(openai_user=USER).run(RECORD)).output


@scenario
async def user_streamed() -> str:
    return "".join((await streamed(agent(openai_user=USER), RECORD))[0])


@scenario
async def structured() -> str:
    """The form of the answer, in the request."""
    return (await agent(extra_body=MODEL_MODE).run(PLACE, output_type=NativeOutput(Place))).output.city


@scenario
async def structured_by_tool() -> str:
    """The library's own way: a tool that has to be called."""
    return (await agent(extra_body=MODEL_MODE).run(PLACE_BY_TOOL, output_type=Place)).output.city


@scenario
async def bad_request() -> str:
    return (await agent(model="no-such-model").run(TEXT)).output


@scenario
async def unauthorized() -> str:
    return (await agent(key=WRONG_KEY).run(TEXT)).output


@scenario
async def not_found() -> str:
    return (await agent(openai_previous_response_id="resp_unknown").run(TEXT)).output


@scenario
async def rate_limited() -> list[str]:
    return [(await agent(key=USED_UP_KEY).run(TEXT)).output for _ in range(2)]


@scenario
async def cut_in_mid_stream() -> list[str]:
    return (await streamed(agent(), CUT))[0]


@scenario
async def cut() -> str:
    return (await agent().run(CUT)).output


tell()
