"""The openai-agents package: runs, streamed runs, sessions, hand-offs, server state."""

from typing import Any

from agents import (
    Agent,
    ModelSettings,
    RunConfig,
    Runner,
    RunResultStreaming,
    SQLiteSession,
    function_tool,
    set_default_openai_client,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
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

set_tracing_disabled(True)


class Place(BaseModel):
    city: str


def use(key: str) -> None:
    set_default_openai_client(AsyncOpenAI(base_url=BASE_URL, api_key=key, max_retries=0), use_for_tracing=False)


@function_tool
def book_appointment(date: str) -> str:
    """Books a day.

    Args:
        date: An ISO date.
    """
    return f"Booked: {date}"


def assistant(**given: Any) -> Agent[Any]:
    return Agent(name="Assistant", instructions="Help.", model=MODEL, tools=[book_appointment], **given)


async def pieces(run: RunResultStreaming) -> list[str]:
    return [
        event.data.delta
        async for event in run.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]


@scenario
async def text() -> Any:
    use(API_KEY)
    return (await Runner.run(assistant(), TEXT)).final_output


@scenario
async def stream() -> Any:
    use(API_KEY)
    return await pieces(Runner.run_streamed(assistant(), TEXT))


@scenario
async def tool() -> Any:
    use(API_KEY)
    return (await Runner.run(assistant(), TOOL)).final_output


@scenario
async def tool_streamed() -> Any:
    use(API_KEY)
    run = Runner.run_streamed(assistant(), TOOL)
    await pieces(run)
    return run.final_output


@scenario
async def second_turn() -> Any:
    use(API_KEY)
    first = await Runner.run(assistant(), TEXT)
    second = await Runner.run(assistant(), [*first.to_input_list(), {"role": "user", "content": TOOL}])
    return (await Runner.run(assistant(), [*second.to_input_list(), {"role": "user", "content": RECALL}])).final_output


@scenario
async def session() -> Any:
    use(API_KEY)
    kept = SQLiteSession("ada")
    await Runner.run(assistant(), TEXT, session=kept)
    await pieces(Runner.run_streamed(assistant(), TOOL, session=kept))
    return (await Runner.run(assistant(), RECALL, session=kept)).final_output


@scenario
async def server_state() -> Any:
    use(API_KEY)
    first = await Runner.run(assistant(), TEXT)
    second = await Runner.run(
        assistant(), TOOL, previous_response_id=first.last_response_id, auto_previous_response_id=True
    )
    return (await Runner.run(assistant(), RECALL, previous_response_id=second.last_response_id)).final_output


@scenario
async def hand_off() -> Any:
    use(API_KEY)
    specialist = Agent(name="Specialist", instructions="You are the specialist.", model=MODEL)
    run = await Runner.run(assistant(handoffs=[specialist]), "Let the specialist answer. [[matrix-hand-off]]")
    return [run.last_agent.name, run.final_output]


@scenario
async def user() -> Any:
    use(API_KEY)
    return (await Runner.run(assistant(model_settings=ModelSettings(extra_body={"user": USER})), RECORD)).final_output


@scenario
async def user_streamed() -> Any:
    use(API_KEY)
    run = Runner.run_streamed(assistant(model_settings=ModelSettings(extra_body={"user": USER})), RECORD)
    await pieces(run)
    return run.final_output


def namer() -> Agent[Any]:
    settings = ModelSettings(extra_body=MODEL_MODE)
    return Agent(name="Namer", instructions="Help.", model=MODEL, output_type=Place, model_settings=settings)


@scenario
async def structured() -> Any:
    use(API_KEY)
    return (await Runner.run(namer(), PLACE)).final_output.city


@scenario
async def structured_streamed() -> Any:
    use(API_KEY)
    run = Runner.run_streamed(namer(), PLACE)
    await pieces(run)
    return run.final_output.city


@scenario
async def bad_request() -> Any:
    use(API_KEY)
    return (await Runner.run(assistant(), TEXT, run_config=RunConfig(model="no-such-model"))).final_output


@scenario
async def unauthorized() -> Any:
    use(WRONG_KEY)
    return (await Runner.run(assistant(), TEXT)).final_output


@scenario
async def not_found() -> Any:
    use(API_KEY)
    return (await Runner.run(assistant(), TEXT, previous_response_id="resp_unknown")).final_output


@scenario
async def rate_limited() -> Any:
    use(USED_UP_KEY)
    return [(await Runner.run(assistant(), TEXT)).final_output for _ in range(2)]


@scenario
async def cut_in_mid_stream() -> Any:
    use(API_KEY)
    return await pieces(Runner.run_streamed(assistant(), CUT))


@scenario
async def cut() -> Any:
    use(API_KEY)
    return (await Runner.run(assistant(), CUT)).final_output


tell()
