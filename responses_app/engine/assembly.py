"""Puts a turn's happenings together: the events of its stream and, at its end, the response object. Decides nothing.

``output`` holds at most one reasoning, one message, then function calls. The message stays open over later steps of the
turn; reasoning that comes after it opened is not shown.
"""

import time
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from responses_app.engine.conversation import Call
from responses_app.engine.grounding import Evidence, grounding
from responses_app.engine.ports import LogProb, ToolOutcome
from responses_app.engine.steps import AwaitClient, Cancelled, CutShort, Ending, Failed, Finished
from responses_app.engine.transcript import compact_json
from responses_app.protocol import events, ids
from responses_app.protocol.events import Event
from responses_app.protocol.response import (
    Item,
    ItemStatus,
    ResponseObject,
    Status,
    function_call_item,
    message_item,
    queued,
    reasoning_item,
    summary_part,
    text_part,
)

Seal = Callable[[str], str]
"""Makes a reasoning item's ``encrypted_content`` of its text."""

_STEP_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Closing:
    """A turn's last words: the final response object and the events that tell of it."""

    response: ResponseObject
    events: list[Event]


class Assembly:
    """The growing response of one turn. ``seal`` is there when the caller asked for ``encrypted_content``."""

    def __init__(self, response: ResponseObject, side_channel: bool, seal: Seal | None) -> None:
        self._response = response
        self._side_channel = side_channel
        self._seal = seal
        self._sequence = 0
        self._reasoning: list[str] = []
        self._reasoning_open = False
        self._reasoning_done: Item | None = None
        self._text: list[str] = []
        self._logprobs: list[LogProb] = []
        self._message_open = False
        self._breaks_due: set[int] = set()
        self._own_words: set[str] = set()
        self._evidence_steps: dict[str, list[int]] = {"health_records": [], "citations": []}

    @classmethod
    def after(cls, response: ResponseObject, happened: Iterable[Event]) -> "Assembly":
        """The growing response of a turn that told these events, from its first on, and says no more. What is only in
        the side channel is left out."""
        assembly = cls(response, False, None)
        for event in happened:
            assembly._take_over(event)
        return assembly

    def opening(self) -> list[Event]:
        """What follows ``announcement`` when the turn begins: nothing, unless the response was queued until now."""
        announced = announcement(self._response)
        self._sequence = len(announced)
        return self._numbered([events.lifecycle("in_progress", self._response)]) if self._response["background"] else []

    def step_begins(self) -> None:
        """Text and reasoning of one step are set off from those of the step before."""
        self._breaks_due = {id(self._reasoning), id(self._text)}

    def reasoning(self, text: str) -> list[Event]:
        """A piece of reasoning came."""
        if self._message_open:
            return []
        item_id = ids.reasoning_id(self._response["id"])
        happened: list[Event] = []
        if not self._reasoning_open:
            self._reasoning_open = True
            happened += reasoning_begins(item_id)
        delta = self._set_off(text, self._reasoning)
        self._reasoning.append(delta)
        happened.append(events.summary_text_delta(item_id, 0, delta))
        return self._numbered(happened)

    def text(self, text: str, logprobs: Sequence[LogProb] = ()) -> list[Event]:
        """A piece of the answer came."""
        item_id = ids.message_id(self._response["id"])
        happened: list[Event] = []
        if not self._message_open:
            happened += self._end_reasoning()
            happened += message_begins(item_id, self._message_index)
            self._message_open = True
        delta = self._set_off(text, self._text)
        self._text.append(delta)
        self._logprobs += logprobs
        happened.append(events.text_delta(item_id, self._message_index, delta, logprobs))
        return self._numbered(happened)

    def tool_called(self, call: Call, arguments: Any) -> tuple[int, list[Event]]:
        """A server tool is called; gives the step's index for ``tool_finished``."""
        index = len(self._response["tool_steps"])
        self._response["tool_steps"].append(
            {
                "id": ids.tool_step_id(index),
                "call_id": call.call_id,
                "name": call.name,
                "arguments": arguments,
                "result": None,
                "status": "in_progress",
            }
        )
        return index, self._on_side_channel(
            events.tool_called(ids.tool_step_id(index), call.call_id, call.name, compact_json(arguments))
        )

    def tool_finished(self, index: int, outcome: ToolOutcome) -> list[Event]:
        """A server tool's result landed."""
        step = self._response["tool_steps"][index]
        step["result"] = outcome.data
        step["status"] = "failed" if outcome.failed else "completed"
        if outcome.own_words:
            self._own_words.add(step["call_id"])
        if outcome.evidence and not outcome.failed and not outcome.empty:
            # Tools run side by side; what they found stands in the order of their calls.
            place = bisect(self._evidence_steps[outcome.evidence], index)
            self._evidence_steps[outcome.evidence].insert(place, index)
            self._response[outcome.evidence].insert(place, {"tool": step["name"], "data": outcome.data})
        return self._on_side_channel(
            events.tool_result(step["id"], step["call_id"], step["name"], compact_json(outcome.data))
        )

    def close(self, ending: Ending, usage: dict[str, Any], given: Sequence[Evidence] = ()) -> Closing:
        """The last words for ``ending``. Changes nothing: another ending can follow if it cannot be stored.

        ``given`` is what tools gave in this turn before this response: its caller's, and the server's before a handoff.
        """
        status, event_kind = _status(ending)
        text = "".join(self._text)
        happened, output = self._close_items(ending, "completed" if status == "completed" else "incomplete")
        response = self._response | {
            "completed_at": max(int(time.time()), self._response["created_at"]),
            "status": status,
            "output": output,
            "output_text": text,
            "usage": usage,
            "grounding": grounding(text, [*given, *self._found()]),
        }
        if isinstance(ending, CutShort):
            response["incomplete_details"] = {"reason": ending.reason}
        if isinstance(ending, Failed):
            payload = ending.error.payload()
            response["error"] = {name: payload[name] for name in ("type", "code", "message")}
            happened.append(events.error(ending.error))
        happened.append(events.lifecycle(event_kind, response))
        return Closing(response, number(happened, self._sequence))

    def _take_over(self, event: Event) -> None:
        self._sequence = event["sequence_number"] + 1
        match event:
            case {"type": "response.output_item.added", "item": {"type": "reasoning"}}:
                self._reasoning_open = True
            case {"type": "response.output_item.done", "item": {"type": "reasoning"} as item}:
                self._reasoning_open, self._reasoning_done = False, item
            case {"type": "response.output_item.added", "item": {"type": "message"}}:
                self._message_open = True
            case {"type": "response.reasoning_summary_text.delta", "delta": delta}:
                self._reasoning.append(delta)
            case {"type": "response.output_text.delta", "delta": delta, "logprobs": logprobs}:
                self._text.append(delta)
                self._logprobs += logprobs

    def _found(self) -> list[Evidence]:
        steps = self._response["tool_steps"]
        given = (step for step in steps if step["status"] == "completed" and step["call_id"] not in self._own_words)
        return [Evidence(step["call_id"], step["result"]) for step in given]

    def _close_items(self, ending: Ending, status: ItemStatus) -> tuple[list[Event], list[Item]]:
        happened: list[Event] = []
        output: list[Item] = []
        calls: Sequence[Call] = ending.calls if isinstance(ending, AwaitClient) else ()
        needs_message = isinstance(ending, Finished) and not self._message_open
        if self._reasoning_done is not None:
            output.append(self._reasoning_done)
        elif self._reasoning_open:
            is_last = not needs_message and not calls
            item, ended = self._reasoning_ending(status if is_last else "completed")
            happened += ended
            output.append(item)
        if self._message_open or needs_message:
            item_id, index = ids.message_id(self._response["id"]), len(output)
            if needs_message:
                happened += message_begins(item_id, index)
            item = message_item(item_id, status, "".join(self._text), self._logprobs)
            happened += message_ends(item, index)
            output.append(item)
        for number, call in enumerate(calls):
            item_id = ids.function_call_id(self._response["id"], number)
            item = function_call_item(item_id, "completed", call.call_id, call.name, call.arguments)
            happened += handed_off(item, len(output))
            output.append(item)
        return happened, output

    @property
    def _message_index(self) -> int:
        return 1 if self._reasoning_open or self._reasoning_done is not None else 0

    def _end_reasoning(self) -> list[Event]:
        if not self._reasoning_open:
            return []
        self._reasoning_done, happened = self._reasoning_ending("completed")
        self._reasoning_open = False
        return happened

    def _reasoning_ending(self, status: ItemStatus) -> tuple[Item, list[Event]]:
        item_id = ids.reasoning_id(self._response["id"])
        text = "".join(self._reasoning)
        item = reasoning_item(item_id, status, text, self._seal(text) if self._seal else None)
        return item, reasoning_ends(item)

    def _set_off(self, text: str, said: list[str]) -> str:
        if id(said) not in self._breaks_due:
            return text
        self._breaks_due.remove(id(said))
        return _STEP_BREAK + text if said else text

    def _on_side_channel(self, event: Event) -> list[Event]:
        return self._numbered([event]) if self._side_channel else []

    def _numbered(self, happened: list[Event]) -> list[Event]:
        numbered = number(happened, self._sequence)
        self._sequence += len(numbered)
        return numbered


def announcement(response: ResponseObject) -> list[Event]:
    """The first events of a response, with the whole snapshot: they do not wait for its turn to begin."""
    if response["background"]:
        snapshot = queued(response)
        return number([events.lifecycle("created", snapshot), events.lifecycle("queued", snapshot)], 0)
    return number([events.lifecycle("created", response), events.lifecycle("in_progress", response)], 0)


def number(happened: Iterable[Event], first: int) -> list[Event]:
    """The events with their sequence numbers, from ``first`` on."""
    return [event | {"sequence_number": first + offset} for offset, event in enumerate(happened)]


def _status(ending: Ending) -> tuple[Status, str]:
    match ending:
        case Finished() | AwaitClient():
            return "completed", "completed"
        case CutShort():
            return "incomplete", "incomplete"
        case Cancelled():
            return "cancelled", "incomplete"
        case Failed():
            return "failed", "failed"


def reasoning_begins(item_id: str) -> list[Event]:
    """The reasoning item opens; it is always the first."""
    return [
        events.item_added(0, reasoning_item(item_id, "in_progress", None)),
        events.summary_part_added(item_id, 0, summary_part("")),
    ]


def reasoning_ends(item: Item) -> list[Event]:
    """The reasoning item is final."""
    part = item["summary"][0]
    return [
        events.summary_text_done(item["id"], 0, part["text"]),
        events.summary_part_done(item["id"], 0, part),
        events.item_done(0, item),
    ]


def message_begins(item_id: str, index: int) -> list[Event]:
    """The message opens."""
    return [
        events.item_added(index, message_item(item_id, "in_progress", None)),
        events.content_part_added(item_id, index, text_part("")),
    ]


def message_ends(item: Item, index: int) -> list[Event]:
    """The message is final."""
    part = item["content"][0]
    return [
        events.text_done(item["id"], index, part),
        events.content_part_done(item["id"], index, part),
        events.item_done(index, item),
    ]


def handed_off(item: Item, index: int) -> list[Event]:
    """A function call, from its beginning to its end."""
    return [
        events.item_added(index, item | {"status": "in_progress", "arguments": ""}),
        events.arguments_delta(item["id"], index, item["arguments"]),
        events.arguments_done(item["id"], index, item["name"], item["arguments"]),
        events.item_done(index, item),
    ]
