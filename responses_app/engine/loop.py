"""The agent loop: calls the model, runs server tools, hands client tools off, keeps the caps, until the turn ends.

It talks to the outside through ports.py alone; what it says goes through assembly.py.
"""

from collections.abc import Callable, Sequence

from mirobody_site.tenancy.errors import ApiError
from responses_app.engine.conversation import CallOutput, Entry, Message
from responses_app.engine.grounding import Evidence
from responses_app.engine.ports import ModelBackend, ModelCall, ToolOutcome, ToolRunner, ToolStep
from responses_app.engine.steps import (
    MALFORMED_AGAIN,
    AwaitClient,
    CallModelAgain,
    CallPlan,
    CutShort,
    Ending,
    Finished,
    ServerCall,
    StepOutcome,
    plan_calls,
)
from responses_app.engine.transcript import compact_json
from responses_app.engine.turn import RunningTurn, StepDraft, Telling, Turn, is_too_long
from responses_app.protocol.events import Event
from responses_app.protocol.ids import new_call_id
from tools_app.contract import RecordsUsed

_MALFORMED_STEPS_FORGIVEN = 1


class AgentTurn(RunningTurn):
    """A turn of the agent. ``own_steps`` are its calls of server tools as they landed."""

    def __init__(self, turn: Turn, model: ModelBackend, tools: ToolRunner, stop_requested: Callable[[], bool]) -> None:
        super().__init__(turn, model, stop_requested)
        self._tools = tools
        self._definitions = [*tools.definitions(), *turn.client_tools]
        self._asked_before = False
        self._malformed_steps = 0
        self._before: list[Entry] = []
        self.own_steps: list[ToolStep] = []

    @property
    def records_used(self) -> list[tuple[str, Sequence[RecordsUsed]]]:
        """By call id the health records behind server tools' results, those of tools that tools called included."""
        steps = (each for step in self.own_steps for each in step.with_inner())
        return [(step.call.call_id, step.outcome.records) for step in steps]

    def _given_before(self) -> Sequence[Evidence]:
        return given_before(self._before)

    def _run(self) -> Telling[Ending]:
        self._before = [*self._turn.history(), *self._turn.input]
        while True:
            outcome: StepOutcome | None = self._limit_reached()
            if outcome is None:
                outcome = yield from self._step()
            if not isinstance(outcome, CallModelAgain):
                return outcome

    def _step(self) -> Telling[StepOutcome]:
        draft = StepDraft()
        call = self._model_call()
        self._asked_before = True
        try:
            cut = yield from self._ask_model(call, draft, len(self._before))
        except ApiError as error:
            # What made it too long was not the caller's.
            if self.added and is_too_long(error):
                return CutShort("context_length_exceeded")
            raise
        self.added += draft.said()
        cut = cut or draft.cut_short()
        if cut is not None:
            return cut
        if not draft.calls:
            return Finished()
        plan = plan_calls(draft.calls, self._definitions, self._turn.parallel_client_calls, self._own_call_id)
        return (yield from self._carry_out(plan))

    def _own_call_id(self, _: str) -> str:
        return new_call_id(self._turn.response["id"])

    def _model_call(self) -> ModelCall:
        return ModelCall(
            model=self._turn.response["model"],
            system=self._turn.system,
            entries=[*self._before, *self.added],
            tools=self._definitions,
            tool_choice="auto" if self._asked_before else self._turn.tool_choice,
            timeout=self._time_left(),
            today=self._turn.today,
            stop_requested=self._stop_requested,
        )

    def _carry_out(self, plan: CallPlan) -> Telling[StepOutcome]:
        self.added += plan.entries
        if plan.server:
            yield from self._run_server_tools(plan.server)
        if plan.refused:
            self._malformed_steps += 1
            if self._malformed_steps > _MALFORMED_STEPS_FORGIVEN:
                return MALFORMED_AGAIN
        if plan.client:
            return AwaitClient(plan.client)
        return CallModelAgain()

    def _run_server_tools(self, calls: Sequence[ServerCall]) -> Telling[None]:
        steps: list[int] = []
        announced: list[Event] = []
        for item in calls:
            index, happened = self._assembly.tool_called(item.call, item.arguments)
            steps.append(index)
            announced += happened
        if announced:
            yield announced
        asked = [(item.call.name, item.arguments) for item in calls]
        for number, outcome in self._tools.run_all(asked, self._time_left()):
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
