"""Figures over readings of one series: counts, aggregates, calendar periods, trends. The database computes.

Only rows to show are loaded. Which series there are is in series.py; runs, gaps and slips are in runs.py and
unusual.py, two series at once in association.py.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Avg, Count, F, FloatField, IntegerField, Max, Min, Q, QuerySet, Sum, Value, Window
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, ExtractHour, RowNumber, TruncMonth, TruncQuarter, TruncYear

from tools_app.records.additive import are_several, sources_of, total_by_day, totals_by_day
from tools_app.records.derived import as_period, select
from tools_app.records.models import NEWEST_FIRST, OLDEST_FIRST, HealthRecord, HealthRecordQuerySet, Precision
from tools_app.records.series import Series

MAX_POINTS = 60
LEAST_FOR_TREND = 3
# A slope this many standard errors away from zero happens by chance about once in twenty times.
STANDARD_ERRORS = 2.0
# What is left of a constant after conversions and sums is no movement.
NO_MOVEMENT = 1e-9

GroupBy = Literal["day", "week", "month", "quarter", "year", "weekday", "weekpart", "daypart"]
Direction = Literal["rising", "falling", "stable", "not enough data"]
SATURDAY, NOON, EVENING = 6, 12, 18
# The longest time, in days, whose days, weeks or months are at most MAX_POINTS wherever it begins.
_BUCKETS: dict[GroupBy, int] = {"day": MAX_POINTS, "week": 7 * (MAX_POINTS - 1), "month": 28 * (MAX_POINTS - 1)}
_LAST_BUCKET: GroupBy = "year"


@dataclass(frozen=True, slots=True)
class Readings:
    """Records of one series: all of them, and the ones that may enter a figure."""

    series: Series
    records: HealthRecordQuerySet

    @property
    def usable(self) -> HealthRecordQuerySet:
        """Those that may enter a figure."""
        return self.records.filter(self.series.usable)

    @property
    def numbered(self) -> HealthRecordQuerySet:
        """The usable ones and those with an impossible number."""
        return self.records.filter(self.series.numbered)

    def where(self, *conditions: Q) -> "Readings":
        """Those of them that meet the conditions."""
        return Readings(self.series, self.records.filter(*conditions))

    def days_between(self, first: date | None, last: date | None) -> "Readings":
        """Those of the days from ``first`` to ``last``, both in; each open when ``None``."""
        bounds = {"local_date__gte": first, "local_date__lte": last}
        return self.where(Q(**{name: day for name, day in bounds.items() if day is not None}))


@dataclass(frozen=True, slots=True)
class Line:
    """A least-squares line over days. ``slope`` is in units a day, ``t`` the slope in its own standard errors."""

    slope: float
    t: float | None
    direction: Direction


@dataclass(frozen=True, slots=True)
class Summary:
    """Aggregates of one series.

    ``excluded`` readings enter ``count`` alone: those without a number that compares, with a bound only, or with a
    number that cannot be. ``without_unit`` of them have a number, but no unit that says how much it is.
    ``lower_bound`` and ``upper_bound`` are the excluded readings that may well lie beyond ``minimum`` and ``maximum``.
    ``low``, ``high`` and ``checked`` count readings below, above and held against their reference range.
    ``counted_once`` is the total in which of each day one source counts, where that is less (records/additive.py).
    """

    count: int
    excluded: int
    average: float | None
    total: float | None
    deviation: float | None
    minimum: HealthRecord | None
    maximum: HealthRecord | None
    first: HealthRecord | None
    last: HealthRecord | None
    low: int
    high: int
    checked: int
    first_expiry: datetime | None
    line: Line | None = None
    without_unit: int = 0
    counted_once: float | None = None
    lower_bound: HealthRecord | None = None
    upper_bound: HealthRecord | None = None

    @property
    def used(self) -> int:
        """How many readings are behind the figures."""
        return self.count - self.excluded


def summarise(readings: Readings, *, with_line: bool = False) -> Summary:
    """The aggregates; of equal extremes the earliest is named. Four queries, nine with excluded readings."""
    last = readings.usable.order_by(*NEWEST_FIRST).first()
    centre = last if last is not None else HealthRecord(canonical_number=0.0, day=0)
    row = readings.records.order_by().aggregate(**_figures(readings.series, centre, with_line=with_line))
    excluded = row["count"] - row["used"]
    extremes = _earliest_with(readings, {row["least"], row["most"]})
    minimum, maximum = extremes.get(row["least"]), extremes.get(row["most"])
    return Summary(
        count=row["count"],
        excluded=excluded,
        average=row["average"],
        total=row["total"],
        deviation=_deviation(row["used"], row["shifted"], row["squares"]),
        minimum=minimum,
        maximum=maximum,
        first=readings.usable.order_by(*OLDEST_FIRST).first() if last else None,
        last=last,
        low=row["low"],
        high=row["high"],
        checked=row["checked"],
        first_expiry=row["first_expiry"],
        line=_line(row) if with_line else None,
        counted_once=_counted_once(readings, row),
        without_unit=_without_unit(readings.records) if excluded else 0,
        lower_bound=_below(readings.records, minimum) if excluded else None,
        upper_bound=_above(readings.records, maximum) if excluded else None,
    )


def _counted_once(readings: Readings, row: Mapping[str, Any]) -> float | None:
    total = total_by_day(readings.usable) if are_several(row) else None
    return total if total is not None and total < row["total"] else None


def _figures(series: Series, centre: HealthRecord, *, with_line: bool) -> dict[str, Any]:
    """One pass over the readings. Numbers and days are taken from a reading's, so that large values keep digits."""
    used = series.usable
    number = F("canonical_number")
    y = number - Value(float(centre.canonical_number or 0), FloatField())
    x = Cast(F("day") - Value(centre.day), FloatField())
    figures: dict[str, Any] = {
        "count": Count("*"),
        "used": counted(used),
        "average": Avg(number, filter=used),
        "total": Sum(number, filter=used),
        "least": Min(number, filter=used),
        "most": Max(number, filter=used),
        "shifted": _sum(y, used),
        "squares": _sum(y * y, used),
        "low": counted(Q(abnormal="low")),
        "high": counted(Q(abnormal="high")),
        "checked": counted(Q(abnormal__gt="")),
        "first_expiry": Min("expires_at"),
        **sources_of(series.analyte),
    }
    if with_line:
        figures |= {"days": _sum(x, used), "day_squares": _sum(x * x, used), "products": _sum(x * y, used)}
    return figures


def counted(condition: Q) -> Count:
    """How many rows meet it; no column is read, so that an index may do."""
    return Count(Value(1), filter=condition)


def _sum(product: Combinable, used: Q | None = None) -> Sum:
    return Sum(product, output_field=FloatField(), filter=used)


def _deviation(n: int, shifted: float | None, squares: float | None) -> float | None:
    """The standard deviation over n - 1; ``None`` for fewer than two."""
    if n < 2 or shifted is None or squares is None:  # noqa: PLR2004 - one reading has no spread
        return None
    return math.sqrt(max(squares - shifted * shifted / n, 0.0) / (n - 1))


def _earliest_with(readings: Readings, numbers: Set[float | None]) -> dict[float | None, HealthRecord]:
    """The earliest reading with each of the numbers. One query."""
    if None in numbers:
        return {}
    rank = Window(RowNumber(), partition_by=[F("canonical_number")], order_by=[F(name) for name in OLDEST_FIRST])
    # By key first: the numbers are in the index, the rest of a row is not.
    earliest = readings.usable.filter(canonical_number__in=numbers).annotate(rank=rank).filter(rank=1)
    return {row.canonical_number: row for row in HealthRecord.objects.filter(pk__in=earliest.values("pk"))}


def _without_unit(records: HealthRecordQuerySet) -> int:
    return records.filter(number__isnull=False, canonical_number=None, comparator="").count()


def _below(records: HealthRecordQuerySet, minimum: HealthRecord | None) -> HealthRecord | None:
    """A bound that allows less than the minimum: the least "less than", else the least "more than" under it."""
    bounds = records.filter(canonical_number__isnull=False).order_by("canonical_number", *NEWEST_FIRST)
    more = bounds.filter(comparator__startswith=">", canonical_number__lt=_number(minimum, math.inf))
    return bounds.filter(comparator__startswith="<").first() or more.first()


def _above(records: HealthRecordQuerySet, maximum: HealthRecord | None) -> HealthRecord | None:
    """A bound that allows more than the maximum, likewise."""
    bounds = records.filter(canonical_number__isnull=False).order_by("-canonical_number", *NEWEST_FIRST)
    less = bounds.filter(comparator__startswith="<", canonical_number__gt=_number(maximum, -math.inf))
    return bounds.filter(comparator__startswith=">").first() or less.first()


def _number(record: HealthRecord | None, otherwise: float) -> float:
    return otherwise if record is None or record.canonical_number is None else record.canonical_number


def percentiles(usable: HealthRecordQuerySet, wanted: Sequence[float]) -> list[float | None]:
    """The percentiles (0 to 100) of the numbers, linear between ranks. One query."""
    return percentiles_by(usable.annotate(period=Value(1)), wanted).get(1, [None] * len(wanted))


def percentiles_by(usable: QuerySet[Any, Any], wanted: Sequence[float]) -> dict[Any, list[float | None]]:
    """The same for each value of the annotation ``period``."""
    numbers = usable.annotate(v=F("canonical_number")).values("period", "v")
    parts = {f"p{i}": percent / 100 for i, percent in enumerate(wanted)}
    if connection.vendor == "postgresql":
        # An eighth of the time of numbering the readings.
        found = ", ".join(f"PERCENTILE_CONT({{{part}}}) WITHIN GROUP (ORDER BY v)" for part in parts)
        rows = select(f"SELECT period, {found} FROM {{readings}} r GROUP BY period", readings=numbers, **parts)
    else:
        rows = _percentiles_by_place(numbers, parts)
    return {as_period(row[0]): list(row[1:]) for row in rows}


def _percentiles_by_place(numbers: QuerySet[Any, Any], parts: Mapping[str, float]) -> list[tuple[Any, ...]]:
    # Of the two readings next to a rank each counts by how near it is: that is the linear interpolation.
    sums = ", ".join(
        f"SUM(CASE WHEN ABS(place - {{{part}}} * (n - 1)) < 1 THEN v * (1 - ABS(place - {{{part}}} * (n - 1))) END)"
        for part in parts
    )
    ranked = (
        "SELECT period, v, ROW_NUMBER() OVER (PARTITION BY period ORDER BY v) - 1 AS place,"
        " COUNT(*) OVER (PARTITION BY period) AS n FROM {readings} r"
    )
    return select(f"SELECT period, {sums} FROM ({ranked}) ranked GROUP BY period", readings=numbers, **parts)


@dataclass(frozen=True, slots=True)
class Days:
    """How many days have readings, and the mean and spread of their daily values, each the mean of its readings."""

    count: int
    average: float | None
    deviation: float | None


def daily(usable: HealthRecordQuerySet) -> QuerySet[Any, Any]:
    """The days that have readings: ``day`` and ``v``, the mean of its numbers."""
    days: QuerySet[Any, Any] = usable.order_by().values("day").annotate(v=Avg("canonical_number")).values("day", "v")
    return days


def over_days(usable: HealthRecordQuerySet) -> Days:
    """Figures over the daily values. One query."""
    ((count, average, spread),) = select(
        "WITH days AS (SELECT v FROM {days} d)"
        " SELECT COUNT(*), AVG(d.v), SUM((d.v - m.v) * (d.v - m.v)) FROM days d, (SELECT AVG(v) AS v FROM days) m",
        days=daily(usable),
    )
    deviation = math.sqrt(spread / (count - 1)) if count > 1 else None
    return Days(count, average, deviation)


def grouped(records: HealthRecordQuerySet, group_by: GroupBy, zone: ZoneInfo) -> QuerySet[Any, Any]:
    """The records with the annotation ``period``: the first day of a calendar period, or the number of its kind.

    Weekdays are 1 (Monday) to 7, parts of the week 0 (Monday to Friday) and 1, parts of the day 0 (before 12:00), 1
    (to 18:00) and 2; a reading without a time of day is in no part of it.
    """
    if group_by == "daypart":
        records = records.filter(precision=Precision.INSTANT)
    return records.annotate(period=_period(group_by, zone))


def _period(group_by: GroupBy, zone: ZoneInfo) -> Any:
    weekday = (F("day") + 6) % Value(7) + 1
    match group_by:
        case "day":
            return F("local_date")
        case "week":
            # The ordinal of the Monday: whole numbers group faster than dates.
            return F("day") - (F("day") + 6) % Value(7)
        case "month":
            return TruncMonth("local_date")
        case "quarter":
            return TruncQuarter("local_date")
        case "year":
            return TruncYear("local_date")
        case "weekday":
            return weekday
        case "weekpart":
            return weekday / Value(SATURDAY)
        case "daypart":
            # PostgreSQL extracts decimals, which do not divide into whole numbers.
            hour = Cast(ExtractHour("instant", tzinfo=zone), IntegerField())
            return hour / Value(NOON) + hour / Value(EVENING)


@dataclass(frozen=True, slots=True)
class Group:
    """Aggregates of one period; ``period`` is its first day, or the number of a weekday or part.

    In ``total`` of each day one source counts (records/additive.py).
    """

    period: date | int
    count: int
    average: float
    minimum: float
    maximum: float
    total: float
    deviation: float | None
    matching: int = 0
    percentile: float | None = None


def by_period(
    readings: Readings,
    group_by: GroupBy,
    most: int,
    zone: ZoneInfo,
    *,
    matching: Q | None = None,
    percentile: float | None = None,
) -> tuple[list[Group], bool]:
    """Aggregates of usable readings by period, oldest first; whether there are more than ``most``.

    ``matching`` counts readings of a kind in each, ``percentile`` is given for each, with one query more than two.
    """
    some = readings.usable.order_by(*NEWEST_FIRST).values_list("canonical_number", flat=True).first()
    shifted = F("canonical_number") - Value(float(some or 0), FloatField())
    rows = list(
        grouped(readings.usable.order_by(), group_by, zone)
        .values("period")
        .annotate(
            count=Count("*"),
            average=Avg("canonical_number"),
            minimum=Min("canonical_number"),
            maximum=Max("canonical_number"),
            total=Sum("canonical_number"),
            shifted=_sum(shifted),
            squares=_sum(shifted * shifted),
            matching=counted(Q(pk__isnull=False) if matching is None else matching),
            **sources_of(readings.series.analyte),
        )
        .order_by("-period")[: most + 1]
    )
    found = {} if percentile is None else percentiles_by(grouped(readings.usable, group_by, zone), [percentile])
    if any(map(are_several, rows)):
        once = totals_by_day(grouped(readings.usable.order_by(), group_by, zone))
        rows = [row | {"total": once.get(row["period"], row["total"])} for row in rows]
    groups = [_group(row, group_by, found) for row in rows[:most][::-1]]
    return groups, len(rows) > most


def _group(row: Mapping[str, Any], group_by: GroupBy, found: Mapping[Any, Sequence[float | None]]) -> Group:
    figures = {name: row[name] for name in ("count", "average", "minimum", "maximum", "total", "matching")}
    return Group(
        period=date.fromordinal(row["period"]) if group_by == "week" else row["period"],
        deviation=_deviation(row["count"], row["shifted"], row["squares"]),
        percentile=found.get(row["period"], (None,))[0],
        **figures,
    )


def points(readings: Readings, zone: ZoneInfo) -> tuple[list[tuple[date, float]], GroupBy | None]:
    """A line to draw, oldest first: the readings themselves while they are few, else averages by the period named."""
    single = readings.usable.order_by(*OLDEST_FIRST).values_list("local_date", "canonical_number")
    line = [(day, value) for day, value in single[: MAX_POINTS + 1] if value is not None]
    if len(line) <= MAX_POINTS:
        return line, None
    last = readings.usable.order_by(*NEWEST_FIRST).values_list("local_date", flat=True).first()
    days = (last - line[0][0]).days if last else 0
    bucket = next((bucket for bucket, most in _BUCKETS.items() if days < most), _LAST_BUCKET)
    rows = (
        grouped(readings.usable.order_by(), bucket, zone)
        .values("period")
        .annotate(average=Avg("canonical_number"))
        .order_by("-period")[:MAX_POINTS]
    )
    found = [(row["period"], row["average"]) for row in rows][::-1]
    return [(date.fromordinal(day) if bucket == "week" else day, value) for day, value in found], bucket


def _line(row: Mapping[str, Any]) -> Line | None:
    """The line from the sums of one pass; ``None`` for fewer than three readings or all on one day."""
    n = row["used"]
    if n < LEAST_FOR_TREND:
        return None
    spread = row["day_squares"] - row["days"] ** 2 / n
    if spread <= 0:
        return None
    joint = row["products"] - row["days"] * row["shifted"] / n
    variation = max(row["squares"] - row["shifted"] ** 2 / n, 0.0)
    slope = joint / spread
    residual = max(variation - slope * joint, 0.0)
    if abs(slope) * math.sqrt(spread / n) <= NO_MOVEMENT * max(abs(row["most"]), abs(row["least"])):
        return Line(0.0, 0.0, "stable")
    error = math.sqrt(residual / (n - 2) / spread)
    t = slope / error if error > NO_MOVEMENT * abs(slope) else None
    if t is not None and abs(t) <= STANDARD_ERRORS:
        return Line(slope, t, "stable")
    return Line(slope, t, "rising" if slope > 0 else "falling")


@dataclass(frozen=True, slots=True)
class Recent:
    """The average of the newest third of the readings (whole days), and of those before."""

    average: float
    previous: float


def recent(readings: Readings, summary: Summary) -> Recent | None:
    """``None`` where there are too few readings, or all are of one day. Two queries."""
    if summary.used < LEAST_FOR_TREND or summary.first is None or summary.last is None or summary.total is None:
        return None
    last_of_third = max(summary.used // 3, 1) - 1
    day = readings.usable.order_by("-local_date").values_list("day", flat=True)[last_of_third]
    cut = max(day, summary.first.day + 1)
    newest = readings.usable.filter(local_date__gte=date.fromordinal(cut)).aggregate(
        n=Count("*"), total=Sum("canonical_number")
    )
    before = summary.used - newest["n"]
    if not newest["n"] or not before:
        return None
    return Recent(newest["total"] / newest["n"], (summary.total - newest["total"]) / before)
