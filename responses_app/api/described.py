"""How the OpenAPI document tells of the doors of the Agent API: one decorator each."""

from http import HTTPStatus
from typing import Literal

from pydantic import Field

from mirobody_site.tenancy.openapi import (
    EVENT_STREAM,
    IDEMPOTENCY_KEY,
    JSON,
    USER_HEADER,
    USER_QUERY,
    header,
    in_path,
    operation,
    query,
)
from mirobody_site.tenancy.patterns import PLAIN
from responses_app.protocol import compaction_shapes, completion_shapes, event_shapes, response_shapes, subject_shapes
from responses_app.protocol.compaction import CompactionRequest
from responses_app.protocol.completions import CompletionRequest
from responses_app.protocol.model_listing import ListedModel, ModelList
from responses_app.protocol.request import ResponseRequest

_OF_SUBJECT = (USER_QUERY, USER_HEADER)
_RESPONSE_ID = in_path("response_id", "The response's id.")
_SESSION_ID = in_path("session_id", "The session's name.")
_SUBJECT = in_path("user", "The Subject; `@default` is the account's default one.")
_STRICT = header("X-Mirobody-Strict", "`1`: unknown top-level fields are refused.")
_EVENTS = header("X-Mirobody-Events", "`standard`: no events of server tools in the stream.")
_FLAG = {"type": "boolean", "default": False}

ModelName = Literal["mirobody-flash", "mirobody-expert"]


class CreateResponse(ResponseRequest):
    """A field that is ``null`` counts as absent."""

    model: ModelName = "mirobody-flash"
    user: str | None = Field(default=None, max_length=256, description="The Subject.", json_schema_extra=PLAIN)


class CompactResponse(CompactionRequest):
    """A field that is ``null`` counts as absent. One of ``input`` and ``previous_response_id`` is needed."""

    model: ModelName
    user: str | None = Field(default=None, max_length=256, description="The Subject.", json_schema_extra=PLAIN)


class CreateChatCompletion(CompletionRequest):
    """A field that is ``null`` counts as absent."""

    model: ModelName = "mirobody-flash"
    user: str | None = Field(default=None, max_length=256, description="The Subject.", json_schema_extra=PLAIN)


create_response = operation(
    "createResponse",
    "Create a response",
    {JSON: response_shapes.Response, EVENT_STREAM: event_shapes.ResponseStream},
    request=CreateResponse,
    parameters=[IDEMPOTENCY_KEY, *_OF_SUBJECT, _STRICT, _EVENTS],
    faults=[HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY],
)
compact_response = operation(
    "compactResponse",
    "Compact a conversation",
    {JSON: compaction_shapes.CompactedWindow},
    request=CompactResponse,
    parameters=[IDEMPOTENCY_KEY, *_OF_SUBJECT, _STRICT],
    faults=[HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY],
)
count_input_tokens = operation(
    "countInputTokens",
    "Count the input tokens of a request",
    {JSON: compaction_shapes.InputTokens},
    request=CreateResponse,
    parameters=[*_OF_SUBJECT, _STRICT],
    faults=[HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT],
)
retrieve_response = operation(
    "retrieveResponse",
    "Get a stored response, or its stream",
    {JSON: response_shapes.Response, EVENT_STREAM: event_shapes.ResponseStream},
    parameters=[
        _RESPONSE_ID,
        *_OF_SUBJECT,
        query("stream", "Its events, replayed and followed.", _FLAG),
        query("starting_after", "Only the events after this number.", {"type": "integer", "minimum": 0}),
    ],
)
delete_response = operation(
    "deleteResponse",
    "Delete a stored response",
    {JSON: response_shapes.DeletedResponse},
    parameters=[_RESPONSE_ID, *_OF_SUBJECT],
)
cancel_response = operation(
    "cancelResponse",
    "Cancel a running response",
    {JSON: response_shapes.Response},
    parameters=[_RESPONSE_ID, IDEMPOTENCY_KEY, *_OF_SUBJECT],
    faults=[HTTPStatus.CONFLICT],
)
list_input_items = operation(
    "listInputItems",
    "List the input items of a response's turn",
    {JSON: response_shapes.InputItemList},
    parameters=[
        _RESPONSE_ID,
        *_OF_SUBJECT,
        query("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}),
        query("order", "Newest first unless `asc`.", {"type": "string", "enum": ["asc", "desc"], "default": "desc"}),
        query("after", "The id of the item before the page."),
    ],
)
create_completion = operation(
    "createChatCompletion",
    "Answer by chat completions",
    {JSON: completion_shapes.ChatCompletion, EVENT_STREAM: completion_shapes.ChatCompletionStream},
    request=CreateChatCompletion,
    parameters=[IDEMPOTENCY_KEY, *_OF_SUBJECT, _STRICT, _EVENTS],
    faults=[HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY],
)
list_models = operation("listModels", "List the models", {JSON: ModelList}, key=False)
retrieve_model = operation(
    "retrieveModel",
    "Get one model",
    {JSON: ListedModel},
    parameters=[in_path("model", "The model's name.")],
    key=False,
)
list_session = operation(
    "listSession",
    "List a session's responses",
    {JSON: subject_shapes.SessionListing},
    parameters=[_SESSION_ID, *_OF_SUBJECT],
)
end_session = operation(
    "endSession",
    "End a session's working data",
    {JSON: subject_shapes.SessionEnded},
    parameters=[_SESSION_ID, *_OF_SUBJECT, query("responses", "Its stored responses go too.", _FLAG)],
)
read_subject = operation("readSubject", "Show a Subject", {JSON: subject_shapes.SubjectObject}, parameters=[_SUBJECT])
change_subject = operation(
    "changeSubject",
    "Set a Subject's time zone or name",
    {JSON: subject_shapes.SubjectObject},
    request=subject_shapes.SubjectChange,
    parameters=[_SUBJECT],
)
erase_subject = operation(
    "eraseSubject", "Erase a Subject", {JSON: subject_shapes.SubjectErased}, parameters=[_SUBJECT]
)
