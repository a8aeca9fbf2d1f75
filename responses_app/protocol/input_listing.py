"""A response's input items as ``GET …/input_items`` lists them: whole, each with an id derived from its response."""

from typing import Any

from responses_app.protocol.ids import input_item_id

_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "reasoning": "rs",
    "compaction": "cmp",
}


def listed_input(response_id: str, stored: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stored ``input`` as listed items, in the order it was given."""
    items = [{"role": "user", "content": stored}] if isinstance(stored, str) else stored
    return [_listed(response_id, index, item) for index, item in enumerate(items)]


def _listed(response_id: str, index: int, item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("type", "message")
    identity = {"id": input_item_id(response_id, _PREFIXES[kind], index), "type": kind}
    if kind == "reasoning":
        return {**item, **identity, "summary": [{"type": "summary_text", **part} for part in item.get("summary", [])]}
    if kind == "compaction":
        return {**item, **identity}
    listed = {**item, **identity, "status": "completed"}
    if kind == "message":
        listed["content"] = _parts(item["role"], item["content"])
    if kind == "function_call_output" and isinstance(item["output"], list):
        listed["output"] = _parts("user", item["output"])
    return listed


def _parts(role: str, content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return [_part(role, part) for part in parts]


def _part(role: str, part: dict[str, Any]) -> dict[str, Any]:
    """A part with all that the listing's shape asks for. What an assistant says is output, and nobody else's is."""
    match part["type"]:
        case "input_text" | "output_text" if role == "assistant":
            return {"type": "output_text", "text": part["text"], "annotations": [], "logprobs": []}
        case "input_text" | "output_text":
            return {"type": "input_text", "text": part["text"]}
        case "input_image":
            return {"detail": "auto", **part}
        case _:
            return part
