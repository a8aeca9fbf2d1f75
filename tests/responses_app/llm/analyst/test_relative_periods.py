"""Periods told from another period of the question, in English and Chinese."""

from datetime import date

import pytest

from responses_app.llm.analyst.dates import find_periods
from responses_app.llm.analyst.relative_periods import with_relative_periods

TODAY = date(2026, 3, 18)


def periods(text: str) -> list[tuple[str | None, str | None]]:
    found = with_relative_periods(text, find_periods(text, TODAY, join=False))
    return [(p.start and p.start.isoformat(), p.end and p.end.isoformat()) for p in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in January 2026 than the month before", ("2025-12-01", "2025-12-31")),
        ("last week and the week before that", ("2026-03-02", "2026-03-08")),
        ("in 2025 versus the year before", ("2024-01-01", "2024-12-31")),
        ("on 2026-03-05 than the day before", ("2026-03-04", "2026-03-04")),
        ("the past 3 months against the three months prior", ("2025-09-18", "2025-12-17")),
        ("last month with the previous month", ("2026-01-01", "2026-01-31")),
        ("past 2 weeks with the preceding 2 weeks", ("2026-02-19", "2026-03-04")),
        ("最近三个月和之前的三个月", ("2025-09-18", "2025-12-17")),
        ("去年跟再前一年", ("2024-01-01", "2024-12-31")),
        ("最近30天和前30天", ("2026-01-18", "2026-02-16")),
        ("过去半年和此前半年", ("2025-03-18", "2025-09-17")),
        ("2026年1月跟前一个月", ("2025-12-01", "2025-12-31")),
    ],
)
def test_the_period_before_another(text: str, expected: tuple[str, str]) -> None:
    assert periods(text)[1:] == [expected]


@pytest.mark.parametrize("text", ["in the 3 months before January 2026", "2026年1月之前的三个月"])
def test_so_long_before_a_named_one_is_one_period(text: str) -> None:
    assert periods(text) == [("2025-10-01", "2025-12-31")]


def test_alone_it_is_told_from_today() -> None:
    assert periods("the previous month") == [("2026-02-01", "2026-02-28")]
    assert periods("the month before my operation") == []
