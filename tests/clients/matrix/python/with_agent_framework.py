"""The agent-framework-openai package: run, streamed run, sessions kept by the server, and without any state there."""

from typing import Any

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from openai import AsyncOpenAI
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


def book_appointment(date: str) -> str:
    """Books a day."""
    return f"Booked: {date}"


def agent(key: str = API_KEY, model: str = MODEL, default_options: Any = None) -> Agent[Any]:
    client = OpenAIChatClient(model=model, async_client=AsyncOpenAI(base_url=BASE_URL, api_key=key, max_retries=0))
    return Agent(client, "Help.", tools=[book_appointment], default_options=default_options)


async def pieces(run: Any) -> list[str]:
    """The text as it comes; the whole text that comes at its end again takes the place of its pieces."""
    texts = [content async for update in run for content in update.contents if content.type == "text"]
    return [content.text for content in texts if content.text and content.merge_mode != "replace"]


@scenario
async def text() -> str:
    return (await agent().run(TEXT)).text


@scenario
async def stream() -> list[str]:
    return await pieces(agent().run(TEXT, stream=True))


@scenario
async def tool() -> str:
    return (await agent().run(TOOL)).text


@scenario
async def tool_streamed() -> str:
    run = agent().run(TOOL, stream=True)
    await pieces(run)
    return (await run.get_final_response()).text


async def three_turns(made: Agent[Any]) -> str:
    session = made.create_session()
    await made.run(TEXT, session=session)
    await made.run(TOOL, session=session)
    return (await made.run(RECALL, session=session)).text


@scenario
async def second_turn() -> str:
    return await three_turns(agent(default_options={"store": False}))


@scenario
async def server_state() -> str:
    return await three_turns(agent())


@scenario
async def user() -> str:
    return (await agent(default_options={"user": USER}).run(RECORD)).text


@scenario
async def user_streamed() -> str:
    run = agent(default_options={"user": USER}).run(RECORD, stream=True)
    await pieces(run)
    return (await run.get_final_response()).text


@scenario
async def bad_request() -> str:
    return (await agent(model="no-such-model").run(TEXT)).text


@scenario
async def unauthorized() -> str:
    return (await agent(key=WRONG_KEY).run(TEXT)).text


@scenario
async def not_found() -> str:
    return (await agent(default_options={"previous_response_id": "resp_unknown"}).run(TEXT)).text


@scenario
async def rate_limited() -> list[str]:
    return [(await agent(key=USED_UP_KEY).run(TEXT)).text for _ in range(2)]


@scenario
async def cut_in_mid_stream() -> list[str]:
    return await pieces(agent().run(CUT, stream=True))


@scenario
async def cut() -> str:
    return (await agent().run(CUT)).text


tell()
