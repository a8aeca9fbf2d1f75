"""Rebuilds a finished response's events from its object, once the log is gone: own numbers, one delta a part."""

from typing import Any

from responses_app.engine.assembly import (
    announcement,
    handed_off,
    message_begins,
    message_ends,
    number,
    reasoning_begins,
    reasoning_ends,
)
from responses_app.engine.transcript import compact_json
from responses_app.protocol import events
from responses_app.protocol.events import Event
from responses_app.protocol.response import Item, ResponseObject

_NOT_YET: dict[str, Any] = {
    "status": "in_progress",
    "completed_at": None,
    "output": [],
    "output_text": "",
    "usage": None,
    "tool_steps": [],
    "health_records": [],
    "citations": [],
    "grounding": None,
    "error": None,
    "incomplete_details": None,
}
_TERMINAL = {"completed": "completed", "failed": "failed", "incomplete": "incomplete", "cancelled": "incomplete"}


def replayed_events(response: ResponseObject, side_channel: bool) -> list[Event]:
    """The events of a finished ``response``, numbered from 0."""
    snapshot = response | _NOT_YET
    happened = announcement(snapshot)
    if response["background"]:
        happened.append(events.lifecycle("in_progress", snapshot))
    if side_channel:
        for step in response["tool_steps"]:
            happened += _server_step(step)
    for index, item in enumerate(response["output"]):
        happened += _item_events(item, index)
    if response["status"] == "failed":
        happened.append(_error_event(response["error"]))
    happened.append(events.lifecycle(_TERMINAL[response["status"]], response))
    return number(happened, 0)


def _server_step(step: Item) -> list[Event]:
    return [
        events.tool_called(step["id"], step["call_id"], step["name"], compact_json(step["arguments"])),
        events.tool_result(step["id"], step["call_id"], step["name"], compact_json(step["result"])),
    ]


def _item_events(item: Item, index: int) -> list[Event]:
    match item["type"]:
        case "reasoning":
            delta = events.summary_text_delta(item["id"], index, item["summary"][0]["text"])
            return [*reasoning_begins(item["id"]), delta, *reasoning_ends(item)]
        case "message":
            part = item["content"][0]
            text = part["text"]
            deltas = [events.text_delta(item["id"], index, text, part["logprobs"])] if text else []
            return [*message_begins(item["id"], index), *deltas, *message_ends(item, index)]
        case _:
            return handed_off(item, index)


def _error_event(error: dict[str, Any]) -> Event:
    payload = {name: error[name] for name in ("message", "type", "code")} | {"param": None}
    return {"type": "error", "code": error["code"], "message": error["message"], "param": None, "error": payload}
