"""Bodies as well-known clients send them: first requests, tool rounds and later turns replayed in their shapes."""

from typing import Any

import httpx
import pytest

from tests.responses_app.api.both_ways import accepted
from tests.responses_app.api.conftest import create
from tests.support.upstream import DEFAULT_ANSWER

Json = dict[str, Any]

PARAMETERS: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
PNG = "data:image/png;base64,iVBORw0KGgo="


def tool(**fields: Any) -> Json:
    return {"type": "function", "name": "phone_lookup", "parameters": PARAMETERS} | fields


def said(text: str, role: str = "assistant", **part_fields: Any) -> Json:
    """A message of one ``output_text`` part, with no further keys unless given."""
    return {"role": role, "content": [{"type": "output_text", "text": text} | part_fields]}


def called(**fields: Any) -> Json:
    return {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": '{"name": "Bob"}'} | fields


def output(value: Any = "555-0100", **fields: Any) -> Json:
    return {"type": "function_call_output", "call_id": "c1", "output": value} | fields


def typed(role: str, content: Any, **fields: Any) -> Json:
    return {"type": "message", "role": role, "content": content} | fields


ENCRYPTED = {"include": ["reasoning.encrypted_content"]}
TEXT = [{"type": "input_text", "text": "hi"}]
USER: Json = {"role": "user", "content": "hi"}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": False}
DRAFT_2020 = {"$schema": "https://json-schema.org/draft/2020-12/schema", "additionalProperties": False}
FULL_PART = {"annotations": [], "logprobs": []}

FIRST_REQUESTS: dict[str, Json] = {
    "openai": {"model": "mirobody-flash", "input": "hi"},
    "openai-agents-py": {"input": [USER], "include": [], "instructions": "Help.", "tools": []},
    "openai-agents-py with tools": {
        "input": [USER],
        "include": [],
        "tools": [
            tool(strict=True, description="", parameters=PARAMETERS | {"title": "args", "additionalProperties": False})
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "truncation": "auto",
        "metadata": {"a": "b"},
        "reasoning": {"effort": "low"},
        "max_output_tokens": 500,
        "user": "alice",
    },
    "openai-agents-py hand-off": {
        "input": [USER],
        "include": [],
        "tools": [
            tool(
                name="transfer_to_specialist",
                strict=True,
                parameters={"type": "object", "properties": {}, "required": []},
            )
        ],
    },
    "@openai/agents": {"input": [USER], "include": [], "tools": [], "text": {"verbosity": "low"}, "stream": False},
    "langchain-openai": {"model": "mirobody-flash", "input": [typed("user", "hi")], "stream": False},
    "langchain-openai with a tool": {
        "input": [typed("system", "Help."), typed("user", "hi")],
        "tools": [tool(description="Finds.")],
        "tool_choice": {"type": "function", "name": "phone_lookup"},
        "parallel_tool_calls": False,
        "stream": False,
    },
    "@langchain/openai": {
        "input": [{"role": "system", "content": TEXT}, USER],
        "stream": False,
        "text": {},
        "tools": [tool(strict=None, parameters=PARAMETERS | DRAFT_7)],
    },
    "pydantic-ai": {
        "input": [{"role": "system", "content": "Help."}, USER],
        "instructions": "Be brief.",
        "stream": False,
        "tool_choice": "auto",
        "tools": [tool(description=None, strict=True), tool(name="other", strict=False)],
        "truncation": "disabled",
        "text": {"verbosity": "low"},
        **ENCRYPTED,
    },
    "LlamaIndex": {
        "input": "hi",
        "include": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": None,
        "previous_response_id": None,
        "user": None,
        "store": False,
        "truncation": "disabled",
        "temperature": 0.1,
        "top_p": 1.0,
        "tools": [],
        "tool_choice": "none",
    },
    "LlamaIndex with a history": {
        "input": [{"role": "developer", "content": "Help."}, USER, said("hello"), USER],
        "include": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": None,
        "previous_response_id": None,
        "user": None,
        "store": False,
        "tools": [tool()],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
    },
    "agent-framework": {
        "input": [{"role": "system", "content": TEXT}, {"role": "user", "content": TEXT}],
        "stream": False,
        "tool_choice": "auto",
        "tools": [tool(description="", strict=False)],
        **ENCRYPTED,
    },
    "agent-framework file": {
        "input": [
            {"role": "user", "content": [*TEXT, {"type": "input_file", "file_data": "data:text/plain;base64,aGk="}]}
        ],
        "stream": False,
    },
    "AI SDK": {
        "input": [{"role": "system", "content": "Help."}, {"role": "user", "content": TEXT}],
        "tools": [tool(strict=False, parameters=PARAMETERS | DRAFT_2020)],
        "tool_choice": "auto",
    },
    "AI SDK image": {
        "input": [{"role": "user", "content": [*TEXT, {"type": "input_image", "image_url": PNG}]}],
        "store": False,
        **ENCRYPTED,
    },
    "@ai-sdk/open-responses": {
        "input": [typed("user", TEXT)],
        "instructions": "Help.",
        "tool_choice": "auto",
        "reasoning": {"effort": "medium"},
    },
    "llm": {"input": [USER], "store": False, "reasoning": {"summary": "auto", "effort": "low"}, "stream": False},
    "codex": {
        "input": [typed("developer", TEXT, id="msg_1"), typed("user", TEXT)],
        "instructions": "Help.",
        "store": False,
        "reasoning": {"summary": "auto"},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "prompt_cache_key": "0198-thread",
        "client_metadata": {"a": "b"},
        "tools": [tool(strict=False)],
        **ENCRYPTED,
    },
    "chat completions tool": {
        "input": [USER],
        "tools": [{"type": "function", "function": {"name": "phone_lookup", "parameters": PARAMETERS}}],
        "tool_choice": {"type": "function", "function": {"name": "phone_lookup"}},
    },
    "Open Responses phases": {
        "input": [
            typed("assistant", "Working.", phase="commentary"),
            typed("assistant", "42", phase="final_answer"),
            typed("user", "Repeat only the number."),
        ]
    },
}

REPLAYS: dict[str, list[Json]] = {
    "openai, openai-agents": [
        USER,
        REASONING | {"status": "completed", "encrypted_content": "opaque"},
        called(id="fc_1", status="completed"),
        output(),
        typed("assistant", [{"type": "output_text", "text": "Done.", **FULL_PART}], id="msg_1", status="completed"),
        USER,
    ],
    "@openai/agents session": [
        {"content": "hi", "role": "user", "type": "message"},
        called(status="completed"),
        output([{"type": "input_text", "text": "555"}], status="completed"),
        typed("assistant", [{"type": "output_text", "text": "Done.", **FULL_PART}], status="completed"),
        USER,
    ],
    "openai-agents image output": [
        USER,
        called(id="fc_1", status="completed"),
        output(
            [{"type": "input_text", "text": "A picture"}, {"type": "input_image", "image_url": PNG, "detail": "auto"}]
        ),
    ],
    "openai-js helper": [USER, called(id="fc_1", status="completed", parsed_arguments=None), output()],
    "langchain-openai": [
        typed("user", "hi"),
        REASONING,
        called(id="fc_1"),
        output(),
        typed("assistant", [{"type": "output_text", "text": "Done.", "annotations": []}], id="msg_1"),
        typed("user", "go on"),
    ],
    "langchain-openai without id": [
        typed("user", "hi"),
        typed("assistant", [{"type": "output_text", "text": "Done.", "annotations": []}]),
        typed("user", "go on"),
    ],
    "@langchain/openai": [
        USER,
        called(),
        output(),
        said("Done.", **FULL_PART) | {"type": "message", "id": "msg_1"},
        USER,
    ],
    "pydantic-ai": [
        USER,
        {"role": "assistant", "content": "<think>\nLook it up.\n</think>"},
        called(),
        output(),
        {"role": "assistant", "content": "Done."},
        USER,
    ],
    "pydantic-ai reasoning": [USER, REASONING | {"encrypted_content": None}, called(id="fc_1"), output(), USER],
    "LlamaIndex": [USER, said(""), called(), output(), said("Done."), USER],
    "agent-framework": [
        {"role": "user", "content": TEXT},
        REASONING | {"encrypted_content": "opaque"},
        called(id="fc_1", status="completed"),
        output(),
        said("Done.", annotations=[]),
        {"role": "user", "content": TEXT},
    ],
    "AI SDK 5": [{"role": "user", "content": TEXT}, called(id="fc_1"), output(), said("Done.") | {"id": "msg_1"}, USER],
    "AI SDK 6, 7": [
        {"role": "user", "content": TEXT},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "opaque", "summary": []},
        called(),
        output([{"type": "input_text", "text": "555"}]),
        {"role": "assistant", "content": "Done."},
        USER,
    ],
    "@ai-sdk/open-responses": [
        typed("user", TEXT),
        called(id="fc_1"),
        output(),
        said("Done.") | {"type": "message", "id": "msg_1"},
        typed("user", TEXT),
    ],
    "llm": [
        USER,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
        called(),
        output(),
        {"role": "assistant", "content": "Done."},
        USER,
    ],
    "llm empty summary": [USER, {"type": "reasoning", "summary": []}, called(), output()],
    "codex": [
        typed("developer", TEXT, id="msg_0"),
        typed("user", TEXT, id="msg_1"),
        REASONING | {"content": [{"type": "reasoning_text", "text": "raw"}], "encrypted_content": "opaque"},
        called(id="fc_1"),
        output(id="fco_1"),
    ],
    "parallel calls": [
        USER,
        called(call_id="c1"),
        called(call_id="c2", name="other"),
        output(),
        output(call_id="c2"),
    ],
    "hand-off": [
        USER,
        called(name="transfer_to_Specialist", arguments="{}"),
        output('{"assistant":"Specialist"}'),
        said("I take over.", **FULL_PART),
        USER,
    ],
}


@pytest.mark.parametrize("body", FIRST_REQUESTS.values(), ids=FIRST_REQUESTS.keys())
def test_a_first_request(api: httpx.Client, body: Json) -> None:
    assert accepted(api, {name: value for name, value in body.items() if name != "stream"})["status"] == "completed"
    assert create(api, **body)["status"] == "completed"


@pytest.mark.parametrize("history", REPLAYS.values(), ids=REPLAYS.keys())
@pytest.mark.parametrize("store", [True, False])
def test_a_replayed_history(api: httpx.Client, history: list[Json], store: bool) -> None:
    response = accepted(api, {"input": history, "tools": [tool()], "store": store})
    assert (response["status"], response["output_text"]) == ("completed", DEFAULT_ANSWER)


HEADERS = {
    "openai-py": {
        "Accept": "application/json",
        "User-Agent": "OpenAI/Python 2.54.0",
        "X-Stainless-Lang": "python",
        "X-Stainless-Async": "false",
        "X-Stainless-Retry-Count": "0",
        "X-Stainless-Read-Timeout": "600",
        "X-Stainless-Raw-Response": "stream",
    },
    "openai-js": {"Accept": "application/json", "User-Agent": "OpenAI/JS 6.49.0", "X-Stainless-Lang": "js"},
    "AI SDK": {"Accept": "*/*", "User-Agent": "ai/7.0.173 ai-sdk/openai/4.0.118"},
    "codex": {"Accept": "text/event-stream", "originator": "codex_exec", "session-id": "s", "thread-id": "t"},
    "XML": {"Accept": "application/xml"},
    "none": {"Accept": ""},
}


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS.keys())
def test_headers_of_clients_decide_nothing(api: httpx.Client, headers: dict[str, str]) -> None:
    accepted(api, {"input": "hi"}, headers)
