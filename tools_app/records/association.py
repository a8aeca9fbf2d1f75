"""Two series of one person together: correlation with a lag, and days of one kind against the rest."""

import math
from dataclasses import dataclass

from tools_app.records.derived import Source, select
from tools_app.records.limits import Limits
from tools_app.records.statistics import STANDARD_ERRORS, Readings, daily

LEAST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r over ``pairs`` of daily values; ``None`` for fewer than ten pairs or a series that never changes.

    ``related``: r is further from zero than chance explains, by its t-value.
    """

    pairs: int
    r: float | None

    @property
    def related(self) -> bool | None:
        """Whether |r| sqrt((n - 2) / (1 - r^2)) > 2."""
        if self.r is None:
            return None
        rest = 1 - self.r * self.r
        return rest <= 0 or abs(self.r) * math.sqrt((self.pairs - 2) / rest) > STANDARD_ERRORS


def correlation(y: Readings, x: Readings, lag_days: int, window_days: int) -> Correlation:
    """Daily values of ``y`` with those of ``x`` so many days before, or the mean of them over the days up to that."""
    shifted = "SELECT day + {lag} AS day, v FROM {x} xs"
    pairs = (
        f"SELECT yd.v AS y, xd.v AS x FROM {{y}} yd JOIN ({shifted}) xd ON xd.day = yd.day"
        if window_days == 1
        else "SELECT y, x FROM (SELECT y,"
        " AVG(x) OVER (ORDER BY day RANGE BETWEEN {back} PRECEDING AND CURRENT ROW) AS x"
        f" FROM (SELECT day, v AS x, CAST(NULL AS double precision) AS y FROM ({shifted}) s"
        " UNION ALL SELECT day, CAST(NULL AS double precision), v FROM {y} ys) b) w"
        " WHERE y IS NOT NULL AND x IS NOT NULL"
    )
    sources: dict[str, Source] = {"x": daily(x.usable), "y": daily(y.usable), "lag": lag_days, "back": window_days - 1}
    ((n, of_x, of_y, of_both),) = select(
        f"WITH pairs AS ({pairs}), means AS (SELECT AVG(x) AS x, AVG(y) AS y FROM pairs)"
        " SELECT COUNT(*), SUM((p.x - m.x) * (p.x - m.x)), SUM((p.y - m.y) * (p.y - m.y)),"
        " SUM((p.x - m.x) * (p.y - m.y)) FROM pairs p, means m",
        **sources,
    )
    if n < LEAST_PAIRS or of_x <= 0 or of_y <= 0:
        return Correlation(n, None)
    return Correlation(n, max(-1.0, min(1.0, of_both / math.sqrt(of_x * of_y))))


@dataclass(frozen=True, slots=True)
class Split:
    """Daily values on days when another series meets its limits, and on its other days: how many, and their mean."""

    days_met: int
    average_met: float | None
    days_not_met: int
    average_not_met: float | None


def split_by(target: Readings, other: Readings, limits: Limits, days_later: int) -> Split:
    """The daily values of ``target``, so many days later than the days of ``other`` that decide. One query."""
    test, numbers = limits.sql("o.v")
    ((met, average_met, not_met, average_not_met),) = select(
        f"SELECT SUM(met), AVG(CASE WHEN met = 1 THEN v END), SUM(1 - met), AVG(CASE WHEN met = 0 THEN v END) FROM"
        f" (SELECT t.v, CASE WHEN {test} THEN 1 ELSE 0 END AS met FROM {{target}} t JOIN {{other}} o"
        " ON t.day = o.day + {later}) j",
        target=daily(target.usable),
        other=daily(other.usable),
        later=days_later,
        **numbers,
    )
    return Split(int(met or 0), average_met, int(not_met or 0), average_not_met)


def days_until_usual(readings: Readings, after: int, average: float, within: float, in_a_row: int) -> int | None:
    """The first day (an ordinal) after ``after`` from which ``in_a_row`` dates lie within ``within`` of ``average``."""
    rows = select(
        "SELECT MIN(day) FROM (SELECT day, LEAD(day, {ahead}) OVER (ORDER BY day) AS reached FROM {days} d"
        " WHERE day > {after} AND ABS(v - {average}) <= {within}) u WHERE reached = day + {same}",
        days=daily(readings.usable),
        after=after,
        average=average,
        within=within,
        ahead=in_a_row - 1,
        same=in_a_row - 1,
    )
    day: int | None = rows[0][0]
    return day
