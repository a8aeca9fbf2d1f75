"""What a turn cost in tokens: the provider's figures summed over its model calls, or our own count where it gives none.

Source: the wire contract, section 3, "Usage".
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
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


class Tally:
    """What the model calls of a turn and of its sub-turns sum up to. Sub-turns add from other threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls = self.input = self.output = self.cached = self.reasoning = 0
        self.estimated = False

    def add(self, used: UsageReported, estimated: bool) -> None:
        """One model call."""
        with self._lock:
            self.calls += 1
            self.input += used.input_tokens
            self.output += used.output_tokens
            self.cached += used.cached_tokens
            self.reasoning += used.reasoning_tokens
            self.estimated |= estimated


class UsageMeter:
    """Counts the model calls of one turn into its tally."""

    def __init__(self, visible: Visible, tally: Tally) -> None:
        self._visible = visible
        self._tally = tally
        self._counted: Sequence[Entry] = ()
        self._counted_tokens = 0

    def add(self, call: ModelCall, reported: UsageReported | None, reasoning: str, answer: str) -> None:
        """One model call. ``answer`` is all it said but its ``reasoning``, calls included."""
        used = reported or self._estimate(call, reasoning, answer)
        self._tally.add(used, estimated=reported is None)

    def as_json(self) -> dict[str, Any]:
        """The response object's ``usage``."""
        tally = self._tally
        visible = min(self._visible.tokens(), tally.input)
        bill: dict[str, Any] = {"input": tally.input, "output": tally.output, "total": tally.input + tally.output}
        if tally.estimated:
            bill["estimated"] = True
        return {
            "input_tokens": visible,
            "output_tokens": bill["output"],
            "total_tokens": visible + bill["output"],
            "input_tokens_details": {"system_tokens": bill["input"] - visible, "cached_tokens": tally.cached},
            "output_tokens_details": {"reasoning_tokens": tally.reasoning},
            "billed_tokens": bill,
        }

    def _estimate(self, call: ModelCall, reasoning: str, answer: str) -> UsageReported:
        known = len(self._counted)
        if not all(map(is_, call.entries, self._counted)) or known > len(call.entries):
            known = self._counted_tokens = 0
        # Entries mostly only grow within a turn, so that each is counted once.
        self._counted_tokens += _entry_tokens(call.entries[known:])
        self._counted = call.entries
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


NOTHING_USED = UsageMeter(Visible((), None, ()), Tally()).as_json()
"""The ``usage`` of a turn that never got to a model."""
