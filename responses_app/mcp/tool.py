"""What a tool of an MCP server is to the turn that may use it. None lives here."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from responses_app.engine.ports import ToolOutcome


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of a server, for one turn. ``parameters`` is a JSON Schema object, for the model: the server checks.

    ``start`` begins a call, which takes no thread and always gives an outcome. Cancelling the future stops the call.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    start: Callable[[Mapping[str, Any]], "Future[ToolOutcome]"]
