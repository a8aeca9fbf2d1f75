"""Readings of one series that stand out: outliers, jumps, the newest against all before, the same reading twice."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Avg, Count, F, FloatField, Func, Min, Q, Sum, Value

from tools_app.records.derived import select
from tools_app.records.models import NEWEST_FIRST, OLDEST_FIRST, HealthRecord
from tools_app.records.statistics import Readings, percentiles

# The usual rule for the modified z-score: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993.
OUTLYING = 3.5
MAD_TO_DEVIATION = 1.4826


@dataclass(frozen=True, slots=True)
class Outliers:
    """Readings further from the median than 3.5 times its scaled median absolute deviation; none if that is 0."""

    median: float | None
    deviation: float | None
    count: int
    readings: Sequence[HealthRecord]


def outliers(readings: Readings, most: int) -> Outliers:
    """The outliers, oldest first; impossible numbers are among them. Four queries."""
    (median,) = percentiles(readings.numbered, [50])
    if median is None:
        return Outliers(None, None, 0, ())
    away = Func(F("canonical_number") - Value(median, FloatField()), function="ABS", output_field=FloatField())
    mad = _median_of(readings.numbered.annotate(v=away).values("v"))
    if not mad:
        return Outliers(median, mad, 0, ())
    far = readings.numbered.annotate(away=away).filter(away__gt=OUTLYING * MAD_TO_DEVIATION * mad)
    return Outliers(median, mad, far.count(), list(far.order_by(*OLDEST_FIRST)[:most]))


def _median_of(values: Any) -> float | None:
    ((median,),) = select(
        "SELECT AVG(v) FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY v) AS place, COUNT(*) OVER () AS n FROM {values} x)"
        " r WHERE 2 * place BETWEEN n AND n + 2",
        values=values,
    )
    return None if median is None else float(median)


@dataclass(frozen=True, slots=True)
class Jump:
    """A change between neighbouring readings."""

    before: HealthRecord
    after: HealthRecord

    @property
    def change(self) -> float:
        """From one to the other."""
        return (self.after.canonical_number or 0) - (self.before.canonical_number or 0)


def largest_jumps(readings: Readings) -> tuple[Jump | None, Jump | None]:
    """The largest rise and the largest fall between neighbouring readings, of equal ones the earliest."""
    steps = (
        "SELECT id, before, change, ROW_NUMBER() OVER (ORDER BY local_date, instant, id) AS place FROM (SELECT id,"
        " local_date, instant, LAG(id) OVER (ORDER BY local_date, instant, id) AS before,"
        " v - LAG(v) OVER (ORDER BY local_date, instant, id) AS change FROM {rows} r) l WHERE before IS NOT NULL"
    )
    rows = readings.numbered.annotate(v=F("canonical_number")).values("v", "id", "local_date", "instant")
    found = [
        select(
            f"SELECT before, id FROM ({steps}) s WHERE change {sign} 0 ORDER BY change {order}, place LIMIT 1",
            rows=rows,
        )
        for sign, order in ((">", "DESC"), ("<", "ASC"))
    ]
    records = HealthRecord.objects.in_bulk([key for rows in found for row in rows for key in row])
    rise, fall = (Jump(records[rows[0][0]], records[rows[0][1]]) if rows else None for rows in found)
    return rise, fall


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest reading, and the mean and standard deviation of all before it."""

    reading: HealthRecord
    count: int
    average: float | None
    deviation: float | None

    @property
    def z(self) -> float | None:
        """How many standard deviations it lies from the mean."""
        if self.average is None or not self.deviation or self.reading.canonical_number is None:
            return None
        return (self.reading.canonical_number - self.average) / self.deviation


def newest_against_before(readings: Readings) -> Newest | None:
    """``None`` without a usable reading. Three queries."""
    newest = readings.usable.order_by(*NEWEST_FIRST).first()
    if newest is None or newest.canonical_number is None:
        return None
    before = readings.usable.exclude(pk=newest.pk).order_by()
    away = F("canonical_number") - Value(newest.canonical_number, FloatField())
    row = before.aggregate(n=Count("*"), average=Avg("canonical_number"), away=_sum(away), squares=_sum(away * away))
    n = row["n"]
    spread = max(row["squares"] - row["away"] ** 2 / n, 0.0) if n > 1 else None
    return Newest(newest, n, row["average"], None if spread is None else math.sqrt(spread / (n - 1)))


def _sum(product: Any) -> Sum:
    return Sum(product, output_field=FloatField())


@dataclass(frozen=True, slots=True)
class Repeated:
    """Readings of the same time and number: the ids, and whose sources said so."""

    day: date
    value: float | None
    readings: Sequence[HealthRecord]


def repeated(readings: Readings, most: int) -> tuple[list[Repeated], int]:
    """Readings that are there more than once, oldest first, and how many times and values have them. Three queries."""
    same = readings.numbered.order_by().values("instant", "canonical_number").annotate(n=Count("*")).filter(n__gt=1)
    rows = list(same.annotate(day=Min("local_date")).order_by("instant")[:most])
    wanted = Q(pk__in=[])
    for row in rows:
        wanted |= Q(instant=row["instant"], canonical_number=row["canonical_number"])
    found = list(readings.numbered.filter(wanted).order_by(*OLDEST_FIRST)) if rows else []
    return [
        Repeated(
            row["day"],
            row["canonical_number"],
            [r for r in found if (r.instant, r.canonical_number) == (row["instant"], row["canonical_number"])],
        )
        for row in rows
    ], (same.count() if len(rows) == most else len(rows))
