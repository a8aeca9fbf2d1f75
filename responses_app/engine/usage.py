"""What a turn cost in tokens: the provider's figures summed over its model calls, or our own count where it gives none.

Source: the wire contract, section 3, "Usage".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from responses_app.engine.conversation import Entry
from responses_app.engine.ports import ModelCall, ToolDefinition, UsageReported
from responses_app.engine.tokens import count_tokens
from responses_app.engine.transcript import compact_json, entry_text


@dataclass(frozen=True, slots=True)
class Visible:
    """What the caller sent for this turn: the part of the bill that ``input_tokens`` shows."""

    entries: Sequence[Entry]
    instructions: str | None
    tools: Sequence[ToolDefinition]

    def tokens(self) -> int:
        """Our count of it."""
        return _entry_tokens(self.entries) + count_tokens(self.instructions or "") + _tool_tokens(self.tools)


class UsageMeter:
    """Adds up the model calls of one turn."""

    def __init__(self, visible: Visible) -> None:
        self._visible = visible
        self._input = self._output = self._cached = self._reasoning = 0
        self._estimated = False
        self._counted_entries = self._counted_tokens = 0

    def add(self, call: ModelCall, reported: UsageReported | None, reasoning: str, answer: str) -> None:
        """One model call. ``answer`` is all it said but its ``reasoning``, calls included."""
        if reported is None:
            reported = self._estimate(call, reasoning, answer)
            self._estimated = True
        self._input += reported.input_tokens
        self._output += reported.output_tokens
        self._cached += reported.cached_tokens
        self._reasoning += reported.reasoning_tokens

    def as_json(self) -> dict[str, Any]:
        """The response object's ``usage``."""
        visible = min(self._visible.tokens(), self._input)
        bill: dict[str, Any] = {"input": self._input, "output": self._output, "total": self._input + self._output}
        if self._estimated:
            bill["estimated"] = True
        return {
            "input_tokens": visible,
            "output_tokens": self._output,
            "total_tokens": visible + self._output,
            "input_tokens_details": {"system_tokens": self._input - visible, "cached_tokens": self._cached},
            "output_tokens_details": {"reasoning_tokens": self._reasoning},
            "billed_tokens": bill,
        }

    def _estimate(self, call: ModelCall, reasoning: str, answer: str) -> UsageReported:
        # Entries only grow within a turn, so each is counted once.
        self._counted_tokens += _entry_tokens(call.entries[self._counted_entries :])
        self._counted_entries = len(call.entries)
        thought = count_tokens(reasoning)
        return UsageReported(
            input_tokens=self._counted_tokens + count_tokens(call.system) + _tool_tokens(call.tools),
            output_tokens=thought + count_tokens(answer),
            cached_tokens=0,
            reasoning_tokens=thought,
        )


def _entry_tokens(entries: Sequence[Entry]) -> int:
    return sum(count_tokens(entry_text(entry)) for entry in entries)


def _tool_tokens(tools: Sequence[ToolDefinition]) -> int:
    return sum(count_tokens(f"{tool.name} {tool.description} {compact_json(tool.parameters)}") for tool in tools)


NOTHING_USED = UsageMeter(Visible((), None, ())).as_json()
"""The ``usage`` of a turn that never got to a model."""
