"""The Answers API's body and answer: a chat completion over the same turn as a response. Its stream is in
completion_chunks.py.

Source: the wire contract, section 10; OpenAI's chat completions for all that it leaves open.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.patterns import NOT_BLANK
from responses_app.protocol.ids import completion_id
from responses_app.protocol.items import refuse_unknown_type, text_or_list, text_or_list_tag, type_tag
from responses_app.protocol.request import (
    MAX_INPUT_ITEMS,
    MODELS,
    MetadataKey,
    MetadataValue,
    StreamOptions,
    refuse_unknown_fields,
)
from responses_app.protocol.response import ResponseObject
from responses_app.protocol.wire import WireModel, invalid_request

Completion = dict[str, Any]


def _refused(value: Any) -> None:
    raise PydanticCustomError("unsupported_parameter", "Not supported by the Answers API")


Refused = Annotated[None, BeforeValidator(_refused)]
"""A field of chat completions that the Answers API does not have: ignoring it would mislead its caller."""


def _only_false(value: Any) -> Any:
    if value is True:
        _refused(value)
    return value


class TextPart(WireModel):
    """Text."""

    type: Literal["text"]
    text: str


class RefusalPart(WireModel):
    """A replayed refusal of the assistant."""

    type: Literal["refusal"]
    refusal: str


class ImageUrl(WireModel):
    """Where an image is: its URL or data URL."""

    url: str
    detail: Literal["auto", "low", "high", "original"] = "auto"


class ImagePart(WireModel):
    """An image by URL or data URL."""

    type: Literal["image_url"]
    image_url: ImageUrl


class InlineFile(WireModel):
    """A file's content: ``file_data`` is a data URL or base64."""

    file_data: str
    filename: str = Field(default="file", max_length=255)
    file_id: Refused = None


class FilePart(WireModel):
    """A file, inline."""

    type: Literal["file"]
    file: InlineFile


def _known_part(part: Any) -> Any:
    if not isinstance(part, dict):
        raise PydanticCustomError("invalid_type", "A content part must be an object.")
    refuse_unknown_type("content part type", part.get("type"), ("text", "refusal", "image_url", "file"))
    return part


CompletionPart = Annotated[
    Annotated[TextPart, Tag("tag:text")]
    | Annotated[RefusalPart, Tag("tag:refusal")]
    | Annotated[ImagePart, Tag("tag:image_url")]
    | Annotated[FilePart, Tag("tag:file")],
    Discriminator(type_tag),
    BeforeValidator(_known_part),
]
CompletionContent = Annotated[
    Annotated[str, Tag("tag:text"), Field(json_schema_extra=NOT_BLANK)]
    | Annotated[list[CompletionPart], Tag("tag:list"), Field(fail_fast=True)],
    Discriminator(text_or_list_tag),
    BeforeValidator(text_or_list),
]


def _not_a_tools(role: Any) -> Any:
    if role in ("tool", "function"):
        raise PydanticCustomError("unsupported_parameter", "The Answers API takes no tool messages")
    return role


def _no_calls(calls: Any) -> Any:
    return None if calls == [] else _refused(calls)


def _content_is_needed(schema: dict[str, Any]) -> None:
    schema["properties"]["content"] = schema["properties"]["content"]["anyOf"][0]
    schema["required"] = ["role", "content"]


class ChatMessage(WireModel):
    """Something said by ``role``. An assistant's message is taken back as it was given out: one with a ``refusal``
    may have no ``content``."""

    model_config = ConfigDict(json_schema_extra=_content_is_needed)

    role: Annotated[Literal["system", "developer", "user", "assistant"], BeforeValidator(_not_a_tools)]
    refusal: str | None = None
    content: CompletionContent | None = Field(default=None, validate_default=True)
    tool_calls: Annotated[None, BeforeValidator(_no_calls)] = None
    function_call: Refused = None

    @field_validator("content", mode="before")
    @classmethod
    def _says_something(cls, content: Any, info: ValidationInfo) -> Any:
        if content is None and info.data.get("refusal") is None:
            raise PydanticCustomError("missing_required_parameter", "Missing required parameter")
        return content

    def is_blank(self) -> bool:
        """Whether it holds nothing but white space."""
        return isinstance(self.content, str) and not self.content.strip()

    def as_item(self) -> dict[str, Any]:
        """The same as an input item of a response, part by part."""
        content = self.refusal if self.content is None else self.content
        parts = content if isinstance(content, str) else [_input_part(part) for part in content or ()]
        return {"type": "message", "role": self.role, "content": parts}


def _input_part(part: TextPart | RefusalPart | ImagePart | FilePart) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "input_text", "text": part.text}
        case RefusalPart():
            return {"type": "refusal", "refusal": part.refusal}
        case ImagePart():
            return {"type": "input_image", "image_url": part.image_url.url, "detail": part.image_url.detail}
        case FilePart():
            return {"type": "input_file", "file_data": part.file.file_data, "filename": part.file.filename}


class CompletionStreamOptions(StreamOptions):
    """``stream_options``; ``include_usage`` asks for a last chunk with the usage."""

    include_usage: bool = False


class CompletionRequest(WireModel):
    """A validated request. What only steers a bare model is accepted and without effect, as for responses."""

    model: str = MODELS[0]
    messages: list[ChatMessage] = Field(max_length=MAX_INPUT_ITEMS, fail_fast=True, json_schema_extra={"minItems": 1})
    stream: bool = False
    stream_options: CompletionStreamOptions = CompletionStreamOptions()
    strict: bool = False
    tools: Refused = None
    tool_choice: Refused = None
    functions: Refused = None
    function_call: Refused = None
    response_format: Refused = None
    previous_response_id: Refused = None
    session_id: Refused = None
    conversation: Refused = None
    n: int = Field(default=1, ge=1, json_schema_extra={"maximum": 1})
    store: Annotated[bool, BeforeValidator(_only_false)] = Field(default=False, json_schema_extra={"const": False})
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2, allow_inf_nan=False)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: Any = None
    logit_bias: dict[str, Any] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    parallel_tool_calls: bool | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    metadata: dict[MetadataKey, MetadataValue] = {}
    service_tier: Literal["auto", "default", "flex", "scale", "priority"] | None = None
    safety_identifier: str | None = Field(default=None, max_length=64)
    prompt_cache_key: str | None = Field(default=None, max_length=64)

    @field_validator("n")
    @classmethod
    def _one(cls, count: int) -> int:
        if count > 1:
            raise PydanticCustomError("unsupported_parameter", "The Answers API gives one answer")
        return count

    def as_response(self) -> dict[str, Any]:
        """The body of the response request that asks the same and keeps nothing."""
        return {
            "model": self.model,
            "input": [message.as_item() for message in self.messages],
            "stream": self.stream,
            "stream_options": {"mirobody_events": self.stream_options.mirobody_events},
            "store": False,
        }


def parse_completion_request(body: Mapping[str, Any], strict: bool = False) -> CompletionRequest:
    """The request in a JSON object. ``strict`` (or the body's own) refuses unknown top-level fields.

    Raises ``InvalidRequestError`` with the ``code`` and ``param`` of the first fault.
    """
    try:
        request = CompletionRequest.model_validate(body)
    except ValidationError as error:
        raise invalid_request(error) from None
    if strict or request.strict:
        refuse_unknown_fields(body, CompletionRequest)
    if all(message.is_blank() for message in request.messages):
        raise InvalidRequestError(
            "Missing required parameter: 'messages'.", code="missing_required_parameter", param="messages"
        )
    return request


def completion(response: ResponseObject) -> Completion:
    """The chat completion that says what a finished response says."""
    return {
        "id": completion_id(response["id"]),
        "object": "chat.completion",
        "created": response["created_at"],
        "model": response["model"],
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": response["output_text"],
                    "refusal": None,
                    "annotations": [],
                    "reasoning_content": _reasoning(response),
                    "tool_steps": response["tool_steps"],
                },
                "logprobs": None,
                "finish_reason": finish_reason(response),
            }
        ],
        **evidence(response),
        "usage": completion_usage(response["usage"]),
        "service_tier": response["service_tier"],
        "system_fingerprint": None,
    }


def evidence(response: ResponseObject) -> dict[str, Any]:
    """What the answer rests on, top-level as in a response."""
    return {name: response[name] for name in ("health_records", "citations", "grounding")}


def finish_reason(response: ResponseObject) -> Literal["stop", "length", "content_filter"]:
    """Why the answer ends where it does. ``length`` stands for every limit of a turn."""
    if response["status"] == "completed":
        return "stop"
    cut = response["incomplete_details"] or {}
    return "content_filter" if cut.get("reason") == "content_filter" else "length"


def completion_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """A response's usage under the names of chat completions, the extensions included."""
    return {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
        "prompt_tokens_details": usage["input_tokens_details"],
        "completion_tokens_details": usage["output_tokens_details"],
        "billed_tokens": usage["billed_tokens"],
    }


def _reasoning(response: ResponseObject) -> str | None:
    summaries = [item["summary"] for item in response["output"] if item["type"] == "reasoning"]
    return "".join(part["text"] for summary in summaries for part in summary) or None
