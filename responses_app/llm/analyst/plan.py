"""From an understood question to the calls of ``query_health_data`` that answer it. Runs nothing and words nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from responses_app.llm.analyst.comparison import is_usable
from responses_app.llm.analyst.conditions import Condition, Test, tests_of
from responses_app.llm.analyst.dates import Period, add_months
from responses_app.llm.analyst.indicators import Mention
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.measures import HELD_AGAINST_LIMITS, Measure
from responses_app.llm.analyst.question import Ask, Question

Arguments = dict[str, Any]
FIGURES = (Measure.AVERAGE, Measure.MINIMUM, Measure.MAXIMUM, Measure.SUM, Measure.COUNT, Measure.FIRST)
_MOST_INDICATORS = 20
_MOST_PERIODS = 6
_MOST_CALLS = 16
_LISTED = 20
_MOST_READINGS = 200
_IN_PERIOD = 10
_DIRECTIONS = {"rising", "falling", "stable"}
_MONTH_DAYS, _YEAR_DAYS = 31, 366
_MOST_MONTHS = 36


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose data: ``member`` is ``None`` for the asker, ``name`` what that person is called in the answer."""

    member: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One call with what it is for. ``period`` names the time it covers; ``limit`` what readings were filtered by.

    ``fallback``: it is told of only when the part before it found nothing.
    """

    ask: Ask
    arguments: Arguments
    subject: Subject
    period: Period | None = None
    limit: Limit | None = None
    fallback: bool = False

    @property
    def operation(self) -> str:
        """The tool's operation."""
        return str(self.arguments["operation"])


@dataclass(frozen=True, slots=True)
class TestPart:
    """One test of a condition with the call that its figure comes from."""

    test: Test
    arguments: Arguments
    subject: Subject


@dataclass(frozen=True, slots=True)
class Plan:
    """Every call that a question needs, with what each is for: one list of parts an ask, one of tests a condition.

    ``units`` are calls to make before: they tell in which unit a limit is meant.
    """

    asks: tuple[tuple[Part, ...], ...] = ()
    conditions: tuple[tuple[Condition, tuple[TestPart, ...]], ...] = ()
    units: tuple[Arguments, ...] = ()

    @property
    def calls(self) -> list[Arguments]:
        """The arguments of the calls to make, each once, in order."""
        wanted = [p.arguments for parts in self.asks for p in parts]
        wanted += [t.arguments for _, tests in self.conditions for t in tests]
        return list({key(arguments): arguments for arguments in wanted}.values())[:_MOST_CALLS]


def key(arguments: Any) -> str:
    """Arguments in a form that compares."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)


def make_plan(question: Question, subjects: Sequence[Subject], today: date) -> Plan:
    """The calls for a question about ``subjects``."""
    conditions = tuple(_resolved(question, condition) for condition in question.conditions)
    asks = tuple(_as_trend(ask, conditions) for ask in question.asks if is_clear(ask))
    return Plan(
        asks=tuple(tuple(p for s in subjects for p in _with_night_before(_parts(ask, s, today))) for ask in asks),
        conditions=tuple((c, tuple(t for s in subjects for t in _test_parts(question, c, s))) for c in conditions),
    )


def _with_night_before(parts: list[Part]) -> list[Part]:
    """Last night may not be recorded yet; then the night before is told, as such.

    No reading beyond a limit does not mean no reading.
    """
    period = parts[0].period if len(parts) == 1 else None
    if period is None or not period.night or period.start is None or parts[0].limit is not None:
        return parts
    day = period.start - timedelta(days=1)
    arguments = parts[0].arguments | {"start": day.isoformat(), "end": day.isoformat()}
    return [*parts, replace(parts[0], arguments=arguments, period=replace(period, start=day, end=day), fallback=True)]


def is_clear(ask: Ask) -> bool:
    """Whether it is said of what a figure is wanted; latest values and overviews may be of everything."""
    if ask.mentions or Measure.OVERVIEW in ask.measures:
        return True
    return bool(ask.measures) and set(ask.measures) <= _OF_ALL and ask.limit is None


_OF_ALL = {Measure.LATEST, Measure.STATUS, Measure.READINGS}


def _as_trend(ask: Ask, conditions: Sequence[Condition]) -> Ask:
    """ "Check my glucose and … if it is rising" needs one look: the trend, which ends in the latest value."""
    plain = not (ask.periods or ask.limit or ask.count or ask.group) and set(ask.measures) <= {Measure.LATEST}
    about_direction = any(
        _same_indicators(test, ask) for c in conditions for test in c.tests if test.kind in _DIRECTIONS
    )
    return replace(ask, measures=(Measure.TREND,)) if plain and ask.mentions and about_direction else ask


def _same_indicators(test: Test, ask: Ask) -> bool:
    return not test.mentions or {m.names for m in test.mentions} == {m.names for m in ask.mentions}


def _resolved(question: Question, condition: Condition) -> Condition:
    """ "If so" stands for what the rest of the question says."""
    tests: list[Test] = []
    for test in condition.tests:
        tests += _meant(question, test) if test.kind == "same" else [test]
    return replace(condition, tests=tuple(tests))


def _meant(question: Question, test: Test) -> list[Test]:
    limit = next((a.limit for a in question.asks if a.limit), None)
    if limit is not None:
        return [replace(test, kind="limit", limit=limit)]
    plain = question.text
    for condition in question.conditions:
        plain = plain.replace(condition.text, " ")
    return list(tests_of(plain, (), ())) or [replace(test, kind="unclear")]


def _test_parts(question: Question, condition: Condition, subject: Subject) -> tuple[TestPart, ...]:
    ask = next((a for a in question.asks if a.mentions), question.loose)
    parts: list[TestPart] = []
    for test in condition.tests:
        mentions = test.mentions or question.named
        period = next(iter(condition.periods or ask.periods), None)
        if not mentions or test.kind in {"unclear", "same"}:
            continue
        parts.append(
            TestPart(replace(test, mentions=mentions), _test_arguments(test, mentions, period, subject), subject)
        )
    return tuple(parts)


def _test_arguments(test: Test, mentions: Sequence[Mention], period: Period | None, subject: Subject) -> Arguments:
    if test.kind in _DIRECTIONS:
        return _arguments("trend", mentions, subject, period)
    if test.measure is not None:
        return _arguments("aggregate", mentions, subject, period)
    return _arguments("latest", mentions, subject, period if test.kind in {"absent", "present"} else None)


def newest_of(mentions: Sequence[Mention], subject: Subject) -> Arguments:
    """The call for the newest readings of some indicators."""
    return _arguments("latest", mentions, subject, None)


def _arguments(
    operation: str, mentions: Sequence[Mention], subject: Subject, period: Period | None, **more: Any
) -> Arguments:
    arguments: Arguments = {"operation": operation}
    names = list(dict.fromkeys(name for m in mentions for name in m.names))[:_MOST_INDICATORS]
    if names:
        arguments["indicators"] = names
    if subject.member is not None:
        arguments["member"] = subject.member
    if period is not None and period.start is not None:
        arguments["start"] = period.start.isoformat()
    if period is not None and period.end is not None:
        arguments["end"] = period.end.isoformat()
    return arguments | {name: value for name, value in more.items() if value is not None}


def _parts(ask: Ask, subject: Subject, today: date) -> list[Part]:
    """The calls of one ask about one person, the most particular wish first."""
    measures = set(ask.measures)
    if Measure.OVERVIEW in measures and Measure.STATUS not in measures and ask.limit is None:
        return _simple(ask, subject, "overview")
    if _is_comparison(ask):
        return _comparison(ask, subject, today)
    if ask.limit is not None:
        return _limited(ask, subject)
    if ask.with_previous and not (measures & set(FIGURES)):
        return _simple(replace(ask, count=2, periods=()), subject, "readings", limit=2)
    if ask.group is not None:
        return _simple(ask, subject, "aggregate", group_by=ask.group)
    if Measure.TREND in measures:
        return _simple(ask, subject, "trend")
    if ask.count is not None and ask.count > 1:
        return _simple(ask, subject, "readings", limit=min(ask.count, _MOST_READINGS))
    return _plain(ask, subject, measures)


def _plain(ask: Ask, subject: Subject, measures: set[Measure]) -> list[Part]:
    if measures & set(FIGURES):
        return _simple(ask, subject, "aggregate")
    if Measure.READINGS in measures and ask.mentions:
        return _simple(ask, subject, "readings", limit=_LISTED)
    if ask.periods and ask.how_much and all(m.additive for m in ask.mentions):
        return _simple(replace(ask, measures=(Measure.SUM,)), subject, "aggregate")
    until = bool(ask.periods) and ask.periods[0].start is None
    if ask.periods and not until and not measures & {Measure.LATEST, Measure.STATUS} and ask.mentions:
        return _simple(ask, subject, "readings", limit=_IN_PERIOD)
    return _simple(ask, subject, "latest")


def _simple(ask: Ask, subject: Subject, operation: str, **more: Any) -> list[Part]:
    periods: Sequence[Period | None] = ask.periods[:_MOST_PERIODS] or (None,)
    return [Part(ask, _arguments(operation, ask.mentions, subject, p, **more), subject, p) for p in periods]


def _is_comparison(ask: Ask) -> bool:
    return Measure.COMPARE in ask.measures and bool(ask.periods) and ask.limit is None


def _comparison(ask: Ask, subject: Subject, today: date) -> list[Part]:
    periods = ask.periods if len(ask.periods) > 1 else (*ask.periods, counterpart(ask.periods[0], today))
    return _simple(replace(ask, periods=periods), subject, "aggregate")


def counterpart(period: Period, today: date) -> Period:
    """What a lone period is compared with: the same length up to today, or the one before it if it lasts until now."""
    start, end = period.start or today, period.end or today
    if end >= today:
        return _before(period, start)
    if period.is_day:
        return replace(period, start=end + timedelta(days=1), end=today, text="")
    return replace(period, start=_same_kind_now(start, end, today), end=today, text="")


def _same_kind_now(start: date, end: date, today: date) -> date:
    days = (end - start).days + 1
    if days <= 7:  # noqa: PLR2004 - a week
        return today - timedelta(days=today.weekday())
    if days <= _MONTH_DAYS:
        return today.replace(day=1)
    return today.replace(month=1, day=1) if days <= _YEAR_DAYS else end + timedelta(days=1)


def _before(period: Period, start: date) -> Period:
    end = start - timedelta(days=1)
    length = ((period.end or start) - start).days + 1
    months = _whole_months(start, period.end)
    if start.day == 1 and start.month == 1:
        first = add_months(start, -12)
    elif start.day == 1:
        first = add_months(start, -1)
    elif months:
        first = add_months(start, -months)
    else:
        first = start - timedelta(days=max(length, 1))
    return replace(period, start=first, end=end, text="")


def _whole_months(start: date, end: date | None) -> int:
    """How many months a period like "the past 6 months" has; 0 when it is not made of months."""
    return next((n for n in range(1, _MOST_MONTHS + 1) if end is not None and add_months(end, -n) == start), 0)


def _limited(ask: Ask, subject: Subject) -> list[Part]:
    """Readings beyond a limit, or figures to hold against it; the latest value where no reading compares with it."""
    figures = tuple(m for m in ask.measures if m in HELD_AGAINST_LIMITS)
    if figures and ask.limit_apart:
        others = tuple(m for m in ask.measures if m not in figures)
        beyond = _limited(replace(ask, measures=others), subject)
        return [*beyond, *_simple(replace(ask, measures=figures, limit=None), subject, "aggregate")]
    if figures:
        return _simple(ask, subject, "aggregate")
    comparable = ask.limit is not None and is_usable(ask.limit, ask.mentions)
    if not comparable or not (
        ask.about_many or ask.periods or ask.when or {Measure.COUNT, Measure.READINGS} & set(ask.measures)
    ):
        return _simple(replace(ask, measures=(Measure.LATEST,)), subject, "latest")
    return [
        Part(
            half, _arguments("readings", half.mentions, subject, p, limit=_wanted(half), **given), subject, p, ask.limit
        )
        for half, given in _halves(ask)
        for p in (ask.periods[:_MOST_PERIODS] or (None,))
    ]


def _wanted(ask: Ask) -> int:
    """How many of the readings beyond a limit are to be told; the first of them is the last of a whole list."""
    if Measure.FIRST in ask.measures:
        return _MOST_READINGS
    several = ask.when or Measure.READINGS in ask.measures
    return _LISTED if several and Measure.LATEST not in ask.measures else 1


def _halves(ask: Ask) -> list[tuple[Ask, dict[str, Any]]]:
    """Blood pressure against one number means the systolic one; "140/90" is a number for each."""
    limit = ask.limit
    assert limit is not None  # noqa: S101 - only called with one
    whole = next((m for m in ask.mentions if m.is_blood_pressure), None)
    if whole is None:
        return [(ask, limit.arguments())]
    systolic, diastolic = (replace(whole, names=(name,), family=False) for name in whole.names)
    first = (replace(ask, mentions=(systolic,)), limit.arguments())
    if limit.second_above is None and limit.second_below is None:
        return [first]
    return [first, (replace(ask, mentions=(diastolic,)), limit.arguments(second=True))]
