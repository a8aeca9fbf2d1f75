"""The turn that summarizes a conversation instead of going on with it, and which messages stay as they were said.

Source: Open Responses 2026-04-24, "Compaction".
"""

from collections.abc import Sequence

from mirobody_site.tenancy.errors import UpstreamError
from responses_app.engine.conversation import Entry
from responses_app.engine.ports import ModelCall
from responses_app.engine.steps import Cancelled, Ending, Failed, Finished
from responses_app.engine.tokens import count_tokens
from responses_app.engine.turn import RunningTurn, StepDraft, Telling
from responses_app.protocol.items import InputItem, InputText, MessageItem, OutputText

KEPT_TOKENS = 20_000
"""How much of what the user said is kept word for word."""

_NO_SUMMARY = Failed(UpstreamError("The model did not summarize the conversation."))


class CompactingTurn(RunningTurn):
    """A turn whose answer is the summary of its conversation. It has no tools."""

    def _run(self) -> Telling[Ending]:
        before: list[Entry] = [*self._turn.history(), *self._turn.input]
        limit = self._limit_reached()
        if limit is not None:
            return limit
        draft = StepDraft()
        cut = yield from self._ask_model(self._model_call(before), draft)
        if isinstance(cut, Cancelled):
            return cut
        # Half a summary would pass for the whole conversation.
        whole = cut is None and draft.cut_short() is None and "".join(draft.text).strip()
        return Finished() if whole else _NO_SUMMARY

    def _model_call(self, before: Sequence[Entry]) -> ModelCall:
        return ModelCall(
            model=self._turn.response["model"],
            system=self._turn.system,
            entries=before,
            tools=(),
            tool_choice="auto",
            timeout=self._time_left(),
            today=self._turn.today,
            stop_requested=self._stop_requested,
            summarizes=True,
        )


def kept_messages(items: Sequence[InputItem]) -> list[MessageItem]:
    """What the caller and its user said, in order, but the oldest of the user's where it is more than KEPT_TOKENS."""
    left = KEPT_TOKENS
    kept: list[MessageItem] = []
    for item in reversed(items):
        if not isinstance(item, MessageItem) or item.role == "assistant":
            continue
        if item.role == "user":
            left -= _tokens(item) if left >= 0 else 0
            if left < 0:
                continue
        kept.append(item)
    return kept[::-1]


def _tokens(item: MessageItem) -> int:
    if isinstance(item.content, str):
        return count_tokens(item.content)
    return sum(count_tokens(part.text) for part in item.content if isinstance(part, InputText | OutputText))
