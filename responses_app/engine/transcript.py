"""From the wire's input items to conversation entries. The way back is the assembly's; storage is the models'."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from mimetypes import guess_type

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.engine.conversation import Call, CallOutput, Entry, Message, Part, Thought
from responses_app.protocol.items import (
    CompactionItem,
    ContentPart,
    FunctionCallItem,
    FunctionCallOutputItem,
    InputFile,
    InputImage,
    InputItem,
    ItemReference,
    MessageItem,
    ReasoningItem,
    Refusal,
)

Unseal = Callable[[str], str | None]

SUMMARY = "[Summary of the conversation so far]"
"""How the message begins that stands for what was compacted."""


@dataclass(frozen=True, slots=True)
class Openers:
    """Open the ``encrypted_content`` of items; they give ``None`` for what this server did not seal for this caller."""

    reasoning: Unseal
    compaction: Unseal


def entries_from_input(items: Iterable[InputItem], openers: Openers) -> list[Entry]:
    """The entries that ``items`` add to a conversation, in their order.

    Raises ``InvalidRequestError`` for a compaction that cannot be opened: without it the conversation is another one.
    """
    entries: list[Entry] = []
    for item in items:
        entries.extend(_entries(item, openers))
    return entries


def _entries(item: InputItem, openers: Openers) -> list[Entry]:
    match item:
        case MessageItem():
            return [Message(item.role, _content(item.content))]
        case FunctionCallItem():
            return [Call(item.call_id, item.name, item.arguments)]
        case FunctionCallOutputItem():
            return _output(item)
        case ReasoningItem():
            return _thought(item, openers.reasoning)
        case CompactionItem():
            return [_summary(item, openers.compaction)]
        case ItemReference():
            raise ValueError("an item reference that was not replaced")


def _summary(item: CompactionItem, unseal: Unseal) -> Message:
    text = unseal(item.encrypted_content)
    if text is None:
        raise InvalidRequestError(
            "A compaction item of the input cannot be opened: it was not given out to this Subject, or is gone.",
            param="input",
        )
    return Message("assistant", f"{SUMMARY}\n{text}")


def _thought(item: ReasoningItem, unseal: Unseal) -> list[Entry]:
    sealed = unseal(item.encrypted_content) if item.encrypted_content else None
    text = sealed or "\n\n".join(part.text for part in item.summary)
    return [Thought(text)] if text else []


def _output(item: FunctionCallOutputItem) -> list[Entry]:
    """A tool's text is its output; models take images and files only from a user message, so those follow in one."""
    content = _content(item.output)
    if isinstance(content, str):
        return [CallOutput(item.call_id, content)]
    attachments = [part for part in content if part["type"] != "text"]
    texts = [part["text"] if part["type"] == "text" else f"[{part['type']}, attached below]" for part in content]
    return [CallOutput(item.call_id, "\n".join(texts)), Message("user", attachments)]


def _content(content: str | list[ContentPart]) -> str | list[Part]:
    if isinstance(content, str):
        return content
    parts = [_part(part) for part in content]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _part(part: ContentPart) -> Part:
    match part:
        case InputImage():
            return {"type": "image", "url": part.image_url, "detail": part.detail}
        case InputFile():
            return {"type": "file", "filename": part.filename, "data": _data_url(part)}
        case Refusal():
            return {"type": "text", "text": part.refusal}
        case _:
            return {"type": "text", "text": part.text}


def _data_url(part: InputFile) -> str:
    """Providers want to know what is in it."""
    if part.file_data[:5].lower() == "data:":
        return part.file_data
    media_type = guess_type(part.filename)[0] or "application/octet-stream"
    return f"data:{media_type};base64,{part.file_data}"


def entry_text(entry: Entry) -> str:
    """What a model reads of an entry, for counting; images and files count nothing."""
    match entry:
        case Message():
            return entry.content if isinstance(entry.content, str) else _part_texts(entry.content)
        case Thought():
            return entry.text
        case Call():
            return f"{entry.name} {entry.arguments}"
        case CallOutput():
            return entry.output


def _part_texts(parts: list[Part]) -> str:
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def compact_json(value: object) -> str:
    """JSON text without spaces, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
