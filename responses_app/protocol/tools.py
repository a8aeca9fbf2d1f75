"""The tools a caller declares and its ``tool_choice``: their two written forms, read into one.

Source: the wire contract, section 6.
"""

import json
from functools import lru_cache
from typing import Annotated, Any, Literal

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from responses_app.protocol.items import TOOL_NAME_PATTERN
from responses_app.protocol.wire import WireModel

MAX_TOOLS = 64


def _no_parameters() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


@lru_cache(maxsize=512)
def _schema_fault(schema_text: str) -> str | None:
    """Why a JSON Schema (as JSON text) is none, or ``None``. Cached: agents send the same tools with every turn."""
    schema = json.loads(schema_text)
    if not isinstance(schema.get("$schema", ""), str):
        return "'parameters' is not a valid JSON Schema: '$schema' must be a string."
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as fault:
        return f"'parameters' is not a valid JSON Schema: the keyword at '{fault.json_path}' is malformed."
    except RecursionError:
        return "'parameters' is nested too deeply."
    except ValueError:
        return "'parameters' is not a valid JSON Schema: '$schema' is no URI."
    return None


def _json_schema(parameters: dict[str, Any]) -> dict[str, Any]:
    if parameters.get("type", "object") != "object":
        raise PydanticCustomError("invalid_value", "'parameters' must be a JSON Schema of type 'object'.")
    fault = _schema_fault(json.dumps(parameters, sort_keys=True))
    if fault:
        raise PydanticCustomError("invalid_value", "{fault}", {"fault": fault})
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
        raise PydanticCustomError("unsupported_parameter", "Tools of type 'mcp' are not supported.")
    if kind != "function":
        shown = repr(kind[:64]) if isinstance(kind, str) else "none"
        raise PydanticCustomError("unsupported_parameter", "Unsupported tool type: {shown}.", {"shown": shown})
    nested = tool.get("function")
    if nested is None:
        return tool
    if not isinstance(nested, dict):
        raise PydanticCustomError("invalid_type", "'function' must be an object.")
    return nested | {"type": "function"}


Tool = Annotated[FunctionTool, BeforeValidator(_flat_tool)]


class NamedToolChoice(WireModel):
    """The choice of one declared client tool, in the flat form."""

    type: Literal["function"] = "function"
    name: str


def _flat_choice(choice: Any) -> Any:
    if choice in ("auto", "none"):
        return choice
    if isinstance(choice, dict) and choice.get("type") == "function":
        nested = choice.get("function")
        flat = nested if isinstance(nested, dict) else choice
        if isinstance(flat.get("name"), str):
            return NamedToolChoice(type="function", name=flat["name"])
    if not isinstance(choice, str | dict):
        raise PydanticCustomError("invalid_type", "Expected a string or an object.")
    raise unsupported_choice()


def unsupported_choice() -> PydanticCustomError:
    """The fault of every ``tool_choice`` that agent mode does not have."""
    return PydanticCustomError(
        "unsupported_parameter", "Unsupported tool_choice: use 'auto', 'none' or a declared function tool."
    )


ToolChoice = Annotated[Literal["auto", "none"] | NamedToolChoice, BeforeValidator(_flat_choice)]
