"""The door of the Answers API: a chat completion is the turn of a response that keeps nothing, told in other words."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from rest_framework.request import Request

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.http import AsyncApiView, named_user, read_json_object
from responses_app.api import described
from responses_app.api.answers import event_stream, joined, rendered
from responses_app.api.reading import TOOL_NAMES, asked, is_strict
from responses_app.protocol.completion_chunks import CompletionChunks
from responses_app.protocol.completions import CompletionRequest, completion, parse_completion_request
from responses_app.protocol.request import parse_request
from responses_app.services.following import accepted, creators_answer, creators_stream
from responses_app.services.retries import accept_once
from responses_app.services.turn_order import TurnOrder
from responses_app.streaming.event_log import Answer
from responses_app.streaming.sse import translated


class CompletionsView(AsyncApiView):
    """``/v1/chat/completions``."""

    @described.create_completion
    async def post(self, request: Request) -> HttpResponseBase:
        """Answers once, as JSON or as a stream of chunks."""
        user, body, wanted = await in_thread(_read, request)
        order = await accepted(in_thread(_accepted, request, user, body, wanted))
        if not wanted.stream:
            return _completed(await creators_answer(order))
        chunks = _told(creators_stream(order), CompletionChunks(wanted.stream_options.include_usage))
        # Its caller may leave before the answer begins, and is followed from here on.
        return event_stream(joined(await anext(chunks), chunks))


def _read(request: Request) -> tuple[str | None, dict[str, Any], CompletionRequest]:
    body = read_json_object(request)
    return named_user(request, body.get("user")), body, parse_completion_request(body, is_strict(request))


def _accepted(request: Request, user: str | None, body: dict[str, Any], wanted: CompletionRequest) -> TurnOrder:
    try:
        return accept_once(asked(request, user, body, parse_request(wanted.as_response(), TOOL_NAMES)))
    except InvalidRequestError as error:
        if error.param is not None and error.param.startswith("input"):
            # Every message became one item, and every part one part.
            error.param = "messages" + error.param.removeprefix("input")
        raise


def _completed(answer: Answer) -> HttpResponse:
    if answer.status != HTTPStatus.OK:
        return rendered(answer)
    said = completion(json.loads(answer.body))
    return JsonResponse(said, json_dumps_params={"ensure_ascii": False})


async def _told(frames: AsyncGenerator[bytes, None], chunks: CompletionChunks) -> AsyncGenerator[bytes, None]:
    async with aclosing(frames):
        async for piece in frames:
            if told := translated(piece, chunks.told):
                yield told
