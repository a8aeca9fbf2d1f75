"""What ``around`` means: a date, a time, or the clinical records that words or an id name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tools_app.records.clinical import CLINICAL_PREFIX, ClinicalKind, ClinicalRecordQuerySet
from tools_app.records.names import searchable
from tools_app.tools.query_times import read_span

MAX_MOMENTS = 20
# Of these the beginning is what matters, however long they last; others are a time that belongs to neither side.
_BEGINNINGS = (
    ClinicalKind.CONDITION,
    ClinicalKind.MEDICATION,
    ClinicalKind.ALLERGY,
    ClinicalKind.IMMUNIZATION,
)
# What is said around a name.
_FILLERS = frozenset(
    (
        "a",
        "an",
        "the",
        "of",
        "my",
        "in",
        "on",
        "at",
        "for",
        "with",
        "start",
        "started",
        "starting",
        "began",
        "diagnosis",
    )
)


@dataclass(frozen=True, slots=True)
class Event:
    """A time, from ``first`` to ``last``, that readings are held against; ``id`` is the clinical record's, if one."""

    asked: str
    first: date
    last: date
    id: str | None = None
    name: str | None = None
    kind: str | None = None

    @property
    def heading(self) -> dict[str, Any]:
        """How an answer names it."""
        return {
            "around": self.asked,
            "event": self.name,
            "kind": self.kind,
            "event_id": self.id,
            "date": self.first.isoformat(),
            "end_date": self.last.isoformat(),
        }


def events_named(asked: Sequence[str], facts: ClinicalRecordQuerySet, today: date) -> dict[str, list[Event]]:
    """For each wording its dates; none where no record with a date has those words. One query each."""
    return {text: _dated(text, today) or _recorded(text, facts) for text in asked}


def _dated(text: str, today: date) -> list[Event]:
    try:
        span = read_span(text, today)
    except ValueError:
        return []
    return [Event(text, span.first, span.last)]


def _recorded(text: str, facts: ClinicalRecordQuerySet) -> list[Event]:
    words = searchable(text)
    found = facts.filter(local_date__isnull=False).order_by("local_date", "id")
    if words.startswith(CLINICAL_PREFIX):
        found = found.filter(public_id=words)
    else:
        telling = [word for word in words.split() if word not in _FILLERS]
        if not telling:
            return []
        for word in telling:
            found = found.filter(search__contains=word)
    return [
        Event(
            text,
            fact.local_date,
            fact.local_date if fact.kind in _BEGINNINGS else (fact.last_date or fact.local_date),
            fact.public_id,
            fact.display,
            fact.kind,
        )
        for fact in found[:MAX_MOMENTS]
        if fact.local_date
    ]
