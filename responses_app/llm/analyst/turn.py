"""The current turn in a conversation: its question, the calls made in it and what they gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from responses_app.engine.conversation import Call, CallOutput, Entry, Message
from responses_app.llm.analyst.facts import read_json

_EARLIER = 4


@dataclass(frozen=True, slots=True)
class Done:
    """A call of this turn. ``output`` is ``None`` while there is none; ``arguments`` is the parsed JSON."""

    name: str
    arguments: Any
    server: bool
    output: str | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """``question`` is what the user said last, "" when that was no text; ``earlier`` are those before, oldest first.

    ``client_calls_before`` counts the calls of the caller's tools in the turn before: none may mean that a detail was
    asked for.
    """

    question: str
    earlier: tuple[str, ...]
    done: tuple[Done, ...]
    client_calls_before: int = 0

    def server_calls(self, name: str) -> list[Done]:
        """Calls of one server tool in this turn, in order."""
        return [d for d in self.done if d.server and d.name == name]

    @property
    def client_calls(self) -> list[Done]:
        """Calls of the caller's tools in this turn."""
        return [d for d in self.done if not d.server]


def read_turn(entries: Sequence[Entry]) -> Turn:
    """The turn that ``entries`` end in: everything from the last thing the user said."""
    asked = [i for i, e in enumerate(entries) if isinstance(e, Message) and e.role == "user"]
    if not asked:
        return Turn("", (), _calls(entries))
    begin = asked[-1]
    earlier = tuple(q for i in asked[-1 - _EARLIER : -1] if (q := _text(entries[i])))
    previous = entries[asked[-2] : begin] if len(asked) > 1 else ()
    handed_off = sum(isinstance(e, Call) and not e.server for e in previous)
    return Turn(_text(entries[begin]), earlier, _calls(entries[begin:]), handed_off)


def _calls(entries: Sequence[Entry]) -> tuple[Done, ...]:
    outputs = {e.call_id: e for e in entries if isinstance(e, CallOutput)}
    return tuple(_done(e, outputs.get(e.call_id)) for e in entries if isinstance(e, Call))


def _done(call: Call, output: CallOutput | None) -> Done:
    text = output.output if output is not None else None
    return Done(call.name, read_json(call.arguments), call.server, text, output is not None and output.failed)


def _text(entry: Entry) -> str:
    if not isinstance(entry, Message):
        return ""
    if isinstance(entry.content, str):
        return entry.content
    texts = [p.get("text") for p in entry.content if isinstance(p, dict) and p.get("type") == "text"]
    return "\n".join(t for t in texts if isinstance(t, str))
