"""Tool outputs as the analyst uses them: whatever JSON arrives, only what has the right shape is kept.

Outputs are data. Nothing in them is ever read as a question or an instruction.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from responses_app.llm.analyst.text import shown

_MOST_RESULTS = 200
_ROUNDED, _KEPT = 2, 3
_LEAST_WRITTEN_OUT = 1e-6


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its day. ``text`` is it as written, for results in words and bounds such as "<0.5"."""

    value: float | None
    date: str
    text: str = ""
    comparator: str = ""
    abnormal: str = ""
    has_reference: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """One indicator's part of a ``query_health_data`` answer. What the operation does not give is ``None`` or empty.

    Figures leave out the ``excluded`` readings, of which ``without_unit`` have a number that no unit explains;
    ``maybe_lower`` and ``maybe_higher`` are those of them that are only a bound and may lie beyond the extremes.
    """

    indicator: str
    unit: str
    count: int
    readings: tuple[Point, ...] = ()
    average: float | None = None
    total: float | None = None
    minimum: Point | None = None
    maximum: Point | None = None
    first: Point | None = None
    last: Point | None = None
    total_is_of_one_source: bool = False
    excluded: int = 0
    without_unit: int = 0
    maybe_lower: Point | None = None
    maybe_higher: Point | None = None
    direction: str = ""
    per_month: float | None = None
    per_year: float | None = None
    points: tuple[Point, ...] = ()
    bucket: str = ""
    groups: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    first_date: str = ""
    last_date: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of ``query_health_data`` gave. ``failure`` is the tool's own word on why it failed, if it did."""

    results: tuple[Result, ...] = ()
    not_found: tuple[str, ...] = ()
    no_data_in_range: tuple[str, ...] = ()
    truncated: bool = False
    failure: str | None = None


def read_answer(output: str, failed: bool) -> Answer:
    """The answer in a call's output."""
    data = read_json(output)
    if failed or not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return Answer(failure=failure_of(data, output))
    results = tuple(_result(r) for r in data["results"][:_MOST_RESULTS] if isinstance(r, dict))
    return Answer(
        results, _names(data.get("not_found")), _names(data.get("no_data_in_range")), data.get("truncated") is True
    )


def read_members(output: str, failed: bool) -> list[dict[str, Any]] | None:
    """The members in an output of ``list_family_members``; ``None`` when it failed."""
    data = read_json(output)
    if failed or not isinstance(data, dict) or not isinstance(data.get("members"), list):
        return None
    return [m for m in data["members"][:_MOST_RESULTS] if isinstance(m, dict) and isinstance(m.get("member"), str)]


def read_json(text: str) -> Any:
    """A JSON value, or ``None`` for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def written_number(value: float) -> str:
    """A number as it is said: whole numbers without a point, else two decimals, more where three digits need them."""
    if value and abs(value) < _LEAST_WRITTEN_OUT:
        return f"{value:.{_KEPT}g}"
    digits = _KEPT - 1 - math.floor(math.log10(abs(value))) if value else 0
    decimals = _KEPT if math.isclose(round(value, _KEPT), value, rel_tol=1e-9) else max(_ROUNDED, digits)
    number = round(value, decimals)
    return str(int(number)) if number == int(number) else f"{number:.{decimals}f}".rstrip("0")


def failure_of(data: Any, output: str) -> str:
    """A tool's own word on why it failed, as one short line; empty when it says nothing."""
    if isinstance(data, dict):
        told = data.get("error") or data.get("message") or ""
        return shown(told.get("message", "") if isinstance(told, dict) else told, 200)
    return shown(output if data is None else "", 200)


def _result(raw: Mapping[str, Any]) -> Result:
    unit = raw.get("unit")
    return Result(
        indicator=shown(raw.get("indicator") or "?"),
        unit=shown(unit, 40) if isinstance(unit, str) else "",
        count=_count(raw.get("count")),
        readings=_points(raw.get("readings")),
        average=_number(raw.get("average")),
        total=_number(raw.get("sum")),
        total_is_of_one_source=raw.get("sum_counts_one_source_a_day") is True,
        minimum=_point(raw.get("minimum")),
        maximum=_point(raw.get("maximum")),
        first=_point(raw.get("first")),
        last=_point(raw.get("last")),
        excluded=_count(raw.get("excluded")),
        without_unit=_count(raw.get("without_unit")),
        maybe_lower=_point(raw.get("maybe_lower")),
        maybe_higher=_point(raw.get("maybe_higher")),
        direction=_direction(raw.get("trend")),
        per_month=_pace(raw.get("trend"), "month"),
        per_year=_pace(raw.get("trend"), "year"),
        points=_points(raw.get("points")),
        bucket=_text(raw.get("bucket")),
        groups=_groups(raw.get("groups")),
        first_date=_text(raw.get("first_date")),
        last_date=_text(raw.get("last_date")),
    )


def _groups(raw: Any) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    if not isinstance(raw, list):
        return ()
    return tuple((shown(g.get("period") or "?", 20), g) for g in raw[:_MOST_RESULTS] if isinstance(g, dict))


def group_figure(group: Mapping[str, Any], name: str) -> float | None:
    """A figure of one calendar period."""
    return _number(group.get(name))


def _points(raw: Any) -> tuple[Point, ...]:
    if not isinstance(raw, list):
        return ()
    return tuple(p for p in map(_point, raw[:_MOST_RESULTS]) if p is not None)


def _point(raw: Any) -> Point | None:
    if not isinstance(raw, dict):
        return None
    return Point(
        value=_number(raw.get("value")),
        date=_text(raw.get("date")) or _text(raw.get("time"))[:10],
        text=_text(raw.get("text")),
        comparator=_text(raw.get("comparator")),
        abnormal=_text(raw.get("abnormal")),
        has_reference=_number(raw.get("reference_low")) is not None or _number(raw.get("reference_high")) is not None,
    )


def _direction(raw: Any) -> str:
    return _text(raw.get("direction")) if isinstance(raw, dict) else ""


def _pace(raw: Any, unit: str) -> float | None:
    return _number(raw.get(f"slope_per_{unit}")) if isinstance(raw, dict) else None


def _text(raw: Any) -> str:
    return shown(raw) if isinstance(raw, str) else ""


def _number(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    try:
        number = float(raw)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(raw: Any) -> int:
    number = _number(raw)
    return int(number) if number is not None and number >= 0 else 0


def _names(raw: Any) -> tuple[str, ...]:
    if not isinstance(raw, list):
        return ()
    names: Sequence[Any] = raw[:_MOST_RESULTS]
    return tuple(shown(name) for name in names if isinstance(name, str))
