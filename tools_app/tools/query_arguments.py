"""The arguments of ``query_health_data`` as one value. Their shape is checked against query_schema.py before."""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from tools_app.contract import Arguments, TryDifferently
from tools_app.records.selectors import Period
from tools_app.records.statistics import GroupBy
from tools_app.records.times import Moment, is_before, read_moment

DEFAULT_LIMIT = {"latest": 1, "readings": 20}


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments, read. ``above`` and ``below`` are in ``unit``, or in each indicator's own when that is null."""

    indicators: Sequence[str]
    operation: str
    period: Period
    group_by: GroupBy | None
    above: float | None
    below: float | None
    unit: str | None
    limit: int
    offset: int


def read_arguments(arguments: Arguments, zone: ZoneInfo) -> Query:
    """The arguments; times without an offset are in ``zone``. Raises TryDifferently for what does not go together."""
    operation = arguments.get("operation", "latest")
    query = Query(
        indicators=list(dict.fromkeys(arguments.get("indicators", []))),
        operation=operation,
        period=_period(arguments, zone),
        group_by=arguments.get("group_by"),
        above=arguments.get("above"),
        below=arguments.get("below"),
        unit=arguments.get("unit"),
        limit=int(arguments.get("limit", DEFAULT_LIMIT.get(operation, 0))),
        offset=int(arguments.get("offset", 0)),
    )
    if query.group_by and operation != "aggregate":
        raise TryDifferently("`group_by` goes with the operation aggregate.")
    if not query.indicators and (query.above is not None or query.below is not None):
        raise TryDifferently("`above` and `below` need `indicators`.")
    return query


def _period(arguments: Arguments, zone: ZoneInfo) -> Period:
    start, end = _moment(arguments, "start", zone), _moment(arguments, "end", zone)
    if start and end and is_before(end, start):
        raise TryDifferently("`end` lies before `start`.")
    return Period(start, end)


def _moment(arguments: Arguments, name: str, zone: ZoneInfo) -> Moment | None:
    text = arguments.get(name)
    if text is None:
        return None
    try:
        return read_moment(text, zone)
    except ValueError as error:
        raise TryDifferently(f"`{name}` {error}.") from None
