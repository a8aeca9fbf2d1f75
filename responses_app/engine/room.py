"""What fits into a model's context window: counted near the limit alone, and cut down where that is allowed.

Images and files count nothing, since only the provider knows what they take. Source: the wire contract, section 2.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.engine.conversation import Call, CallOutput, Entry, Message
from responses_app.engine.ports import ModelCall
from responses_app.engine.tokens import count_tokens
from responses_app.engine.transcript import compact_json, entry_text

LEFT_OUT = compact_json({"error": "This result was left out: with it the conversation is too long for you."})
CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
_MOST_BYTES_OF_A_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Room:
    """How much a model reads: ``tokens`` of prompt, tools and conversation. ``truncates``: the oldest may go."""

    tokens: int
    truncates: bool

    def smaller_than(self, call: ModelCall) -> "Room":
        """For a provider that counts more than we do, or takes less than its tier says, and refused ``call``."""
        return replace(self, tokens=sum(map(count_tokens, [*_beside(call), *map(entry_text, call.entries)])) * 2 // 3)

    def check(self, texts: Sequence[str]) -> None:
        """Raises ``InvalidRequestError`` when ``texts`` alone are too much, however the rest is cut down."""
        if self.truncates or _surely_within(self.tokens, texts):
            return
        if (tokens := sum(map(count_tokens, texts))) > self.tokens:
            raise self._refusal(tokens)

    def fitted(self, call: ModelCall, turn_began: int) -> ModelCall:
        """The call, or one that fits: without the oldest of the conversation where ``truncates``, and without the
        oldest results that the turn itself brought in, which are its entries from ``turn_began`` on.

        Raises ``InvalidRequestError`` when what has to stay is too much.
        """
        beside = _beside(call)
        if _surely_within(self.tokens, [*beside, *map(entry_text, call.entries)]):
            return call
        sizes = [count_tokens(entry_text(entry)) for entry in call.entries]
        surplus = sum(map(count_tokens, beside)) + sum(sizes) - self.tokens
        if surplus <= 0:
            return call
        entries, surplus = _without_results(call.entries, sizes, turn_began, surplus)
        dropped: set[int] = set()
        if surplus > 0 and self.truncates:
            dropped = _oldest(entries, sizes, surplus)
            surplus -= sum(sizes[index] for index in dropped)
        if surplus > 0:
            raise self._refusal(self.tokens + surplus)
        return replace(call, entries=[entry for index, entry in enumerate(entries) if index not in dropped])

    def _refusal(self, tokens: int) -> InvalidRequestError:
        return too_long(
            f"The input has {tokens} tokens with all that goes with it, and the model takes {self.tokens}: "
            f"{tokens - self.tokens} too many."
        )


def _beside(call: ModelCall) -> list[str]:
    """All that goes with the conversation."""
    return [call.system, *(f"{tool.name} {tool.description} {compact_json(tool.parameters)}" for tool in call.tools)]


def too_long(message: str) -> InvalidRequestError:
    """400 ``context_length_exceeded``."""
    return InvalidRequestError(message, code=CONTEXT_LENGTH_EXCEEDED, param="input")


def _surely_within(tokens: int, texts: Sequence[str]) -> bool:
    """Whether ``texts`` fit without being counted: no token is shorter than a byte."""
    return sum(len(text) * (1 if text.isascii() else _MOST_BYTES_OF_A_CHARACTER) for text in texts) <= tokens


def _without_results(
    entries: Sequence[Entry], sizes: list[int], turn_began: int, surplus: int
) -> tuple[list[Entry], int]:
    """The entries with the turn's oldest results left out, as far as that is needed, and what is still too much."""
    kept = list(entries)
    note = count_tokens(LEFT_OUT)
    for index in range(turn_began, len(kept)):
        entry = kept[index]
        if surplus <= 0:
            break
        if isinstance(entry, CallOutput) and sizes[index] > note:
            kept[index] = replace(entry, output=LEFT_OUT, failed=True)
            surplus -= sizes[index] - note
            sizes[index] = note
    return kept, surplus


def _oldest(entries: Sequence[Entry], sizes: Sequence[int], surplus: int) -> set[int]:
    """Which entries are dropped: the oldest that have to go, each call together with its output, and then what would
    begin the conversation with words other than the user's. System messages and the user's last words on stay."""
    last_user = max(
        (i for i, e in enumerate(entries) if isinstance(e, Message) and e.role == "user"), default=len(sizes)
    )
    partners = _partners(entries)
    dropped: set[int] = set()
    for index, entry in enumerate(entries[:last_user]):
        begins_well = isinstance(entry, Message) and entry.role == "user"
        if surplus <= 0 and begins_well:
            break
        unit = {index, partners.get(index, index)}
        if index in dropped or _is_system(entry) or max(unit) >= last_user:
            continue
        dropped |= unit
        surplus -= sum(sizes[each] for each in unit)
    return dropped


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role in ("system", "developer")


def _partners(entries: Sequence[Entry]) -> dict[int, int]:
    """Calls and their outputs by each other's place; of equal ids the first call has the first output."""
    calls: dict[str, list[int]] = defaultdict(list)
    outputs: dict[str, list[int]] = defaultdict(list)
    for index, entry in enumerate(entries):
        if isinstance(entry, Call):
            calls[entry.call_id].append(index)
        elif isinstance(entry, CallOutput):
            outputs[entry.call_id].append(index)
    pairs = [pair for call_id, places in calls.items() for pair in zip(places, outputs[call_id], strict=False)]
    return dict(pairs) | {output: call for call, output in pairs}
