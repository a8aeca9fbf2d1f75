"""The arguments of ``query_health_data`` as one value. Their shape is checked against query_schema.py before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from tools_app.contract import Arguments, TryDifferently
from tools_app.records.limits import Limits
from tools_app.records.models import Precision
from tools_app.records.selectors import Period
from tools_app.records.statistics import GroupBy
from tools_app.records.times import Moment, is_before, read_moment
from tools_app.tools.query_times import HOW_TO_WRITE, Span, read_span, read_spans

DEFAULT_LIMIT = {"latest": 1, "readings": 20, "out_of_range": 20}
DEFAULT_DAYS_AROUND = 90
_LIMIT_NAMES = ("above", "at_least", "below", "at_most")
# What else than indicators, member, start, end, unit, limit and offset belongs to which operations.
_ONLY_WITH = {
    "group_by": ("aggregate", "gaps"),
    "periods": ("compare", "out_of_range"),
    "around": ("compare", "nearest"),
    "days_before": ("compare",),
    "days_after": ("compare",),
    "on_days_when": ("compare",),
    "lag_days": ("correlate", "compare"),
    "window_days": ("correlate",),
    "percentile": ("aggregate",),
    "order": ("readings",),
}
_NEEDS_INDICATORS = ("nearest", "compare", "correlate", "streaks", "gaps", "unusual")


@dataclass(frozen=True, slots=True)
class DaysWhen:
    """Days on which an indicator meets limits, which are in ``unit``."""

    indicator: str
    limits: Limits
    unit: str | None


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments, read. ``limits`` are in ``unit``, or in each indicator's shown one when that is null."""

    indicators: Sequence[str]
    operation: str
    period: Period
    group_by: GroupBy | None
    periods: tuple[Span, ...]
    around: tuple[str, ...]
    days_before: int
    days_after: int
    on_days_when: DaysWhen | None
    lag_days: int
    window_days: int
    limits: Limits
    unit: str | None
    percentile: float | None
    order: str
    limit: int | None
    offset: int
    today: date
    zone: ZoneInfo

    @property
    def page(self) -> int:
        """How many readings of an indicator are shown."""
        return self.limit or DEFAULT_LIMIT.get(self.operation, 0)

    @property
    def first_day(self) -> date | None:
        """The first day of the period."""
        return self.period.start.local_date if self.period.start else None

    @property
    def last_day(self) -> date | None:
        """Its last day."""
        return self.period.end.local_date if self.period.end else None


def read_arguments(arguments: Arguments, zone: ZoneInfo, now: datetime) -> Query:
    """The arguments; times without an offset are in ``zone``. Raises TryDifferently for what does not go together."""
    operation = arguments.get("operation", "latest")
    today = now.astimezone(zone).date()
    limit = arguments.get("limit")
    query = Query(
        indicators=list(dict.fromkeys(arguments.get("indicators", []))),
        operation=operation,
        period=_period(arguments, zone, today),
        group_by=arguments.get("group_by"),
        periods=read_spans(arguments.get("periods", []), today, "periods"),
        around=tuple(dict.fromkeys(arguments.get("around", []))),
        days_before=int(arguments.get("days_before", DEFAULT_DAYS_AROUND)),
        days_after=int(arguments.get("days_after", DEFAULT_DAYS_AROUND)),
        on_days_when=_days_when(arguments.get("on_days_when")),
        lag_days=int(arguments.get("lag_days", 0)),
        window_days=int(arguments.get("window_days", 1)),
        limits=_limits(arguments),
        unit=arguments.get("unit"),
        percentile=arguments.get("percentile"),
        order=arguments.get("order", "newest"),
        limit=None if limit is None else int(limit),
        offset=int(arguments.get("offset", 0)),
        today=today,
        zone=zone,
    )
    _check(query, arguments)
    return query


def _check(query: Query, arguments: Arguments) -> None:
    for name, operations in _ONLY_WITH.items():
        if name in arguments and query.operation not in operations:
            raise TryDifferently(f"`{name}` goes with the operation {' or '.join(operations)}.")
    if not query.indicators and query.limits:
        raise TryDifferently("`above`, `at_least`, `below` and `at_most` need `indicators`.")
    if not query.indicators and query.operation in _NEEDS_INDICATORS:
        raise TryDifferently(f"The operation {query.operation} needs `indicators`.")
    if query.operation == "nearest" and not query.around:
        raise TryDifferently('The operation nearest needs `around`, such as ["2025-12-24"].')
    if query.operation == "compare":
        _check_comparison(query)
    if query.operation == "correlate" and len(query.indicators) < 2:  # noqa: PLR2004 - one with another
        raise TryDifferently("The operation correlate needs two `indicators` or more: the first goes with each other.")


def _check_comparison(query: Query) -> None:
    given = [bool(query.periods), bool(query.around), query.on_days_when is not None]
    if sum(given) != 1:
        raise TryDifferently(
            'The operation compare needs one of `periods` (["2025-06", "2026-06"]), `around` (["metformin"]) and '
            '`on_days_when` ({"indicator": "sleep duration", "below": 6}).'
        )
    if len(query.periods) == 1:
        raise TryDifferently("`periods` needs two or more to compare.")


def _days_when(given: Arguments | None) -> DaysWhen | None:
    if given is None:
        return None
    limits = _limits(given)
    if not limits:
        raise TryDifferently("`on_days_when` needs one of above, at_least, below, at_most.")
    return DaysWhen(given["indicator"], limits, given.get("unit"))


def _limits(given: Arguments) -> Limits:
    return Limits(**{name: float(given[name]) for name in _LIMIT_NAMES if given.get(name) is not None})


def _period(arguments: Arguments, zone: ZoneInfo, today: date) -> Period:
    start, whole = _bound(arguments, "start", zone, today)
    end, _ = _bound(arguments, "end", zone, today)
    if start and end and is_before(end, start):
        raise TryDifferently("`end` lies before `start`.")
    # "last month" as the start alone means all of it.
    return Period(start, end or whole)


def _bound(arguments: Arguments, name: str, zone: ZoneInfo, today: date) -> tuple[Moment | None, Moment | None]:
    """The moment, and, for the start of a phrase that means a whole time, that time's end."""
    text = arguments.get(name)
    if text is None:
        return None, None
    try:
        span = _instant(text, zone) or read_span(text, today)
    except ValueError as error:
        raise TryDifferently(f"`{name}` {error}.") from None
    if isinstance(span, Moment):
        return span, None
    first, last = (read_moment(day.isoformat(), zone) for day in (span.first, span.last))
    return (first, last if span.whole else None) if name == "start" else (last, None)


def _instant(text: str, zone: ZoneInfo) -> Moment | None:
    """A date-time; ``None`` for what is none."""
    if ":" not in text:
        return None
    try:
        moment = read_moment(text, zone)
    except ValueError as error:
        raise ValueError(str(error) if "years" in str(error) else HOW_TO_WRITE) from None
    return moment if moment.precision == Precision.INSTANT else None
