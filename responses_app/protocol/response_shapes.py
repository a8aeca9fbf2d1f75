"""The response object and its items as types, for the OpenAPI document and for tests: they are built in response.py.

Source: the wire contract, section 3.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from responses_app.protocol.response import IncompleteReason, ItemStatus, Status


class Shape(BaseModel):
    """A JSON object given out: all keys of it are known."""

    model_config = ConfigDict(extra="forbid", strict=True)


LEFT_OUT: Any = Field(default_factory=dict)
"""Marks a key that is left out when there is nothing to say, never ``null``."""


class SummaryPart(Shape):
    """The only part of a reasoning summary."""

    type: Literal["summary_text"]
    text: str


class ReasoningOutput(Shape):
    """What the model thought before it answered."""

    type: Literal["reasoning"]
    id: str
    status: ItemStatus
    summary: list[SummaryPart]
    encrypted_content: str = LEFT_OUT


class OutputTextPart(Shape):
    """The only part of a message's content."""

    type: Literal["output_text"]
    text: str
    annotations: list[dict[str, Any]]
    logprobs: list[dict[str, Any]]


class OutputMessage(Shape):
    """The answer."""

    type: Literal["message"]
    id: str
    status: ItemStatus
    role: Literal["assistant"]
    content: list[OutputTextPart]


class FunctionCall(Shape):
    """A call of a client tool, handed to the caller. ``arguments`` is JSON text."""

    type: Literal["function_call"]
    id: str
    call_id: str
    name: str
    arguments: str
    status: ItemStatus


OutputItem = Annotated[ReasoningOutput | OutputMessage | FunctionCall, Field(discriminator="type")]


class InputTokensDetails(Shape):
    """``system_tokens``: prompt, built-in schemas, history and tool results."""

    system_tokens: int
    cached_tokens: int


class OutputTokensDetails(Shape):
    """``reasoning_tokens`` are a part of the output."""

    reasoning_tokens: int


class BilledTokens(Shape):
    """The provider's figures over every model call of the turn; ``estimated`` when it reported none."""

    input: int
    output: int
    total: int
    estimated: bool = LEFT_OUT


class Usage(Shape):
    """``input_tokens`` counts what the caller sent for this turn, ``system_tokens`` the rest of the bill."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens_details: OutputTokensDetails
    billed_tokens: BilledTokens


class ToolStep(Shape):
    """A server tool's run. ``arguments`` and ``result`` are JSON values."""

    id: str
    call_id: str
    name: str
    arguments: Any
    result: Any
    status: Literal["in_progress", "completed", "failed"]


class Evidence(Shape):
    """What a server tool found, whole."""

    tool: str
    data: Any


class Support(Shape):
    """A tool result that holds a number, and the ids of the readings or sources it stands in."""

    call_id: str
    records: list[str]


class Figure(Shape):
    """A number of the answer. ``start`` and ``end`` count Unicode code points of the text."""

    text: str
    start: int
    end: int
    supported_by: list[Support]


class Grounding(Shape):
    """Which numbers of the answer stand in what tools gave."""

    numbers: int
    supported: int
    figures: list[Figure]


class DeclaredTool(Shape):
    """A client tool as it is echoed."""

    type: Literal["function"]
    name: str
    description: str | None
    parameters: dict[str, Any]
    strict: bool | None


class DeclaredMcpServer(BaseModel):
    """An MCP server as it is echoed: as it was declared, without its credentials."""

    type: Literal["mcp"]
    server_label: str


class ChosenTool(Shape):
    """The choice of one declared client tool."""

    type: Literal["function"]
    name: str


class ResponseError(Shape):
    """Why the response failed."""

    type: str
    code: str
    message: str


class IncompleteDetails(Shape):
    """Which limit ended the turn; ``format_mismatch``: the answer does not fit ``text.format``;
    ``context_length_exceeded``: what the model did made the conversation too long for it."""

    reason: IncompleteReason


class ReasoningEcho(Shape):
    """``reasoning`` as it was asked for."""

    effort: str | None
    summary: str | None


class TextEcho(Shape):
    """``text`` as it was asked for; a format of type ``json_schema`` holds its schema."""

    format: dict[str, Any]
    verbosity: str = LEFT_OUT


class Response(Shape):
    """A response. Every key is always there; ``tool_steps``, ``health_records``, ``citations``, ``grounding``,
    ``session_id`` and ``output_text`` are extensions of OpenAI's object."""

    id: str
    object: Literal["response"]
    created_at: int
    completed_at: int | None
    status: Status
    model: str
    output: list[OutputItem]
    output_text: str
    usage: Usage | None
    tool_steps: list[ToolStep]
    health_records: list[Evidence]
    citations: list[Evidence]
    grounding: Grounding | None
    previous_response_id: str | None
    session_id: str | None
    store: bool
    tools: list[Annotated[DeclaredTool | DeclaredMcpServer, Field(discriminator="type")]]
    tool_choice: Literal["auto", "none", "required"] | ChosenTool
    instructions: str | None
    error: ResponseError | None
    incomplete_details: IncompleteDetails | None
    metadata: dict[str, str]
    background: bool
    parallel_tool_calls: bool
    temperature: float
    top_p: float
    presence_penalty: float
    frequency_penalty: float
    top_logprobs: int
    max_output_tokens: int | None
    max_tool_calls: int | None
    truncation: Literal["auto", "disabled"]
    service_tier: str
    safety_identifier: str | None
    prompt_cache_key: str | None
    text: TextEcho
    reasoning: ReasoningEcho | None
    user: str | None


class DeletedResponse(Shape):
    """A response that is gone."""

    id: str
    object: Literal["response.deleted"]
    deleted: Literal[True]


class ListedItem(BaseModel):
    """An input item as it was given, with an id. Beside these keys it has those of its type."""

    type: Literal["message", "function_call", "function_call_output", "reasoning", "compaction"]
    id: str


class InputItemList(Shape):
    """A page of a turn's input items."""

    object: Literal["list"]
    data: list[ListedItem]
    first_id: str | None
    last_id: str | None
    has_more: bool
