"""Makes the turn of an accepted order: its conversation, its model, its tools. Runs nothing."""

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from django.conf import settings
from django.utils import timezone

from mirobody_site.tenancy.connections import released
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.selectors import time_zone_of
from responses_app.engine.bare_turn import BareTurn, Wishes
from responses_app.engine.compaction import CompactingTurn
from responses_app.engine.conversation import Entry, entry_from_json
from responses_app.engine.limits import Limits, ModelCalls
from responses_app.engine.loop import AgentTurn
from responses_app.engine.ports import NamedTool, OutputFormat, Sampling, ToolChoice, ToolDefinition
from responses_app.engine.prompt import summarizing_prompt, system_prompt
from responses_app.engine.steps import Failed
from responses_app.engine.transcript import entries_from_input
from responses_app.engine.turn import RunningTurn, Turn, UnpreparedTurn
from responses_app.engine.usage import Visible
from responses_app.harness.file_space import FileSpace
from responses_app.llm.backends import known_ways, model_backend
from responses_app.llm.measuring import MeasuredBackend
from responses_app.mcp.tool import McpTool
from responses_app.protocol.request import ResponseRequest, TextFormat
from responses_app.protocol.response import new_response
from responses_app.selectors import conversation_turns
from responses_app.services.leave_behind import entries_without_gone, gone_from
from responses_app.services.mcp_offers import taken
from responses_app.services.modalities import with_attachments_taken
from responses_app.services.resume import previous_not_found
from responses_app.services.rooms import room_of
from responses_app.services.sealed_items import openers
from responses_app.services.sealing import seal
from responses_app.services.turn_order import TurnOrder
from responses_app.services.turn_tools import TurnTools
from tools_app.contract import ToolContext

log = logging.getLogger(__name__)

AnyTurn = RunningTurn | UnpreparedTurn


def prepared(order: TurnOrder, files: FileSpace, stop_requested: Callable[[], bool], held: ExitStack) -> AnyTurn:
    """The turn, ready to run. What keeps it from being made is the turn's own failure.

    What it needs as long as it runs, and no longer, ends with ``held``.
    """
    try:
        turn = released(partial(_turn, order))
        model = MeasuredBackend(model_backend())
        if order.compacts:
            return CompactingTurn(turn, model, stop_requested)
        if order.request.mode == "model":
            return BareTurn(turn, _wishes(order.request), model, known_ways(), stop_requested)
        context = ToolContext(order.account_id, order.subject_id, timezone.now(), order.identity.user or "")
        tools = TurnTools(order.request, context, files, _mcp_tools(order, held), stop_requested)
        return AgentTurn(turn, model, tools.runner(turn, model), stop_requested)
    except ServerError as error:
        return UnpreparedTurn(new_response(order.identity, order.request), order.side_channel, Failed(error))
    except Exception:
        log.exception("turn %s could not be prepared", order.response_id)
        return UnpreparedTurn(new_response(order.identity, order.request), order.side_channel, Failed(ServerError()))


def visible_input(order: TurnOrder) -> Visible:
    """What the caller sent for the turn, as its usage counts it."""
    request = order.request
    return Visible(entries_from_input(request.items, openers(order)), request.instructions, _client_tools(request))


def _wishes(request: ResponseRequest) -> Wishes:
    return Wishes(_sampling(request), _output_format(request.text.format), request.stream)


def _top_logprobs(request: ResponseRequest) -> int | None:
    asked = request.top_logprobs > 0 or "message.output_text.logprobs" in request.include
    return request.top_logprobs if asked else None


def _output_format(asked: TextFormat | None) -> OutputFormat | None:
    if asked is None or asked.type == "text":
        return None
    return OutputFormat(asked.schema_, asked.name or "", asked.description or "", bool(asked.strict))


def _mcp_tools(order: TurnOrder, held: ExitStack) -> dict[str, McpTool]:
    """The tools of the turn's MCP servers. Raises ServerError."""
    offer = taken(order)
    if not offer.servers:
        return {}
    from responses_app.mcp.turn_servers import TurnServers  # noqa: PLC0415 - see mcp_offers.py

    servers = TurnServers(offer)
    held.callback(servers.close)
    return servers.tools()


def _sampling(request: ResponseRequest) -> Sampling:
    return Sampling(
        temperature=request.temperature,
        top_p=request.top_p,
        max_output_tokens=request.max_output_tokens,
        effort=request.reasoning.effort if request.reasoning else None,
        top_logprobs=_top_logprobs(request),
        parallel_calls=request.parallel_tool_calls,
        # Clients of a bare model wait and ask again themselves.
        retry_when_limited=False,
    )


def _turn(order: TurnOrder) -> Turn:
    request = order.request
    today = timezone.now().astimezone(time_zone_of(order.subject_id)).date().isoformat()
    visible = visible_input(order)
    return Turn(
        response=new_response(order.identity, request),
        system=_system(order, today),
        history=partial(released, partial(_history, order)),
        input=visible.entries,
        instructions=visible.instructions,
        client_tools=visible.tools,
        tool_choice=_tool_choice(request),
        parallel_client_calls=request.parallel_tool_calls,
        side_channel=order.side_channel,
        seal=partial(seal, order.account_id) if "reasoning.encrypted_content" in request.include else None,
        today=today,
        room=room_of(request),
        limits=Limits(time.monotonic() + settings.TURN_DEADLINE_SECONDS, ModelCalls(settings.TURN_MODEL_CALLS)),
    )


def _system(order: TurnOrder, today: str) -> str:
    """Model mode has no words but the caller's."""
    request = order.request
    if order.compacts:
        return summarizing_prompt(request.instructions)
    return request.instructions or "" if request.mode == "model" else system_prompt(today, request.instructions)


def _tool_choice(request: ResponseRequest) -> ToolChoice:
    if request.named_tool is not None:
        return NamedTool(request.named_tool)
    return "required" if request.tool_choice == "required" else "auto"


def _client_tools(request: ResponseRequest) -> list[ToolDefinition]:
    if request.tool_choice == "none":
        return []
    return [
        ToolDefinition(tool.name, tool.description or "", tool.parameters, server=False)
        for tool in request.function_tools
    ]


def _history(order: TurnOrder) -> list[Entry]:
    """The conversation before this turn, server tool calls and results included. Raises ``NotFoundError`` when a turn
    that leaves no row finds it deleted."""
    previous_id = order.request.previous_response_id
    if previous_id is None:
        return []
    entries: list[Entry] = []
    turns = list(conversation_turns(previous_id))
    if not turns:
        raise previous_not_found(previous_id)
    gone = gone_from([turn.response_id for turn in turns], timezone.now())
    for turn in turns:
        items = ResponseRequest.model_validate({"input": turn.input}).items
        said = entries_from_input(items, openers(order))
        entries += with_attachments_taken(said, order.request.model)
        added = (entry_from_json(value) for value in turn.added)
        entries += entries_without_gone(added, gone.get(turn.response_id, {}))
    return entries
