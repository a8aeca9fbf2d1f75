"""What a server tool is: its description for the model, who asks about whom, and the ways it can answer or refuse.

No tool lives here, and nothing here knows how a turn runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Json = Any
Arguments = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who is asking and about whom. Comes from the authenticated request alone; no tool argument can change it.

    ``subject_id`` is ``None`` for a Subject that has never been written to: it has no data. ``now`` is aware. ``user``
    is the Subject's name, for a tool that writes, where it is known.
    """

    account_id: int
    subject_id: int | None
    now: datetime
    user: str | None = None


@dataclass(frozen=True, slots=True)
class RecordsUsed:
    """The health records of one Subject behind a tool's result, so that the result can go when one of them goes.

    ``owner_id`` is the Subject they belong to, ``count`` how many there are. ``ids`` names them all, or of many the
    newest alone: then the removal of any record of the owner takes the result along. ``share_id`` is the share that let
    somebody else see them: with its revocation the result goes. ``expires_at`` is when the first record, or the share,
    expires.
    """

    owner_id: int
    count: int
    ids: tuple[str, ...] = ()
    expires_at: datetime | None = None
    share_id: int | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer: a JSON object for the model, and the health records it came from, by whose they are.

    ``empty`` says that nothing was found, so that it is no evidence for an answer.
    """

    data: dict[str, Json]
    records: tuple[RecordsUsed, ...] = ()
    empty: bool = False

    @property
    def record_ids(self) -> tuple[str, ...]:
        """The ids of the records behind it, as far as they are named."""
        return tuple(record_id for used in self.records for record_id in used.ids)


class ToolRefusal(Exception):
    """A tool says no, in words for the model. Never holds health content."""


class TryDifferently(ToolRefusal):
    """The arguments do not work; the message says what would."""


class ToolFailed(ToolRefusal):
    """The tool cannot answer now, whatever the arguments."""


class NotPermitted(ToolRefusal):
    """What was asked is not the Subject's to see; says the same as for something that does not exist."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One server tool. ``parameters`` is a JSON Schema object; ``run`` is called with arguments that fit it.

    ``evidence`` names the response field its non-empty results go into as well, if any.
    """

    name: str
    description: str
    parameters: dict[str, Json]
    run: Callable[[ToolContext, Arguments], ToolResult]
    evidence: Literal["health_records", "citations"] | None = None
