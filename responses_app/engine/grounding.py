"""Says which numbers of an answer stand in the turn's tool results, and where. Blocks nothing; finds no numbers itself.

A number is supported when a result, rounded to the answer's last digit, is that number, in its unit or converted into
it. Its sign does not count ("fell by 3"). A number without a unit may have any.
"""

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from responses_app.engine.figures import Figure, figures_in
from tools_app.standardization import concepts_named, to_canonical, ucum_unit
from tools_app.standardization.conversion import Analyte, convert

MAX_RECORDS = 10
"""How many records are named for one number."""

_MAX_ALIKE = 200
# What nobody's answer needs is not looked into, so that a result made to be costly is not.
_MAX_UNITS = 500
_MAX_MEASURES = 500
_MAX_FIGURES = 1_000
_MAX_CONVERSIONS = 5_000
_EXACT = 1e-9
_LARGEST = 1e30
# The factors people convert by are rounded: 18 for glucose is 0.9 per mille off.
_CONVERTED = 1e-3
_IDENTITIES = ("id", "ref")
_NO_FIGURES = frozenset(
    {
        *("id", "ids", "ref", "code", "codes", "loinc_code", "url", "next_offset", "next_text_offset"),
        *("date", "time", "end_time", "start", "end", "local_date", "first_date", "last_date"),
    }
)
_COUNTS = frozenset(
    {"count", "checked", "low", "high", "excluded", "without_unit", "pairs", "days", "of_days", "steps_in_a_row"}
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a tool gave in the turn, by the id of its call: a JSON value, or text.

    ``named``: the records in it may be named. Those of an earlier response may not: only that one is told when they go.
    """

    call_id: str
    data: Any
    named: bool = True


class _Place(NamedTuple):
    """Where a number of a result stands: which call gave it, and the record or source it belongs to."""

    call_id: str
    record: str | None


class _Context(NamedTuple):
    """What holds for the numbers of a part of a result. ``analyte`` is one of the standardization's."""

    unit: str | None
    analyte: str
    record: str | None


class _Measure(NamedTuple):
    """Numbers that compare: of one unit, and of one analyte. Without a unit they may be of any."""

    unit: str | None
    analyte: str


def grounding(text: str, evidence: Iterable[Evidence]) -> dict[str, Any]:
    """The ``grounding`` of a finished response. Results are looked into only when the text holds a number."""
    figures = list(figures_in(text))
    results = _Results(evidence) if figures else None
    told = [_told(figure, text, results.support_for(figure)) for figure in figures] if results else []
    return {"numbers": len(told), "supported": sum(bool(one["supported_by"]) for one in told), "figures": told}


def without_records(found: dict[str, Any], call_ids: Mapping[str, Any]) -> dict[str, Any]:
    """A ``grounding`` that names no record behind these calls' results any more."""
    figures = [
        figure
        | {
            "supported_by": [
                support | {"records": []} if support["call_id"] in call_ids else support
                for support in figure["supported_by"]
            ]
        }
        for figure in found["figures"]
    ]
    return found | {"figures": figures}


def _told(figure: Figure, text: str, places: Sequence[_Place]) -> dict[str, Any]:
    records: dict[str, list[str]] = {}
    for place in places:
        named = records.setdefault(place.call_id, [])
        if place.record is not None and len(named) < MAX_RECORDS:
            named.append(place.record)
    support = [{"call_id": call_id, "records": named} for call_id, named in records.items()]
    place_in_text = {"text": text[figure.start : figure.end], "start": figure.start, "end": figure.end}
    return place_in_text | {"supported_by": support}


class _Results:
    """The numbers of a turn's results, sorted, so that each number of an answer is found by bisection."""

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        found: dict[_Measure, dict[tuple[float, _Place], None]] = defaultdict(dict)
        units = _Units()
        for one in evidence:
            for measure, value, record in _numbers(one.data, units):
                if measure in found or len(found) < _MAX_MEASURES:
                    found[measure][abs(value), _Place(one.call_id, record if one.named else None)] = None
        self._numbers = {measure: sorted(numbers, key=lambda number: number[0]) for measure, numbers in found.items()}
        self._known: dict[tuple[float, float, str | None], list[_Place]] = {}
        self._lines: dict[tuple[str, _Measure], tuple[float, float] | None] = {}

    def support_for(self, figure: Figure) -> list[_Place]:
        """The places of the results that say the same, those with a record first."""
        key = (figure.value, figure.step, figure.unit)
        if key not in self._known:
            if len(self._known) >= _MAX_FIGURES:
                return []
            places = dict.fromkeys(self._as_written(figure)) or dict.fromkeys(self._converted(figure))
            self._known[key] = sorted(places, key=lambda place: place.record is None)
        return self._known[key]

    def _as_written(self, figure: Figure) -> Iterator[_Place]:
        for measure in self._numbers:
            if figure.unit is None or measure.unit in (None, figure.unit):
                yield from self._within(measure, figure.value, figure.step / 2, _EXACT)

    def _converted(self, figure: Figure) -> Iterator[_Place]:
        for measure in self._numbers:
            line = self._line(figure.unit, measure) if figure.unit else None
            if line is not None:
                slope, at_zero = line
                value, half_step = figure.value * slope + at_zero, figure.step / 2 * abs(slope)
                yield from self._within(measure, value, half_step, _CONVERTED)

    def _line(self, unit: str, measure: _Measure) -> tuple[float, float] | None:
        key = unit, measure
        if measure.unit is not None and key not in self._lines and len(self._lines) < _MAX_CONVERSIONS:
            self._lines[key] = _conversion(unit, measure.unit, measure.analyte)
        return self._lines.get(key)

    def _within(self, measure: _Measure, value: float, half_step: float, tolerance: float) -> Iterator[_Place]:
        numbers = self._numbers[measure]
        reach = half_step + abs(value) * tolerance
        first = bisect_left(numbers, value - reach, key=lambda number: number[0])
        last = bisect_right(numbers, value + reach, key=lambda number: number[0])
        for _, place in numbers[first : min(last, first + _MAX_ALIKE)]:
            yield place


class _Units:
    """Reads the units of results, each spelling once."""

    def __init__(self) -> None:
        self._read: dict[str, str | None] = {}

    def read(self, written: object) -> str | None:
        """The unit in UCUM, when that is one."""
        if not isinstance(written, str):
            return None
        if written not in self._read and len(self._read) < _MAX_UNITS:
            self._read[written] = ucum_unit(written)
        return self._read.get(written)


def _numbers(data: Any, units: _Units) -> Iterator[tuple[_Measure, float, str | None]]:
    """Every number of a result with its unit, analyte and record. A stack, since a caller's output may be deep."""
    stack: list[tuple[Any, _Context]] = [(_parsed(data), _Context(None, "", None))]
    while stack:
        value, context = stack.pop()
        match value:
            case dict():
                inner = _inside(value, context, units)
                stack.extend((item, _for_key(key, inner)) for key, item in value.items() if key not in _NO_FIGURES)
            case list():
                stack.extend((item, context) for item in value)
            case str():
                yield from _numbers_in_text(value, context)
            case bool() | None:
                pass
            case int() | float():
                if abs(value) < _LARGEST:
                    yield from _number(float(value), context)


def _number(value: float, context: _Context) -> Iterator[tuple[_Measure, float, str | None]]:
    yield _Measure(context.unit, context.analyte), value, context.record
    if context.unit is None and 0 < abs(value) <= 1:
        # A share, which an answer gives as a percentage.
        yield _Measure("%", ""), value * 100, context.record


def _numbers_in_text(text: str, context: _Context) -> Iterator[tuple[_Measure, float, str | None]]:
    for figure in figures_in(text):
        yield _Measure(figure.unit, context.analyte), figure.value, context.record


def _parsed(data: Any) -> Any:
    """JSON text, as callers' tools give it, as the value it stands for."""
    if not isinstance(data, str) or data.lstrip()[:1] not in ("{", "["):
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


def _inside(value: Mapping[str, Any], context: _Context, units: _Units) -> _Context:
    record = next((value[name] for name in _IDENTITIES if isinstance(value.get(name), str)), context.record)
    code = value.get("loinc_code")
    return _Context(
        unit=units.read(value.get("unit")) or context.unit,
        analyte=_analyte(code) if isinstance(code, str) else context.analyte,
        record=record,
    )


def _for_key(key: str, context: _Context) -> _Context:
    if key in _COUNTS or key.endswith(("_count", "_days")):
        return context._replace(unit=None)
    if key.endswith("percent"):
        return context._replace(unit="%")
    return context


@lru_cache(maxsize=1024)
def _analyte(loinc_code: str) -> str:
    named = concepts_named(loinc_code)
    return named[0].analyte if len(named) == 1 else ""


@lru_cache(maxsize=4096)
def _conversion(unit: str, into: str, analyte: str) -> tuple[float, float] | None:
    """Slope and offset from one unit into another, for an analyte if it takes one; ``None`` when there is no way."""
    plain = [convert(Decimal(number), unit, Analyte("", into)) for number in (0, 1)]
    if plain[0] is not None and plain[1] is not None:
        return float(plain[1] - plain[0]), float(plain[0])
    ends = [to_canonical(Decimal(number), one, analyte) for one in (unit, into) for number in (0, 1)]
    if any(end is None for end in ends):
        return None
    from_zero, from_one, into_zero, into_one = (float(end) for end in ends if end is not None)
    size = into_one - into_zero
    return (from_one - from_zero) / size, (from_zero - into_zero) / size
