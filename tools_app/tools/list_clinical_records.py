"""The tool ``list_clinical_records``: one person's conditions, medications, documents and so on."""

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Q

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec, TryDifferently
from tools_app.records.clinical import (
    CLINICAL_NEWEST_FIRST,
    CLINICAL_PREFIX,
    ClinicalKind,
    ClinicalRecord,
    ClinicalRecordQuerySet,
)
from tools_app.records.clinical_times import ClinicalTime, read_clinical_time
from tools_app.records.models import Share
from tools_app.records.names import searchable
from tools_app.tools.family import MEMBER_SCHEMA, Person, check_shared, readable_person

NAME = "list_clinical_records"
DEFAULT_LIMIT = 20
MAX_LIMIT = 100
# Of a text a listing shows so much; one record by its id a page.
EXCERPT_LENGTH = 500
PAGE_LENGTH = 8000
_ID = re.compile(rf"{CLINICAL_PREFIX}[0-9a-f]{{32}}")

DESCRIPTION = (
    "Lists this person's clinical records, newest first: conditions, medications, allergies, immunizations, "
    "procedures, encounters, reports and documents. Laboratory results and vital signs are not among them; "
    "query_health_data has those. Each entry has what it is about (`name`, `codes`), its `status`, and when (`time` to "
    "`end_time`, as exactly as it is known; without an end it may go on). Long texts are cut (`text_truncated`): call "
    "again with the entry's `id`, and go on with `next_text_offset`, to read one whole. `undated` counts records that "
    "a date range leaves out because nothing says when they were. When `truncated` is true, go on with `next_offset`."
)
_DAY = "2026, 2026-03 or 2026-03-01. Inclusive. Leave out for no bound."
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kinds": {
            "type": "array",
            "items": {"type": "string", "enum": ClinicalKind.values},
            "maxItems": len(ClinicalKind.values),
            "description": "Which kinds. Leave out for all.",
        },
        "search": {
            "type": "string",
            "maxLength": 200,
            "description": "Words that all stand in the name or the codes, such as diabetes or 44054006.",
        },
        "status": {
            "type": "string",
            "maxLength": 40,
            "description": "Only with this status, such as active, completed, resolved or final.",
        },
        "start": {"type": "string", "maxLength": 40, "description": f"What was going on from then on: {_DAY}"},
        "end": {"type": "string", "maxLength": 40, "description": f"What was going on until then: {_DAY}"},
        "member": MEMBER_SCHEMA,
        "id": {
            "type": "string",
            "maxLength": 40,
            "description": "One record with its text, by the `id` of an entry. Goes with `member` and `text_offset`.",
        },
        "text_offset": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000,
            "description": "With `id`: where in the text to go on, `next_text_offset` of the answer before.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "description": f"Entries: {DEFAULT_LIMIT} when left out.",
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000,
            "description": "Where to go on: `next_offset` of the answer before.",
        },
    },
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Page:
    """What an answer shows, and of which text: how much from where."""

    rows: list[ClinicalRecord]
    count: int
    undated: int = 0
    next_offset: int | None = None
    text_offset: int = 0
    text_length: int = EXCERPT_LENGTH


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    member = arguments.get("member")
    person = readable_person(context, member, NAME)
    check_shared(person, Share.Scope.CLINICAL)
    page = _one(person, arguments) if "id" in arguments else _listing(person, arguments)
    data = {
        "member": member,
        "count": page.count,
        "results": [_entry(row, page) for row in page.rows],
        "undated": page.undated,
        "truncated": page.next_offset is not None,
        "next_offset": page.next_offset,
    }
    expiries = [row.expires_at for row in page.rows if row.expires_at]
    used = person.used(len(page.rows), [row.public_id for row in page.rows], min(expiries, default=None))
    return ToolResult(data, used, empty=not page.rows)


def _one(person: Person, arguments: Arguments) -> _Page:
    if arguments.keys() - {"id", "member", "text_offset"}:
        raise TryDifferently("`id` goes with `member` and `text_offset` only.")
    asked = arguments["id"]
    rows = list(person.clinical.filter(public_id=asked)) if _ID.fullmatch(asked) else []
    return _Page(rows, len(rows), text_offset=int(arguments.get("text_offset", 0)), text_length=PAGE_LENGTH)


def _listing(person: Person, arguments: Arguments) -> _Page:
    if "text_offset" in arguments:
        raise TryDifferently("`text_offset` goes with `id`.")
    found = person.clinical.filter(_asked(arguments))
    dated, undated = _within(found, arguments, person.zone)
    limit, offset = int(arguments.get("limit", DEFAULT_LIMIT)), int(arguments.get("offset", 0))
    rows = list(dated.order_by(*CLINICAL_NEWEST_FIRST)[offset : offset + limit])
    count = dated.count()
    more = count > offset + len(rows) and bool(rows)
    return _Page(rows, count, undated, offset + len(rows) if more else None)


def _asked(arguments: Arguments) -> Q:
    condition = Q()
    if arguments.get("kinds"):
        condition &= Q(kind__in=arguments["kinds"])
    for word in searchable(arguments.get("search", "")).split():
        condition &= Q(search__contains=word)
    if "status" in arguments:
        condition &= Q(status__iexact=searchable(arguments["status"]))
    return condition


def _within(
    records: ClinicalRecordQuerySet, arguments: Arguments, zone: ZoneInfo
) -> tuple[ClinicalRecordQuerySet, int]:
    """Those that touch the range, and how many are left out because nothing says when they were."""
    start, end = _time(arguments, "start", zone), _time(arguments, "end", zone)
    first_day: date | None = start.first_day if start else None
    last_day: date | None = end.last_day if end else None
    if first_day and last_day and last_day < first_day:
        raise TryDifferently("`end` lies before `start`.")
    if not first_day and not last_day:
        return records, 0
    dated = records.filter(local_date__isnull=False)
    if first_day:
        dated = dated.filter(Q(last_date__isnull=True) | Q(last_date__gte=first_day))
    if last_day:
        dated = dated.filter(local_date__lte=last_day)
    return dated, records.filter(local_date__isnull=True).count()


def _time(arguments: Arguments, name: str, zone: ZoneInfo) -> ClinicalTime | None:
    text = arguments.get(name)
    if text is None:
        return None
    try:
        return read_clinical_time(text, zone)
    except ValueError as error:
        raise TryDifferently(f"`{name}` {error}.") from None


def _entry(record: ClinicalRecord, page: _Page) -> dict[str, Any]:
    end = page.text_offset + page.text_length
    more = len(record.text) > end
    return {
        "id": record.public_id,
        "kind": record.kind,
        "name": record.display,
        "codes": json.loads(record.codes),
        "status": record.status or None,
        "time": record.time or None,
        "end_time": record.end_time or None,
        "text": record.text[page.text_offset : end] or None,
        "text_truncated": more,
        "next_text_offset": end if more else None,
        "source": record.source or None,
    }


LIST_CLINICAL_RECORDS = ToolSpec(
    name=NAME,
    description=DESCRIPTION,
    parameters=PARAMETERS,
    run=_run,
    evidence="health_records",
)
