"""The stream's events as types, for the OpenAPI document and for tests: they are built in events.py.

Source: the wire contract, section 4.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, Json, RootModel

from mirobody_site.tenancy.error_shapes import Fault
from responses_app.protocol.response_shapes import (
    OutputItem,
    OutputTextPart,
    Response,
    Shape,
    SummaryPart,
)


class Numbered(Shape):
    """``sequence_number`` counts from 0 without a gap."""

    sequence_number: int


class OfItem(Numbered):
    """An event of an output item."""

    item_id: str
    output_index: int


class LifecycleEvent(Numbered):
    """The response as a whole: how it begins, and how it ended."""

    type: Literal[
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ]
    response: Response


class OutputItemEvent(Numbered):
    """An item begins, or is final."""

    type: Literal["response.output_item.added", "response.output_item.done"]
    output_index: int
    item: OutputItem


class SummaryPartEvent(OfItem):
    """The reasoning summary begins, or is final."""

    type: Literal["response.reasoning_summary_part.added", "response.reasoning_summary_part.done"]
    summary_index: int
    part: SummaryPart


class SummaryTextDeltaEvent(OfItem):
    """A piece of the reasoning summary."""

    type: Literal["response.reasoning_summary_text.delta"]
    summary_index: int
    delta: str


class SummaryTextDoneEvent(OfItem):
    """The whole reasoning summary."""

    type: Literal["response.reasoning_summary_text.done"]
    summary_index: int
    text: str


class ContentPartEvent(OfItem):
    """The message's text begins, or is final."""

    type: Literal["response.content_part.added", "response.content_part.done"]
    content_index: int
    part: OutputTextPart


class TextDeltaEvent(OfItem):
    """A piece of the message's text."""

    type: Literal["response.output_text.delta"]
    content_index: int
    delta: str
    logprobs: list[dict[str, Any]]


class TextDoneEvent(OfItem):
    """The message's whole text."""

    type: Literal["response.output_text.done"]
    content_index: int
    text: str
    logprobs: list[dict[str, Any]]


class ArgumentsDeltaEvent(OfItem):
    """A piece of a function call's arguments."""

    type: Literal["response.function_call_arguments.delta"]
    delta: str


class ArgumentsDoneEvent(OfItem):
    """A function call's whole arguments, as JSON text."""

    type: Literal["response.function_call_arguments.done"]
    name: str
    arguments: str


class CalledStep(Shape):
    """A server tool's call. ``arguments`` is JSON text."""

    id: str
    call_id: str
    name: str
    arguments: str


class FinishedStep(Shape):
    """A server tool's result as JSON text, cut when ``truncated``."""

    id: str
    call_id: str
    name: str
    result: str
    truncated: bool


class ToolCallEvent(Numbered):
    """Extension: a server tool is called."""

    type: Literal["response.mirobody_tool_call"]
    tool_step: CalledStep


class ToolResultEvent(Numbered):
    """Extension: a server tool's result landed."""

    type: Literal["response.mirobody_tool_result"]
    tool_step: FinishedStep


class ErrorEvent(Numbered):
    """A fault in mid-stream, flat and nested; ``response.failed`` follows unless the events were lost."""

    type: Literal["error"]
    code: str
    message: str
    param: str | None
    error: Fault


class StreamEvent(
    RootModel[
        Annotated[
            LifecycleEvent
            | OutputItemEvent
            | SummaryPartEvent
            | SummaryTextDeltaEvent
            | SummaryTextDoneEvent
            | ContentPartEvent
            | TextDeltaEvent
            | TextDoneEvent
            | ArgumentsDeltaEvent
            | ArgumentsDoneEvent
            | ToolCallEvent
            | ToolResultEvent
            | ErrorEvent,
            Field(discriminator="type"),
        ]
    ]
):
    """An event of the stream."""


Nameless = Literal["message"]
"""What clients call the event of a frame without a name."""


class LastFrame(Shape):
    """What every stream ends with."""

    event: Nameless = "message"
    data: Literal["[DONE]"]


class EventFrame(Shape):
    """One event: ``event`` is its ``type``, ``data`` the event as JSON text."""

    event: str
    data: Json[StreamEvent]


class ResponseStream(RootModel[LastFrame | EventFrame]):
    """A frame of a response's stream."""
