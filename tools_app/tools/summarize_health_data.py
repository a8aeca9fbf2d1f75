"""The tool ``summarize_health_data``: what one person's records hold. The counting is in records/overview.py."""

from typing import Any

from django.db.models import Min

from tools_app.contract import Arguments, RecordsUsed, ToolContext, ToolResult, ToolSpec
from tools_app.records.clinical import CLINICAL_NEWEST_FIRST, ClinicalRecord
from tools_app.records.models import NEWEST_FIRST, HealthRecord
from tools_app.records.overview import (
    Kind,
    abnormal_counts,
    clinical_kinds,
    latest_clinical,
    latest_of,
    sources_of,
)
from tools_app.records.series import Series, series_in
from tools_app.tools.family import MEMBER_SCHEMA, Person, readable_person
from tools_app.tools.rendering import number

NAME = "summarize_health_data"
PAGE = 50
LATEST_OF_A_KIND = 5
MAX_SOURCES = 20
MAX_RECORD_IDS = 1000


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    member, offset = arguments.get("member"), int(arguments.get("offset", 0))
    person = readable_person(context, member, NAME)
    series = series_in(person.records)
    shown = series[offset : offset + PAGE]
    kinds = clinical_kinds(person.clinical)
    more = len(series) > offset + len(shown) and bool(shown)
    readings = sum(one.count for one in series)
    data = {
        "member": member,
        "readings": readings,
        "indicators": _indicators(person, shown),
        "indicator_count": len(series),
        "clinical": _clinical(person, kinds),
        "sources": _sources(person),
        "truncated": more,
        "next_offset": offset + len(shown) if more else None,
    }
    count = readings + sum(kind.count for kind in kinds)
    return ToolResult(data, _used(person, count), empty=not count)


def _indicators(person: Person, shown: list[Series]) -> list[dict[str, Any]]:
    latest, abnormal = latest_of(person.records, shown), abnormal_counts(person.records, shown)
    return [
        {
            "indicator": one.title,
            "loinc_code": one.code or None,
            "unit": one.unit or None,
            "count": one.count,
            "first_date": one.first.isoformat() if one.first else None,
            "last_date": one.last.isoformat() if one.last else None,
            "abnormal": abnormal.get(one.key, 0),
            "latest": _latest(latest.get(one.key)),
        }
        for one in shown
    ]


def _latest(record: HealthRecord | None) -> dict[str, Any] | None:
    # A reading may have been deleted since its series was found.
    if record is None:
        return None
    return {
        "id": record.public_id,
        "value": number(record.canonical_number),
        "comparator": record.comparator or None,
        "text": record.text,
        "date": record.local_date.isoformat(),
        "abnormal": record.abnormal if record.abnormal in ("low", "high") else None,
    }


def _clinical(person: Person, kinds: list[Kind]) -> list[dict[str, Any]]:
    latest = latest_clinical(person.clinical, LATEST_OF_A_KIND)
    return [
        {
            "kind": kind.kind,
            "count": kind.count,
            "first_date": kind.first.isoformat() if kind.first else None,
            "last_date": kind.last.isoformat() if kind.last else None,
            "latest": [_fact(record) for record in latest if record.kind == kind.kind],
        }
        for kind in kinds
    ]


def _fact(record: ClinicalRecord) -> dict[str, Any]:
    return {
        "id": record.public_id,
        "name": record.display,
        "status": record.status or None,
        "time": record.time or None,
    }


def _sources(person: Person) -> list[dict[str, Any]]:
    return [
        {
            "records": what,
            "source": source.name or "api",
            "count": source.count,
            "last_date": source.last.isoformat() if source.last else None,
        }
        for what, records in (("readings", person.records), ("clinical", person.clinical))
        for source in sources_of(records, MAX_SOURCES)
    ]


def _used(person: Person, count: int) -> tuple[RecordsUsed, ...]:
    """All of the person's records, of these the newest thousand by id."""
    readings = list(person.records.order_by(*NEWEST_FIRST).values_list("public_id", flat=True)[:MAX_RECORD_IDS])
    clinical = person.clinical.order_by(*CLINICAL_NEWEST_FIRST).values_list("public_id", flat=True)
    ids = [*readings, *clinical[: MAX_RECORD_IDS - len(readings)]]
    expiries = [
        records.filter(expires_at__isnull=False).aggregate(first=Min("expires_at"))["first"]
        for records in (person.records, person.clinical)
    ]
    return person.used(count, ids, min(filter(None, expiries), default=None))


SUMMARIZE_HEALTH_DATA = ToolSpec(
    name=NAME,
    description=(
        "Tells what this person's health records hold as a whole; use it when the question is about everything, or to "
        "find out what there is. For each indicator: how many readings from when to when, how many of them are "
        "`abnormal` (outside the limits written with them), and the latest one. For each kind of clinical record: how "
        "many and the latest few. And the sources. For more of one of them use query_health_data or "
        "list_clinical_records. When `truncated` is true, go on with `next_offset`."
    ),
    parameters={
        "type": "object",
        "properties": {
            "member": MEMBER_SCHEMA,
            "offset": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1000000,
                "description": f"Which indicators, {PAGE} at a time: `next_offset` of the answer before.",
            },
        },
        "additionalProperties": False,
    },
    run=_run,
    evidence="health_records",
)
