"""The turn of model mode: one inference with the caller's tools and words, and what is guaranteed of its answer.

What a provider refuses or leaves aside is asked for in other ways (ways.py); an answer that is not what was asked for
is asked for once more. Source: the wire contract, section 9.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from mirobody_site.tenancy.errors import InvalidRequestError, UpstreamError
from responses_app.engine.conversation import Call, Entry, Message
from responses_app.engine.output_format import ExpectedOutput, begins_like_json, unfenced
from responses_app.engine.ports import (
    CallMade,
    ModelBackend,
    ModelCall,
    ModelFault,
    NamedTool,
    OutputFormat,
    Sampling,
    TextDelta,
    ToolDefinition,
)
from responses_app.engine.steps import (
    MALFORMED_AGAIN,
    AwaitClient,
    CallModelAgain,
    CutShort,
    Ending,
    Failed,
    Finished,
    StepOutcome,
    plan_calls,
)
from responses_app.engine.turn import RunningTurn, StepDraft, Telling, Turn
from responses_app.engine.ways import ChoiceWay, FormatWay, KnownWays, Ways
from responses_app.protocol.events import Event
from responses_app.protocol.ids import new_call_id

CORRECTION = "This answer cannot be used."
"""How every correction of an answer begins."""

_CALL_ID = re.compile(r"[!-~]{1,64}")
_NO_CALL = Failed(UpstreamError("The model did not call the tools that 'tool_choice' demands."))


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller wants of a bare inference. ``streams``: it reads the answer as it comes."""

    sampling: Sampling
    format: OutputFormat | None
    streams: bool


class BareTurn(RunningTurn):
    """A turn of model mode. ``known`` is what is known of the ways its model is to be asked in."""

    def __init__(
        self, turn: Turn, wishes: Wishes, model: ModelBackend, known: KnownWays, stop_requested: Callable[[], bool]
    ) -> None:
        super().__init__(turn, model, stop_requested)
        self._wishes = wishes
        self._demand = None if turn.tool_choice == "auto" else turn.tool_choice
        self._expected = ExpectedOutput(wishes.format) if wishes.format else None
        model_name = turn.response["model"]
        self._choice_ways = Ways(known, (model_name, "tool_choice", type(self._demand)), max(ChoiceWay))
        self._format_ways = Ways(known, (model_name, "format", self._expected and self._expected.key), max(FormatWay))
        self._corrections: list[Entry] = []
        self._corrected = False
        self._held: list[TextDelta] = []
        self._flows = self._undecided = False

    def _run(self) -> Telling[Ending]:
        while True:
            outcome: StepOutcome | None = self._limit_reached()
            if outcome is None:
                outcome = yield from self._step()
            if not isinstance(outcome, CallModelAgain):
                return outcome

    def _step(self) -> Telling[StepOutcome]:
        draft = StepDraft()
        self._begin_to_hear()
        try:
            cut = yield from self._ask_model(self._model_call(), draft)
        except ModelFault as fault:
            return self._refused(fault)
        outcome = cut or draft.cut_short() or self._judged(draft)
        if isinstance(outcome, CallModelAgain):
            return outcome
        if happened := self._rest_of_text():
            yield happened
        self.added = [*draft.said(), *(outcome.calls if isinstance(outcome, AwaitClient) else ())]
        return outcome

    # What is passed on as it comes

    def _begin_to_hear(self) -> None:
        self._held = []
        self._flows = self._expected is None and self._demand is None
        natively = self._demand is None and self._format_ways.way == FormatWay.NATIVE
        self._undecided = natively and self._wishes.streams

    def _said(self, piece: TextDelta) -> list[Event]:
        """Text that may still be taken back is held."""
        if self._flows:
            return super()._said(piece)
        self._held.append(piece)
        if not self._may_flow():
            return []
        self._flows = True
        held, self._held = joined(self._held), []
        return super()._said(held)

    def _may_flow(self) -> bool:
        """A provider that keeps to the format begins its answer accordingly; another's has to be judged whole."""
        if not self._undecided:
            return False
        is_json = begins_like_json(joined(self._held).text)
        self._undecided = is_json is None
        return bool(is_json)

    def _rest_of_text(self) -> list[Event]:
        held = joined(self._held)
        text = unfenced(held.text) if self._expected else held.text
        if not text:
            return []
        # Of a text that was changed the tokens are others.
        return super()._said(held if text == held.text else TextDelta(text))

    # What is made of an answer

    def _refused(self, fault: ModelFault) -> StepOutcome:
        """Another way, where the provider refused one there are others for; else the fault."""
        return CallModelAgain() if self._other_ways(fault) else Failed(fault.for_caller or fault)

    def _other_ways(self, fault: ModelFault) -> bool:
        about = set(fault.about)
        if self._choice_ways.way == ChoiceWay.UNTHINKING and isinstance(fault.for_caller, InvalidRequestError):
            # Nothing but the switches is new in this request; a provider that knows none may call them anything.
            about.add("tool_choice")
        ways = [self._choice_ways] if "tool_choice" in about and self._demand else []
        ways += [self._format_ways] if "format" in about and self._expected else []
        found = [each.another() for each in ways]
        return any(found)

    def _judged(self, draft: StepDraft) -> StepOutcome:
        calls = self._wanted(draft.calls)
        if calls:
            return self._called(calls, draft)
        if self._demand is not None:
            return self._not_called(draft)
        return Finished() if self._expected is None else self._answered(draft, self._expected)

    def _wanted(self, calls: Sequence[CallMade]) -> Sequence[CallMade]:
        match self._demand:
            case NamedTool(name):
                return [call for call in calls if call.name == name]
            case _:
                return calls

    def _called(self, calls: Sequence[CallMade], draft: StepDraft) -> StepOutcome:
        turn = self._turn
        plan = plan_calls(
            calls, turn.client_tools, turn.parallel_client_calls, kept_ids(turn.input, self._turn.response["id"])
        )
        if plan.refused:
            return self._corrected_by([*draft.said(), *plan.entries], MALFORMED_AGAIN, self._choice_ways)
        self._choice_ways.worked()
        return AwaitClient(plan.client)

    def _not_called(self, draft: StepDraft) -> StepOutcome:
        if self._choice_ways.another():
            return CallModelAgain()
        correction = Message("user", f"{CORRECTION} {self._choice_words}")
        return self._corrected_by([*draft.said(), correction], _NO_CALL, self._choice_ways)

    def _answered(self, draft: StepDraft, expected: ExpectedOutput) -> StepOutcome:
        text = "".join(draft.text)
        fault = expected.fault(text if self._flows else unfenced(text))
        if fault is None:
            self._format_ways.worked()
            return Finished()
        if self._flows:
            return CutShort("format_mismatch")
        if self._format_ways.way == FormatWay.NATIVE and not begins_like_json(text):
            self._format_ways.another()
        correction = Message("user", f"{CORRECTION} {fault} Give it again, right this time, and nothing else.")
        return self._corrected_by([*draft.said(), correction], CutShort("format_mismatch"), self._format_ways)

    def _corrected_by(self, entries: Collection[Entry], ending: Ending, asked: Ways) -> StepOutcome:
        """The model is told once what was wrong; then that ends the turn."""
        if self._corrected:
            asked.failed()
            return ending
        self._corrected = True
        self._corrections += entries
        return CallModelAgain()

    # How the model is asked

    def _model_call(self) -> ModelCall:
        return ModelCall(
            model=self._turn.response["model"],
            system="\n\n".join(text for text in (self._turn.system, *self._words()) if text),
            entries=[*self._turn.input, *self._corrections],
            tools=self._offered(),
            tool_choice="auto" if self._choice_ways.way == ChoiceWay.IN_WORDS else self._turn.tool_choice,
            timeout=self._time_left(),
            today=self._turn.today,
            stop_requested=self._stop_requested,
            sampling=self._wishes.sampling,
            format=self._native_format(),
            thinking=self._choice_ways.way != ChoiceWay.UNTHINKING,
        )

    def _offered(self) -> Sequence[ToolDefinition]:
        tools = self._turn.client_tools
        if isinstance(self._demand, NamedTool) and self._choice_ways.way == ChoiceWay.IN_WORDS:
            return [tool for tool in tools if tool.name == self._demand.name]
        return tools

    def _words(self) -> list[str]:
        words = [self._choice_words] if self._choice_ways.way == ChoiceWay.IN_WORDS else []
        if self._expected is not None and self._format_ways.way != FormatWay.NATIVE:
            words.append(self._expected.words)
        return words

    @property
    def _choice_words(self) -> str:
        if isinstance(self._demand, NamedTool):
            return f"You must call the tool `{self._demand.name}`: answer with a call of it, not in text."
        return "You must call a tool: answer with calls of one or more of your tools, not in text."

    def _native_format(self) -> OutputFormat | None:
        if self._expected is None:
            return None
        match self._format_ways.way:
            case FormatWay.NATIVE:
                return self._expected.format
            case FormatWay.ANY_OBJECT if self._expected.is_object:
                return OutputFormat()
            case _:
                return None


def joined(pieces: Sequence[TextDelta]) -> TextDelta:
    """The pieces as one."""
    logprobs = tuple(each for piece in pieces for each in piece.logprobs)
    return TextDelta("".join(piece.text for piece in pieces), logprobs)


def kept_ids(before: Sequence[Entry], response_id: str) -> Callable[[str], str]:
    """What keeps the provider's call ids: its models may know their calls by them. One that clients could not give
    back, or that stands in the transcript already, is replaced."""
    taken = {entry.call_id for entry in before if isinstance(entry, Call)}

    def kept(call_id: str) -> str:
        safe = call_id if _CALL_ID.fullmatch(call_id) and call_id not in taken else new_call_id(response_id)
        taken.add(safe)
        return safe

    return kept
