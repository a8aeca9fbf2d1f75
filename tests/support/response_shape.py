"""Whether a response object is what the wire contract says (section 3) and what Open Responses says.

Open Responses' models are told nothing of the deviations the contract lists: MCP entries in ``tools``, the schema in
``text.format``, ``error.type``. Everything else has to validate.
"""

import json
import re
from typing import Any

from openresponses_types import types as openresponses
from pydantic import BaseModel, ValidationError

from responses_app.protocol.response_shapes import Response

Json = dict[str, Any]

TERMINAL_STATUSES = frozenset({"completed", "failed", "incomplete", "cancelled"})
ALWAYS_NULLABLE = frozenset(
    {
        "previous_response_id",
        "session_id",
        "instructions",
        "error",
        "incomplete_details",
        "max_output_tokens",
        "max_tool_calls",
        "safety_identifier",
        "prompt_cache_key",
        "reasoning",
        "user",
    }
)
NULL_UNTIL_THE_END = frozenset({"completed_at", "usage", "grounding"})
KEYS = (
    frozenset(
        {
            "id",
            "object",
            "created_at",
            "status",
            "model",
            "output",
            "output_text",
            "tool_steps",
            "health_records",
            "citations",
            "store",
            "tools",
            "tool_choice",
            "metadata",
            "background",
            "parallel_tool_calls",
            "temperature",
            "top_p",
            "presence_penalty",
            "frequency_penalty",
            "top_logprobs",
            "truncation",
            "service_tier",
            "text",
        }
    )
    | ALWAYS_NULLABLE
    | NULL_UNTIL_THE_END
)
ITEM_KEYS = {
    "reasoning": ({"type", "id", "status", "summary"}, {"content", "encrypted_content"}),
    "message": ({"type", "id", "status", "role", "content"}, {"phase"}),
    "function_call": ({"type", "id", "status", "call_id", "name", "arguments"}, set()),
}
PART_KEYS = {"output_text": {"type", "text", "annotations", "logprobs"}, "summary_text": {"type", "text"}}
ITEM_ORDER = ["reasoning", "message", "function_call"]
STEP_KEYS = {"id", "call_id", "name", "arguments", "result", "status"}


class GrammarError(AssertionError):
    """A breach of the contract, in words that say which."""


def require(condition: object, breach: str) -> None:
    """Raises ``GrammarError`` unless the condition holds."""
    if not condition:
        raise GrammarError(breach)


def require_keys(value: Json, required: set[str] | frozenset[str], optional: set[str], where: str) -> None:
    """Exactly these keys: none missing, none unknown."""
    require(isinstance(value, dict), f"{where} is no object")
    require(required <= value.keys(), f"{where} lacks {sorted(required - value.keys())}")
    unknown = value.keys() - required - optional
    require(not unknown, f"{where} has unknown keys {sorted(unknown)}")


def validate(model: type[BaseModel], value: Json, where: str, of: str = "Open Responses") -> None:
    """Validates strictly with a model of Open Responses, or of our own OpenAPI document."""
    try:
        model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:4]]
        raise GrammarError(f"{where} is not valid {of}: {'; '.join(faults)}") from None


def check_response(response: Json) -> Json:
    """Checks a response object of any status, as ``POST``, ``GET`` or a stream gives it, and gives it back."""
    require_keys(response, KEYS, set(), "response")
    ended = response["status"] in TERMINAL_STATUSES
    nullable = ALWAYS_NULLABLE if ended else ALWAYS_NULLABLE | NULL_UNTIL_THE_END
    nulls = {key for key, value in response.items() if value is None} - nullable
    require(not nulls, f"response has null in {sorted(nulls)}")
    validate(openresponses.ResponseResource, without_deviations(response), "response")
    require(re.fullmatch(r"resp_[0-9a-f]{32}", response["id"]), "response id is not resp_ and 32 hex digits")
    require(response["status"] in TERMINAL_STATUSES | {"queued", "in_progress"}, "unknown response status")
    _check_output(response)
    _check_outcome(response)
    _check_tool_steps(response)
    for name in ("health_records", "citations"):
        for entry in response[name]:
            require_keys(entry, {"tool", "data"}, set(), name)
    if response["usage"] is not None:
        check_usage(response["usage"])
    if response["grounding"] is not None:
        _check_grounding(response)
    validate(Response, response, "response", of="by the OpenAPI document")
    return response


def without_deviations(response: Json) -> Json:
    """The response without what deviates from Open Responses on purpose."""
    tools = [tool for tool in response["tools"] if tool.get("type") != "mcp"]
    text = response["text"]
    if "schema" in text["format"]:
        text = text | {"format": text["format"] | {"schema": None}}
    return response | {"tools": tools, "text": text}


def check_item(item: Json) -> None:
    """An output item of a standard type with exactly its keys, no ``null`` anywhere, and known parts."""
    require(item.get("type") in ITEM_KEYS, f"item type {item.get('type')!r} is not standard")
    required, optional = ITEM_KEYS[item["type"]]
    require_keys(item, required, optional, item["type"])
    require(None not in item.values(), f"{item['type']} has a null")
    require(item["status"] in {"in_progress", "completed", "incomplete"}, f"{item['type']} has an unknown status")
    for part in parts_of(item):
        check_part(part, "output_text" if item["type"] == "message" else "summary_text")
    if item["type"] == "function_call":
        require(item["id"] != item["call_id"], "function_call has its call_id as id")
    if item["type"] == "message":
        require(item["role"] == "assistant", "message is not the assistant's")


def check_part(part: Json, kind: str) -> None:
    """A part of this kind with exactly its keys."""
    require(part.get("type") == kind, f"part is {part.get('type')!r} instead of {kind!r}")
    require_keys(part, PART_KEYS[kind], set(), kind)
    require(None not in part.values(), f"{kind} has a null")


def parts_of(item: Json) -> list[Json]:
    """A message's content or a reasoning item's summary."""
    return item.get("content" if item["type"] == "message" else "summary", [])


def text_of(item: Json) -> str:
    """The joined text of an item's parts."""
    return "".join(part["text"] for part in parts_of(item))


def check_usage(usage: Json) -> None:
    """The figures are counts and add up."""
    require_keys(
        usage,
        {
            "input_tokens",
            "output_tokens",
            "total_tokens",
            "input_tokens_details",
            "output_tokens_details",
            "billed_tokens",
        },
        set(),
        "usage",
    )
    details, billed = usage["input_tokens_details"], usage["billed_tokens"]
    require_keys(details, {"system_tokens", "cached_tokens"}, set(), "input_tokens_details")
    require_keys(usage["output_tokens_details"], {"reasoning_tokens"}, set(), "output_tokens_details")
    require_keys(billed, {"input", "output", "total"}, {"estimated"}, "billed_tokens")
    require(billed.get("estimated", True) is True, "billed_tokens.estimated is there and not true")
    figures = [usage[name] for name in ("input_tokens", "output_tokens", "total_tokens")]
    figures += [*details.values(), *usage["output_tokens_details"].values()]
    figures += [billed[name] for name in ("input", "output", "total")]
    require(all(type(figure) is int and figure >= 0 for figure in figures), "usage has a figure that is no count")
    billed_input = usage["input_tokens"] + details["system_tokens"]
    require(billed_input == billed["input"], "input_tokens + system_tokens is not billed_tokens.input")
    require(usage["output_tokens"] == billed["output"], "output_tokens is not billed_tokens.output")
    require(usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"], "total_tokens is not the sum")
    require(billed["total"] == billed["input"] + billed["output"], "billed_tokens.total is not the sum")


def _check_output(response: Json) -> None:
    output = response["output"]
    for item in output:
        check_item(item)
    kinds = [item["type"] for item in output]
    require(kinds == sorted(kinds, key=ITEM_ORDER.index), f"output is in the order {kinds}")
    require(kinds.count("reasoning") <= 1, "output has several reasoning items")
    require(kinds.count("message") <= 1, "output has several messages")
    for key in ("id", "call_id"):
        values = [item[key] for item in output if key in item]
        require(len(values) == len(set(values)), f"output has the same {key} twice")
    said = "".join(text_of(item) for item in output if item["type"] == "message")
    require(response["output_text"] == said, "output_text is not the message's text")


def _check_outcome(response: Json) -> None:
    status, output = response["status"], response["output"]
    if status not in TERMINAL_STATUSES:
        return
    require(response["completed_at"] >= response["created_at"], "completed before it was created")
    require(all(item["status"] == "completed" for item in output[:-1]), "an item before the last is not completed")
    require((status == "failed") == (response["error"] is not None), f"error does not go with {status}")
    if status == "completed":
        require(output, "a completed response without output")
        require(output[-1]["status"] == "completed", "a completed response with an incomplete item")
    if status == "failed":
        require_keys(response["error"], {"type", "code", "message"}, set(), "error")
        require(not output or output[-1]["status"] == "incomplete", "a failed response whose last item is completed")
    if status == "incomplete":
        require(response["incomplete_details"], "incomplete without incomplete_details")
        require_keys(response["incomplete_details"], {"reason"}, set(), "incomplete_details")
    if status in {"completed", "failed"}:
        require(response["incomplete_details"] is None, f"incomplete_details do not go with {status}")


def _check_grounding(response: Json) -> None:
    """Our extension: the figures stand in the text where they say, in order, and are counted."""
    found, text = response["grounding"], response["output_text"]
    require_keys(found, {"numbers", "supported", "figures"}, set(), "grounding")
    end = 0
    for figure in found["figures"]:
        require_keys(figure, {"text", "start", "end", "supported_by"}, set(), "grounding figure")
        require(end <= figure["start"] < figure["end"], "grounding figures overlap or are out of order")
        end = figure["end"]
        require(figure["text"] == text[figure["start"] : end], "a grounding figure does not stand where it says")
        for support in figure["supported_by"]:
            require_keys(support, {"call_id", "records"}, set(), "grounding support")
    require(found["numbers"] == len(found["figures"]), "grounding counts its figures wrongly")
    supported = sum(bool(figure["supported_by"]) for figure in found["figures"])
    require(found["supported"] == supported, "grounding counts what is supported wrongly")


def _check_tool_steps(response: Json) -> None:
    steps = response["tool_steps"]
    for step in steps:
        require_keys(step, STEP_KEYS, set(), "tool_steps")
    require(len({step["id"] for step in steps}) == len(steps), "tool_steps has the same id twice")
    if response["status"] == "completed":
        statuses = {step["status"] for step in steps}
        require(statuses <= {"completed", "failed"}, f"tool_steps of a completed response are {statuses}")
