"""The tools a caller declares and its ``tool_choice``: their two written forms, read into one. MCP: mcp_entry.py.

Source: the wire contract, section 6.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from responses_app.protocol.items import TOOL_NAME_PATTERN
from responses_app.protocol.json_schema import schema_fault
from responses_app.protocol.mcp_entry import McpEntry
from responses_app.protocol.wire import WireModel

MAX_TOOLS = 64


def _no_parameters() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


def _json_schema(parameters: dict[str, Any]) -> dict[str, Any]:
    if parameters.get("type", "object") != "object":
        raise PydanticCustomError("invalid_value", "'parameters' must be a JSON Schema of type 'object'.")
    fault = schema_fault(parameters)
    if fault:
        raise PydanticCustomError(
            "invalid_value", "'parameters' is not a valid JSON Schema: {fault}.", {"fault": fault}
        )
    return parameters


class FunctionTool(WireModel):
    """A client function tool, in the flat form."""

    type: Literal["function"] = "function"
    name: str = Field(pattern=TOOL_NAME_PATTERN)
    description: str | None = None
    parameters: Annotated[dict[str, Any], AfterValidator(_json_schema)] = Field(default_factory=_no_parameters)
    strict: bool | None = None

    def echo(self) -> dict[str, Any]:
        """The normalised form that responses carry: every key present."""
        return self.model_dump()


def _flat_tool(tool: Any) -> Any:
    """The nested Completions form made flat; other tool types refused."""
    if not isinstance(tool, dict):
        raise PydanticCustomError("invalid_type", "A tool must be an object.")
    kind = tool.get("type")
    if kind == "mcp":
        return tool
    if kind != "function":
        shown = repr(kind[:64]) if isinstance(kind, str) else "none"
        raise PydanticCustomError("unsupported_parameter", "Unsupported tool type: {shown}.", {"shown": shown})
    nested = tool.get("function")
    if nested is None:
        return tool
    if not isinstance(nested, dict):
        raise PydanticCustomError("invalid_type", "'function' must be an object.")
    return nested | {"type": "function"}


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else tool.type
    return f"tag:{kind}"


Tool = Annotated[
    Annotated[FunctionTool, Tag("tag:function")] | Annotated[McpEntry, Tag("tag:mcp")],
    Discriminator(_tool_tag),
    BeforeValidator(_flat_tool),
]


class NamedToolChoice(WireModel):
    """The choice of one declared client tool, in the flat form."""

    type: Literal["function"] = "function"
    name: str


def _flat_choice(choice: Any) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    if isinstance(choice, dict) and choice.get("type") == "function":
        nested = choice.get("function")
        flat = nested if isinstance(nested, dict) else choice
        if isinstance(flat.get("name"), str):
            return NamedToolChoice(type="function", name=flat["name"])
    if not isinstance(choice, str | dict):
        raise PydanticCustomError("invalid_type", "Expected a string or an object.")
    raise PydanticCustomError("unsupported_parameter", UNSUPPORTED_CHOICE)


UNSUPPORTED_CHOICE = (
    "Unsupported tool_choice: use 'auto', 'none', a declared function tool or, in mode 'model', 'required'."
)

ToolChoice = Annotated[Literal["auto", "none", "required"] | NamedToolChoice, BeforeValidator(_flat_choice)]
