"""Holds figures against limits: whether a value, or what is only a bound, lies beyond one. Words nothing."""

import math
from collections.abc import Sequence

from responses_app.llm.analyst.facts import Point, Result
from responses_app.llm.analyst.indicators import Mention
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.usual_units import converted
from tools_app.standardization import concepts_named

# The tool rounds to six digits, so that closer than this nothing can be told apart.
_SAME = 2e-6

Sides = tuple[float | None, float | None]


def beyond(value: float | None, limit: Limit, result: Result, *, second: bool = False) -> bool | None:
    """Whether a value lies beyond a limit; ``None`` when they do not compare."""
    sides = _sides(limit, result, second=second)
    return None if value is None or sides is None else _over(value, sides[0], limit) and _under(value, sides[1], limit)


def point_beyond(point: Point | None, limit: Limit, result: Result, *, second: bool = False) -> bool | None:
    """The same of a reading; of one that is only a bound only where all or nothing it allows lies beyond."""
    if point is None or not point.comparator:
        return beyond(point.value if point else None, limit, result, second=second)
    sides = _sides(limit, result, second=second)
    if sides is None or point.value is None:
        return None
    outcomes = [_bound_passes(point, sides[0], up=True), _bound_passes(point, sides[1], up=False)]
    if False in outcomes:
        return False
    return None if None in outcomes else True


def compares(limit: Limit, result: Result) -> bool:
    """Whether the limit's unit is one the result can be held against."""
    return _sides(limit, result, second=False) is not None


def is_usable(limit: Limit, mentions: Sequence[Mention]) -> bool:
    """Whether readings of the indicators may be filtered by a limit, as far as that is known without looking."""
    known = [m for m in mentions if concepts_named(m.names[0])]
    if not known:
        return not limit.unread or bool(limit.written_unit)
    if limit.unread or limit.choices:
        return False
    return limit.unit is None or any(converted(1, limit.unit, m.names[0]) is not None for m in known)


def _sides(limit: Limit, result: Result, *, second: bool) -> Sides | None:
    """The limit's two sides in the unit of the result."""
    above, below = (limit.second_above, limit.second_below) if second else (limit.above, limit.below)
    if limit.written_unit and limit.written_unit.casefold() == result.unit.casefold():
        return above, below
    if limit.unread or limit.choices:
        return None
    if limit.unit is None or limit.unit == result.unit:
        return above, below
    sides = [None if side is None else _in_unit_of(result, side, limit.unit) for side in (above, below)]
    if (sides[0] is None) != (above is None) or (sides[1] is None) != (below is None):
        return None
    return sides[0], sides[1]


def _in_unit_of(result: Result, number: float, unit: str) -> float | None:
    own = next((concept.unit for concept in concepts_named(result.indicator)[:1]), None)
    return converted(number, unit, result.indicator) if own == result.unit else None


def _over(value: float, above: float | None, limit: Limit) -> bool:
    if above is None:
        return True
    return limit.inclusive if math.isclose(value, above, rel_tol=_SAME) else value > above


def _under(value: float, below: float | None, limit: Limit) -> bool:
    if below is None:
        return True
    return limit.inclusive if math.isclose(value, below, rel_tol=_SAME) else value < below


def _bound_passes(point: Point, side: float | None, *, up: bool) -> bool | None:
    if side is None:
        return True
    assert point.value is not None  # noqa: S101 - looked at before
    upward = point.comparator.startswith(">")
    strict = point.value == side and point.comparator in {"<", ">"}
    if not (strict or (point.value > side if upward else point.value < side)):
        return None
    return upward == up
