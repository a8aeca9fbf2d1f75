"""Reads values in everyday units that mean one thing only for what is measured: 斤 and st of a weight, 度 of a fever.

Values in units that stand for themselves are read in values.py.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from decimal import Decimal

from tools_app.standardization.units import ucum_unit
from tools_app.standardization.values import Quantity, parse_value


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The UCUM unit and how many of it one is."""

    unit: str
    size: Decimal


_JIN, _STONE, _CELSIUS = _Meaning("kg", Decimal("0.5")), _Meaning("[stone_av]", Decimal(1)), _Meaning("Cel", Decimal(1))
# By the canonical unit of what is measured.
_UNITS = {
    "kg": {"斤": _JIN, "市斤": _JIN, "st": _STONE, "St": _STONE, "ST": _STONE},
    "Cel": {"度": _CELSIUS},
}
_WITH_UNIT = re.compile(r"(?P<number>[^\W_].*?|[<>≤≥].*?) ?(?P<unit>市?斤|度|st|St|ST)")
# 65斤5两 and 36度8: the second number is tenths of the unit.
_WITH_TENTHS = re.compile(r"(?P<whole>\d{1,3}) ?(?P<unit>市?斤|度) ?(?P<tenths>\d)(?: ?(?P<name>两|分))?")
_TENTHS = {"斤": ("两",), "市斤": ("两",), "度": ("分", None)}


def everyday_quantity(value: str | int | float, unit_beside: str, measured_in: str) -> Quantity | None:
    """A value in a unit that is sure only because what is measured has ``measured_in`` as its canonical UCUM unit.

    Of what is measured in kilograms ``130斤``, ``65斤5两`` (one 斤 is half a kilogram, ten 两 are one 斤) and
    ``10 st``; of a temperature ``36.8度`` and ``36度8``, in degrees Celsius. The unit may stand beside the
    value instead. ``None`` for everything else. Raises ``ValueError`` as ``parse_value`` does.
    """
    known = _UNITS.get(measured_in)
    if known is None:
        return None
    beside = unit_beside.strip()
    number, unit = _taken_apart(value) if isinstance(value, str) else (value, "")
    meaning = known.get(unit or beside)
    if meaning is None or not _agree(meaning, known.get(beside), beside):
        return None
    read = parse_value(number)
    if read.number is None or read.unit:
        return None
    text = value if isinstance(value, str) else read.text
    return replace(read, number=read.number * meaning.size, unit=meaning.unit, text=text, scale=meaning.size)


def _taken_apart(value: str) -> tuple[str, str]:
    """The number and the unit after it, as written; no unit where none of these stands there."""
    text = " ".join(unicodedata.normalize("NFKC", value).split())
    tenths = _WITH_TENTHS.fullmatch(text)
    if tenths and tenths["name"] in _TENTHS[tenths["unit"]]:
        return f"{tenths['whole']}.{tenths['tenths']}", tenths["unit"]
    match = _WITH_UNIT.fullmatch(text)
    return (match["number"], match["unit"]) if match else (value, "")


def _agree(meaning: _Meaning, other: _Meaning | None, beside: str) -> bool:
    """Whether the unit beside the value, if any, is the same."""
    if not beside or other == meaning:
        return True
    return meaning.size == 1 and ucum_unit(beside) == meaning.unit
