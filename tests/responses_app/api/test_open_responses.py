"""The HTTP cases of the Open Responses compliance suite, all asked at once, as that suite asks them.

Validated by Open Responses' own models, without allowance for what this API says beyond them.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from openresponses_types import types as openresponses

from tests.support.grammar import check_stream
from tests.support.response_shape import validate
from tests.support.upstream import Call, Step, Upstream

Json = dict[str, Any]

WEATHER = "What's the weather like in San Francisco?"
GET_WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "City and state"}},
        "required": ["location"],
    },
}
RED_DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5E"
    "rkJggg=="
)


def message(role: str, content: Any, **fields: Any) -> Json:
    return {"type": "message", "role": role, "content": content} | fields


SEVERAL_TURNS = [
    message("user", "My name is Alice."),
    message("assistant", "Hello Alice! Nice to meet you. How can I help you today?"),
    message("user", "What is my name?"),
]
CASES: dict[str, Json] = {
    "basic-response": {"input": [message("user", "Say hello in exactly 3 words.")]},
    "assistant-phase": {
        "input": [
            message("assistant", "I think of a number.", phase="commentary"),
            message("assistant", "The number is 42.", phase="final_answer"),
            message("user", "Repeat only the number."),
        ]
    },
    "streaming-response": {"input": [message("user", "Count from 1 to 5.")], "stream": True},
    "system-prompt": {
        "input": [message("system", "You are a pirate. Always respond in pirate speak."), message("user", "Say hello.")]
    },
    "tool-calling": {"input": [message("user", WEATHER)], "tools": [GET_WEATHER]},
    "tool-calling-streaming": {"input": [message("user", WEATHER)], "tools": [GET_WEATHER], "stream": True},
    "image-input": {
        "input": [
            message(
                "user",
                [
                    {"type": "input_text", "text": "What do you see in this image? Answer in one sentence."},
                    {"type": "input_image", "image_url": RED_DOT},
                ],
            )
        ]
    },
    "multi-turn": {"input": SEVERAL_TURNS},
}


@pytest.fixture
def answers(api: httpx.Client, upstream: Upstream) -> Iterator[dict[str, httpx.Response]]:
    """The answer of every case."""
    upstream.script_for_text(WEATHER, Step(calls=[Call("get_weather", {"location": "San Francisco, CA"}, fragments=3)]))
    bodies = [{"model": "mirobody-flash"} | case for case in CASES.values()]
    with ThreadPoolExecutor(len(bodies)) as threads:
        yield dict(zip(CASES, threads.map(lambda body: api.post("/v1/responses", json=body), bodies), strict=True))


def test_every_case_is_answered_by_a_completed_response(answers: dict[str, httpx.Response]) -> None:
    for name, answer in answers.items():
        assert answer.status_code == 200, (name, answer.text)
        response = check_stream(answer.content).response if CASES[name].get("stream") else answer.json()
        validate(openresponses.ResponseResource, response, name)
        assert response["status"] == "completed", name
        assert response["output"], name


def test_a_call_is_handed_over_whole_and_event_by_event(answers: dict[str, httpx.Response]) -> None:
    stream = check_stream(answers["tool-calling-streaming"].content)
    assert [item["type"] for item in answers["tool-calling"].json()["output"]] == ["function_call"]
    (added,) = stream.of("response.output_item.added")
    (done,) = stream.of("response.output_item.done")
    assert (added["item"]["type"], done["item"]["type"]) == ("function_call", "function_call")
    arguments = "".join(event["delta"] for event in stream.of("response.function_call_arguments.delta"))
    assert arguments == stream.of("response.function_call_arguments.done")[0]["arguments"] == done["item"]["arguments"]
    assert json.loads(arguments) == {"location": "San Francisco, CA"}


def test_a_conversation_is_compacted(api: httpx.Client) -> None:
    body = {"model": "mirobody-flash", "prompt_cache_key": "compliance", "input": SEVERAL_TURNS[:2]}
    answer = api.post("/v1/responses/compact", json=body)
    assert answer.status_code == 200, answer.text
    window = answer.json()
    validate(openresponses.CompactResource, window, "compact-response")
    assert window["object"] == "response.compaction"
    assert "compaction" in [item["type"] for item in window["output"]]
    going_on = {"model": "mirobody-flash", "input": [*window["output"], SEVERAL_TURNS[2]]}
    assert api.post("/v1/responses", json=going_on).json()["status"] == "completed"


def test_a_compaction_needs_a_model(api: httpx.Client) -> None:
    assert api.post("/v1/responses/compact", json={"input": SEVERAL_TURNS[:2]}).status_code == 400
