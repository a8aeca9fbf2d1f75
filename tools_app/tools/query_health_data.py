"""The tool ``query_health_data``: from its arguments to the series meant, one operation over each, and one result.

Its description for the model is in query_schema.py, the reading of its arguments in query_arguments.py, what it can
compute in query_operations.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, Min, Q

from tools_app.contract import Arguments, RecordsUsed, ToolContext, ToolResult, ToolSpec, TryDifferently
from tools_app.records.limits import Limits
from tools_app.records.models import NEWEST_FIRST, HealthRecordQuerySet, Share
from tools_app.records.names import plain
from tools_app.records.resolution import resolve
from tools_app.records.selectors import within
from tools_app.records.series import Series, series_in, with_written_unit
from tools_app.records.statistics import Readings, counted
from tools_app.standardization import ucum_unit
from tools_app.tools.family import Person, check_shared, readable_person
from tools_app.tools.query_arguments import DEFAULT_LIMIT, Query, read_arguments
from tools_app.tools.query_moments import Event, events_named
from tools_app.tools.query_operations import OPERATIONS, Answered, Asked, in_period, out_of_range_days
from tools_app.tools.query_schema import DESCRIPTION, PARAMETERS
from tools_app.tools.rendering import Scale, scale_for

NAME = "query_health_data"
MAX_RECORD_IDS = 1000
MAX_READINGS = 400
MAX_COMPARED_AROUND = 40
# How many indicators one answer holds, by operation: the more is told of each, the fewer.
PAGE = {
    "overview": 100, "latest": 50, "readings": 10, "nearest": 10, "aggregate": 10, "trend": 10, "compare": 10,
    "correlate": 1, "out_of_range": 20, "streaks": 10, "gaps": 10, "unusual": 10,
}  # fmt: skip
# Whose period is not that of `start` and `end`: an indicator is shown if it has readings at all.
OWN_PERIODS = ("nearest", "compare", "correlate", "gaps")


@dataclass(frozen=True, slots=True)
class Page:
    """The indicators an answer holds, and where the next ones begin, if there are more."""

    shown: Sequence[Asked]
    next_series: int | None


def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    """Answers from the records the context may read. Raises TryDifferently or NotPermitted."""
    member = arguments.get("member")
    person = readable_person(context, member, NAME)
    check_shared(person, Share.Scope.READINGS)
    query = read_arguments(arguments, person.zone, context.now)
    meant = resolve(query.indicators, person.records) if query.indicators else {}
    events = events_named(query.around, person.clinical, query.today)
    page = _page(_present(person, query, meant), person, query, [e for several in events.values() for e in several])
    answers = [OPERATIONS[query.operation](asked) for asked in page.shown]
    data = _told(query, member, answers, meant, page)
    data |= {"around_not_found": [text for text, found in events.items() if not found]} if query.around else {}
    if query.operation == "out_of_range":
        data |= _out_of_range_over_all(person, query, meant, page)
    used = _records_used(person, query, answers, page)
    return ToolResult(data, used, empty=not any(answer.result["count"] for answer in answers))


def _present(person: Person, query: Query, meant: dict[str, list[Series]]) -> list[Series]:
    """The series to show, in the order they were asked for, each once; all there are when none was named."""
    inside = within(person.records, query.period)
    if not meant:
        return _every_series(inside, query)
    asked = list({series.key: series for several in meant.values() for series in several}.values())
    if query.operation == "overview":
        counted = {series.key: series for series in series_in(_of_any(inside, asked))}
        return [counted[series.key] for series in asked if series.key in counted]
    if query.operation in OWN_PERIODS:
        return asked
    return [series for series in asked if inside.filter(series.condition).exists()]


def _every_series(inside: HealthRecordQuerySet, query: Query) -> list[Series]:
    if query.operation != "out_of_range":
        return series_in(inside)
    outside = series_in(inside.filter(abnormal__in=("low", "high")))
    return sorted(outside, key=lambda series: -series.count)


def _of_any(records: HealthRecordQuerySet, series: Sequence[Series]) -> HealthRecordQuerySet:
    condition = Q(pk__in=[])
    for one in series:
        condition |= one.condition
    return records.filter(condition)


def _page(present: Sequence[Series], person: Person, query: Query, events: Sequence[Event]) -> Page:
    """With readings ``offset`` counts readings, not indicators."""
    first = 0 if query.operation in ("readings", "out_of_range", "correlate") else query.offset
    end = first + PAGE[query.operation]
    shown = present[first:end]
    query = _bounded(query, len(shown))
    events = events[: max(MAX_COMPARED_AROUND // max(len(shown), 1), 1)]
    asked = [_asked(series, person, query, events) for series in shown]
    if query.operation == "correlate":
        others = [_asked(series, person, query, events) for series in present[1:]]
        return Page([replace(one, others=others) for one in asked], None)
    if query.on_days_when:
        deciding = _deciding(query, person)
        asked = [replace(one, deciding=deciding) for one in asked]
    return Page(asked, end if len(present) > end else None)


def _bounded(query: Query, indicators: int) -> Query:
    """With a page that keeps all indicators' readings together within ``MAX_READINGS``."""
    if query.operation not in DEFAULT_LIMIT:
        return query
    return replace(query, limit=min(query.page, MAX_READINGS // max(indicators, 1)))


def _asked(
    series: Series, person: Person, query: Query, events: Sequence[Event], limits: Limits | None = None
) -> Asked:
    series = with_written_unit(series, person.records)
    scale = _scale(series, query.unit)
    everything = Readings(series, person.records.filter(series.condition))
    return Asked(
        series=series,
        query=query,
        scale=scale,
        limits=_canonical(query.limits if limits is None else limits, scale),
        all=everything,
        inside=in_period(everything, query.period),
        events=events,
    )


def _deciding(query: Query, person: Person) -> Asked:
    when = query.on_days_when
    assert when is not None  # noqa: S101 - only called with one
    found = resolve([when.indicator], person.records)[when.indicator]
    if len(found) != 1:
        problem = "names several indicators; name one of them" if found else "is not found"
        raise TryDifferently(f"`on_days_when`.`indicator` {problem}.")
    return _asked(found[0], person, replace(query, unit=when.unit), (), when.limits)


def _scale(series: Series, unit: str | None) -> Scale:
    """The unit asked for, or else the one the readings are written in."""
    if unit is None:
        return scale_for(series.analyte, series.unit, series.written_unit) or Scale(series.unit)
    ucum = ucum_unit(unit)
    if not series.analyte:
        if series.unit in (ucum, plain(unit)):
            return Scale(series.unit)
        raise TryDifferently("`unit` is not the unit of these readings; leave it out.")
    scale = scale_for(series.analyte, series.unit, ucum) if ucum else None
    if scale is None:
        raise TryDifferently(f"`unit` does not fit {series.title}; leave it out, or use {series.unit}.")
    return scale


def _canonical(limits: Limits, scale: Scale) -> Limits:
    given = {name: getattr(limits, name) for name in ("above", "at_least", "below", "at_most")}
    return Limits(**{name: None if limit is None else scale.canonical(limit) for name, limit in given.items()})


def _told(
    query: Query, member: str | None, answers: Sequence[Answered], meant: dict[str, list[Series]], page: Page
) -> dict[str, Any]:
    shown = {asked.series.key for asked in page.shown}
    shown |= {other.series.key for asked in page.shown for other in asked.others}
    more = any(answer.more for answer in answers)
    left_out = page.next_series is not None
    return {
        "operation": query.operation,
        "member": member,
        "start": query.period.start.text if query.period.start else None,
        "end": query.period.end.text if query.period.end else None,
        "results": [answer.result for answer in answers],
        "not_found": [name for name, series in meant.items() if not series],
        "no_data_in_range": [
            name
            for name, series in meant.items()
            if series and not left_out and not any(s.key in shown for s in series)
        ],
        "truncated": more or left_out,
        "next_offset": _next_offset(query, more, page),
    }


def _next_offset(query: Query, more: bool, page: Page) -> int | None:
    if query.operation not in ("readings", "out_of_range"):
        return page.next_series
    return query.offset + _bounded(query, len(page.shown)).page if more else None


def _out_of_range_over_all(person: Person, query: Query, meant: dict[str, list[Series]], page: Page) -> dict[str, Any]:
    inside = within(person.records, query.period).filter(abnormal__gt="")
    checked = _of_any(inside, [asked.series for asked in page.shown]) if meant else inside
    totals = checked.aggregate(checked=Count("*"), out_of_range=counted(Q(abnormal__in=("low", "high"))))
    return totals | out_of_range_days(checked, query.periods)


def _records_used(person: Person, query: Query, answers: Sequence[Answered], page: Page) -> tuple[RecordsUsed, ...]:
    """The readings an answer shows, or for figures all that went into them, of these the newest thousand by id."""
    if query.operation in ("latest", "readings", "nearest"):
        readings = [reading for answer in answers for reading in answer.readings]
        expiries = [reading.expires_at for reading in readings if reading.expires_at]
        shown = list(dict.fromkeys(reading.public_id for reading in readings))
        return person.used(len(shown), shown, min(expiries, default=None))
    used = person.records.none()
    for records in (records for answer in answers for records in answer.used):
        used = used | records
    first_expiry = used.filter(expires_at__isnull=False).aggregate(first=Min("expires_at"))["first"]
    facts = list(dict.fromkeys(event.id for asked in page.shown for event in asked.events if event.id))
    newest = used.order_by(*NEWEST_FIRST).values_list("public_id", flat=True)[: MAX_RECORD_IDS - len(facts)]
    return person.used(sum(answer.count for answer in answers) + len(facts), [*facts, *newest], first_expiry)


QUERY_HEALTH_DATA = ToolSpec(
    name=NAME,
    description=DESCRIPTION,
    parameters=PARAMETERS,
    run=run,
    evidence="health_records",
)
