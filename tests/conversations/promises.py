"""What the server promises about conversations, as a small world in plain Python.

The state machine asks it what a call must be answered and tells it what happened. Nothing here knows the product's
code; everything comes from the wire contract, sections 5, 6 and 11.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

NOT_ANSWERED = None
"""The output of a call that nobody answered on this branch: the contract does not say what the model is told."""


@dataclass(frozen=True)
class Person:
    """A Subject: the number of its account, and its ``user`` there."""

    account: int
    user: str | None


@dataclass(eq=False)
class Record:
    """A health record, kept for a session or for a time."""

    person: Person
    value: str
    session: str | None
    gone: bool = False


@dataclass(frozen=True)
class Reading:
    """A tool result that was read out of these records."""

    records: tuple[Record, ...]

    @property
    def gone(self) -> bool:
        return any(record.gone for record in self.records)


@dataclass(eq=False)
class Call:
    """A tool call. ``output`` is known for a server tool; a client tool's is said by a later line."""

    name: str
    arguments: Json
    server: bool
    call_id: str = ""
    output: str | Reading | None = NOT_ANSWERED


@dataclass(frozen=True)
class Line:
    """Something said: by the user, by the assistant (with its calls), or the output of a client's call."""

    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""


Heard = tuple[str, str | Reading | None]
"""What a model is given of a line: who or what, and one word of it, or a tool's output."""


def heard(lines: Sequence[Line]) -> list[Heard]:
    """The lines as a model must be given them: calls at once followed by their outputs, in the order of the calls."""
    outputs = {line.call_id: line.text for line in lines if line.role == "output"}
    told: list[Heard] = []
    for line in lines:
        if line.role == "output":
            continue
        told += [(line.role, word) for word in line.text.split()]
        told += [("call", f"{call.name} {json.dumps(call.arguments)}") for call in line.calls]
        told += [("tool", call.output if call.server else outputs.get(call.call_id)) for call in line.calls]
    return told


def steps_taken(lines: Sequence[Line]) -> int:
    """How often the model has called tools since the user last spoke."""
    last = max(index for index, line in enumerate(lines) if line.role == "user")
    return sum(bool(line.calls) for line in lines[last:])


@dataclass(eq=False)
class Turn:
    """A stored response."""

    conversation: "Conversation"
    previous: "Turn | None"
    id: str
    status: str
    given: list[Line]
    added: list[Line]
    instructions: str | None
    tools: bool
    answered: bool = False
    keeps: bool = False
    deleted: bool = False
    expired: bool = False
    body: Json = field(default_factory=dict)
    items: list[Json] = field(default_factory=list)

    def __repr__(self) -> str:
        fate = "deleted" if self.deleted else "expired" if self.expired else "live"
        return f"<{fate} {self.status} {self.id[:12]} of {self.person} in {self.conversation.session}>"

    @property
    def person(self) -> Person:
        return self.conversation.person

    @property
    def live(self) -> bool:
        return not self.deleted and not self.expired

    @property
    def calls(self) -> list[Call]:
        """The calls handed to the caller."""
        return [call for line in self.added for call in line.calls if not call.server]

    @property
    def pending(self) -> list[str]:
        return [] if self.answered or self.status != "completed" else [call.call_id for call in self.calls]

    @property
    def results(self) -> list[str | Reading | None]:
        """What its server tools gave."""
        return [call.output for line in self.added for call in line.calls if call.server]

    def chain(self) -> "list[Turn]":
        """The turns from the conversation's start to this one."""
        return [*(self.previous.chain() if self.previous else []), self]

    def transcript(self) -> list[Line]:
        return [line for turn in self.chain() for line in (*turn.given, *turn.added)]


@dataclass(eq=False)
class Conversation:
    """A tree of turns, perhaps under a session's name."""

    person: Person
    session: str | None = None
    turns: list[Turn] = field(default_factory=list)

    @property
    def live(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.live]

    @property
    def newest(self) -> Turn | None:
        """What a session's next turn continues."""
        return next((turn for turn in reversed(self.live) if turn.status in ("completed", "incomplete")), None)


@dataclass(frozen=True)
class Ask:
    """A request. ``items`` in the form of the wire; ``lines`` is what they say; ``outputs`` their call ids.

    ``previous`` may be of any person and in any state. ``missing``: the index of a reference that leads nowhere.
    """

    person: Person
    items: list[Json]
    lines: list[Line]
    previous: Turn | None = None
    session: str | None = None
    store: bool = True
    missing: int | None = None

    @property
    def outputs(self) -> list[str]:
        return [item["call_id"] for item in self.items if item.get("type") == "function_call_output"]

    @property
    def only_outputs(self) -> bool:
        return len(self.outputs) == len(self.items)


@dataclass(frozen=True)
class Refusal:
    """An error answer. ``message`` only where the contract gives the words."""

    status: int
    code: str
    param: str | None
    message: str | None = None


@dataclass(frozen=True)
class Place:
    """Where an accepted request goes on. ``adopts``: its conversation becomes the named session."""

    previous: Turn | None
    conversation: Conversation | None
    adopts: bool = False


NONE_PENDING = Refusal(400, "invalid_value", "input", "previous response has no pending function calls")


class World:
    """All that the server has been told and not forgotten."""

    def __init__(self) -> None:
        self.seen: set[Person] = set()
        self.conversations: list[Conversation] = []
        self.records: list[Record] = []

    @property
    def turns(self) -> list[Turn]:
        return [turn for conversation in self.conversations for turn in conversation.turns]

    def session(self, person: Person, name: str) -> Conversation | None:
        """The conversation of this name; with its last live response the name goes too."""
        for conversation in self.conversations:
            if (conversation.person, conversation.session) == (person, name) and conversation.live:
                return conversation
        return None

    def records_of(self, person: Person, session: str | None = None) -> list[Record]:
        """The person's records that are there, or only those kept for a session."""
        return [
            record
            for record in self.records
            if record.person == person and not record.gone and session in (None, record.session)
        ]

    def judge(self, ask: Ask) -> Place | Refusal:
        """What becomes of a request while no other runs."""
        if ask.session and not ask.store:
            return Refusal(400, "invalid_value", "session_id")
        if ask.missing is not None:
            return Refusal(404, "not_found", f"input[{ask.missing}]")
        place = self._place(ask)
        if isinstance(place, Refusal):
            return place
        if place.previous is None:
            return _replayed(ask) or place
        if place.previous.status not in ("completed", "incomplete"):
            return Refusal(400, "invalid_value", "previous_response_id")
        return _resumed(ask, place.previous.pending) or place

    def _place(self, ask: Ask) -> Place | Refusal:
        named = self.session(ask.person, ask.session) if ask.session else None
        if ask.previous is None:
            return Place(named.newest if named else None, named)
        if not ask.previous.live or ask.previous.person != ask.person:
            return Refusal(404, "previous_response_not_found", "previous_response_id")
        conversation = ask.previous.conversation
        adopts = ask.session is not None and named is None and conversation.session is None
        if ask.session and named is not conversation and not adopts:
            return Refusal(400, "invalid_session", "session_id")
        return Place(ask.previous, conversation, adopts)

    def begin(self, ask: Ask, place: Place, turn_id: str, instructions: str | None, tools: bool) -> Turn:
        """A stored turn that is running from now on. A resume has taken its handoff."""
        conversation = place.conversation or Conversation(ask.person, ask.session)
        if place.conversation is None:
            self.conversations.append(conversation)
        if place.adopts:
            conversation.session = ask.session
            for live in conversation.live:
                live.keeps = True
        turn = Turn(conversation, place.previous, turn_id, "in_progress", ask.lines, [], instructions, tools)
        turn.keeps = conversation.session is not None
        conversation.turns.append(turn)
        self.seen.add(ask.person)
        return turn

    def forget(self, turns: Iterable[Turn]) -> None:
        """These responses are deleted."""
        for turn in turns:
            turn.deleted = True

    def erase(self, person: Person) -> tuple[int, int]:
        """Nothing of this person is left; how many records and conversations there were to be seen."""
        records, live = self.records_of(person), [c for c in self.conversations if c.person == person and c.live]
        for record in records:
            record.gone = True
        self.forget(turn for turn in self.turns if turn.person == person)
        self.seen.discard(person)
        return len(records), len(live)

    def kept(self) -> set[str]:
        """The responses that must be stored: the live ones and what they continue from."""
        return {step.id for turn in self.turns if turn.live for step in turn.chain()}

    def unswept(self) -> set[str]:
        """Those that may still be: what has expired and what that continued from."""
        return {step.id for turn in self.turns if turn.expired and not turn.deleted for step in turn.chain()}


def _replayed(ask: Ask) -> Refusal | None:
    called = [item["call_id"] for item in ask.items if item.get("type") == "function_call"]
    if set(ask.outputs) <= set(called):
        return None
    return Refusal(
        400,
        "invalid_value",
        "input",
        "function_call_output without matching function_call items — replay the full transcript, "
        "or resume via previous_response_id",
    )


def _resumed(ask: Ask, pending: list[str]) -> Refusal | None:
    if not ask.outputs:
        waits = "previous response has pending function call(s) — provide function_call_output items for: "
        return _refused(waits + ", ".join(pending)) if pending else None
    if not ask.only_outputs:
        return _refused("cannot mix message items with function_call_output when resuming via previous_response_id")
    if not pending:
        return NONE_PENDING
    unknown = [call_id for call_id in dict.fromkeys(ask.outputs) if call_id not in pending]
    if unknown:
        return _refused(f"unknown call_id(s): {json.dumps(unknown)}")
    repeated = [call_id for call_id in dict.fromkeys(ask.outputs) if ask.outputs.count(call_id) > 1]
    if repeated:
        return _refused(f"duplicate call_id(s): {json.dumps(repeated)}")
    missing = [call_id for call_id in pending if call_id not in ask.outputs]
    return _refused(f"missing function_call_output for call_id(s): {json.dumps(missing)}") if missing else None


def _refused(message: str) -> Refusal:
    return Refusal(400, "invalid_value", "input", message)
