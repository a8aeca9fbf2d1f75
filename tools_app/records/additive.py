"""Sums of what adds up over a day, such as steps, where a watch and a phone both counted it. Not the other figures.

The sum of a day is the largest that one source tells of it: two sources count the same steps, and the one that was
there longer tells more.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import F, Max, Min, QuerySet, Value

from tools_app.records.derived import as_period, select

ADDITIVE = frozenset({
    "steps", "walking_distance", "flights_climbed", "calories_burned", "exercise_duration",
    "sleep_duration", "sleep_rem", "sleep_deep", "sleep_light",
})  # fmt: skip


def sources_of(analyte: str) -> dict[str, Any]:
    """Aggregates that tell ``are_several`` of an analyte that adds up; none for any other."""
    return {"least_source": Min("source"), "most_source": Max("source")} if analyte in ADDITIVE else {}


def are_several(row: Mapping[str, Any]) -> bool:
    """Whether what was aggregated came from more than one source."""
    return row.get("least_source") != row.get("most_source")


def total_by_day(usable: QuerySet[Any, Any]) -> float | None:
    """The sum of the days' sums, of each day from the source that tells most. One query."""
    return totals_by_day(usable.annotate(period=Value(1))).get(1)


def totals_by_day(usable: QuerySet[Any, Any]) -> dict[Any, float]:
    """The same for each value of the annotation ``period``."""
    by_source = "SELECT period, day, source, SUM(v) AS total FROM {readings} r GROUP BY period, day, source"
    by_day = f"SELECT period, day, MAX(total) AS total FROM ({by_source}) s GROUP BY period, day"
    rows: Iterable[tuple[Any, ...]] = select(
        f"SELECT period, SUM(total) FROM ({by_day}) d GROUP BY period",
        readings=usable.annotate(v=F("canonical_number")).values("period", "day", "source", "v"),
    )
    return {as_period(period): total for period, total in rows}
