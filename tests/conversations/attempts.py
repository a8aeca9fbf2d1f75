"""One turn against the server: the script of its model, its request, and what must be said, stored and heard."""

import itertools
import json
import re
import threading
from dataclasses import dataclass
from typing import Any

from tests.conversations.promises import (
    NOT_ANSWERED,
    Ask,
    Call,
    Heard,
    Json,
    Line,
    Place,
    Reading,
    Turn,
    World,
    heard,
    steps_taken,
)
from tests.responses_app.api.conftest import BOOKING, LOOKUP, calls_of
from tests.support.upstream import Call as ScriptedCall
from tests.support.upstream import Request, Step, Upstream, text_of

MEMBERS_FOUND = '{"members":[]}'
SAID = r"\b[uaoci]\d+\b"
"""How the words look that callers and the scripted model say."""

_NUMBERS = itertools.count(1)


def number() -> int:
    """One that was not given before: no two words are the same."""
    return next(_NUMBERS)


def body_of(ask: Ask) -> Json:
    """The request as it is sent."""
    return {
        "input": ask.items,
        "user": ask.person.user,
        "previous_response_id": ask.previous.id if ask.previous else None,
        "session_id": ask.session,
        "store": ask.store,
    }


@dataclass(frozen=True)
class Move:
    """One step of the scripted model: what it says and calls, or how it fails."""

    says: bool = False
    calls: tuple[str, ...] = ()
    finish: str = "auto"
    status: int = 200


SERVER_TOOLS = {
    "list_family_members": {},
    "query_health_data": {"indicators": ["ferritin"], "operation": "readings", "limit": 100},
}
CLIENT_TOOLS = ["phone_lookup", "book_appointment"]
ANSWER = Move(says=True)
FAILURE = Move(status=400)
MEMBERS = Move(calls=("list_family_members",))
RECORDS = Move(calls=("query_health_data",))
PLANS: dict[str, list[Move]] = {
    "answer": [ANSWER],
    "incomplete": [Move(says=True, finish="length")],
    "failed": [FAILURE],
    "failed late": [RECORDS, FAILURE],
    "members": [MEMBERS, ANSWER],
    "records": [RECORDS, ANSWER],
    "one call": [Move(says=True, calls=("phone_lookup",))],
    "two calls": [MEMBERS, Move(calls=("phone_lookup", "book_appointment"))],
    "mixed calls": [Move(calls=("query_health_data", "phone_lookup"))],
}


class Attempt:
    """An accepted request: the script of its turn, and what must come of it. ``turn`` is its stored response."""

    def __init__(
        self,
        upstream: Upstream,
        world: World,
        ask: Ask,
        place: Place,
        plan: str,
        elaborate: bool = False,
        gate: threading.Event | None = None,
    ) -> None:
        self._upstream = upstream
        self._world = world
        self._ask = ask
        self._place = place
        self._moves = PLANS[plan]
        self._before = place.previous.transcript() if place.previous else []
        self._handoff = place.previous if ask.outputs else None
        self._added = [self._line(move) for move in self._moves if move is not FAILURE]
        self.turn: Turn | None = None
        self.failing = FAILURE in self._moves
        self.tools = elaborate or any(name in CLIENT_TOOLS for move in self._moves for name in move.calls)
        self.instructions = f"i{number()}" if elaborate else None
        self.body = body_of(ask)
        if self._handoff:
            self.tools, self.instructions = self._handoff.tools, self._handoff.instructions
        else:
            self.body |= {"tools": [LOOKUP, BOOKING] if self.tools else [], "instructions": self.instructions}
        self._mark = self._scripted(gate)

    def finish(self, response: Json) -> None:
        """Checks the response of the turn, and tells the world of it."""
        ask, place = self._ask, self._place
        status = "failed" if self.failing else "incomplete" if self._moves[-1].finish == "length" else "completed"
        if ask.store and self.turn is None:
            self.turn = self._world.begin(ask, place, response["id"], self.instructions, self.tools)
        assert {name: response[name] for name in ("status", "previous_response_id", "session_id", "store")} == {
            "status": status,
            "previous_response_id": place.previous.id if place.previous else None,
            "session_id": self.turn.conversation.session if self.turn else None,
            "store": ask.store,
        }
        assert (response["user"], response["instructions"]) == (ask.person.user, self.instructions)
        assert response["output_text"] == " ".join(line.text for line in self._added if line.text)
        self._check_calls(response)
        if self._handoff and not self.failing:
            self._handoff.answered = True
        if self.turn:
            self.turn.status, self.turn.added, self.turn.body = status, self._added, response

    def check_heard(self) -> None:
        """The model was given what was said, and nothing else, at each step."""
        requests = self._upstream.requests(self._mark)[-len(self._moves) :]
        assert len(requests) == len(self._moves)
        for number, request in enumerate(requests):
            _assert_heard(request, heard([*self._before, *self._ask.lines, *self._added[:number]]))
            assert re.findall(r"\bi\d+\b", request.system) == [self.instructions] * bool(self.instructions)
            assert [name for name in CLIENT_TOOLS if name in request.tool_names] == CLIENT_TOOLS * self.tools

    def _check_calls(self, response: Json) -> None:
        calls = [call for line in self._added for call in line.calls]
        handed = [call for call in calls if not call.server]
        given = calls_of(response)
        assert [(call["name"], json.loads(call["arguments"])) for call in given] == [
            (call.name, call.arguments) for call in handed
        ]
        for call, item in zip(handed, given, strict=True):
            call.call_id = item["call_id"]
        results = [step["result"] for step in response["tool_steps"]]
        for call, result in zip([call for call in calls if call.server], results, strict=True):
            assert _same_output(call.output, json.dumps(result, separators=(",", ":")))

    def _line(self, move: Move) -> Line:
        calls = tuple(self._call(name) for name in move.calls)
        return Line("assistant", f"a{number()}" if move.says else "", calls)

    def _call(self, name: str) -> Call:
        if name not in SERVER_TOOLS:
            return Call(name, {"name": f"c{number()}"}, server=False)
        records = self._world.records_of(self._ask.person)
        output = Reading(tuple(records)) if name == "query_health_data" else MEMBERS_FOUND
        return Call(name, SERVER_TOOLS[name], server=True, output=output)

    def _scripted(self, gate: threading.Event | None) -> str:
        """Registers the moves as the next steps after the user's last words; gives the mark in those."""
        said = [*self._before, *self._ask.lines]
        name = re.findall(r"\[\[(.+?)\]\]", [line.text for line in said if line.role == "user"][-1])[0]
        earlier = [Step(text=["(a step of an earlier turn)"])] * steps_taken(said)
        lines = [*self._added, Line("assistant")]
        steps = [_step(move, line, gate) for move, line in zip(self._moves, lines, strict=False)]
        return self._upstream.script(name, *earlier, *steps)


def _step(move: Move, line: Line, gate: threading.Event | None) -> Step:
    calls = [ScriptedCall(call.name, call.arguments) for call in line.calls]
    text: list[Any] = [line.text] if line.text else []
    if gate and text:
        text = [line.text[:1], gate, line.text[1:]]
    return Step(text=text, calls=calls, finish=move.finish, status=move.status)


def _assert_heard(request: Request, expected: list[Heard]) -> None:
    told: list[tuple[str, str]] = []
    waiting: list[str] = []
    for chat_message in request.messages[1:]:
        role, text = chat_message["role"], text_of(chat_message)
        if role == "tool":
            assert chat_message["tool_call_id"] == waiting.pop(0)
            told.append((role, text))
            continue
        assert not waiting
        told += [(role, word) for word in text.split()]
        for call in chat_message.get("tool_calls") or []:
            waiting.append(call["id"])
            told.append(("call", f"{call['function']['name']} {call['function']['arguments']}"))
    assert not waiting
    assert [role for role, _ in told] == [role for role, _ in expected], (told, expected)
    assert all(_same_output(is_due, was_told) for (_, is_due), (_, was_told) in zip(expected, told, strict=True)), (
        told,
        expected,
    )


def _same_output(is_due: str | Reading | None, was_told: str) -> bool:
    if is_due is NOT_ANSWERED:
        return not re.search(SAID, was_told)
    if isinstance(is_due, str):
        return was_told == is_due
    if is_due.gone:
        return was_told == json.dumps(marker(is_due), separators=(",", ":"))
    return set(re.findall(r"\d+\.25 ng/mL", was_told)) == {record.value for record in is_due.records}


def marker(reading: Reading) -> Json:
    """What stands in the place of a result that is gone."""
    return {"gone": True, "records": len(reading.records)}
