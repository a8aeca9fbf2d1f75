"""Whether the bytes of a stream are what the wire contract says (section 4). Run on every stream a test makes.

    stream = check_stream(raw_bytes)
    assert stream.text == "Hello."
    assert stream.response == get(f"/v1/responses/{stream.response['id']}")

``check_response`` does the same for a response object of a JSON answer.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, get_args

from openresponses_types import types as openresponses
from pydantic import BaseModel

from responses_app.protocol.event_shapes import StreamEvent
from tests.support.response_shape import (
    GrammarError,
    check_item,
    check_part,
    check_response,
    parts_of,
    require,
    require_keys,
    validate,
    without_deviations,
)

__all__ = ["GrammarError", "Stream", "check_cut_stream", "check_response", "check_stream", "parse_frames"]

Json = dict[str, Any]

DONE = b"data: [DONE]\n\n"
TERMINAL = ("response.completed", "response.incomplete", "response.failed")
OPENING = {"response.created": "in_progress", "response.in_progress": "in_progress"}
OPENING_IN_BACKGROUND = {
    "response.created": "queued",
    "response.queued": "queued",
    "response.in_progress": "in_progress",
}
TERMINAL_OF_STATUS = {
    "completed": "response.completed",
    "failed": "response.failed",
    "incomplete": "response.incomplete",
    "cancelled": "response.incomplete",
}
TOOL_CALL = "response.mirobody_tool_call"
TOOL_RESULT = "response.mirobody_tool_result"
SIDE_CHANNEL = {
    TOOL_CALL: {"id", "call_id", "name", "arguments"},
    TOOL_RESULT: {"id", "call_id", "name", "result", "truncated"},
}
RESULT_CHARACTERS = 4096
CHANGES_IN_A_TURN = frozenset(
    {
        "status",
        "completed_at",
        "output",
        "output_text",
        "usage",
        "tool_steps",
        "health_records",
        "citations",
        "grounding",
        "error",
        "incomplete_details",
    }
)
# What events carry beyond Open Responses: what OpenAI's own clients require or know, and the flat form of an error.
EXTRA_KEYS = {
    "response.function_call_arguments.done": {"name"},
    "error": {"code", "message", "param"},
}
REQUIRED_KEYS = {"response.output_text.delta": {"logprobs"}, "response.output_text.done": {"logprobs"}}


@dataclass(frozen=True)
class Stream:
    """A stream that keeps the contract: its events in order, side channel included."""

    events: list[Json]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def response(self) -> Json:
        """The final response object."""
        return self.events[-1]["response"]

    @property
    def text(self) -> str:
        """The text as its deltas gave it."""
        return "".join(event["delta"] for event in self.of("response.output_text.delta"))

    @property
    def reasoning(self) -> str:
        """The reasoning summary as its deltas gave it."""
        return "".join(event["delta"] for event in self.of("response.reasoning_summary_text.delta"))

    @property
    def function_calls(self) -> list[Json]:
        """The function_call items handed to the caller."""
        return [item for item in self.response["output"] if item["type"] == "function_call"]

    @property
    def tool_steps(self) -> list[Json]:
        """The ``tool_step`` of every side-channel event, calls and results as they came."""
        return [event["tool_step"] for event in self.events if event["type"] in SIDE_CHANNEL]

    @property
    def error(self) -> Json | None:
        """The ``error`` event, if any."""
        return next(iter(self.of("error")), None)

    def of(self, kind: str) -> list[Json]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]


def check_cut_stream(raw: bytes) -> Stream:
    """Checks the whole body of a stream some events of which were lost by a fault: it says so by its ``error`` event,
    and shows the response as it was stored. The items that it had begun may have no end."""
    events = _numbered_events(raw)
    kinds = [event["type"] for event in events]
    require(kinds[-2:-1] == ["error"], "the stream is cut without an error event")
    require(kinds[-1] in TERMINAL, f"the stream ends with {kinds[-1]}")
    require(kinds.count("error") == 1, f"{kinds.count('error')} error events")
    return Stream(events)


def check_stream(raw: bytes) -> Stream:
    """Checks the whole body of a stream from its first event on. Raises ``GrammarError`` naming the first breach."""
    events = _numbered_events(raw)
    _check_lifecycle(events)
    items = _ItemReader(events).read()
    final = events[-1]["response"]
    require(items == final["output"], "the items of the stream are not the output of the final response")
    _check_side_channel(events, final)
    for event in events:
        validate(StreamEvent, event, event["type"], of="by the OpenAPI document")
    return Stream(events)


def _numbered_events(raw: bytes) -> list[Json]:
    require(raw.endswith(DONE), "the stream does not end with data: [DONE]")
    events = parse_frames(raw[: -len(DONE)])
    for number, event in enumerate(events):
        require(
            event.get("sequence_number") == number, f"event {number} has sequence_number {event.get('sequence_number')}"
        )
        _check_shape(event)
    return events


def parse_frames(raw: bytes) -> list[Json]:
    """The events of whole frames, strictly read. Comments are passed over."""
    text = _decoded(raw)
    require(not text or text.endswith("\n\n"), "the stream ends inside a frame")
    frames = text.split("\n\n")[:-1]
    return [_event(frame) for frame in frames if not _is_comment(frame)]


def _decoded(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise GrammarError("the stream is no UTF-8") from None
    require("\r" not in text, "the stream has a carriage return")
    require(not re.search("[\u0085\u2028\u2029]", text), "the stream has a bare U+0085, U+2028 or U+2029")
    return text


def _is_comment(frame: str) -> bool:
    return bool(frame) and all(line.startswith(":") for line in frame.split("\n"))


def _event(frame: str) -> Json:
    match = re.fullmatch(r"event: ([^\n]+)\ndata: ([^\n]+)", frame)
    require(match, f"a frame is not one event line and one data line: {frame[:80]!r}")
    assert match
    try:
        event = json.loads(match[2], parse_constant=_no_constant)
    except ValueError:
        raise GrammarError(f"the data of {match[1]} is no JSON") from None
    require(isinstance(event, dict), f"the data of {match[1]} is no object")
    require(event.get("type") == match[1], f"the event line {match[1]} is not the type {event.get('type')}")
    return event


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _event_models() -> dict[str, type[BaseModel]]:
    models = [model for name, model in vars(openresponses).items() if name.endswith("StreamingEvent")]
    return {next(iter(_type_enum(model))).value: model for model in models}


def _type_enum(model: type[BaseModel]) -> Any:
    annotation = model.model_fields["type"].annotation
    return get_args(annotation)[0] if get_args(annotation) else annotation


MODELS = _event_models()


def _check_shape(event: Json) -> None:
    kind = event["type"]
    if kind in SIDE_CHANNEL:
        require_keys(event, {"type", "sequence_number", "tool_step"}, set(), kind)
        require_keys(event["tool_step"], SIDE_CHANNEL[kind], set(), f"{kind}.tool_step")
        return
    require(kind in MODELS, f"unknown event {kind}")
    fields = MODELS[kind].model_fields
    extra = EXTRA_KEYS.get(kind, set())
    required = {name for name, field in fields.items() if field.is_required()} | REQUIRED_KEYS.get(kind, set())
    require_keys(event, required | (extra if kind == "error" else set()), set(fields) | extra, kind)
    validate(MODELS[kind], _plain(event), kind)
    if "response" in event:
        check_response(event["response"])
    if "item" in event:
        check_item(event["item"])
    if kind == "error":
        _check_error(event)


def _plain(event: Json) -> Json:
    return event | {"response": without_deviations(event["response"])} if "response" in event else event


def _check_error(event: Json) -> None:
    nested = event["error"]
    require_keys(nested, {"type", "code", "message", "param"}, set(), "error.error")
    flat = {name: event[name] for name in ("code", "message", "param")}
    require(flat == {name: nested[name] for name in flat}, "the flat and the nested error differ")
    require(isinstance(flat["code"], str) and flat["message"], "the error has no code or no message")


def _check_lifecycle(events: list[Json]) -> None:
    kinds = [event["type"] for event in events]
    opening = _opening(events)
    require(kinds[: len(opening)] == list(opening), f"the stream starts with {kinds[: len(opening)]}")
    require(kinds[-1] in TERMINAL, f"the stream ends with {kinds[-1]}")
    lifecycle = [event for event in events if "response" in event]
    require(len(lifecycle) == len(opening) + 1, f"lifecycle events are {[event['type'] for event in lifecycle]}")
    _check_error_place(kinds)
    *snapshots, final = (event["response"] for event in lifecycle)
    for snapshot, status in zip(snapshots, opening.values(), strict=True):
        require(snapshot["status"] == status, f"a first snapshot is {snapshot['status']}")
        empty = not (snapshot["output"] or snapshot["output_text"] or snapshot["tool_steps"])
        require(empty, "a first snapshot has output already")
        changed = {key for key in final if final[key] != snapshot[key]} - CHANGES_IN_A_TURN
        require(not changed, f"the final response differs from its first snapshot in {sorted(changed)}")
    require(kinds[-1] == TERMINAL_OF_STATUS.get(final["status"]), f"{kinds[-1]} has status {final['status']}")
    if final["status"] == "failed":
        said = {name: events[-2]["error"][name] for name in ("type", "code", "message")}
        require(final["error"] == said, "the failed response's error is not the error event's")


def _opening(events: list[Json]) -> dict[str, str]:
    """The first events, each with the status in its snapshot: a background response is queued first."""
    background = bool(events) and events[0].get("response", {}).get("background")
    return OPENING_IN_BACKGROUND if background else OPENING


def _check_error_place(kinds: list[str]) -> None:
    wanted = int(kinds[-1] == "response.failed")
    require(kinds.count("error") == wanted, f"{kinds.count('error')} error events before {kinds[-1]}")
    require(not wanted or kinds[-2] == "error", "response.failed does not follow its error event at once")


class _ItemReader:
    """Reads the events between ``response.in_progress`` and the end as whole items, one after the other."""

    def __init__(self, events: list[Json]) -> None:
        inside = [event for event in events[len(_opening(events)) : -1] if event["type"] not in SIDE_CHANNEL]
        self._events = [event for event in inside if event["type"] != "error"]
        self._items: list[Json] = []
        self._added: Json = {}
        self._part_index = 0

    def read(self) -> list[Json]:
        """The items as their ``response.output_item.done`` gave them."""
        while self._events:
            self._items.append(self._item())
        return self._items

    def _next(self, kind: str) -> Json:
        found = self._events.pop(0) if self._events else {"type": "the end"}
        require(found["type"] == kind, f"{found['type']} where {kind} has to be")
        require(found["output_index"] == len(self._items), f"{kind} has output_index {found['output_index']}")
        if "item_id" in found:
            require(found["item_id"] == self._added["id"], f"{kind} has another item_id than its item")
        for field in ("content_index", "summary_index"):
            if field in found:
                require(found[field] == self._part_index, f"{kind} has {field} {found[field]}")
        return found

    def _comes(self, kind: str) -> bool:
        return bool(self._events) and self._events[0]["type"] == kind

    def _item(self) -> Json:
        self._added = self._next("response.output_item.added")["item"]
        self._part_index = 0
        self._check_added()
        body = self._arguments() if self._added["type"] == "function_call" else self._parts()
        done = self._next("response.output_item.done")["item"]
        for key in ("id", "type", "role", "name", "call_id"):
            require(self._added.get(key) == done.get(key), f"the item's {key} is not the one it was added with")
        require(done["status"] != "in_progress", "an item is done and in progress")
        final = done["arguments"] if done["type"] == "function_call" else parts_of(done)
        require(final == body, "the item is not what its parts were")
        return done

    def _check_added(self) -> None:
        require(self._added["status"] == "in_progress", "an item is added with another status than in_progress")
        empty = not (parts_of(self._added) or self._added.get("arguments"))
        require(empty, "an item is added with content in it")

    def _arguments(self) -> str:
        name = "response.function_call_arguments"
        joined = self._deltas(f"{name}.delta")
        done = self._next(f"{name}.done")
        require(done["arguments"] == joined, "the arguments are not their deltas joined")
        require(done.get("name", self._added["name"]) == self._added["name"], "the arguments name another function")
        return joined

    def _parts(self) -> list[Json]:
        parts: list[Json] = []
        prefix = "response.content_part" if self._added["type"] == "message" else "response.reasoning_summary_part"
        while self._comes(f"{prefix}.added"):
            parts.append(self._part(prefix))
            self._part_index += 1
        return parts

    def _part(self, prefix: str) -> Json:
        message = self._added["type"] == "message"
        text = "response.output_text" if message else "response.reasoning_summary_text"
        kind = "output_text" if message else "summary_text"
        added = self._next(f"{prefix}.added")
        check_part(added["part"], kind)
        require(added["part"]["text"] == "", "a part is added with text in it")
        joined = self._deltas(f"{text}.delta")
        require(self._next(f"{text}.done")["text"] == joined, "the text is not its deltas joined")
        done = self._next(f"{prefix}.done")
        check_part(done["part"], kind)
        require(done["part"]["text"] == joined, "the part's text is not its deltas joined")
        return done["part"]

    def _deltas(self, kind: str) -> str:
        joined = ""
        while self._comes(kind):
            delta = self._next(kind)["delta"]
            require(delta, f"an empty {kind}")
            joined += delta
        return joined


def _check_side_channel(events: list[Json], final: Json) -> None:
    side = [event for event in events[len(_opening(events)) :] if event["type"] in SIDE_CHANNEL]
    require(len(side) == sum(event["type"] in SIDE_CHANNEL for event in events), "a tool event before its time")
    calls = {event["tool_step"]["id"]: event["tool_step"] for event in side if event["type"] == TOOL_CALL}
    counts = Counter((event["type"], event["tool_step"]["id"]) for event in side)
    require(max(counts.values(), default=1) == 1, "a tool event comes twice")
    seen: set[str] = set()
    for event in side:
        step = event["tool_step"]
        if event["type"] == TOOL_CALL:
            seen.add(step["id"])
            continue
        require(step["id"] in seen, "a tool result before its call")
        same = all(step[key] == calls[step["id"]][key] for key in ("call_id", "name"))
        require(same, "a tool result is of another call than its id")
    if side and final["status"] == "completed":
        _check_steps(side, final["tool_steps"])


def _check_steps(side: list[Json], steps: list[Json]) -> None:
    called = [event["tool_step"] for event in side if event["type"] == TOOL_CALL]
    heads = [[step[key] for key in ("id", "call_id", "name")] for step in called]
    require(
        heads == [[step[key] for key in ("id", "call_id", "name")] for step in steps], "tool_steps are not the calls"
    )
    results = {event["tool_step"]["id"]: event["tool_step"] for event in side if event["type"] == TOOL_RESULT}
    require(results.keys() == {step["id"] for step in steps}, "a completed response has a tool call without a result")
    for call, step in zip(called, steps, strict=True):
        require(_says(call["arguments"], step["arguments"]), "a tool event's arguments are not those of tool_steps")
        result = results[step["id"]]
        if result["truncated"]:
            require(len(result["result"]) == RESULT_CHARACTERS, "a truncated result is not cut at its limit")
        else:
            require(_says(result["result"], step["result"]), "a tool event's result is not that of tool_steps")


def _says(text: object, value: Any) -> bool:
    """Whether a string of the side channel is this value as JSON text, or the value itself where it is text."""
    if not isinstance(text, str):
        return False
    try:
        return text == value or json.loads(text) == value
    except ValueError:
        return False
