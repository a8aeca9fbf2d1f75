"""The doors that look at a conversation without going on with it: its compaction, and the size of an input."""

import json
from dataclasses import replace
from http import HTTPStatus

from django.http import HttpResponseBase, JsonResponse
from rest_framework.request import Request

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.http import AsyncApiView, named_user, read_json_object
from responses_app.api import described
from responses_app.api.answers import rendered
from responses_app.api.reading import TOOL_NAMES, asked, is_strict
from responses_app.protocol.compaction import parse_compaction_request
from responses_app.protocol.request import parse_request
from responses_app.services.compaction import compacted
from responses_app.services.following import accepted, creators_answer
from responses_app.services.intake import considered
from responses_app.services.preparing import visible_input
from responses_app.services.retries import accept_once
from responses_app.services.turn_order import TurnOrder


class CompactView(AsyncApiView):
    """``/v1/responses/compact``."""

    @described.compact_response
    async def post(self, request: Request) -> HttpResponseBase:
        """Answers with a window that stands for the conversation."""
        order = await accepted(in_thread(_accepted, request))
        answer = await creators_answer(order)
        if answer.status != HTTPStatus.OK:
            return rendered(answer)
        window = await in_thread(compacted, order, json.loads(answer.body))
        return JsonResponse(window, json_dumps_params={"ensure_ascii": False})


class InputTokensView(AsyncApiView):
    """``/v1/responses/input_tokens``."""

    @described.count_input_tokens
    async def post(self, request: Request) -> HttpResponseBase:
        """Counts what a request would send, and starts nothing."""
        return JsonResponse({"object": "response.input_tokens", "input_tokens": await in_thread(_counted, request)})


def _accepted(request: Request) -> TurnOrder:
    body = read_json_object(request)
    user = named_user(request, body.get("user"))
    parsed = parse_compaction_request(body, is_strict(request))
    return accept_once(replace(asked(request, user, body, parsed), compacts=True))


def _counted(request: Request) -> int:
    body = read_json_object(request)
    user = named_user(request, body.get("user"))
    parsed = parse_request(body, TOOL_NAMES, strict=is_strict(request))
    return visible_input(considered(asked(request, user, body, parsed))).tokens()
