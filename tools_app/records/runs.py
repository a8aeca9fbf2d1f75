"""What comes in a row in one series: days or readings that meet a condition, rises and falls, days without readings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Case, F, IntegerField, Q, Value, When

from tools_app.records.derived import select
from tools_app.records.limits import Limits
from tools_app.records.models import NEWEST_FIRST, OLDEST_FIRST, HealthRecord
from tools_app.records.statistics import Readings, daily

LOOKED_BACK_ON = 1000


@dataclass(frozen=True, slots=True)
class Run:
    """``length`` days or readings in a row, from ``first`` to ``last``."""

    length: int
    first: date
    last: date


def runs_of_days(readings: Readings, limits: Limits, most: int) -> list[Run]:
    """Runs of dates in a row whose daily value meets the limits, the longest first, of equal ones the earliest."""
    test, numbers = limits.sql("v")
    rows = select(
        "SELECT COUNT(*) AS length, MIN(day) AS first FROM"
        f" (SELECT day, day - ROW_NUMBER() OVER (ORDER BY day) AS island FROM {{days}} d WHERE {test}) met"
        f" GROUP BY island ORDER BY length DESC, first LIMIT {most:d}",
        days=daily(readings.usable),
        **numbers,
    )
    return [_run(length, first) for length, first in rows]


def run_of_days_up_to(readings: Readings, limits: Limits, end: date) -> Run | None:
    """The run of dates that ends on ``end``; ``None`` when that date does not meet the limits."""
    test, numbers = limits.sql("v")
    rows = select(
        "SELECT COUNT(*), MIN(day), MAX(day) FROM"
        f" (SELECT day, day - ROW_NUMBER() OVER (ORDER BY day) AS island FROM {{days}} d WHERE {test}) met"
        " GROUP BY island HAVING MAX(day) = {end}",
        days=daily(readings.days_between(None, end).usable),
        end=end.toordinal(),
        **numbers,
    )
    return _run(rows[0][0], rows[0][1]) if rows else None


def _run(length: int, first: int) -> Run:
    return Run(length, date.fromordinal(first), date.fromordinal(first + length - 1))


@dataclass(frozen=True, slots=True)
class ReadingRun:
    """Readings in a row, whatever the time between them; ``current`` when the newest of all is among them."""

    length: int
    first: HealthRecord
    last: HealthRecord
    current: bool


def runs_of_readings(readings: Readings, met: Q, most: int) -> tuple[list[ReadingRun], ReadingRun | None]:
    """The longest runs of readings that meet a condition, of equal ones the earliest, and the one up to the newest."""
    flag = Case(When(met, then=Value(1)), default=Value(0), output_field=IntegerField())
    placed = (
        "SELECT id, meets, ROW_NUMBER() OVER (ORDER BY local_date, instant, id) AS place,"
        " ROW_NUMBER() OVER (PARTITION BY meets ORDER BY local_date, instant, id) AS place_in, COUNT(*) OVER () AS n"
        " FROM {rows} r"
    )
    islands = (
        "SELECT COUNT(*) AS length, MIN(place) AS first, MAX(place) AS last, MAX(n) AS n"
        f" FROM ({placed}) p WHERE meets = 1 GROUP BY place - place_in"
    )
    rows = select(
        f"SELECT length, first, last, n FROM ({islands}) i ORDER BY CASE WHEN last = n THEN 0 ELSE 1 END,"
        f" length DESC, first LIMIT {most + 1:d}",
        rows=readings.records.annotate(meets=flag).values("id", "local_date", "instant", "meets"),
    )
    records = _at_places(readings, [place - 1 for row in rows for place in row[1:3]])
    runs = [ReadingRun(length, records[first - 1], records[last - 1], last == n) for length, first, last, n in rows]
    current = next((run for run in runs if run.current), None)
    ordered = sorted(runs, key=lambda run: (-run.length, run.first.local_date, run.first.instant))
    return ordered[:most], current


def _at_places(readings: Readings, places: Sequence[int]) -> dict[int, HealthRecord]:
    """The readings at these places of their order, from 0. Two queries."""
    if not places:
        return {}
    rows = select(
        "SELECT place, id FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY local_date, instant, id) - 1 AS place"
        f" FROM {{rows}} r) p WHERE place IN ({', '.join(str(int(place)) for place in places)})",
        rows=readings.records.values("id", "local_date", "instant"),
    )
    records = HealthRecord.objects.in_bulk([key for _, key in rows])
    return {place: records[key] for place, key in rows}


def latest_movement(readings: Readings) -> int:
    """How many steps in one direction lead up to the newest reading: below zero for falls. Equal values end it.

    Looks at the newest thousand readings.
    """
    newest = readings.usable.annotate(v=F("canonical_number")).order_by(*NEWEST_FIRST)[:LOOKED_BACK_ON]
    rows = select(
        "SELECT direction, COUNT(*) FROM (SELECT direction, SUM(CASE WHEN direction = newest THEN 0 ELSE 1 END)"
        " OVER (ORDER BY place) AS broken FROM (SELECT place, direction,"
        " FIRST_VALUE(direction) OVER (ORDER BY place) AS newest FROM (SELECT"
        " ROW_NUMBER() OVER (ORDER BY local_date DESC, instant DESC, id DESC) AS place,"
        " CASE WHEN v > before THEN 1 WHEN v < before THEN -1 ELSE 0 END AS direction FROM (SELECT v, id, local_date,"
        " instant, LAG(v) OVER (ORDER BY local_date, instant, id) AS before FROM {rows} r) l"
        " WHERE before IS NOT NULL) s) t) u WHERE broken = 0 GROUP BY direction",
        rows=newest.values("v", "id", "local_date", "instant"),
    )
    return sum(direction * steps for direction, steps in rows)


@dataclass(frozen=True, slots=True)
class Gap:
    """Neighbouring readings with ``days`` between them: ``days - 1`` dates without any."""

    before: date
    after: date

    @property
    def days(self) -> int:
        """From one reading to the next."""
        return (self.after - self.before).days


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which dates from ``first`` to ``last`` have a reading. ``missing`` are runs of dates without, oldest first."""

    first: date
    last: date
    with_readings: int
    longest: Sequence[Gap]
    missing: Sequence[Run]
    missing_runs: int

    @property
    def without_readings(self) -> int:
        """How many dates have none."""
        return (self.last - self.first).days + 1 - self.with_readings


def coverage(readings: Readings, first: date | None, last: date | None, most: int) -> Coverage | None:
    """The dates with and without readings of a period, its own first and last reading where it is open.

    A gap that reaches over an edge of the period counts whole, from the readings outside. ``None`` without readings
    in it.
    """
    inside = readings.days_between(first, last).records
    extent = [inside.order_by(*order).values_list("local_date", flat=True).first() for order in _BOTH_ENDS]
    if extent[0] is None or extent[1] is None:
        return None
    first, last = first or extent[0], last or extent[1]
    outside = [
        readings.days_between(None, first - timedelta(days=1)).records.order_by(*NEWEST_FIRST),
        readings.days_between(last + timedelta(days=1), None).records.order_by(*OLDEST_FIRST),
    ]
    edges = [rows.values_list("local_date", flat=True).first() for rows in outside]
    gaps = _gaps(readings.days_between(edges[0] or first, edges[1] or last), most)
    with_readings = inside.order_by().values("day").distinct().count()
    missing = _missing(gaps[1], first, last, extent, edges)
    return Coverage(first, last, with_readings, gaps[0], missing[:most], max(len(missing), gaps[2]))


_BOTH_ENDS = (OLDEST_FIRST, NEWEST_FIRST)


def _gaps(readings: Readings, most: int) -> tuple[list[Gap], list[Gap], int]:
    """The longest gaps, the earliest gaps with a date between, and how many of these there are."""
    between = (
        "SELECT before, day, day - before AS days FROM"
        " (SELECT day, LAG(day) OVER (ORDER BY day) AS before FROM {days} d) l WHERE before IS NOT NULL"
    )
    days = readings.records.order_by().values("day").distinct()
    longest = select(f"{between} ORDER BY days DESC, day LIMIT {most:d}", days=days)
    earliest = select(f"SELECT * FROM ({between}) g WHERE days > 1 ORDER BY day LIMIT {most:d}", days=days)
    ((count,),) = select(f"SELECT COUNT(*) FROM ({between}) g WHERE days > 1", days=days)
    gaps = [[Gap(date.fromordinal(b), date.fromordinal(d)) for b, d, _ in rows] for rows in (longest, earliest)]
    return gaps[0], gaps[1], count


def _missing(
    gaps: Sequence[Gap], first: date, last: date, extent: Sequence[date | None], edges: Sequence[date | None]
) -> list[Run]:
    day = timedelta(days=1)
    spans = [(max(gap.before + day, first), min(gap.after - day, last)) for gap in gaps]
    if edges[0] is None and extent[0] is not None:
        spans.insert(0, (first, extent[0] - day))
    if edges[1] is None and extent[1] is not None:
        spans.append((extent[1] + day, last))
    return [Run((end - start).days + 1, start, end) for start, end in spans if end >= start]
