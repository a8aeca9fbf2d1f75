"""Dates and periods as people write them, in English and Chinese."""

from datetime import date

import pytest

from responses_app.llm.analyst.dates import find_periods, working_day_after

TODAY = date(2026, 3, 18)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("on 2026-03-05", "2026-03-05", "2026-03-05"),
        ("March 2025", "2025-03-01", "2025-03-31"),
        ("on March 5th", "2026-03-05", "2026-03-05"),
        ("5 December", "2025-12-05", "2025-12-05"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("over the last month", "2026-02-18", "2026-03-18"),
        ("past 3 months", "2025-12-18", "2026-03-18"),
        ("the last 7 days", "2026-03-12", "2026-03-18"),
        ("this year", "2026-01-01", "2026-03-18"),
        ("in 2025", "2025-01-01", "2025-12-31"),
        ("between 2025-01-01 and 2025-02-01", "2025-01-01", "2025-02-01"),
        ("from January to March 2025", "2025-01-01", "2025-03-31"),
        ("since June", "2025-06-01", None),
        ("before 2026", None, "2025-12-31"),
        ("after May 2025", "2025-06-01", None),
        ("in Q1 2025", "2025-01-01", "2025-03-31"),
        ("last Monday", "2026-03-16", "2026-03-16"),
        ("two weeks ago", "2026-03-02", "2026-03-08"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("上个月", "2026-02-01", "2026-02-28"),
        ("最近三个月", "2025-12-18", "2026-03-18"),
        ("今年", "2026-01-01", "2026-03-18"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("2026年3月", "2026-03-01", "2026-03-31"),
        ("3月5日", "2026-03-05", "2026-03-05"),
        ("去年3月5号", "2025-03-05", "2025-03-05"),
        ("2025年3月到5月", "2025-03-01", "2025-05-31"),
        ("从3月1日到15日", "2026-03-01", "2026-03-15"),
        ("自2025年以来", "2025-01-01", None),
        ("昨天", "2026-03-17", "2026-03-17"),
        ("上周", "2026-03-09", "2026-03-15"),
        ("2025年第一季度", "2025-01-01", "2025-03-31"),
        ("最近半年", "2025-09-18", "2026-03-18"),
        ("上周一共", "2026-03-09", "2026-03-15"),
        ("上周一", "2026-03-09", "2026-03-09"),
        ("the second week of January", "2026-01-08", "2026-01-14"),
        ("2025年12月最后一周", "2025-12-25", "2025-12-31"),
        ("late February", "2026-02-21", "2026-02-28"),
        ("一月中旬", "2026-01-11", "2026-01-20"),
    ],
)
def test_one_period(text: str, start: str | None, end: str | None) -> None:
    (period,) = find_periods(text, TODAY)
    assert (period.start and period.start.isoformat(), period.end and period.end.isoformat()) == (start, end)


@pytest.mark.parametrize("text", ["2026-02-30", "February 30, 2026", "2026年13月", "between May 2025 and March 2025"])
def test_what_no_calendar_has(text: str) -> None:
    assert not all(period.possible for period in find_periods(text, TODAY))


@pytest.mark.parametrize("text", ["it may be high", "最近一次", "140/90", "most steps in a day", "march on"])
def test_no_period(text: str) -> None:
    assert find_periods(text, TODAY) == []


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("next Monday", "2026-03-23"),
        ("on July 14", "2026-07-14"),
        ("on March 5", "2027-03-05"),
        ("in two weeks", "2026-04-01"),
        ("tomorrow at 9", "2026-03-19"),
        ("下周三", "2026-03-25"),
        ("两周后", "2026-04-01"),
    ],
)
def test_days_ahead(text: str, day: str) -> None:
    (period,) = find_periods(text, TODAY, ahead=True)
    assert str(period.start) == str(period.end) == day


@pytest.mark.parametrize(
    ("today", "expected"), [("2026-03-18", "2026-03-25"), ("2026-03-14", "2026-03-23"), ("2026-03-15", "2026-03-23")]
)
def test_a_follow_up_is_on_a_working_day_at_least_a_week_ahead(today: str, expected: str) -> None:
    assert working_day_after(date.fromisoformat(today), 7) == date.fromisoformat(expected)
