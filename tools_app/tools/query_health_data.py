"""The tool ``query_health_data``: readings, aggregates and trends over one person's records.

Its description for the model is in query_schema.py, the reading of its arguments in query_arguments.py; the figures
come from records/statistics.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db.models import Count, Min, Q

from tools_app.contract import Arguments, RecordsUsed, ToolContext, ToolResult, ToolSpec, TryDifferently
from tools_app.records.models import NEWEST_FIRST, HealthRecord, HealthRecordQuerySet, Share
from tools_app.records.names import plain
from tools_app.records.resolution import resolve
from tools_app.records.selectors import Period, within
from tools_app.records.statistics import Series, by_period, points, series_in, summarise, trend
from tools_app.standardization import to_canonical, ucum_unit
from tools_app.tools.family import Person, check_shared, readable_person
from tools_app.tools.query_arguments import DEFAULT_LIMIT, Query, read_arguments
from tools_app.tools.query_schema import DESCRIPTION, MAX_GROUPS, PARAMETERS
from tools_app.tools.rendering import bound, landmark, number, period, reading

NAME = "query_health_data"
MAX_RECORD_IDS = 1000
MAX_READINGS = 400
# How many indicators one answer holds, by operation: the more is told of each, the fewer.
PAGE = {"overview": 100, "latest": 50, "readings": 10, "aggregate": 10, "trend": 10}


@dataclass(frozen=True, slots=True)
class Answered:
    """One indicator's part of the result, with the readings it shows one by one; ``more``: it left some out."""

    result: dict[str, Any]
    readings: Sequence[HealthRecord] = ()
    more: bool = False


def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    """Answers from the records the context may read. Raises TryDifferently or NotPermitted."""
    member = arguments.get("member")
    person = readable_person(context, member, NAME)
    check_shared(person, Share.Scope.READINGS)
    query = read_arguments(arguments, person.zone)
    meant = resolve(query.indicators, person.records) if query.indicators else {}
    in_period = within(person.records, query.period)
    present = {series.key: series for series in _present(in_period, query, meant)}
    shown, next_series = _page(_in_order(meant, present), query)
    query = _bounded(query, len(shown))
    answers = [_OPERATIONS[query.operation](series, in_period.filter(series.condition), query) for series in shown]
    data = {
        "operation": query.operation,
        "member": member,
        "start": query.period.start.text if query.period.start else None,
        "end": query.period.end.text if query.period.end else None,
        "results": [answer.result for answer in answers],
        "not_found": [name for name, series in meant.items() if not series],
        "no_data_in_range": [n for n, series in meant.items() if series and not any(s.key in present for s in series)],
    }
    more = any(answer.more for answer in answers)
    data |= {"truncated": more or next_series is not None, "next_offset": _next_offset(query, more, next_series)}
    used = _records_used(person, query, answers, in_period, shown)
    return ToolResult(data, used, empty=not any(answer.result["count"] for answer in answers))


def _present(in_period: HealthRecordQuerySet, query: Query, meant: dict[str, list[Series]]) -> list[Series]:
    """The series there are in the period, of those that were asked for; of all when none was named."""
    if not meant:
        return series_in(in_period)
    asked = [one for several in meant.values() for one in several]
    return asked if query.period == Period() else series_in(_of_any(in_period, asked))


def _of_any(records: HealthRecordQuerySet, series: Sequence[Series]) -> HealthRecordQuerySet:
    condition = Q(pk__in=[])
    for one in series:
        condition |= one.condition
    return records.filter(condition)


def _in_order(meant: dict[str, list[Series]], present: dict[tuple[str, str, str], Series]) -> list[Series]:
    """What is there, in the order it was asked for, each once."""
    if not meant:
        return list(present.values())
    keys = dict.fromkeys(series.key for several in meant.values() for series in several)
    return [present[key] for key in keys if key in present]


def _page(series: list[Series], query: Query) -> tuple[list[Series], int | None]:
    """The indicators this answer holds and where the next ones begin. With readings ``offset`` counts readings."""
    first = 0 if query.operation == "readings" else query.offset
    end = first + PAGE[query.operation]
    return series[first:end], end if len(series) > end else None


def _bounded(query: Query, indicators: int) -> Query:
    """With a limit that keeps all indicators' readings together within ``MAX_READINGS``."""
    return replace(query, limit=min(query.limit, MAX_READINGS // max(indicators, 1)))


def _next_offset(query: Query, more: bool, next_series: int | None) -> int | None:
    if query.operation != "readings":
        return next_series
    return query.offset + query.limit if more else None


def _records_used(
    person: Person,
    query: Query,
    answers: Sequence[Answered],
    in_period: HealthRecordQuerySet,
    shown: Sequence[Series],
) -> tuple[RecordsUsed, ...]:
    """The readings an answer shows, or for figures all that went into them, of these the newest thousand by id."""
    if query.operation in DEFAULT_LIMIT:
        readings = [reading for answer in answers for reading in answer.readings]
        expiries = [reading.expires_at for reading in readings if reading.expires_at]
        return person.used(len(readings), [reading.public_id for reading in readings], min(expiries, default=None))
    used = _of_any(in_period, shown)
    ids = list(used.order_by(*NEWEST_FIRST).values_list("public_id", flat=True)[:MAX_RECORD_IDS])
    first_expiry = used.filter(expires_at__isnull=False).aggregate(first=Min("expires_at"))["first"]
    return person.used(sum(series.count for series in shown), ids, first_expiry)


def _heading(series: Series, count: int) -> dict[str, Any]:
    return {
        "indicator": series.title,
        "loinc_code": series.code or None,
        "unit": series.unit or None,
        "count": count,
    }


def _overview(series: Series, records: HealthRecordQuerySet, query: Query) -> Answered:
    days = {"first_date": series.first.isoformat(), "last_date": series.last.isoformat()}
    return Answered(_heading(series, series.count) | days)


def _readings(series: Series, records: HealthRecordQuerySet, query: Query) -> Answered:
    above, below = _above(series, query), _below(series, query)
    filtered = records.filter(above, below)
    count = filtered.count() if above or below else series.count
    first = query.offset if query.operation == "readings" else 0
    rows = list(filtered.order_by(*NEWEST_FIRST)[first : first + query.limit])
    result = _heading(series, count) | {"readings": [reading(row) for row in rows]}
    more = query.operation == "readings" and count > first + len(rows)
    return Answered(result, rows, more)


def _aggregate(series: Series, records: HealthRecordQuerySet, query: Query) -> Answered:
    result = _figures(series, records, query)
    if query.group_by is None:
        return Answered(result)
    groups, more = by_period(records, query.group_by, MAX_GROUPS)
    result["groups"] = [_group(group, query.group_by) for group in groups]
    return Answered(result, more=more)


def _group(group: dict[str, Any], group_by: str) -> dict[str, Any]:
    figures = {name: number(group[name]) for name in ("average", "minimum", "maximum", "sum")}
    return {"period": period(group["period"], group_by), "count": group["count"]} | figures


def _figures(series: Series, records: HealthRecordQuerySet, query: Query) -> dict[str, Any]:
    summary = summarise(records)
    result = _heading(series, summary.count) | {
        "average": number(summary.average),
        "minimum": landmark(summary.minimum),
        "maximum": landmark(summary.maximum),
        "sum": number(summary.total),
        "first": landmark(summary.first),
        "last": landmark(summary.last),
        "excluded": summary.excluded,
        "maybe_lower": bound(summary.lower_bound),
        "maybe_higher": bound(summary.upper_bound),
    }
    sides = {"above": _above(series, query), "below": _below(series, query)}
    asked = {name: Count("id", filter=side) for name, side in sides.items() if side}
    return result | (records.aggregate(**asked) if asked else {})


def _trend(series: Series, records: HealthRecordQuerySet, query: Query) -> Answered:
    result = _figures(series, records, query)
    found = trend(records)
    line, bucket = points(records)
    change = _change(result["first"], result["last"])
    result["trend"] = {
        "direction": found.direction,
        "slope_per_day": number(found.slope),
        **change,
        "recent_average": number(found.recent_average),
        "previous_average": number(found.previous_average),
    }
    result["points"] = [{"date": day.isoformat(), "value": number(value)} for day, value in line]
    result["bucket"] = bucket
    return Answered(result)


def _change(first: dict[str, Any] | None, last: dict[str, Any] | None) -> dict[str, Any]:
    if first is None or last is None:
        return {"change": None, "change_percent": None}
    change = last["value"] - first["value"]
    percent = 100 * change / abs(first["value"]) if first["value"] else None
    return {"change": number(change), "change_percent": number(percent)}


def _above(series: Series, query: Query) -> Q:
    """Certainly above: a bound counts when all that it allows lies above."""
    if query.above is None:
        return Q()
    limit = _in_series_unit(query.above, query.unit, series)
    more = Q(comparator__in=["", ">="], canonical_number__gt=limit)
    return more | Q(comparator=">", canonical_number__gte=limit)


def _below(series: Series, query: Query) -> Q:
    """Certainly below, likewise."""
    if query.below is None:
        return Q()
    limit = _in_series_unit(query.below, query.unit, series)
    less = Q(comparator__in=["", "<="], canonical_number__lt=limit)
    return less | Q(comparator="<", canonical_number__lte=limit)


def _in_series_unit(limit: float, unit: str | None, series: Series) -> float:
    if unit is None:
        return float(limit)
    ucum = ucum_unit(unit)
    if not series.analyte:
        if series.unit in (ucum, plain(unit)):
            return float(limit)
        raise TryDifferently("`unit` is not the unit of these readings; leave it out.")
    converted = to_canonical(Decimal(str(limit)), ucum, series.analyte) if ucum else None
    if converted is None:
        raise TryDifferently(f"`unit` does not fit {series.title}; leave it out, or use {series.unit}.")
    return float(converted)


_OPERATIONS: dict[str, Callable[[Series, HealthRecordQuerySet, Query], Answered]] = {
    "overview": _overview,
    "latest": _readings,
    "readings": _readings,
    "aggregate": _aggregate,
    "trend": _trend,
}

QUERY_HEALTH_DATA = ToolSpec(
    name=NAME,
    description=DESCRIPTION,
    parameters=PARAMETERS,
    run=run,
    evidence="health_records",
)
