"""What a provider writes when it refuses a request: its message made fit for a caller, and what it is about.

Not here: what follows from a status.
"""

import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from responses_app.engine.ports import Refusable

MAX_READ_BYTES = 16_384
MAX_MESSAGE = 400
MAX_FIELD_FAULTS = 3
MAX_CLEANED = 2_000
"""What stands behind so much of a message is not told whatever is left out of it."""

_ABOUT: dict[Refusable, re.Pattern[str]] = {
    # Models that take the newer name of the field alone say so.
    "max_tokens": re.compile(r"max_completion_tokens"),
    "tool_choice": re.compile(r"tool.?choice|tool_use_failed|thinking|reasoning mode", re.IGNORECASE),
    "format": re.compile(
        r"response.?format|json.?(?:schema|object|mode|validate)|structured|guided|grammar", re.IGNORECASE
    ),
    "context": re.compile(
        r"context.?(?:length|window|size)|(?:prompt|input|conversation|request) (?:is|was) too long|reduce the length"
        r"|input token count|range of input length|too many (?:input )?tokens",
        re.IGNORECASE,
    ),
}
_PARAMS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "messages": "input",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
    "response_format": "text.format",
}
_PRIVATE = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+"  # an address
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"  # a host by number
    r"|(?<![\w/])/(?:[\w.-]+/)+[\w.-]*"  # a path
    r"|\b(?:sk|pk|api|key|Bearer)[-_ ][\w.*-]{6,}"  # a key by its beginning
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}",  # a key by its look
    re.IGNORECASE,
)
_LEFT_OUT = "[...]"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal's words. ``message`` is empty for one that said nothing fit to be told; ``param`` is our field."""

    message: str = ""
    param: str | None = None
    about: frozenset[Refusable] = frozenset()


def read_refusal(body: bytes, secret: str = "") -> Refusal:
    """The refusal in an error answer's body, or in the ``error`` of a chunk. ``secret`` is never repeated."""
    error = _error(body)
    if error is None:
        return Refusal(about=_about(body.decode(errors="replace")))
    message = _words(error.get("message")) or _words(error.get("detail"))
    param = _text(error.get("param"))
    searched = " ".join((message, param, _text(error.get("code")), _text(error.get("type"))))
    return Refusal(_cleaned(message, secret), _PARAMS.get(param), _about(searched))


def _about(text: str) -> frozenset[Refusable]:
    return frozenset(name for name, pattern in _ABOUT.items() if pattern.search(text))


def _error(body: bytes) -> dict[str, Any] | None:
    """The error object, however deep the provider put it: ``{"error": {...}}``, ``{"error": "..."}``, flat."""
    try:
        value = from_json(body)
    except ValueError:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error", value) if isinstance(value, dict) else {}
    return error if isinstance(error, dict) else {"message": error}


def _words(value: object) -> str:
    """A message, or the faults of fields that stand in its place: each with where it is, without what was sent."""
    if isinstance(value, dict):
        value = value.get("detail")
    if not isinstance(value, list):
        return _text(value)
    return "; ".join(_field_fault(each) for each in value[:MAX_FIELD_FAULTS] if isinstance(each, dict))


def _field_fault(fault: dict[str, Any]) -> str:
    place = fault.get("loc")
    steps = [str(step) for step in place if step != "body"] if isinstance(place, list) else []
    return f"{'.'.join(steps)}: {_text(fault.get('msg'))}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cleaned(message: str, secret: str) -> str:
    if "Traceback" in message:
        return ""
    beginning = message.replace(secret, _LEFT_OUT) if secret else message
    line = " ".join(beginning[:MAX_CLEANED].split())
    printable = "".join(character for character in line if character.isprintable())
    cleaned = _PRIVATE.sub(_LEFT_OUT, printable)
    return cleaned if len(cleaned) <= MAX_MESSAGE else cleaned[:MAX_MESSAGE].rstrip() + "..."
