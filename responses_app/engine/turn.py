"""What every kind of turn has: what it starts from, how it asks the model and tells of it, how it begins and closes.

What a turn does with an answer is told in loop.py (the agent) and bare_turn.py (one inference).
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mirobody_site.tenancy.errors import ApiError, InvalidRequestError, ServerError, UpstreamError
from responses_app.engine.assembly import Assembly, Closing, Seal
from responses_app.engine.conversation import Entry, Message, Thought
from responses_app.engine.grounding import Evidence
from responses_app.engine.limits import Limits
from responses_app.engine.ports import (
    CallMade,
    ModelBackend,
    ModelCall,
    ModelEvent,
    ModelFault,
    ReasoningDelta,
    Stopped,
    TextDelta,
    ToolChoice,
    ToolDefinition,
    UsageReported,
)
from responses_app.engine.room import CONTEXT_LENGTH_EXCEEDED, Room, too_long
from responses_app.engine.steps import Cancelled, CutShort, Ending, Failed
from responses_app.engine.usage import NOTHING_USED, Tally, UsageMeter, Visible
from responses_app.protocol.events import Event
from responses_app.protocol.response import ResponseObject
from tools_app.contract import RecordsUsed

log = logging.getLogger(__name__)

_SMALLER_ROOMS = 3
"""How often a model that finds the conversation too long is asked again with less of it."""
_TOO_LONG = "The conversation is longer than the model's context window."

_Result = TypeVar("_Result")
Telling = Generator[list[Event], None, _Result]
"""Yields event batches and returns a result."""


@dataclass(frozen=True, slots=True)
class Turn:
    """All a turn starts from. ``response`` is the snapshot in progress; ``history`` reads the earlier conversation.

    ``room`` is what its model reads. ``tally`` is what its model calls are counted into; sub-turns share it.
    """

    response: ResponseObject
    system: str
    history: Callable[[], Sequence[Entry]]
    input: Sequence[Entry]
    instructions: str | None
    client_tools: Sequence[ToolDefinition]
    tool_choice: ToolChoice
    parallel_client_calls: bool
    side_channel: bool
    seal: Seal | None
    today: str
    limits: Limits
    room: Room
    tally: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class StepDraft:
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

    def cut_short(self) -> CutShort | None:
        """The ending of an inference that the provider did not let come to its end."""
        match self.stopped:
            case Stopped("length"):
                return CutShort("max_output_tokens")
            case Stopped("content_filter"):
                return CutShort("content_filter")
            case _:
                return None

    def answer(self) -> str:
        """All it said but the reasoning, for counting."""
        return "".join(self.text) + "".join(f"{call.name} {call.arguments}" for call in self.calls)


class UnpreparedTurn:
    """A turn that was kept from beginning: read like an ``AgentTurn``, it says just that."""

    def __init__(self, response: ResponseObject, side_channel: bool, ending: Ending) -> None:
        self._assembly = Assembly(response, side_channel, None)
        self.added: list[Entry] = []
        self.records_used: list[tuple[str, Sequence[RecordsUsed]]] = []
        self.model_calls = 0
        self.ending = ending

    def events(self) -> Iterator[list[Event]]:
        """The opening, if anything is left to say of it."""
        if opening := self._assembly.opening():
            yield opening

    def close(self, ending: Ending) -> Closing:
        """The final response and the events that tell of it."""
        return self._assembly.close(ending, NOTHING_USED)


class RunningTurn(ABC):
    """A turn that a model answers. Iterate ``events()`` to its end, then ``close()`` it with its ``ending``.

    ``added`` holds what the turn added to the conversation after its input, ``ending`` how it ended.
    """

    def __init__(self, turn: Turn, model: ModelBackend, stop_requested: Callable[[], bool]) -> None:
        self._turn = turn
        self._model = model
        self._stop_requested = stop_requested
        self._assembly = Assembly(turn.response, turn.side_channel, turn.seal)
        self._meter = UsageMeter(Visible(turn.input, turn.instructions, turn.client_tools), turn.tally)
        self.added: list[Entry] = []
        self.ending: Ending = Cancelled()

    def events(self) -> Iterator[list[Event]]:
        """The turn's events but its last ones, in batches that came together. Never raises: a fault is an ending."""
        if opening := self._assembly.opening():
            yield opening
        try:
            self.ending = yield from self._run()
        except ApiError as error:
            self.ending = Failed(too_long(_TOO_LONG) if _is_refused_as_too_long(error) else error)
        except Exception:
            log.exception("turn failed")
            self.ending = Failed(ServerError())

    @property
    def model_calls(self) -> int:
        """How often a model was asked, in sub-turns too."""
        return self._turn.tally.calls

    @property
    def records_used(self) -> list[tuple[str, Sequence[RecordsUsed]]]:
        """By call id the health records behind server tools' results."""
        return []

    def close(self, ending: Ending) -> Closing:
        """The final response and the events that tell of it. May be asked again with another ending."""
        return self._assembly.close(ending, self._meter.as_json(), self._given_before())

    @abstractmethod
    def _run(self) -> Telling[Ending]:
        """Does the turn's work."""

    def _given_before(self) -> Sequence[Evidence]:
        """What tools gave for this turn before it began."""
        return ()

    def _limit_reached(self) -> Ending | None:
        """The ending that keeps another inference from beginning."""
        cut = self._cut_off()
        if cut is None and not self._turn.limits.model_calls.take():
            return CutShort("max_model_calls")
        return cut

    def _cut_off(self) -> Ending | None:
        if self._stop_requested():
            return Cancelled()
        if time.monotonic() >= self._turn.limits.deadline:
            return CutShort("max_duration")
        return None

    def _time_left(self) -> float:
        return max(0.0, self._turn.limits.deadline - time.monotonic())

    def _ask_model(self, call: ModelCall, draft: StepDraft, own_from: int | None = None) -> Telling[Ending | None]:
        """One inference on as much of the conversation as fits; gives the ending that cut it off, if one did.

        ``own_from``: from where on the entries are what this turn brought in.
        """
        self._assembly.step_begins()
        own_from = len(call.entries) if own_from is None else own_from
        room = self._turn.room
        fitted = room.fitted(call, own_from)
        for _ in range(_SMALLER_ROOMS):
            try:
                return (yield from self._infer(fitted, draft))
            except ModelFault as fault:
                if not _is_refused_as_too_long(fault):
                    raise
                room = room.smaller_than(fitted)
                try:
                    fitted = room.fitted(call, own_from)
                except InvalidRequestError:
                    raise fault from None
        return (yield from self._infer(fitted, draft))

    def _infer(self, call: ModelCall, draft: StepDraft) -> Telling[Ending | None]:
        stream = self._model.stream(call)
        was_refused = False
        try:
            for batch in stream:
                happened = [told for event in batch for told in self._heard(event, draft)]
                if happened:
                    yield happened
                cut = self._cut_off()
                if cut is not None:
                    return cut
        except UpstreamError as error:
            was_refused = isinstance(error, ModelFault) and error.for_caller is not None
            cut = self._cut_off()
            if cut is None:
                raise
            return cut
        finally:
            stream.close()
            if not was_refused:
                self._meter.add(call, draft.usage, "".join(draft.reasoning), draft.answer())
        return None

    def _heard(self, event: ModelEvent, draft: StepDraft) -> list[Event]:
        draft.take(event)
        match event:
            case TextDelta():
                return self._said(event)
            case ReasoningDelta(text):
                return self._assembly.reasoning(text)
            case _:
                return []

    def _said(self, piece: TextDelta) -> list[Event]:
        """What is told of a piece of the answer as it comes."""
        return self._assembly.text(piece.text, piece.logprobs)


def is_too_long(error: ApiError) -> bool:
    """Whether the conversation is longer than the model's context window, by our count or the provider's word."""
    return error.code == CONTEXT_LENGTH_EXCEEDED or _is_refused_as_too_long(error)


def _is_refused_as_too_long(error: ApiError) -> bool:
    return isinstance(error, ModelFault) and "context" in error.about
