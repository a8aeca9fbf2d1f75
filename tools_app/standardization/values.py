"""Reads the number out of a written value. What a unit inside it means is the business of units.py."""

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

from tools_app.standardization.units import ucum_unit

MAX_LENGTH = 2_000
MAX_DIGITS = 28
MAX_MAGNITUDE = 15

_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_NUMBER = r"-?(?:\d[\d.,]*(?: \d{3}(?!\d))*(?:[.,]\d+)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\w]))?"
_WRITTEN = re.compile(rf"(?P<comparator>[<>]=?|[≤≥])? ?(?P<number>{_NUMBER})(?: ?(?P<unit>\D.*))?")
_BLOOD_PRESSURE = re.compile(r"(\d{2,3}(?:\.\d)?) ?[/-] ?(\d{2,3}(?:\.\d)?)(?: ?(?P<unit>[^\d ].*))?")

_PLAIN = re.compile(r"\d*\.?\d+(?:[eE][+-]?\d+)?")
_GROUPED_BY_COMMA = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_BY_DOT = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}")
_GROUPED_BY_SPACE = re.compile(r"[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")

_COMPARATORS = {"≤": "<=", "≥": ">=", "≦": "<=", "≧": ">=", "⩽": "<=", "⩾": ">="}
_SAME_SIGN = str.maketrans({"−": "-", "≦": "≤", "≧": "≥", "⩽": "≤", "⩾": "≥"})
# After a number these are as often the flags "high", "low", "abnormal" and "normal" as they are units.
_RESULT_FLAGS = frozenset("HLAN")


@dataclass(frozen=True, slots=True)
class Quantity:
    """What was read out of a written value.

    ``number`` is ``None`` when the value is no single number. ``comparator`` is one of ``<``, ``<=``, ``>``, ``>=`` or
    ``None``. ``unit`` is the unit text found inside the value, as written. ``text`` is the value as written, or the
    plain decimal form of a number that came as a number.
    """

    number: Decimal | None
    comparator: str | None
    unit: str | None
    text: str


def parse_value(value: str | int | float) -> Quantity:
    """Read a value as it was written.

    Full-width digits and signs count as their plain forms. Decimal and grouping marks are read by one rule:

    * A dot alone is a decimal point (``1.234`` is 1.234), unless it groups twice or more (``1.234.567``).
    * A single comma groups thousands only if exactly three digits follow and one to three digits, not starting with 0,
      stand before it (``1,234`` and ``250,000``); otherwise it is a decimal comma (``5,4``, ``0,125``, ``58,3712``).
    * With both marks the last one is the decimal mark (``1.234,5`` and ``1,234.5`` are 1234.5).
    * A space may group thousands (``1 234.5``).

    A number may carry a comparator before it and a known unit after it (``< 0.5 mg/L``). Everything else, such as
    ``negative``, ``++``, ``+1``, ``-``, ``10<``, ``120/80`` or ``4-6``, is text: ``number`` is ``None``.

    Raises:
        ValueError: not a number or infinite; over 2,000 characters; control characters or lone surrogates; a number of
            more than 28 digits or outside 1e-15 to 1e16. The message never repeats the value.
    """
    if isinstance(value, str):
        return _read_text(value)
    return _read_number(value)


def blood_pressure(value: str) -> tuple[Decimal, Decimal] | None:
    """Systolic and diastolic of a reading written as one pair, such as ``120/80``, ``120 / 80`` or ``120-80 mmHg``.

    In the unit written, which may only be mmHg or missing. ``None`` when the text is no such pair; a pair whose first
    number is not the larger one is returned as written. Raises nothing.
    """
    if len(value) > MAX_LENGTH:
        return None
    match = _BLOOD_PRESSURE.fullmatch(_plain_form(value))
    if match is None:
        return None
    unit = match["unit"]
    if unit is not None and ucum_unit(unit) != "mm[Hg]":
        return None
    return Decimal(match[1]), Decimal(match[2])


def _read_number(value: int | float) -> Quantity:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("the value is not a finite number")
    number = _in_range(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))
    return Quantity(number, None, None, _plain_text(number))


def _read_text(value: str) -> Quantity:
    if len(value) > MAX_LENGTH:
        raise ValueError(f"the value is longer than {MAX_LENGTH} characters")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise ValueError("the value contains control characters")
    text = _plain_form(value)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("the value is not a finite number")
    return _read_quantity(text, value) or Quantity(number=None, comparator=None, unit=None, text=value)


def _read_quantity(text: str, written: str) -> Quantity | None:
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    unit = match["unit"]
    if unit is not None and (unit in _RESULT_FLAGS or ucum_unit(unit) is None):
        return None
    digits = _decimal_form(match["number"])
    if digits is None:
        return None
    comparator = match["comparator"]
    return Quantity(_in_range(Decimal(digits)), _COMPARATORS.get(comparator, comparator), unit, written)


def _plain_form(value: str) -> str:
    """Full-width forms made plain; superscripts and fractions kept, since ² is not 2."""
    if any(unicodedata.category(character) == "No" for character in value):
        return value
    return " ".join(unicodedata.normalize("NFKC", value).translate(_SAME_SIGN).split())


def _decimal_form(written: str) -> str | None:
    """The same number with a decimal point and no grouping marks; ``None`` when the marks follow no rule."""
    sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written)
    if not digits.isascii():
        return None
    if _PLAIN.fullmatch(digits):
        return sign + digits
    if _GROUPED_BY_COMMA.fullmatch(digits):
        return sign + digits.replace(",", "")
    if _GROUPED_BY_DOT.fullmatch(digits):
        return sign + digits.replace(".", "").replace(",", ".")
    if _GROUPED_BY_SPACE.fullmatch(digits):
        return sign + digits.replace(" ", "").replace(",", ".")
    if _DECIMAL_COMMA.fullmatch(digits):
        return sign + digits.replace(",", ".")
    return None


def _in_range(number: Decimal) -> Decimal:
    if len(number.as_tuple().digits) > MAX_DIGITS or (number and abs(number.adjusted()) > MAX_MAGNITUDE):
        raise ValueError("the number is out of range")
    return number


def _plain_text(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
