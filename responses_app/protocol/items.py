"""The items a caller may put into ``input``. Items the server gives out are built in response.py and events.py.

Source: the wire contract, section 2; Open Responses 2026-04-24, "Items".
"""

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from responses_app.protocol.attachments import MAX_FILE_DATA, MAX_IMAGE_URL, check_file_data, check_image_url
from responses_app.protocol.wire import TAG, WireModel

MAX_TOOL_OUTPUT_BYTES = 1_000_000
TOOL_NAME_PATTERN = r"^[a-zA-Z0-9_-]{1,64}$"


class InputText(WireModel):
    """Text from a caller or a tool."""

    type: Literal["input_text"]
    text: str


class OutputText(WireModel):
    """Replayed text of the assistant."""

    type: Literal["output_text"]
    text: str


class Refusal(WireModel):
    """A replayed refusal of the assistant."""

    type: Literal["refusal"]
    refusal: str


class InputImage(WireModel):
    """An image by URL or data URL."""

    type: Literal["input_image"]
    image_url: Annotated[str, Field(max_length=MAX_IMAGE_URL), AfterValidator(check_image_url)]
    detail: Literal["auto", "low", "high", "original"] = "auto"


class InputFile(WireModel):
    """A file, inline: ``file_data`` is a data URL or base64."""

    type: Literal["input_file"]
    file_data: Annotated[str, Field(max_length=MAX_FILE_DATA), AfterValidator(check_file_data)]
    filename: str = Field(default="file", max_length=255)


def refuse_unknown_type(what: str, kind: object, known: Collection[str]) -> None:
    """Refuses a ``type`` that is none of ``known``, before the union looks at it."""
    if not isinstance(kind, str) or kind not in known:
        shown = repr(kind[:64]) if isinstance(kind, str) else "without a type"
        raise PydanticCustomError("invalid_value", "Unsupported {what}: {shown}.", {"what": what, "shown": shown})


_PART_TYPES = ("input_text", "output_text", "refusal", "input_image", "input_file")


def _known_part(part: Any) -> Any:
    if not isinstance(part, dict):
        raise PydanticCustomError("invalid_type", "A content part must be an object.")
    kind = part.get("type")
    refuse_unknown_type("content part type", kind, _PART_TYPES)
    if kind in ("input_image", "input_file") and part.get("file_id") is not None:
        raise PydanticCustomError("unsupported_parameter", "File ids are not supported; give the content inline.")
    if kind == "input_file" and part.get("file_url") is not None:
        raise PydanticCustomError("unsupported_parameter", "File URLs are not supported; give 'file_data' inline.")
    return part


def type_tag(value: Any) -> str:
    """The union tag of an object whose ``type`` is known; without one it is a message."""
    return TAG + (value.get("type") or "message")


ContentPart = Annotated[
    Annotated[InputText, Tag("tag:input_text")]
    | Annotated[OutputText, Tag("tag:output_text")]
    | Annotated[Refusal, Tag("tag:refusal")]
    | Annotated[InputImage, Tag("tag:input_image")]
    | Annotated[InputFile, Tag("tag:input_file")],
    Discriminator(type_tag),
    BeforeValidator(_known_part),
]


def text_or_list(value: Any) -> Any:
    """Refuses whatever is neither a string nor a list, before the union looks at it."""
    if isinstance(value, str | list):
        return value
    raise PydanticCustomError("invalid_type", "Expected a string or an array.")


def text_or_list_tag(value: Any) -> str:
    """The union tag of what ``text_or_list`` let through."""
    return "tag:text" if isinstance(value, str) else "tag:list"


Content = Annotated[
    Annotated[str, Tag("tag:text")] | Annotated[list[ContentPart], Tag("tag:list"), Field(fail_fast=True)],
    Discriminator(text_or_list_tag),
    BeforeValidator(text_or_list),
]


class MessageItem(WireModel):
    """Something said by ``role``. ``type`` may be left out."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class FunctionCallItem(WireModel):
    """A replayed call of a client tool."""

    type: Literal["function_call"]
    call_id: str = Field(min_length=1, max_length=256)
    name: str = Field(pattern=TOOL_NAME_PATTERN)
    arguments: str


class FunctionCallOutputItem(WireModel):
    """What the caller's tool gave for ``call_id``. An ``id`` it may carry means nothing."""

    type: Literal["function_call_output"]
    call_id: str = Field(min_length=1, max_length=256)
    output: Content


class SummaryText(WireModel):
    """A part of a reasoning item's summary."""

    text: str


class ReasoningItem(WireModel):
    """Replayed reasoning, as it was given out."""

    type: Literal["reasoning"]
    summary: list[SummaryText] = Field(default=[], fail_fast=True)
    encrypted_content: str | None = None


class CompactionItem(WireModel):
    """What stands for an earlier part of the conversation, as it was given out."""

    type: Literal["compaction"]
    encrypted_content: str = Field(min_length=1)


class ItemReference(WireModel):
    """Stands for a stored item of the same Subject; replaced by it before anything else looks at the input.

    ``type`` may be left out.
    """

    type: Literal["item_reference"] = "item_reference"
    id: str = Field(min_length=1)


_ITEM_TYPES = ("message", "function_call", "function_call_output", "reasoning", "compaction", "item_reference")


def _is_bare_reference(item: dict[str, Any]) -> bool:
    """A reference may leave out its type: then it is an id and nothing else."""
    return {key for key, value in item.items() if value is not None} == {"id"}


def _known_item(item: Any) -> Any:
    if not isinstance(item, dict):
        raise PydanticCustomError("invalid_type", "An input item must be an object.")
    kind = item.get("type")
    if kind is None and item.get("role") is not None:
        return item
    if kind is None and _is_bare_reference(item):
        return {**item, "type": "item_reference"}
    refuse_unknown_type("input item type", kind, _ITEM_TYPES)
    return item


InputItem = Annotated[
    Annotated[MessageItem, Tag("tag:message")]
    | Annotated[FunctionCallItem, Tag("tag:function_call")]
    | Annotated[FunctionCallOutputItem, Tag("tag:function_call_output")]
    | Annotated[ReasoningItem, Tag("tag:reasoning")]
    | Annotated[CompactionItem, Tag("tag:compaction")]
    | Annotated[ItemReference, Tag("tag:item_reference")],
    Discriminator(type_tag),
    BeforeValidator(_known_item),
]
