"""The body of ``POST /v1/responses/compact``, and the window it answers with. How a conversation is summarized is told
in engine/compaction.py.

Source: Open Responses 2026-04-24, "Compaction".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from responses_app.protocol.ids import compaction_id
from responses_app.protocol.input_listing import listed_input
from responses_app.protocol.items import MessageItem
from responses_app.protocol.request import (
    Input,
    ResponseRequest,
    check_input,
    check_model,
    refuse_lost_history,
    refuse_unknown_fields,
)
from responses_app.protocol.response import ResponseObject
from responses_app.protocol.wire import WireModel, invalid_request


class CompactionRequest(WireModel):
    """Which conversation is compacted: ``input``, after that of ``previous_response_id``; one of them is needed."""

    model: str
    input: Input = []
    instructions: str | None = None
    previous_response_id: str | None = Field(default=None, max_length=256)
    prompt_cache_key: str | None = Field(default=None, max_length=64)


def parse_compaction_request(body: Mapping[str, Any], strict: bool) -> ResponseRequest:
    """The request of the turn that summarizes, which stores nothing. Raises ``InvalidRequestError``."""
    refuse_lost_history(body)
    try:
        asked = CompactionRequest.model_validate(body)
    except ValidationError as error:
        raise invalid_request(error) from None
    if strict:
        refuse_unknown_fields(body, CompactionRequest)
    check_model(asked.model)
    request = ResponseRequest.model_validate({"input": [], "store": False} | asked.model_dump(exclude_unset=True))
    if asked.previous_response_id is None or asked.input:
        check_input(request)
    return request


def compaction(response: ResponseObject, kept: Sequence[MessageItem], encrypted_content: str) -> dict[str, Any]:
    """The compacted window, from the response of the turn that summarized and the messages kept as they were said."""
    messages = listed_input(response["id"], [item.model_dump(exclude_unset=True) for item in kept])
    item = {"type": "compaction", "id": compaction_id(response["id"]), "encrypted_content": encrypted_content}
    return {
        "id": response["id"],
        "object": "response.compaction",
        "created_at": response["created_at"],
        "output": [*messages, item],
        "usage": response["usage"],
    }
