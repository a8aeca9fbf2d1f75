"""A conversation as text to be summarized: whole for a model, and cut down by rule where none answers."""

from collections.abc import Sequence

from responses_app.engine.conversation import Call, CallOutput, Entry, Message, Thought
from responses_app.engine.transcript import entry_text

_DIGEST_ENTRIES = 24
_DIGEST_CHARACTERS = 600


def transcript(entries: Sequence[Entry]) -> str:
    """Everything said, called and given, a paragraph each; thoughts are left out."""
    return "\n\n".join(_told(entry) for entry in entries if not isinstance(entry, Thought))


def digest(entries: Sequence[Entry]) -> str:
    """What was said last, each time as far as ``_DIGEST_CHARACTERS`` go. Calls and what they gave are left out."""
    said = [entry for entry in entries if isinstance(entry, Message)]
    return "\n".join(_shortened(_told(entry)) for entry in said[-_DIGEST_ENTRIES:]) or "Nothing was said."


def _told(entry: Entry) -> str:
    match entry:
        case Message(role):
            return f"{role.capitalize()}: {entry_text(entry)}{_attachments(entry)}"
        case Call():
            return f"Assistant calls the tool {entry_text(entry)}"
        case CallOutput():
            return f"The tool gives: {entry.output}"
        case Thought():
            return ""


def _attachments(entry: Message) -> str:
    parts = entry.content if isinstance(entry.content, list) else []
    return "".join(f" [{part['type']}]" for part in parts if part["type"] != "text")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _DIGEST_CHARACTERS else line[:_DIGEST_CHARACTERS].rstrip() + "..."
