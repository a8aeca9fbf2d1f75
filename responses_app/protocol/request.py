"""The body of ``POST /v1/responses``: validated once, frozen, passed on whole. What it means is decided in services/.

Source: the wire contract, section 2.
"""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.patterns import NOT_BLANK
from responses_app.protocol.catalogue import TIERS
from responses_app.protocol.items import (
    MAX_TOOL_OUTPUT_BYTES,
    TOOL_NAME_PATTERN,
    FunctionCallOutputItem,
    InputItem,
    MessageItem,
    text_or_list,
    text_or_list_tag,
)
from responses_app.protocol.json_schema import MAX_CHARACTERS, compiled, is_too_large, schema_fault
from responses_app.protocol.mcp_entry import MAX_SERVERS, McpEntry
from responses_app.protocol.tools import (
    MAX_TOOLS,
    UNSUPPORTED_CHOICE,
    FunctionTool,
    NamedToolChoice,
    Tool,
    ToolChoice,
)
from responses_app.protocol.wire import WireModel, invalid_request

MODELS = tuple(TIERS)
MAX_INPUT_ITEMS = 2000
MAX_METADATA_PAIRS = 16

Include = Literal[
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
    "message.input_image.image_url",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
]


class TextFormat(WireModel):
    """``text.format``; the keys after ``type`` are those of ``json_schema``."""

    model_config = ConfigDict(serialize_by_alias=True)

    type: Literal["text", "json_object", "json_schema"]
    name: str | None = Field(default=None, pattern=TOOL_NAME_PATTERN)
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None
    description: str | None = None

    def echo(self) -> dict[str, Any]:
        """The normalised form that responses carry."""
        if self.type != "json_schema":
            return {"type": self.type}
        return {
            "type": self.type,
            "name": self.name,
            "description": self.description,
            "schema": self.schema_,
            "strict": bool(self.strict),
        }


class TextOptions(WireModel):
    """``text``: the plain format is the only one of agent mode; ``verbosity`` is echoed."""

    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningOptions(WireModel):
    """``reasoning``: echoed."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class StreamOptions(WireModel):
    """``stream_options``; ``mirobody_events: false`` keeps the side channel out of the stream."""

    include_obfuscation: bool | None = None
    mirobody_events: bool = True


MetadataKey = Annotated[str, Field(max_length=64)]
MetadataValue = Annotated[str, Field(max_length=512)]
Input = Annotated[
    Annotated[str, Tag("tag:text"), Field(json_schema_extra=NOT_BLANK)]
    | Annotated[
        list[InputItem],
        Tag("tag:list"),
        Field(max_length=MAX_INPUT_ITEMS, fail_fast=True, json_schema_extra={"minItems": 1}),
    ],
    Discriminator(text_or_list_tag),
    BeforeValidator(text_or_list),
]
BuiltinTools = Annotated[
    Annotated[Literal["auto", "none"], Tag("tag:text")] | Annotated[list[str], Tag("tag:list"), Field(fail_fast=True)],
    Discriminator(text_or_list_tag),
    BeforeValidator(text_or_list),
]

_INHERITED_BY_A_RESUME = ("model", "mode", "builtin_tools", "instructions", "tools", "tool_choice")


class ResponseRequest(WireModel):
    """A validated request. ``user`` is read at the door, since a header may give it too."""

    model: str = MODELS[0]
    input: Input
    instructions: str | None = None
    stream: bool = False
    store: bool = True
    previous_response_id: str | None = Field(default=None, max_length=256)
    session_id: str | None = Field(default=None, min_length=1, max_length=128)
    tools: list[Tool] = Field(default=[], max_length=MAX_TOOLS, fail_fast=True)
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    mode: Literal["agent", "model"] = "agent"
    builtin_tools: BuiltinTools = "auto"
    text: TextOptions = TextOptions()
    background: bool = False
    metadata: dict[MetadataKey, MetadataValue] = {}
    strict: bool = False
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    max_output_tokens: int | None = Field(default=None, ge=1)
    max_tool_calls: int | None = Field(default=None, ge=1)
    reasoning: ReasoningOptions | None = None
    truncation: Literal["auto", "disabled"] = "disabled"
    service_tier: Literal["auto", "default", "flex", "scale", "priority"] = "default"
    safety_identifier: str | None = Field(default=None, max_length=64)
    prompt_cache_key: str | None = Field(default=None, max_length=64)
    prompt_cache_retention: Literal["in-memory", "in_memory", "24h"] | None = None
    stream_options: StreamOptions = StreamOptions()
    top_logprobs: int = Field(default=0, ge=0, le=20)
    include: list[Include] = Field(default=[], fail_fast=True)

    @field_validator("metadata", mode="before")
    @classmethod
    def _few_without_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        pairs = {key: item for key, item in value.items() if item is not None}
        # Counted before the pairs are validated: dictionaries do not stop at their first fault.
        if len(pairs) > MAX_METADATA_PAIRS:
            raise PydanticCustomError("too_many_items", "More than {most} pairs.", {"most": MAX_METADATA_PAIRS})
        return pairs

    @field_validator("session_id")
    @classmethod
    def _no_control_characters(cls, value: str | None) -> str | None:
        if value and any(unicodedata.category(character) == "Cc" for character in value):
            raise PydanticCustomError("invalid_value", "Control characters are not allowed")
        return value

    @property
    def items(self) -> list[InputItem]:
        """``input`` as a list: a plain string is one user message."""
        if isinstance(self.input, str):
            return [MessageItem(role="user", content=self.input)]
        return self.input

    @property
    def outputs(self) -> list[FunctionCallOutputItem]:
        """The ``function_call_output`` items of ``input``."""
        return [item for item in self.items if isinstance(item, FunctionCallOutputItem)]

    @property
    def function_tools(self) -> list[FunctionTool]:
        """The client tools of ``tools``."""
        return [tool for tool in self.tools if isinstance(tool, FunctionTool)]

    @property
    def mcp_entries(self) -> list[McpEntry]:
        """The MCP servers of ``tools``."""
        return [tool for tool in self.tools if isinstance(tool, McpEntry)]

    @property
    def named_tool(self) -> str | None:
        """The client tool that ``tool_choice`` names."""
        return self.tool_choice.name if isinstance(self.tool_choice, NamedToolChoice) else None

    def going_on_from(self, handoff: "ResponseRequest") -> "ResponseRequest":
        """This resume with what it does not give itself taken from its handoff; a named choice is fulfilled.

        Raises ``InvalidRequestError`` when both together have too many tools.
        """
        inherited = {
            name: getattr(handoff, name)
            for name in _INHERITED_BY_A_RESUME
            if name in handoff.model_fields_set and name not in self.model_fields_set
        }
        if isinstance(inherited.get("tool_choice"), NamedToolChoice):
            del inherited["tool_choice"]
        # Credentials are not kept: a resume says again which MCP servers it uses, and may leave it at that.
        if "tools" in inherited or (self.tools and not self.function_tools):
            inherited["tools"] = [*handoff.function_tools, *self.mcp_entries]
            if len(inherited["tools"]) > MAX_TOOLS:
                message = f"More than {MAX_TOOLS} tools with those of the handoff."
                raise InvalidRequestError(message, code="too_many_items", param="tools")
        return self.model_copy(update=inherited)


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The server's own tool names: all that a client tool may not shadow, and those that ``builtin_tools`` may list."""

    reserved: Collection[str]
    domain: Collection[str]


def parse_request(body: Mapping[str, Any], names: ToolNames, strict: bool = False) -> ResponseRequest:
    """The request in a JSON object. ``strict`` (or the body's own) refuses unknown top-level fields.

    Raises ``InvalidRequestError`` with the ``code`` and ``param`` of the first fault.
    """
    refuse_lost_history(body)
    try:
        request = ResponseRequest.model_validate(body)
    except ValidationError as error:
        raise invalid_request(error) from None
    if strict or request.strict:
        refuse_unknown_fields(body, ResponseRequest)
    check_model(request.model)
    check_input(request)
    _check_function_tools(request, names)
    _check_mcp_entries(request)
    _check_builtin_tools(request, names)
    _check_storing(request)
    _check_mode(request)
    return request


def check_tool_choice(request: ResponseRequest) -> None:
    """Refuses the choice of an undeclared tool. Asked once a resume's inherited tools are known."""
    if request.named_tool is not None and request.named_tool not in {tool.name for tool in request.function_tools}:
        raise _unsupported("tool_choice", UNSUPPORTED_CHOICE)


def _unsupported(param: str, message: str) -> InvalidRequestError:
    return InvalidRequestError(message, code="unsupported_parameter", param=param)


def refuse_lost_history(body: Mapping[str, Any]) -> None:
    """Refuses the fields whose loss would change what the model is told. Raises ``InvalidRequestError``."""
    for name in ("conversation", "prompt"):
        if body.get(name) is not None:
            raise _unsupported(
                name, f"Unsupported parameter: '{name}'. Use previous_response_id or replay the transcript."
            )


def refuse_unknown_fields(body: Mapping[str, Any], model: type[WireModel]) -> None:
    """Refuses the first top-level field that ``model`` does not have. Raises ``InvalidRequestError``."""
    known = model.model_fields.keys() | {"user"}
    for name, value in body.items():
        if name not in known and value is not None:
            raise _unsupported(name, f"Unknown parameter: '{name[:64]}'.")


def check_model(model: str) -> None:
    """Refuses a tier that does not exist. Raises ``InvalidRequestError``."""
    if model not in MODELS:
        known = " or ".join(f"'{name}'" for name in MODELS)
        raise InvalidRequestError(
            f"The model '{model[:64]}' does not exist; use {known}.", code="model_not_found", param="model"
        )


def check_input(request: ResponseRequest) -> None:
    """Refuses an input that says nothing, or holds too large an output. Raises ``InvalidRequestError``."""
    if not request.input or (isinstance(request.input, str) and not request.input.strip()):
        raise InvalidRequestError(
            "Missing required parameter: 'input'.", code="missing_required_parameter", param="input"
        )
    for index, item in enumerate(request.items):
        if isinstance(item, FunctionCallOutputItem) and _too_large(item):
            raise InvalidRequestError(
                f"A tool output may hold at most {MAX_TOOL_OUTPUT_BYTES} bytes.",
                code="value_too_long",
                param=f"input[{index}].output",
            )


def _too_large(item: FunctionCallOutputItem) -> bool:
    text = item.output if isinstance(item.output, str) else "".join(part.model_dump_json() for part in item.output)
    return len(text) > MAX_TOOL_OUTPUT_BYTES or len(text.encode()) > MAX_TOOL_OUTPUT_BYTES


def _check_function_tools(request: ResponseRequest, names: ToolNames) -> None:
    seen: set[str] = set()
    for index, tool in enumerate(request.tools):
        if isinstance(tool, McpEntry):
            continue
        if tool.name in names.reserved:
            raise InvalidRequestError(
                f"The tool name '{tool.name}' is reserved for a built-in tool.", param=f"tools[{index}].name"
            )
        if tool.name in seen:
            raise InvalidRequestError(f"Duplicate tool name: '{tool.name}'.", param=f"tools[{index}].name")
        seen.add(tool.name)


def _check_mcp_entries(request: ResponseRequest) -> None:
    if len(request.mcp_entries) > MAX_SERVERS:
        raise InvalidRequestError(f"More than {MAX_SERVERS} MCP servers.", code="too_many_items", param="tools")
    seen: set[str] = set()
    for index, tool in enumerate(request.tools):
        if not isinstance(tool, McpEntry):
            continue
        if tool.server_label in seen:
            raise InvalidRequestError(
                f"Duplicate server_label: '{tool.server_label}'.", param=f"tools[{index}].server_label"
            )
        seen.add(tool.server_label)


def _check_builtin_tools(request: ResponseRequest, names: ToolNames) -> None:
    if not isinstance(request.builtin_tools, list):
        return
    for index, name in enumerate(request.builtin_tools):
        if name not in names.domain:
            raise InvalidRequestError(
                f"Unknown built-in tool '{name[:64]}'; the known ones are: {', '.join(sorted(names.domain))}.",
                param=f"builtin_tools[{index}]",
            )


def _check_storing(request: ResponseRequest) -> None:
    if request.store:
        return
    if request.background:
        raise InvalidRequestError(
            "A response that is not stored cannot run in the background: 'background' needs 'store'.",
            param="background",
        )
    if request.session_id is not None:
        raise InvalidRequestError(
            "A response that is not stored cannot belong to a session: 'session_id' needs 'store'.", param="session_id"
        )


def _check_mode(request: ResponseRequest) -> None:
    if request.mode == "model":
        _refuse_state(request)
        _refuse_mcp(request)
        _refuse_choice_without_tools(request)
        _check_format(request.text.format)
        return
    if request.tool_choice == "required":
        raise _unsupported("tool_choice", UNSUPPORTED_CHOICE)
    if request.text.format is not None and request.text.format.type != "text":
        raise _unsupported("text", "Unsupported value: 'text.format' can only be of type 'text' in mode 'agent'.")


def _refuse_mcp(request: ResponseRequest) -> None:
    for index, tool in enumerate(request.tools):
        if isinstance(tool, McpEntry):
            raise _unsupported(f"tools[{index}]", "Mode 'model' runs no tools: leave out those of type 'mcp'.")


def _refuse_state(request: ResponseRequest) -> None:
    for name in ("previous_response_id", "session_id"):
        if getattr(request, name) is not None:
            raise _unsupported(
                name, f"Mode 'model' keeps no state: leave out '{name}' and replay the transcript in 'input'."
            )


def _check_format(asked: TextFormat | None) -> None:
    if asked is None or asked.type != "json_schema":
        return
    for name, value in (("name", asked.name), ("schema", asked.schema_)):
        if value is None:
            raise InvalidRequestError(
                f"Missing required parameter: 'text.format.{name}'.",
                code="missing_required_parameter",
                param=f"text.format.{name}",
            )
    _check_schema(asked.schema_ or {})


def _check_schema(schema: dict[str, Any]) -> None:
    param = "text.format.schema"
    if is_too_large(schema):
        raise InvalidRequestError(
            f"A schema may hold at most {MAX_CHARACTERS} characters.", code="value_too_long", param=param
        )
    fault = schema_fault(schema)
    if fault is None:
        try:
            compiled(schema)
        except ValueError as error:
            fault = str(error)
    if fault is not None:
        raise InvalidRequestError(f"'{param}' is not a valid JSON Schema: {fault}.", param=param)


def _refuse_choice_without_tools(request: ResponseRequest) -> None:
    if request.tool_choice not in ("auto", "none") and not request.tools:
        raise InvalidRequestError("This tool_choice needs tools to choose from.", param="tool_choice")
