"""The response object and its output items as JSON objects. How a turn fills them is the engine's.

Source: the wire contract, section 3; Open Responses 2026-04-24, "ResponseResource".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from responses_app.protocol.request import ResponseRequest

Status = Literal["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"]
IncompleteReason = Literal[
    "max_duration",
    "max_model_calls",
    "max_output_tokens",
    "content_filter",
    "format_mismatch",
    "context_length_exceeded",
]
ItemStatus = Literal["in_progress", "completed", "incomplete"]
ResponseObject = dict[str, Any]
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """What is known of a response before its turn. ``created_at`` is in Unix seconds; ``user`` as sent, or ``None``."""

    response_id: str
    created_at: int
    user: str | None


def new_response(identity: Identity, request: ResponseRequest) -> ResponseObject:
    """A response in progress: every key of the contract, with the request's echo and nothing said yet."""
    return {
        "id": identity.response_id,
        "object": "response",
        "created_at": identity.created_at,
        "completed_at": None,
        "status": "in_progress",
        "model": request.model,
        "output": [],
        "output_text": "",
        "usage": None,
        "tool_steps": [],
        "health_records": [],
        "citations": [],
        "grounding": None,
        "previous_response_id": request.previous_response_id,
        "session_id": request.session_id,
        "store": request.store,
        "tools": [tool.echo() for tool in request.tools],
        "tool_choice": _echoed_choice(request),
        "instructions": request.instructions,
        "error": None,
        "incomplete_details": None,
        "metadata": request.metadata,
        "background": request.background,
        "parallel_tool_calls": request.parallel_tool_calls,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "top_logprobs": request.top_logprobs,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "truncation": request.truncation,
        "service_tier": request.service_tier,
        "safety_identifier": request.safety_identifier,
        "prompt_cache_key": request.prompt_cache_key,
        "text": {"format": _echoed_format(request)} | _given(verbosity=request.text.verbosity),
        "reasoning": request.reasoning.model_dump() if request.reasoning else None,
        "user": identity.user,
    }


def queued(response: ResponseObject) -> ResponseObject:
    """A background response as it is shown until its turn begins."""
    return response | {"status": "queued"}


def _echoed_choice(request: ResponseRequest) -> Any:
    if request.named_tool is not None:
        return {"type": "function", "name": request.named_tool}
    return request.tool_choice


def _echoed_format(request: ResponseRequest) -> dict[str, Any]:
    return request.text.format.echo() if request.text.format else {"type": "text"}


def _given(**values: Any) -> dict[str, Any]:
    """The values that are there: optional keys inside objects are left out, never ``null``."""
    return {name: value for name, value in values.items() if value is not None}


def reasoning_item(item_id: str, status: ItemStatus, text: str | None, encrypted_content: str | None = None) -> Item:
    """A ``reasoning`` item; ``text`` is ``None`` until there is a summary part."""
    summary = [] if text is None else [summary_part(text)]
    return {"type": "reasoning", "id": item_id, "status": status, "summary": summary} | _given(
        encrypted_content=encrypted_content
    )


def summary_part(text: str) -> Item:
    """The only part of a reasoning item's summary."""
    return {"type": "summary_text", "text": text}


def message_item(item_id: str, status: ItemStatus, text: str | None, logprobs: Sequence[Any] = ()) -> Item:
    """An assistant ``message``; ``text`` is ``None`` until it has a content part."""
    content = [] if text is None else [text_part(text, logprobs)]
    return {"type": "message", "id": item_id, "status": status, "role": "assistant", "content": content}


def text_part(text: str, logprobs: Sequence[Any] = ()) -> Item:
    """The only part of a message's content."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": list(logprobs)}


def function_call_item(item_id: str, status: ItemStatus, call_id: str, name: str, arguments: str) -> Item:
    """A ``function_call`` handed off to the caller."""
    return {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
    }
