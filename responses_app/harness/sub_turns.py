"""The tool ``task``: a sub-turn with a context of its own, on a share of the turn's time and model calls."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from responses_app.engine.conversation import Call, Message
from responses_app.engine.limits import Limits, ModelCalls
from responses_app.engine.loop import AgentTurn
from responses_app.engine.ports import ModelBackend, ToolOutcome, ToolRunner, ToolStep
from responses_app.engine.prompt import system_prompt
from responses_app.engine.steps import CutShort, Finished
from responses_app.engine.turn import Turn
from responses_app.harness.tool import HarnessTool, records_of
from responses_app.protocol.request import ResponseRequest
from responses_app.protocol.response import Identity, new_response
from tools_app.contract import Arguments

MODEL_CALLS = 8
SHARE_OF_TIME = 0.8
"""Of what is left of the turn: the rest is for the answer."""

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "minLength": 1, "maxLength": 200},
        "prompt": {"type": "string", "minLength": 1, "maxLength": 20_000},
    },
    "required": ["description", "prompt"],
    "additionalProperties": False,
}
_INSTRUCTIONS = (
    "You work on one task of a larger answer, for another assistant. Only your last message is passed on: put all that "
    "was asked for into it, with figures, units and dates, and nothing else."
)


@dataclass(frozen=True, slots=True)
class SubTurns:
    """Sub-turns of ``turn``. ``tools`` are theirs: none that would begin another one, none of the caller's."""

    turn: Turn
    model: ModelBackend
    tools: ToolRunner
    stop_requested: Callable[[], bool]

    def tool(self) -> HarnessTool:
        """The tool as the model sees it."""
        return HarnessTool(
            "task",
            "Gives a self-contained part of the work to a fresh assistant with the same data tools, which sees only "
            "`prompt` and gives back its answer. For long look-ups that would crowd this conversation.",
            _PARAMETERS,
            self._run,
            waits_for_tools=True,
        )

    def _run(self, arguments: Arguments) -> ToolOutcome:
        inner = AgentTurn(self._turn(arguments["prompt"]), self.model, self.tools, self.stop_requested)
        for _ in inner.events():
            pass
        steps = _in_order_of_calls(inner)
        text = inner.close(inner.ending).response["output_text"]
        data = {"result": text}
        match inner.ending:
            case Finished():
                failed = False
            case CutShort(reason):
                data["incomplete"] = reason
                failed = not text
            case _:
                data, failed = {"error": "The task failed."}, True
        return ToolOutcome(data, failed=failed, records=records_of(steps), steps=steps, own_words=True)

    def _turn(self, prompt: str) -> Turn:
        outer = self.turn
        request = ResponseRequest.model_validate({"model": outer.response["model"], "input": prompt})
        now = time.monotonic()
        return Turn(
            response=new_response(Identity(outer.response["id"], outer.response["created_at"], None), request),
            system=system_prompt(outer.today, _INSTRUCTIONS),
            history=lambda: (),
            input=[Message("user", prompt)],
            instructions=None,
            client_tools=(),
            tool_choice="auto",
            parallel_client_calls=True,
            side_channel=False,
            seal=None,
            today=outer.today,
            limits=Limits(
                now + max(0.0, outer.limits.deadline - now) * SHARE_OF_TIME,
                ModelCalls(MODEL_CALLS, outer.limits.model_calls, reserved=1),
            ),
            room=outer.room,
            tally=outer.tally,
        )


def _in_order_of_calls(turn: AgentTurn) -> tuple[ToolStep, ...]:
    """The turn's steps, which land as they finish."""
    order = [entry.call_id for entry in turn.added if isinstance(entry, Call)]
    return tuple(sorted(turn.own_steps, key=lambda step: order.index(step.call.call_id)))
