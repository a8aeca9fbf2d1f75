"""What one of the agent's own tools is, and how the results of tools it calls become its own. No tool lives here."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from responses_app.engine.ports import ToolOutcome, ToolStep
from tools_app.contract import Arguments, RecordsUsed, ToolResult, ToolSpec


@dataclass(frozen=True, slots=True)
class HarnessTool:
    """One of the agent's own tools, made for one turn. ``parameters`` is a JSON Schema object.

    ``run`` is called with arguments that fit it, on any thread, and may raise ToolRefusal. ``waits_for_tools``: it runs
    a sub-turn, whose tools need threads while it holds one.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[Arguments], ToolOutcome]
    waits_for_tools: bool = False


ServerTool = ToolSpec | HarnessTool
"""What a turn's runner runs."""


def outcome_of(spec: ToolSpec, result: ToolResult) -> ToolOutcome:
    """A domain tool's result as the turn takes it."""
    return ToolOutcome(result.data, empty=result.empty, records=result.records, evidence=spec.evidence)


def refused(message: str) -> ToolOutcome:
    """A tool's no, in words for the model."""
    return ToolOutcome({"error": message}, failed=True)


def records_of(steps: Iterable[ToolStep]) -> tuple[RecordsUsed, ...]:
    """The health records behind all of the steps."""
    return merged(used for step in steps for used in step.outcome.records)


def merged(records: Iterable[RecordsUsed]) -> tuple[RecordsUsed, ...]:
    """The same records, those of one Subject that were seen in the same way together."""
    by_owner: dict[tuple[int, int | None], list[RecordsUsed]] = defaultdict(list)
    for used in records:
        by_owner[used.owner_id, used.share_id].append(used)
    return tuple(_together(several) for several in by_owner.values())


def _together(several: list[RecordsUsed]) -> RecordsUsed:
    ids = dict.fromkeys(record_id for used in several for record_id in used.ids)
    # Records that are not named may be the same ones in several results or not: better counted too often than missed.
    unnamed = sum(used.count - len(used.ids) for used in several)
    expiries = [used.expires_at for used in several if used.expires_at]
    first = several[0]
    return RecordsUsed(
        first.owner_id, len(ids) + unnamed, tuple(ids), min(expiries, default=None), share_id=first.share_id
    )
