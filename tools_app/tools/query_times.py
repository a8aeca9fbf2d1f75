"""Days as a model writes them: ``2026-03-01``, ``2026-03``, ``2025``, ``last month``, ``past 90 days``, intervals."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from tools_app.contract import TryDifferently
from tools_app.records.times import EARLIEST_YEAR, LATEST_YEAR

HOW_TO_WRITE = (
    "must be a date (2026-03-01), a month (2026-03), a quarter (2026-Q1), a year (2026), or relative to today: today, "
    "yesterday, 30 days ago, this month, last week, last year, last 90 days, past 12 months"
)
_MOST_BACK = 100_000
_UNITS = "day|week|month|quarter|year"
_CALENDAR = re.compile(r"(?P<year>\d{4})(?:-(?:(?P<month>\d{2})|Q(?P<quarter>[1-4])|W(?P<week>\d{2})))?", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_AGO = re.compile(rf"(?P<number>\d{{1,6}}) (?P<unit>{_UNITS})s? ago|-(?P<days>\d{{1,6}})d(?:ays?)?", re.IGNORECASE)
_LAST_SOME = re.compile(rf"(?:the )?(?:last|past) (?P<number>\d{{1,6}}) (?P<unit>{_UNITS})s?", re.IGNORECASE)
_ONE = re.compile(rf"(?P<which>this|current|last|previous) (?P<unit>{_UNITS})", re.IGNORECASE)
_PAST_ONE = re.compile(rf"(?:the )?past (?P<unit>{_UNITS})", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:/|\.\.+|\bto\b|\buntil\b|–|—)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """Days from ``first`` to ``last``, both in. ``whole``: a phrase such as "last month" that means all of it."""

    first: date
    last: date
    whole: bool = False

    @property
    def days(self) -> int:
        """How many."""
        return (self.last - self.first).days + 1


def read_span(text: str, today: date) -> Span:
    """The days that ``text`` names. Raises ``ValueError`` with words for the model that do not repeat it."""
    words = " ".join(text.split())
    ends = _BETWEEN.split(words)
    if len(ends) == 2 and all(ends):  # noqa: PLR2004 - a start and an end
        return _interval(_one(ends[0], today), _one(ends[1], today))
    return _one(words, today)


def read_spans(texts: list[str], today: date, name: str) -> tuple[Span, ...]:
    """Each of them. Raises TryDifferently naming the argument."""
    spans = []
    for index, text in enumerate(texts):
        try:
            spans.append(read_span(text, today))
        except ValueError as error:
            raise TryDifferently(f"`{name}`[{index}] {error}, or two of them with a slash between.") from None
    return tuple(spans)


def add_months(day: date, months: int) -> date:
    """The same day of another month, or its last day. Raises ``ValueError`` beyond the calendar."""
    index = day.year * 12 + day.month - 1 + months
    first = date(index // 12, index % 12 + 1, 1)
    return min(first + timedelta(days=day.day - 1), _next_month(first) - timedelta(days=1))


def _interval(start: Span, end: Span) -> Span:
    if end.last < start.first:
        raise ValueError("ends before it starts")
    return Span(start.first, end.last, whole=True)


def _one(words: str, today: date) -> Span:
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Span]], ...] = (
        (_DAY, lambda match, _: _single(date.fromisoformat(match[0]))),
        (_CALENDAR, lambda match, _: _calendar(match)),
        (_AGO, _ago),
        (_LAST_SOME, lambda match, now: _back(int(match["number"]), match["unit"], now)),
        (_ONE, _one_of),
        (_PAST_ONE, lambda match, now: _back(1, match["unit"], now)),
    )
    if words.lower() in ("today", "now", "yesterday"):
        return _single(today - timedelta(days=words.lower() == "yesterday"))
    for pattern, read in readers:
        match = pattern.fullmatch(words)
        if match:
            return _checked(lambda read=read, match=match: read(match, today))  # type: ignore[misc]
    raise ValueError(HOW_TO_WRITE)


def _checked(read: Callable[[], Span]) -> Span:
    try:
        span = read()
    except (ValueError, OverflowError):
        raise ValueError("is not a time of the calendar") from None
    if not EARLIEST_YEAR <= span.first.year <= span.last.year <= LATEST_YEAR:
        raise ValueError(f"must lie between the years {EARLIEST_YEAR} and {LATEST_YEAR}")
    return span


def _single(day: date) -> Span:
    return Span(day, day)


def _calendar(match: re.Match[str]) -> Span:
    year = int(match["year"])
    if match["week"]:
        monday = date.fromisocalendar(year, int(match["week"]), 1)
        return Span(monday, monday + timedelta(days=6))
    if match["quarter"]:
        return _months(date(year, 3 * int(match["quarter"]) - 2, 1), 3)
    return _months(date(year, int(match["month"]), 1), 1) if match["month"] else _months(date(year, 1, 1), 12)


def _months(first: date, months: int) -> Span:
    return Span(first, add_months(first, months) - timedelta(days=1))


def _next_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def _ago(match: re.Match[str], today: date) -> Span:
    if match["days"]:
        return _single(today - timedelta(days=int(match["days"])))
    return _single(_earlier(today, int(match["number"]), match["unit"]))


def _back(number: int, unit: str, today: date) -> Span:
    """The last ``number`` of them up to today: 90 days are today and the 89 before."""
    return Span(_earlier(today, number, unit) + timedelta(days=1), today)


def _earlier(today: date, number: int, unit: str) -> date:
    if number > _MOST_BACK:
        raise ValueError
    days = {"day": 1, "week": 7}.get(unit.lower())
    if days:
        return today - timedelta(days=number * days)
    return add_months(today, -number * {"month": 1, "quarter": 3, "year": 12}[unit.lower()])


def _one_of(match: re.Match[str], today: date) -> Span:
    unit, back = match["unit"].lower(), int(match["which"].lower() in ("last", "previous"))
    if unit == "day":
        return _single(today - timedelta(days=back))
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Span(monday, monday + timedelta(days=6), whole=True)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    this = date(today.year, (today.month - 1) // months * months + 1, 1)
    span = _months(add_months(this, -months * back), months)
    return Span(span.first, span.last, whole=True)
