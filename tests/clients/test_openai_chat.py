"""The official OpenAI client's chat completions and models on a server process."""

import asyncio

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.support.process import ServerProcess
from tests.support.upstream import Call, Cut, Step, Upstream

ASKED = [{"role": "user", "content": "What is my latest weight?"}]


@pytest.fixture
def client(analyst_server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=analyst_server.api_base, api_key=analyst_server.key, max_retries=0)


@pytest.fixture
def scripted(scripted_server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=scripted_server.api_base, api_key=scripted_server.key, max_retries=0)


def test_create_and_go_on(client: OpenAI) -> None:
    said = client.chat.completions.create(model="mirobody-flash", messages=ASKED, user="alice")
    message = said.choices[0].message
    assert "kg" in (message.content or "")
    assert said.choices[0].finish_reason == "stop"
    assert said.usage
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens
    assert said.model_extra
    assert said.model_extra["health_records"]
    next_messages = [*ASKED, message, {"role": "user", "content": "And my height?"}]
    again = client.chat.completions.create(model="mirobody-flash", messages=next_messages, user="alice")
    assert again.choices[0].message.content


def test_stream(client: OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="mirobody-flash", messages=ASKED, user="alice", stream=True, stream_options={"include_usage": True}
        )
    )
    assert "kg" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[-1].usage
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_the_stream_helper_puts_the_answer_together(scripted: OpenAI, upstream: Upstream) -> None:
    upstream.script(
        "chat-helper",
        Step(reasoning=["Let me ", "look."], calls=[Call("list_family_members"), Call("list_family_members")]),
        Step(text=["Nobody", " else."]),
    )
    messages = [{"role": "user", "content": "Who? [[chat-helper]]"}]
    with scripted.chat.completions.stream(model="mirobody-flash", messages=messages) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.content == "Nobody else."
    assert message.model_extra
    assert message.model_extra["reasoning_content"] == "Let me look."
    steps = message.model_extra["tool_steps"]
    assert [(step["id"], step["name"], step["truncated"]) for step in steps] == [
        ("mtc_0", "list_family_members", False),
        ("mtc_1", "list_family_members", False),
    ]


def test_asynchronous(analyst_server: ServerProcess) -> None:
    async def ask() -> str | None:
        async with AsyncOpenAI(base_url=analyst_server.api_base, api_key=analyst_server.key) as client:
            said = await client.chat.completions.create(model="mirobody-flash", messages=ASKED, user="alice")
        return said.choices[0].message.content

    assert "kg" in (asyncio.run(ask()) or "")


def test_errors_are_readable(client: OpenAI, scripted: OpenAI, upstream: Upstream) -> None:
    with pytest.raises(openai.BadRequestError, match="Answers API at 'tools'"):
        client.chat.completions.create(
            model="mirobody-flash", messages=ASKED, tools=[{"type": "function", "function": {"name": "f"}}]
        )
    with pytest.raises(openai.AuthenticationError, match="API key"):
        client.with_options(api_key="mb_live_no").chat.completions.create(model="mirobody-flash", messages=ASKED)
    upstream.script("chat-cut", Step(text=["Half", Cut()]))
    broken = [{"role": "user", "content": "Go [[chat-cut]]"}]
    with pytest.raises(openai.InternalServerError, match="model provider"):
        scripted.chat.completions.create(model="mirobody-flash", messages=broken)
    with pytest.raises(openai.APIError, match="model provider"):
        list(scripted.chat.completions.create(model="mirobody-flash", messages=broken, stream=True))


def test_models(analyst_server: ServerProcess) -> None:
    client = OpenAI(base_url=analyst_server.api_base, api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["mirobody-flash", "mirobody-expert"]
    assert client.models.retrieve("mirobody-expert").owned_by == "mirobody"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-5")
