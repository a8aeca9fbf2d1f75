"""The agent loop: calls the model, runs server tools, hands client tools off, keeps the caps, until the turn ends.

It talks to the outside through ports.py alone; what it says goes through assembly.py.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mirobody_site.tenancy.errors import ApiError, ServerError, UpstreamError
from responses_app.engine.assembly import Assembly, Closing, Seal
from responses_app.engine.conversation import CallOutput, Entry, Message, Thought
from responses_app.engine.grounding import Evidence
from responses_app.engine.limits import Limits
from responses_app.engine.ports import (
    CallMade,
    ModelBackend,
    ModelCall,
    ModelEvent,
    ReasoningDelta,
    Stopped,
    TextDelta,
    ToolDefinition,
    ToolOutcome,
    ToolRunner,
    ToolStep,
    UsageReported,
)
from responses_app.engine.steps import (
    AwaitClient,
    CallModelAgain,
    CallPlan,
    Cancelled,
    CutShort,
    Ending,
    Failed,
    Finished,
    ServerCall,
    StepOutcome,
    plan_calls,
)
from responses_app.engine.transcript import compact_json
from responses_app.engine.usage import NOTHING_USED, Tally, UsageMeter, Visible
from responses_app.protocol.events import Event
from responses_app.protocol.response import ResponseObject
from tools_app.contract import RecordsUsed

log = logging.getLogger(__name__)

_MALFORMED_STEPS_FORGIVEN = 1

_Result = TypeVar("_Result")
_Telling = Generator[list[Event], None, _Result]
"""Yields event batches and returns a result."""


@dataclass(frozen=True, slots=True)
class Turn:
    """All a turn starts from. ``response`` is the snapshot in progress; ``history`` reads the earlier conversation.

    ``tally`` is what its model calls are counted into; sub-turns share it.
    """

    response: ResponseObject
    system: str
    history: Callable[[], Sequence[Entry]]
    input: Sequence[Entry]
    instructions: str | None
    client_tools: Sequence[ToolDefinition]
    named_tool: str | None
    parallel_client_calls: bool
    side_channel: bool
    seal: Seal | None
    today: str
    limits: Limits
    tally: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class _StepDraft:
    """What the model has said so far in one inference."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[CallMade] = field(default_factory=list)
    usage: UsageReported | None = None
    stopped: Stopped | None = None

    def take(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text):
                self.text.append(text)
            case ReasoningDelta(text):
                self.reasoning.append(text)
            case CallMade():
                self.calls.append(event)
            case UsageReported():
                self.usage = event
            case Stopped():
                self.stopped = event

    def said(self) -> list[Entry]:
        """The entries of its reasoning and text."""
        thought: list[Entry] = [Thought("".join(self.reasoning))] if self.reasoning else []
        return [*thought, Message("assistant", "".join(self.text))] if self.text else thought

    def answer(self) -> str:
        """All it said but the reasoning, for counting."""
        return "".join(self.text) + "".join(f"{call.name} {call.arguments}" for call in self.calls)


class UnpreparedTurn:
    """A turn that was kept from beginning: read like an ``AgentTurn``, it says just that."""

    def __init__(self, response: ResponseObject, side_channel: bool, ending: Ending) -> None:
        self._assembly = Assembly(response, side_channel, None)
        self.added: list[Entry] = []
        self.records_used: list[tuple[str, Sequence[RecordsUsed]]] = []
        self.ending = ending

    def events(self) -> Iterator[list[Event]]:
        """The opening, if anything is left to say of it."""
        if opening := self._assembly.opening():
            yield opening

    def close(self, ending: Ending) -> Closing:
        """The final response and the events that tell of it."""
        return self._assembly.close(ending, NOTHING_USED)


class AgentTurn:
    """One turn. Iterate ``events()`` to its end, then ``close()`` it with its ``ending``.

    ``added`` holds what the turn added to the conversation after its input, ``own_steps`` its calls of server
    tools as they landed, ``ending`` how it ended.
    """

    def __init__(self, turn: Turn, model: ModelBackend, tools: ToolRunner, stop_requested: Callable[[], bool]) -> None:
        self._turn = turn
        self._model = model
        self._tools = tools
        self._stop_requested = stop_requested
        self._assembly = Assembly(turn.response, turn.side_channel, turn.seal)
        self._definitions = [*tools.definitions(), *turn.client_tools]
        self._meter = UsageMeter(Visible(turn.input, turn.instructions, turn.client_tools), turn.tally)
        self._asked_before = False
        self._malformed_steps = 0
        self._before: list[Entry] = []
        self.added: list[Entry] = []
        self.own_steps: list[ToolStep] = []
        self.ending: Ending = Cancelled()

    def events(self) -> Iterator[list[Event]]:
        """The turn's events but its last ones, in batches that came together. Never raises: a fault is an ending."""
        if opening := self._assembly.opening():
            yield opening
        try:
            self.ending = yield from self._run()
        except ApiError as error:
            self.ending = Failed(error)
        except Exception:
            log.exception("turn failed")
            self.ending = Failed(ServerError())

    @property
    def records_used(self) -> list[tuple[str, Sequence[RecordsUsed]]]:
        """By call id the health records behind server tools' results, those of tools that tools called included."""
        steps = (each for step in self.own_steps for each in step.with_inner())
        return [(step.call.call_id, step.outcome.records) for step in steps]

    def close(self, ending: Ending) -> Closing:
        """The final response and the events that tell of it. May be asked again with another ending."""
        return self._assembly.close(ending, self._meter.as_json(), given_before(self._before))

    def _run(self) -> _Telling[Ending]:
        self._before = [*self._turn.history(), *self._turn.input]
        while True:
            outcome: StepOutcome | None = self._limit_reached()
            if outcome is None:
                outcome = yield from self._step()
            if not isinstance(outcome, CallModelAgain):
                return outcome

    def _limit_reached(self) -> Ending | None:
        if self._stop_requested():
            return Cancelled()
        if time.monotonic() >= self._turn.limits.deadline:
            return CutShort("max_duration")
        if not self._turn.limits.model_calls.take():
            return CutShort("max_model_calls")
        return None

    def _step(self) -> _Telling[StepOutcome]:
        draft = _StepDraft()
        cut = yield from self._ask_model(draft)
        self.added += draft.said()
        if cut is not None:
            return cut
        reason = draft.stopped.reason if draft.stopped else "stop"
        if reason == "length":
            return CutShort("max_output_tokens")
        if reason == "content_filter":
            return CutShort("content_filter")
        if not draft.calls:
            return Finished()
        plan = plan_calls(draft.calls, self._definitions, self._turn.parallel_client_calls)
        return (yield from self._carry_out(plan))

    def _ask_model(self, draft: _StepDraft) -> _Telling[Ending | None]:
        """One inference; gives the ending that cut it off, if one did."""
        call = self._model_call()
        self._asked_before = True
        self._assembly.step_begins()
        stream = self._model.stream(call)
        try:
            for batch in stream:
                happened = [told for event in batch for told in self._tell(event, draft)]
                if happened:
                    yield happened
                cut = self._cut_off()
                if cut is not None:
                    return cut
        except UpstreamError:
            cut = self._cut_off()
            if cut is None:
                raise
            return cut
        finally:
            stream.close()
            self._meter.add(call, draft.usage, "".join(draft.reasoning), draft.answer())
        return None

    def _cut_off(self) -> Ending | None:
        if self._stop_requested():
            return Cancelled()
        if time.monotonic() >= self._turn.limits.deadline:
            return CutShort("max_duration")
        return None

    def _model_call(self) -> ModelCall:
        named = None if self._asked_before else self._turn.named_tool
        return ModelCall(
            model=self._turn.response["model"],
            system=self._turn.system,
            entries=[*self._before, *self.added],
            tools=self._definitions,
            tool_choice=named or "auto",
            timeout=max(0.0, self._turn.limits.deadline - time.monotonic()),
            today=self._turn.today,
            stop_requested=self._stop_requested,
        )

    def _tell(self, event: ModelEvent, draft: _StepDraft) -> list[Event]:
        draft.take(event)
        match event:
            case TextDelta(text):
                return self._assembly.text(text)
            case ReasoningDelta(text):
                return self._assembly.reasoning(text)
            case _:
                return []

    def _carry_out(self, plan: CallPlan) -> _Telling[StepOutcome]:
        self.added += plan.calls
        self.added += [
            CallOutput(call.call_id, compact_json({"error": why}), failed=True) for call, why in plan.refused
        ]
        if plan.server:
            yield from self._run_server_tools(plan.server)
        if plan.refused:
            self._malformed_steps += 1
            if self._malformed_steps > _MALFORMED_STEPS_FORGIVEN:
                return Failed(UpstreamError("The model made malformed tool calls again after it was told of one."))
        if plan.client:
            return AwaitClient(plan.client)
        return CallModelAgain()

    def _run_server_tools(self, calls: Sequence[ServerCall]) -> _Telling[None]:
        steps: list[int] = []
        announced: list[Event] = []
        for item in calls:
            index, happened = self._assembly.tool_called(item.call, item.arguments)
            steps.append(index)
            announced += happened
        if announced:
            yield announced
        timeout = max(0.0, self._turn.limits.deadline - time.monotonic())
        for number, outcome in self._tools.run_all([(item.call.name, item.arguments) for item in calls], timeout):
            happened = self._landed(calls[number], steps[number], outcome)
            if happened:
                yield happened

    def _landed(self, item: ServerCall, index: int, outcome: ToolOutcome) -> list[Event]:
        self.added.append(CallOutput(item.call.call_id, compact_json(outcome.data), outcome.failed))
        step = ToolStep(item.call, item.arguments, outcome)
        self.own_steps.append(step)
        happened = self._assembly.tool_finished(index, outcome)
        for each in step.with_inner()[1:]:
            inner_index, announced = self._assembly.tool_called(each.call, each.arguments)
            happened += announced + self._assembly.tool_finished(inner_index, each.outcome)
        return happened


def given_before(entries: Sequence[Entry]) -> list[Evidence]:
    """What tools gave since the user last spoke: a turn goes on over the handoffs in it."""
    given: list[Evidence] = []
    for entry in reversed(entries):
        match entry:
            case Message("user"):
                break
            case CallOutput(failed=False):
                given.append(Evidence(entry.call_id, entry.output, named=False))
    return given[::-1]
