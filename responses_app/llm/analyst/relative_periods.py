"""Reads periods that are told from another period of the question: "the month before", "the 6 months before that".

Periods that are told from the present day: dates.py.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from responses_app.llm.analyst.dates import (
    NUMBER,
    UNIT,
    ZH_NUMBER,
    ZH_UNITS,
    Period,
    number_of,
    shifted,
)

_ZH_UNIT = r"个星期|个季度|个月|季度|星期|礼拜|天|日|周|晚|年|月"
_HALF_YEAR = r"(?P<half>half[ -]year)"
_BEFORE = re.compile(
    rf"\b(?:the|an?)\s+(?:(?:{NUMBER}\s+)?(?:{UNIT}|(?P<night>night))|{_HALF_YEAR})\s+(?P<before>before"
    r"|prior to|prior|earlier|preceding)(?:\s+(?:that|it|then|this|last|those|these))?\b",
    re.IGNORECASE,
)
_PREVIOUS = re.compile(
    rf"\b(?:the\s+)?(?:previous|preceding|prior)\s+(?:(?:{NUMBER}\s+)?(?:{UNIT}|(?P<night>night))|{_HALF_YEAR})\b",
    re.IGNORECASE,
)
_ZH_BEFORE = re.compile(
    rf"(?:再|更)?(?:往前|之前|此前|以前|前面|更早|再早|在此之前|再前|前)(?:的|那|这){{0,2}}"
    rf"\s*(?:{ZH_NUMBER}|一|整)?\s*(?:(?:个)?(?P<half>半年)|({_ZH_UNIT}))(?!前)"
)
_ENDS_THERE = re.compile(
    r"\s*(?:$|[,.;:?!，。；：？！、)]|and\b|or\b|in\b|on\b|with\b|was\b|were\b|is\b|than\b|compar)", re.I
)
_NEAR = 8
_HALF_YEAR_MONTHS = 6


def with_relative_periods(text: str, periods: Sequence[Period]) -> list[Period]:
    """``periods`` of ``text`` with those added that are told from the one named before (else after) them."""
    found = list(periods)
    for m in sorted(_matches(text), key=lambda m: m.start()):
        try:
            found = _with(text, m, found)
        except (ValueError, OverflowError):
            found.append(Period(None, None, m[0], m.start(), m.end(), possible=False))
    return sorted(found, key=lambda p: p.begin)


def _matches(text: str) -> list[re.Match[str]]:
    return [m for pattern in (_BEFORE, _PREVIOUS, _ZH_BEFORE) for m in pattern.finditer(text)]


def _with(text: str, m: re.Match[str], periods: list[Period]) -> list[Period]:
    if any(p.begin < m.end() and m.start() < p.stop and not _is_within(p, m) for p in periods if not _opens(p, m)):
        return periods
    others = [p for p in periods if p.possible and not _is_within(p, m)]
    unit, count = _length(m)
    opened = next((p for p in others if _opens(p, m)), None)
    if opened is not None and opened.end is not None:
        start = shifted(unit, -count, opened.end + timedelta(days=1))
        begin, stop = min(m.start(), opened.begin), max(m.end(), opened.stop)
        joined = replace(opened, start=start, text=text[begin:stop], begin=begin, stop=stop, two_ended=True)
        return [joined if p is opened else p for p in periods if not _is_within(p, m)]
    if "before" in m.re.groupindex and m["before"] and not _ENDS_THERE.match(text, m.end()):
        return periods
    anchor = next((p for p in reversed(others) if p.stop <= m.start()), next(iter(others), None))
    if anchor is None or anchor.start is None:
        return periods
    end = anchor.start - timedelta(days=1)
    told = Period(shifted(unit, -count, anchor.start), end, m[0], m.start(), m.end(), two_ended=True)
    return [*(p for p in periods if not _is_within(p, m)), told]


def _is_within(period: Period, m: re.Match[str]) -> bool:
    return m.start() <= period.begin and period.stop <= m.end()


def _opens(period: Period, m: re.Match[str]) -> bool:
    """Whether the period ends where the match says "before": "the 3 months before March 2026"."""
    if period.start is not None or period.end is None:
        return False
    return (
        0 <= period.begin - m.end() <= _NEAR
        or m.start() < period.begin < m.end() < period.stop
        or (0 <= m.start() - period.stop <= 1)
    )


def _length(m: re.Match[str]) -> tuple[str, int]:
    groups = m.groupdict()
    if groups.get("half"):
        return "month", _HALF_YEAR_MONTHS
    if groups.get("night"):
        return "day", 1
    named = set(m.re.groupindex.values())
    number, unit = (m[i] for i in range(1, m.re.groups + 1) if i not in named)
    return {"晚": "day", **ZH_UNITS}.get(unit, unit.lower()), number_of(number) if number else 1
