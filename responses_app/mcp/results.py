"""What servers say, made fit for a model: what is odd is described instead of refused, results are bounded."""

import json
from collections.abc import Mapping
from typing import Any

from responses_app.engine.ports import ToolOutcome
from responses_app.protocol.json_schema import schema_fault

MOST_CHARACTERS = 100_000
"""How much of a result the model is given."""
_MOST_DESCRIPTION = 1024
_MOST_SCHEMA = 32_000
_SHOWN_NAME = 200


def tidy_listing(result: Mapping[str, Any]) -> dict[str, Any]:
    """A page of tools of which each can be read; what has no name is no tool."""
    tools = result.get("tools")
    if not isinstance(tools, list):
        return dict(result)
    named = (tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"])
    return {**result, "tools": [_tidy_tool(tool) for tool in named]}


def tidy_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's result with all its contents as text, and a structured one only where it is an object."""
    if result.get("resultType") == "input_required":
        return {"content": [_text("The server asks for input that nobody here can give.")], "isError": True}
    given = result.get("content")
    contents = [_text(_described(block)) for block in (given if isinstance(given, list) else [])]
    kept = {name: result[name] for name in ("isError", "resultType") if name in result}
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        kept["structuredContent"] = structured
    elif structured is not None:
        contents.append(_text(json.dumps(structured, ensure_ascii=False)))
    return {"content": contents, **kept}


def outcome_of_result(text: str, structured: dict[str, Any] | None, failed: bool) -> ToolOutcome:
    """What the model is given of a tidied result, whose contents are joined in ``text``."""
    as_json = _json_text(structured)
    if failed:
        return failure(_cut(text or as_json or "The tool failed, and did not say why."))
    if as_json is None:
        return ToolOutcome(_within_bounds(text))
    if len(as_json) > MOST_CHARACTERS or "NaN" in as_json or "Infinity" in as_json:
        return ToolOutcome(_within_bounds(as_json))
    if structured == {"result": text}:
        return ToolOutcome(structured)
    if not text or _says_the_same(text, structured):
        return ToolOutcome({"result": structured})
    return ToolOutcome({"result": structured} | {"text": _cut(text)})


def failure(message: str) -> ToolOutcome:
    """A call that failed, in words for the model."""
    return ToolOutcome({"error": message}, failed=True)


def safe_description(text: str | None) -> str:
    """A tool's description, cut to what providers take."""
    return (text or "")[:_MOST_DESCRIPTION]


def safe_parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """A tool's schema where a provider will take it, else one that takes any object: the server checks anyway."""
    schema = {"type": "object", "properties": {}, **schema}
    readable = schema["type"] == "object" and isinstance(schema["properties"], dict)
    # Its size first: what checks a schema takes longer the larger it is.
    fits = readable and len(json.dumps(schema)) <= _MOST_SCHEMA and schema_fault(schema) is None
    return schema if fits else {"type": "object", "properties": {}}


def _tidy_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema, description = tool.get("inputSchema"), tool.get("description")
    tidy: dict[str, Any] = {"name": tool["name"], "inputSchema": {"type": "object"}}
    if isinstance(schema, dict) and schema.get("type", "object") == "object":
        tidy["inputSchema"] = {"type": "object", **schema}
    if isinstance(description, str):
        tidy["description"] = description
    return tidy


def _described(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return f"[{kind}, {_shown(block.get('mimeType'))}, {_size(data)}: not shown]"
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            return f"[resource {_shown(resource.get('uri'))}, {_size(data)}: not shown]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[resource {_shown(uri)}, {_shown(block.get('name'))}: not read]"
        case {"type": str(kind)}:
            return f"[content of the type {_shown(kind)}: not shown]"
    return "[content without a type: not shown]"


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _shown(name: Any) -> str:
    return name[:_SHOWN_NAME] if isinstance(name, str) and name else "unnamed"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4} bytes"


def _json_text(structured: dict[str, Any] | None) -> str | None:
    return None if structured is None else json.dumps(structured, ensure_ascii=False)


def _says_the_same(text: str, structured: Any) -> bool:
    """Whether the text is the structured result once more, as servers send it for older clients."""
    try:
        return bool(json.loads(text) == structured)
    except (ValueError, RecursionError):
        return False


def _within_bounds(text: str) -> dict[str, Any]:
    return {"result": _cut(text)}


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n[Cut here: {len(text) - MOST_CHARACTERS} more characters are left out.]"
