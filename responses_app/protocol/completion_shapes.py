"""A chat completion and its chunks as types, for the OpenAPI document and for tests: they are built in completions.py
and completion_chunks.py.

Source: the wire contract, section 10.
"""

from typing import Any, Literal

from pydantic import Json, RootModel

from mirobody_site.tenancy.error_shapes import Fault
from responses_app.protocol.event_shapes import LastFrame, Nameless
from responses_app.protocol.response_shapes import (
    LEFT_OUT,
    BilledTokens,
    Evidence,
    Grounding,
    InputTokensDetails,
    OutputTokensDetails,
    Shape,
    ToolStep,
)

FinishReason = Literal["stop", "length", "content_filter"]


class CompletionUsage(Shape):
    """A response's usage under the names of chat completions."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: InputTokensDetails
    completion_tokens_details: OutputTokensDetails
    billed_tokens: BilledTokens


class CompletionMessage(Shape):
    """The answer. ``reasoning_content`` and ``tool_steps`` are extensions of OpenAI's object."""

    role: Literal["assistant"]
    content: str
    refusal: None
    annotations: list[dict[str, Any]]
    reasoning_content: str | None
    tool_steps: list[ToolStep]


class CompletionChoice(Shape):
    """The only choice. ``length`` stands for every limit of a turn."""

    index: Literal[0]
    message: CompletionMessage
    logprobs: None
    finish_reason: FinishReason


class ChatCompletion(Shape):
    """A chat completion. ``health_records``, ``citations`` and ``grounding`` are extensions of OpenAI's object."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    health_records: list[Evidence]
    citations: list[Evidence]
    grounding: Grounding | None
    usage: CompletionUsage
    service_tier: str
    system_fingerprint: None


class StepDelta(Shape):
    """A server tool is called, or its result landed (JSON text, cut when ``truncated``): joined by ``index``."""

    index: int
    id: str = LEFT_OUT
    call_id: str = LEFT_OUT
    name: str = LEFT_OUT
    arguments: str = LEFT_OUT
    result: str = LEFT_OUT
    truncated: bool = LEFT_OUT


class Delta(Shape):
    """What a chunk adds to the message."""

    role: Literal["assistant"] = LEFT_OUT
    content: str = LEFT_OUT
    reasoning_content: str = LEFT_OUT
    tool_steps: list[StepDelta] = LEFT_OUT


class ChunkChoice(Shape):
    """The only choice."""

    index: Literal[0]
    delta: Delta
    logprobs: None
    finish_reason: FinishReason | None


class ChatCompletionChunk(Shape):
    """A piece of a chat completion. The one with the ``finish_reason`` holds what the answer rests on."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    service_tier: str
    system_fingerprint: None
    choices: list[ChunkChoice]
    usage: CompletionUsage | None = LEFT_OUT
    health_records: list[Evidence] = LEFT_OUT
    citations: list[Evidence] = LEFT_OUT
    grounding: Grounding | None = LEFT_OUT


class ErrorChunk(Shape):
    """A fault in mid-stream; nothing but the end follows."""

    error: Fault


class StreamChunk(RootModel[ChatCompletionChunk | ErrorChunk]):
    """A piece of the stream."""


class ChunkFrame(Shape):
    """One chunk as JSON text."""

    event: Nameless = "message"
    data: Json[StreamChunk]


class ChatCompletionStream(RootModel[LastFrame | ChunkFrame]):
    """A frame of a chat completion's stream."""
