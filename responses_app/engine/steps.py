"""How one step of a turn can end, and how its tool calls sort into the server's, the caller's and the malformed."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from mirobody_site.tenancy.errors import ApiError, UpstreamError
from responses_app.engine.conversation import Call, CallOutput, Entry
from responses_app.engine.ports import CallMade, ToolDefinition
from responses_app.engine.transcript import compact_json
from responses_app.protocol.response import IncompleteReason


@dataclass(frozen=True, slots=True)
class CallModelAgain:
    """Tool results are in; the model goes on."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete."""


@dataclass(frozen=True, slots=True)
class AwaitClient:
    """The caller's tools are handed off."""

    calls: Sequence[Call]


@dataclass(frozen=True, slots=True)
class CutShort:
    """A limit ended the turn; what was said stands."""

    reason: IncompleteReason


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended with a fault."""

    error: ApiError


MALFORMED_AGAIN = Failed(UpstreamError("The model made malformed tool calls again after it was told of one."))


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Somebody asked for the turn to stop."""


Ending = Finished | AwaitClient | CutShort | Failed | Cancelled
StepOutcome = CallModelAgain | Ending


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of a server tool with its arguments read."""

    call: Call
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class CallPlan:
    """A step's calls, sorted. ``refused`` pairs a call that cannot be run with what the model is told of it."""

    server: list[ServerCall] = field(default_factory=list)
    client: list[Call] = field(default_factory=list)
    refused: list[tuple[Call, str]] = field(default_factory=list)

    @property
    def calls(self) -> list[Call]:
        """All calls, the server's first."""
        return [item.call for item in self.server] + self.client + [call for call, _ in self.refused]

    @property
    def entries(self) -> list[Entry]:
        """All calls, and what the model is told of the refused ones."""
        told = [CallOutput(call.call_id, compact_json({"error": why}), failed=True) for call, why in self.refused]
        return [*self.calls, *told]


def plan_calls(
    made: Sequence[CallMade],
    tools: Sequence[ToolDefinition],
    parallel_client_calls: bool,
    call_ids: Callable[[str], str],
) -> CallPlan:
    """Sorts a step's calls. ``call_ids`` makes a call's id of the model's: one of ours, since models repeat or forget
    theirs.

    Without ``parallel_client_calls`` only the first client call counts. A malformed call holds the step's client calls
    back: a handoff cannot stand beside a call that never happened.
    """
    known = {tool.name: tool for tool in tools}
    plan = CallPlan()
    for item in made:
        _sort(item, call_ids(item.call_id), known, plan)
    if plan.refused:
        held_back = "Not executed, since another call of this step was malformed. Call it again if it is still needed."
        plan.refused += [(call, held_back) for call in plan.client]
        plan.client = []
    if not parallel_client_calls:
        plan.client = plan.client[:1]
    return plan


def _sort(made: CallMade, call_id: str, known: Mapping[str, ToolDefinition], plan: CallPlan) -> None:
    tool = known.get(made.name)
    if tool is None:
        # The name and arguments of a call that never happened are not kept: providers refuse odd ones when replayed.
        unknown = Call(call_id, "unknown_tool", "{}")
        plan.refused.append((unknown, "There is no tool of that name. Use only the tools offered."))
        return
    arguments = _read_arguments(made.arguments)
    if arguments is None:
        call = Call(call_id, made.name, "{}")
        plan.refused.append((call, "The arguments were not a JSON object. Call again with a JSON object."))
        return
    call = Call(call_id, made.name, made.arguments or "{}", tool.server)
    if tool.server:
        plan.server.append(ServerCall(call, arguments))
    else:
        plan.client.append(call)


def _read_arguments(text: str) -> dict[str, Any] | None:
    """The JSON object in ``text``; empty text is an empty object, as some providers write it."""
    if not text.strip():
        return {}
    try:
        value = from_json(text, allow_inf_nan=False)
        # A number such as 1e999 is read as infinity, which could not be written as JSON again.
        json.dumps(value, allow_nan=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
