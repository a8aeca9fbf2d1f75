"""The stream's events as JSON objects, one function a kind; the sequence number is given by whoever emits them.

Source: the wire contract, section 4; Open Responses 2026-04-24, "Streaming events".
"""

from collections.abc import Sequence
from typing import Any

from mirobody_site.tenancy.errors import ApiError
from responses_app.protocol.response import Item, ResponseObject

Event = dict[str, Any]

RESULT_CHARACTERS = 4096
"""A server tool's result is cut at this length in the stream; the response object holds it whole."""


def lifecycle(kind: str, response: ResponseObject) -> Event:
    """``response.created``, ``.queued``, ``.in_progress`` or how it ended, with a whole snapshot."""
    return {"type": f"response.{kind}", "response": response}


def item_added(output_index: int, item: Item) -> Event:
    """An item begins."""
    return {"type": "response.output_item.added", "output_index": output_index, "item": item}


def item_done(output_index: int, item: Item) -> Event:
    """An item is final."""
    return {"type": "response.output_item.done", "output_index": output_index, "item": item}


def summary_part_added(item_id: str, output_index: int, part: Item) -> Event:
    """The reasoning summary begins."""
    return _summary("part.added", item_id, output_index, part=part)


def summary_text_delta(item_id: str, output_index: int, delta: str) -> Event:
    """A piece of the reasoning summary."""
    return _summary("text.delta", item_id, output_index, delta=delta)


def summary_text_done(item_id: str, output_index: int, text: str) -> Event:
    """The whole reasoning summary."""
    return _summary("text.done", item_id, output_index, text=text)


def summary_part_done(item_id: str, output_index: int, part: Item) -> Event:
    """The reasoning summary is final."""
    return _summary("part.done", item_id, output_index, part=part)


def _summary(kind: str, item_id: str, output_index: int, **fields: Any) -> Event:
    return {
        "type": f"response.reasoning_summary_{kind}",
        "item_id": item_id,
        "output_index": output_index,
        "summary_index": 0,
        **fields,
    }


def content_part_added(item_id: str, output_index: int, part: Item) -> Event:
    """The message's text begins."""
    return _content("content_part.added", item_id, output_index, part=part)


def text_delta(item_id: str, output_index: int, delta: str, logprobs: Sequence[Any] = ()) -> Event:
    """A piece of the message's text."""
    return _content("output_text.delta", item_id, output_index, delta=delta, logprobs=list(logprobs))


def text_done(item_id: str, output_index: int, part: Item) -> Event:
    """The message's whole text."""
    return _content("output_text.done", item_id, output_index, text=part["text"], logprobs=part["logprobs"])


def content_part_done(item_id: str, output_index: int, part: Item) -> Event:
    """The message's text is final."""
    return _content("content_part.done", item_id, output_index, part=part)


def _content(kind: str, item_id: str, output_index: int, **fields: Any) -> Event:
    return {
        "type": f"response.{kind}",
        "item_id": item_id,
        "output_index": output_index,
        "content_index": 0,
        **fields,
    }


def arguments_delta(item_id: str, output_index: int, delta: str) -> Event:
    """A piece of a function call's arguments."""
    return {
        "type": "response.function_call_arguments.delta",
        "item_id": item_id,
        "output_index": output_index,
        "delta": delta,
    }


def arguments_done(item_id: str, output_index: int, name: str, arguments: str) -> Event:
    """A function call's whole arguments."""
    return {
        "type": "response.function_call_arguments.done",
        "item_id": item_id,
        "output_index": output_index,
        "name": name,
        "arguments": arguments,
    }


def tool_called(step_id: str, call_id: str, name: str, arguments: str) -> Event:
    """Side channel: a server tool is called. ``arguments`` is JSON text."""
    step = {"id": step_id, "call_id": call_id, "name": name, "arguments": arguments}
    return {"type": "response.mirobody_tool_call", "tool_step": step}


def tool_result(step_id: str, call_id: str, name: str, result: str) -> Event:
    """Side channel: a server tool's result landed. ``result`` is JSON text, cut at ``RESULT_CHARACTERS``."""
    step = {
        "id": step_id,
        "call_id": call_id,
        "name": name,
        "result": result[:RESULT_CHARACTERS],
        "truncated": len(result) > RESULT_CHARACTERS,
    }
    return {"type": "response.mirobody_tool_result", "tool_step": step}


def error(fault: ApiError) -> Event:
    """A fault in mid-stream, flat and nested: clients look at one or the other."""
    payload = fault.payload()
    return {
        "type": "error",
        "code": payload["code"],
        "message": payload["message"],
        "param": payload["param"],
        "error": payload,
    }
