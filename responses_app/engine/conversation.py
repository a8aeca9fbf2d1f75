"""What has been said in a conversation, as the model sees it: a flat list of entries, and their JSON form for storage.

Nothing here knows the wire's items (protocol/) or a provider's messages (llm/).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "developer"]
Part = dict[str, Any]
"""``{"type": "text", "text"}``, ``{"type": "image", "url", "detail"}`` or ``{"type": "file", "filename", "data"}``."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something said. ``content`` is plain text or, with images or files in it, a list of parts."""

    role: Role
    content: str | list[Part]


@dataclass(frozen=True, slots=True)
class Thought:
    """A model's reasoning, kept next to what it led to."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call by the model. ``arguments`` is JSON text; ``server`` tells the server's tools from the caller's."""

    call_id: str
    name: str
    arguments: str
    server: bool = False


@dataclass(frozen=True, slots=True)
class CallOutput:
    """What a call gave, as text for the model."""

    call_id: str
    output: str
    failed: bool = False


Entry = Message | Thought | Call | CallOutput

_KINDS: dict[str, Callable[..., Entry]] = {
    "message": Message,
    "thought": Thought,
    "call": Call,
    "output": CallOutput,
}
_NAMES: dict[type[Entry], str] = {Message: "message", Thought: "thought", Call: "call", CallOutput: "output"}


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """An entry as a JSON object; ``kind`` tells which."""
    return {"kind": _NAMES[type(entry)]} | {name: getattr(entry, name) for name in entry.__slots__}


def entry_from_json(value: dict[str, Any]) -> Entry:
    """The entry that ``entry_to_json`` wrote."""
    return _KINDS[value["kind"]](**{name: item for name, item in value.items() if name != "kind"})
