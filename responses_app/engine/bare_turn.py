"""The turn of model mode: one inference with the caller's tools and words, and nothing of the server's.

Source: the wire contract, section 9.
"""

import re
from collections.abc import Callable, Sequence

from responses_app.engine.conversation import Call, Entry
from responses_app.engine.ports import ModelBackend, ModelCall, ModelFault, Sampling
from responses_app.engine.steps import (
    MALFORMED_AGAIN,
    AwaitClient,
    CallModelAgain,
    Ending,
    Failed,
    Finished,
    StepOutcome,
    plan_calls,
)
from responses_app.engine.turn import RunningTurn, StepDraft, Telling, Turn
from responses_app.protocol.ids import new_call_id

_CALL_ID = re.compile(r"[!-~]{1,64}")


class BareTurn(RunningTurn):
    """A turn of model mode. Asks a second time when the model made a malformed call, and only then."""

    def __init__(self, turn: Turn, sampling: Sampling, model: ModelBackend, stop_requested: Callable[[], bool]) -> None:
        super().__init__(turn, model, stop_requested)
        self._sampling = sampling
        self._corrected = False

    def _run(self) -> Telling[Ending]:
        while True:
            outcome: StepOutcome | None = self._limit_reached()
            if outcome is None:
                outcome = yield from self._step()
            if not isinstance(outcome, CallModelAgain):
                return outcome

    def _step(self) -> Telling[StepOutcome]:
        draft = StepDraft()
        try:
            cut = yield from self._ask_model(self._model_call(), draft)
        except ModelFault as fault:
            return Failed(fault.for_caller or fault)
        self.added += draft.said()
        cut = cut or draft.cut_short()
        if cut is not None:
            return cut
        if not draft.calls:
            return Finished()
        return self._called(draft)

    def _called(self, draft: StepDraft) -> StepOutcome:
        plan = plan_calls(draft.calls, self._turn.client_tools, self._turn.parallel_client_calls, self._call_ids())
        self.added += plan.entries
        if not plan.refused:
            return AwaitClient(plan.client)
        if self._corrected:
            return MALFORMED_AGAIN
        self._corrected = True
        return CallModelAgain()

    def _call_ids(self) -> Callable[[str], str]:
        return kept_ids([*self._turn.input, *self.added])

    def _model_call(self) -> ModelCall:
        return ModelCall(
            model=self._turn.response["model"],
            system=self._turn.system,
            entries=[*self._turn.input, *self.added],
            tools=self._turn.client_tools,
            tool_choice=self._turn.tool_choice,
            timeout=self._time_left(),
            today=self._turn.today,
            stop_requested=self._stop_requested,
            sampling=self._sampling,
        )


def kept_ids(before: Sequence[Entry]) -> Callable[[str], str]:
    """What keeps the provider's call ids: its models may know their calls by them. One that clients could not give
    back, or that stands in the transcript already, is replaced."""
    taken = {entry.call_id for entry in before if isinstance(entry, Call)}

    def kept(call_id: str) -> str:
        safe = call_id if _CALL_ID.fullmatch(call_id) and call_id not in taken else new_call_id()
        taken.add(safe)
        return safe

    return kept
