"""Figures over records: counts, aggregates, periods, trends. The database computes; only rows to show are loaded."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Literal

from django.db import models
from django.db.models import Avg, Count, F, FloatField, Max, Min, Q, Sum, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, TruncMonth, TruncWeek, TruncYear

from tools_app.records.models import NEWEST_FIRST, OLDEST_FIRST, HealthRecord, HealthRecordQuerySet
from tools_app.standardization import concepts, find_concept

MAX_POINTS = 60
LEAST_FOR_TREND = 3
# A difference this many standard errors wide happens by chance about once in twenty times.
STANDARD_ERRORS = 2.0
# Below one percent of the earlier level a change is of no consequence, however sure.
LEAST_CHANGE = 0.01

GroupBy = Literal["day", "week", "month", "year"]
Direction = Literal["rising", "falling", "stable", "not enough data"]
_PERIODS: dict[str, Any] = {
    "day": F("local_date"),
    "week": TruncWeek("local_date"),
    "month": TruncMonth("local_date"),
    "year": TruncYear("local_date"),
}
# The longest time, in days, whose days, weeks or months are at most MAX_POINTS wherever it begins.
_BUCKETS: dict[GroupBy, int] = {"day": MAX_POINTS, "week": 7 * (MAX_POINTS - 1), "month": 28 * (MAX_POINTS - 1)}
_LAST_BUCKET: GroupBy = "year"


@dataclass(frozen=True, slots=True)
class Series:
    """Readings of one person that may be compared: of one analyte, or of one written name and unit without one."""

    analyte: str
    name: str
    unit: str
    title: str
    code: str
    count: int
    first: date
    last: date

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from the other series of the same person."""
        return (self.analyte, "", "") if self.analyte else ("", self.name, self.unit)

    @property
    def condition(self) -> Q:
        """True of the records that belong to it."""
        if self.analyte:
            return Q(analyte=self.analyte)
        return Q(analyte="", name=self.name, canonical_unit=self.unit)


def series_in(records: HealthRecordQuerySet) -> list[Series]:
    """The series that occur, by title, with how many readings each has and from when to when. Two queries."""
    found = [*_coded(records.filter(analyte__gt="")), *_uncoded(records.filter(analyte=""))]
    return sorted(found, key=lambda series: (series.title.casefold(), series.unit))


def _coded(records: HealthRecordQuerySet) -> Iterator[Series]:
    rows = _with_extent(records, "analyte").annotate(numbers=Count("canonical_number"))
    for row in map(dict[str, Any], rows):
        title, unit, code = _described(row["analyte"], measured=bool(row.pop("numbers")))
        yield Series(name="", unit=unit, title=title, code=code, **row)


def _uncoded(records: HealthRecordQuerySet) -> Iterator[Series]:
    rows = _with_extent(records, "name", "canonical_unit").annotate(title=Max("indicator"))
    for row in map(dict[str, Any], rows):
        yield Series(analyte="", unit=row.pop("canonical_unit"), code="", **row)


def _with_extent(records: HealthRecordQuerySet, *by: str) -> models.QuerySet[HealthRecord, Any]:
    extent = {"count": Count("id"), "first": Min("local_date"), "last": Max("local_date")}
    rows: models.QuerySet[HealthRecord, Any] = records.order_by().values(*by).annotate(**extent)
    return rows


@cache
def _described(analyte: str, *, measured: bool) -> tuple[str, str, str]:
    """Name, unit and code of an analyte as results give them: of its numbers, or else of its results in words."""
    concept = next((concept for concept in concepts() if concept.analyte == analyte), None)
    if concept is None:
        return analyte, "", ""
    unit = concept.unit if measured else ""
    coded = find_concept(concept.name, unit or None)
    return concept.name, unit, coded.code if coded and coded.analyte == analyte else ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Aggregates of one series. ``excluded`` readings, without a number or with a bound only, enter ``count`` alone.

    ``lower_bound`` and ``upper_bound`` are the excluded readings that may well lie beyond ``minimum`` and ``maximum``.
    """

    count: int
    excluded: int
    average: float | None
    total: float | None
    minimum: HealthRecord | None
    maximum: HealthRecord | None
    first: HealthRecord | None
    last: HealthRecord | None
    lower_bound: HealthRecord | None
    upper_bound: HealthRecord | None


def summarise(records: HealthRecordQuerySet) -> Summary:
    """The aggregates. Of equal extremes the newest is named. Six queries, ten with excluded readings."""
    comparable = records.comparable()
    figures = comparable.aggregate(n=Count("id"), average=Avg("canonical_number"), total=Sum("canonical_number"))
    count = records.count()
    excluded = count - figures["n"]
    minimum = comparable.order_by("canonical_number", *NEWEST_FIRST).first()
    maximum = comparable.order_by("-canonical_number", *NEWEST_FIRST).first()
    return Summary(
        count=count,
        excluded=excluded,
        average=figures["average"],
        total=figures["total"],
        minimum=minimum,
        maximum=maximum,
        first=comparable.order_by(*OLDEST_FIRST).first(),
        last=comparable.order_by(*NEWEST_FIRST).first(),
        lower_bound=_below(records, minimum) if excluded else None,
        upper_bound=_above(records, maximum) if excluded else None,
    )


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


def by_period(records: HealthRecordQuerySet, group_by: GroupBy, most: int) -> tuple[list[dict[str, Any]], bool]:
    """Aggregates of comparable readings by calendar period, oldest first, and whether there are more than ``most``.

    Each is ``{"period": first day, "count", "average", "minimum", "maximum", "sum"}``; weeks begin on Monday.
    """
    rows = list(
        records.comparable()
        .order_by()
        .annotate(period=_PERIODS[group_by])
        .values("period")
        .annotate(
            count=Count("id"),
            average=Avg("canonical_number"),
            minimum=Min("canonical_number"),
            maximum=Max("canonical_number"),
            sum=Sum("canonical_number"),
        )
        .order_by("-period")[: most + 1]
    )
    return [dict(row) for row in rows[:most][::-1]], len(rows) > most


def points(records: HealthRecordQuerySet) -> tuple[list[tuple[date, float]], GroupBy | None]:
    """A line to draw, oldest first: the readings themselves while they are few, else averages by the period named."""
    single = records.comparable().order_by(*OLDEST_FIRST).values_list("local_date", "canonical_number")
    line = [(day, value) for day, value in single[: MAX_POINTS + 1] if value is not None]
    if len(line) <= MAX_POINTS:
        return line, None
    first, last = single.first(), single.last()
    days = (last[0] - first[0]).days if first and last else 0
    bucket = next((bucket for bucket, most in _BUCKETS.items() if days < most), _LAST_BUCKET)
    rows, _ = by_period(records, bucket, MAX_POINTS)
    return [(row["period"], row["average"]) for row in rows], bucket


@dataclass(frozen=True, slots=True)
class Trend:
    """Where a series is going; see ``trend`` for the rule. ``slope`` is in units a day."""

    direction: Direction
    slope: float | None = None
    recent_average: float | None = None
    previous_average: float | None = None


NOT_ENOUGH = Trend("not enough data")


def trend(records: HealthRecordQuerySet) -> Trend:
    """The direction of the comparable readings.

    The newest third of the readings (whole days, at least one) is held against those before. It is ``rising`` or
    ``falling`` when the averages differ by more than two standard errors of their difference, with the scatter taken
    around the least-squares line, and by more than one percent of the earlier average. Otherwise it is ``stable``.
    Fewer than three readings, or all on one day, are not enough. Four queries.
    """
    comparable = records.comparable()
    sums = _sums(comparable)
    if sums is None or sums.n < LEAST_FOR_TREND or sums.spread == 0:
        return NOT_ENOUGH
    cut = _first_recent_day(comparable, sums)
    recent, previous = Q(day__gte=cut), Q(day__lt=cut)
    halves = comparable.aggregate(
        recent=Avg("canonical_number", filter=recent),
        previous=Avg("canonical_number", filter=previous),
        n_recent=Count("id", filter=recent),
        n_previous=Count("id", filter=previous),
    )
    error = sums.scatter * math.sqrt(1 / halves["n_recent"] + 1 / halves["n_previous"])
    noise = max(STANDARD_ERRORS * error, LEAST_CHANGE * abs(halves["previous"]))
    direction = _direction(halves["recent"] - halves["previous"], noise)
    return Trend(direction, sums.slope, halves["recent"], halves["previous"])


def _direction(difference: float, noise: float) -> Direction:
    if abs(difference) <= noise:
        return "stable"
    return "rising" if difference > 0 else "falling"


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums for a least-squares line, x in days: ``spread`` Σ(x−x̄)², ``joint`` Σ(x−x̄)(y−ȳ), ``variation`` Σ(y−ȳ)²."""

    n: int
    first_day: int
    spread: float
    joint: float
    variation: float

    @property
    def slope(self) -> float:
        return self.joint / self.spread

    @property
    def scatter(self) -> float:
        """The standard deviation of the readings around the line."""
        return math.sqrt(max(self.variation - self.slope * self.joint, 0.0) / max(self.n - 2, 1))


def _sums(comparable: HealthRecordQuerySet) -> _Sums | None:
    """Centred before squaring, so that large values keep their digits."""
    centre = comparable.aggregate(n=Count("id"), x=Avg("day"), y=Avg("canonical_number"), first=Min("day"))
    if not centre["n"]:
        return None
    x = Cast("day", FloatField()) - Value(float(centre["x"]), FloatField())
    y = F("canonical_number") - Value(centre["y"], FloatField())
    sums = comparable.aggregate(spread=_total(x * x), joint=_total(x * y), variation=_total(y * y))
    return _Sums(n=centre["n"], first_day=centre["first"], **sums)


def _total(product: Combinable) -> Sum:
    return Sum(product, output_field=FloatField())


def _first_recent_day(comparable: HealthRecordQuerySet, sums: _Sums) -> int:
    """The day on which the newest third begins; never the very first day, so that something comes before."""
    last_of_third = max(sums.n // 3, 1) - 1
    day = comparable.order_by("-day").values_list("day", flat=True)[last_of_third]
    return max(day, sums.first_day + 1)
