"""The tool ``write_todos``: the agent's list of what it still has to do.

The list has no row of its own: the newest call of the transcript is the list, for every branch its own.
"""

from typing import Any

from responses_app.engine.ports import ToolOutcome
from responses_app.harness.tool import HarnessTool
from tools_app.contract import Arguments

MAX_TODOS = 50
_TODO = {
    "type": "object",
    "properties": {
        "content": {"type": "string", "minLength": 1, "maxLength": 500},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
    },
    "required": ["content", "status"],
    "additionalProperties": False,
}
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"todos": {"type": "array", "items": _TODO, "maxItems": MAX_TODOS}},
    "required": ["todos"],
    "additionalProperties": False,
}


def _run(arguments: Arguments) -> ToolOutcome:
    return ToolOutcome({"todos": arguments["todos"]}, own_words=True)


WRITE_TODOS = HarnessTool(
    "write_todos",
    "Keeps your plan for work of three or more steps; each call replaces the whole list. Not for simple questions.",
    _PARAMETERS,
    _run,
)
