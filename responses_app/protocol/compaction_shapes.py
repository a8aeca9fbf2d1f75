"""A compaction and a count of input tokens as types, for the OpenAPI document and for tests.

Source: Open Responses 2026-04-24, "CompactResource".
"""

from typing import Annotated, Literal

from pydantic import Field

from responses_app.protocol.items import InputFile, InputImage, InputText, Refusal
from responses_app.protocol.response_shapes import Shape, Usage


class KeptMessage(Shape):
    """A message as it was said."""

    type: Literal["message"]
    id: str
    status: Literal["completed"]
    role: Literal["user", "system", "developer"]
    content: list[Annotated[InputText | Refusal | InputImage | InputFile, Field(discriminator="type")]]


class Compaction(Shape):
    """Stands for the conversation. ``encrypted_content`` is opened by this server alone, for the same Subject."""

    type: Literal["compaction"]
    id: str
    encrypted_content: str


class CompactedWindow(Shape):
    """``output`` is passed back as ``input``, with what is said next; its last item is the compaction."""

    id: str
    object: Literal["response.compaction"]
    created_at: int
    output: list[Annotated[KeptMessage | Compaction, Field(discriminator="type")]]
    usage: Usage


class InputTokens(Shape):
    """What ``usage.input_tokens`` of the turn would be, which leaves out the conversation before it."""

    object: Literal["response.input_tokens"]
    input_tokens: int
