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

    ``subject_id`` is ``None`` for a Subject that has never been written to: it has no data. ``now`` is aware.
    """

    account_id: int
    subject_id: int | None
    now: datetime


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer: a JSON object for the model, and the ids of the health records it came from.

    ``empty`` says that nothing was found, so that it is no evidence for an answer.
    """

    data: dict[str, Json]
    record_ids: tuple[str, ...] = ()
    empty: bool = False


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
