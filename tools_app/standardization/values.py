"""Reads the number out of a written value. What a unit inside it means is the business of units.py."""

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from decimal import Decimal

from tools_app.standardization.units import ucum_unit

MAX_LENGTH = 2_000
MAX_DIGITS = 28
MAX_MAGNITUDE = 15

_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_NUMBER = r"(?:-|\+(?=\d*[.,]\d|\d\d))?(?:\d[\d.,]*(?:[ ']\d{3}(?!\d))*(?:[.,]\d+)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\w]))?"
# 1.2x10^3 is a number unless a unit goes on after the power, as in 5.1x10^9/L.
_POWER = r"(?: ?[x*·] ?10\^?(?P<power>[+-]?\d{1,2})(?![\d/]))?"
_WRITTEN = re.compile(
    rf"(?P<comparator>[<>]=?|[≤≥])? ?(?P<number>{_NUMBER}){_POWER}(?P<myriads>[万亿])?(?: ?(?P<unit>[^\d\s].*))?"
)
_BARE_POWER = re.compile(r"10\^(?P<power>\d{1,2})")
_COMPARATOR_WORDS = tuple(
    (re.compile(words, re.IGNORECASE), sign)
    for words, sign in (
        (r"^(?:less than or equal to|at most|不超过|不大于|小于等于|小于或等于) ?", "<="),
        (r"^(?:less than|below|小于|低于) ?", "<"),
        (r"^(?:greater than or equal to|at least|不低于|不小于|大于等于|大于或等于) ?", ">="),
        (r"^(?:greater than|more than|above|大于|高于|超过) ?", ">"),
    )
)  # fmt: skip
# Beside a number: what a laboratory says of it. A bare letter is as often a unit, so it needs one beside it.
_HIGH, _LOW = ("HH", "H", "偏高", "高"), ("LL", "L", "偏低", "低")
_FLAG = r"HH|H|LL|L|偏高|偏低|高|低|[↑↓]{1,3}|[*★]"
_SURE_FLAG = r"偏高|偏低|高|低|[↑↓]{1,3}|[*★]"
_BRACKETED_FLAG = re.compile(rf"(?P<rest>.*\d.*?) ?\((?P<flag>{_FLAG})\)")
_TRAILING = re.compile(rf"(?P<rest>.*\d.*?) ?(?P<flag>{_SURE_FLAG})")
_LEADING = re.compile(rf"(?P<flag>{_SURE_FLAG}) ?(?P<rest>[<>≤≥=]*[\d.].*)")
_LETTER_AFTER = re.compile(r"(?P<rest>.*\d.*?) (?P<flag>HH|H|LL|L)")
_LETTER_BEFORE = re.compile(r"(?P<flag>HH|H|LL|L) (?P<rest>[<>≤≥=]*[\d.].*)")
# Two numbers of one kind, the second in the smaller unit.
_COMPOSITE = re.compile(
    r"(?P<first>\d{1,3}) ?(?P<larger>[^\d\s.,/<>-]+) ?(?P<second>\d{1,3}(?:\.\d{1,2})?) ?(?P<smaller>[^\d\s]*)"
)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two units that make one value: ``size`` of the ``smaller``, spelled as ``names``, are one of the larger.

    ``bare`` is what the two numbers look like where the second unit is left out, or ``None`` where it never is. The
    sum is told in ``told_in``.
    """

    smaller: str
    size: int
    names: frozenset[str]
    bare: str | None
    told_in: str


_PAIRS = {
    "h": _Pair("min", 60, frozenset({"min", "m", "mins", "minute", "minutes", "分", "分钟"}), r"\d+ \d{1,2}", "min"),
    "min": _Pair("s", 60, frozenset({"s", "sec", "secs", "second", "seconds", "秒"}), None, "s"),
    "[ft_i]": _Pair("[in_i]", 12, frozenset({"in", "inch", "inches", '"', "''", "英寸"}), r"\d \d{1,2}", "[in_i]"),
    "[stone_av]": _Pair(
        "[lb_av]", 14, frozenset({"lb", "lbs", "pound", "pounds", "磅"}), r"\d{1,2} \d{1,2}(?:\.\d+)?", "[lb_av]"
    ),
    "[lb_av]": _Pair("[oz_av]", 16, frozenset({"oz", "ounce", "ounces", "盎司"}), None, "[oz_av]"),
    # One digit alone is tenths to some and centimetres to others ("1m8"); "30m20" are as well minutes and seconds.
    "m": _Pair("cm", 100, frozenset({"cm", "厘米", "公分"}), r"[012] \d{2}", "cm"),
    "kg": _Pair("g", 1000, frozenset({"g", "gram", "grams", "克"}), None, "kg"),
}
# Alone these are as often something else.
_LARGER_ONLY = {"'": "[ft_i]", "st": "[stone_av]", "St": "[stone_av]", "ST": "[stone_av]"}
_BLOOD_PRESSURE = re.compile(r"(\d{2,3}(?:\.\d)?) ?[/-] ?(\d{2,3}(?:\.\d)?)(?: ?(?P<unit>[^\d ].*))?")
_BLOOD_PRESSURE_KPA = re.compile(r"(\d{1,2}(?:\.\d{1,2})?) ?[/-] ?(\d{1,2}(?:\.\d{1,2})?)(?: ?(?P<unit>[^\d ].*))?")
_BLOOD_PRESSURE_NAMED = re.compile(
    r"(?:高压|收缩压) ?:? ?(\d{2,3}) ?[,、;/]? ?(?:低压|舒张压) ?:? ?(\d{2,3})(?: ?(?P<unit>[^\d ].*))?"
)
_PRESSURES = frozenset({"mm[Hg]", "kPa"})

_PLAIN = re.compile(r"(?:\d*\.?\d+|\d+\.)(?:[eE][+-]?\d+)?")
_GROUPED_BY_COMMA = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_BY_DOT = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}")
_GROUPED_BY_APOSTROPHE = re.compile(r"[1-9]\d{0,2}(?:'\d{3})+(?:\.\d+)?")
_GROUPED_BY_SPACE = re.compile(r"[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")

_COMPARATORS = {"≤": "<=", "≥": ">=", "≦": "<=", "≧": ">=", "⩽": "<=", "⩾": ">=", "=<": "<=", "=>": ">="}
_SAME_SIGN = str.maketrans(
    {"−": "-", "≦": "≤", "≧": "≥", "⩽": "≤", "⩾": "≥", "×": "x", "✕": "x", "′": "'", "’": "'", "″": '"', "”": '"'}
)
_SUPERSCRIPT_POWER = re.compile(r"10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_LOOSE_SUPERSCRIPT = re.compile(r"(?<![A-Za-z])[²³¹⁰⁴-⁹]|[¼-¾⅐-⅟①-⓿]")
_MYRIADS = {"万": 4, "亿": 8}
# After a number these are as often the flags "high", "low", "abnormal" and "normal", or a slip, as they are units.
_RESULT_FLAGS = frozenset("HLANa")
_DEGREES = "度"
_TEMPERATURES = frozenset({"Cel", "[degF]"})


@dataclass(frozen=True, slots=True)
class Quantity:
    """What was read out of a written value.

    ``number`` is ``None`` when the value is no single number. ``comparator`` is one of ``<``, ``<=``, ``>``, ``>=`` or
    ``None``. ``unit`` is the unit text found inside the value, as written. ``text`` is the value as written, or the
    plain decimal form of a number that came as a number. ``flag`` is ``high`` or ``low`` where the value says so.
    ``parts`` are the UCUM units of a value written in two, the larger first, such as feet and inches.
    ``scale`` is how many of its unit one of the unit written is, where the number was told in another.
    """

    number: Decimal | None
    comparator: str | None
    unit: str | None
    text: str
    flag: str = ""
    parts: tuple[str, ...] = ()
    scale: Decimal = Decimal(1)


def parse_value(value: str | int | float, unit_beside: str | None = None) -> Quantity:
    """Read a value as it was written; ``unit_beside`` is the unit written beside it.

    Full-width digits and signs count as their plain forms. Decimal and grouping marks are read by one rule:

    * A dot alone is a decimal point (``1.234`` is 1.234), unless it groups twice or more (``1.234.567``).
    * A single comma groups thousands only if exactly three digits follow and one to three digits, not starting with 0,
      stand before it (``1,234`` and ``250,000``); otherwise it is a decimal comma (``5,4``, ``0,125``, ``58,3712``).
    * With both marks the last one is the decimal mark (``1.234,5`` and ``1,234.5`` are 1234.5).
    * A space or an apostrophe may group thousands (``1 234.5``).

    A number may carry a power of ten (``1.2x10^3``; one that its unit carries belongs to the unit: ``5.1x10^9/L``),
    a comparator before it, in signs or words (``小于5``), a known unit after it (``< 0.5 mg/L``), and a flag
    (``6.8 ↑``, ``6.8 (H)``; a bare ``H`` or ``L`` only where a unit stands beside it). Two numbers that make one, such
    as ``7h32m``, ``5'10"``, ``10 st 5`` and ``1m75``, are one in the smaller unit (kilograms and grams in kilograms).
    Everything else, such as ``negative``, ``++``, ``+1``, ``-``, ``10<``, ``120/80``, ``4-6`` or ``80 cm 5``, is text:
    ``number`` is ``None``.

    Raises:
        ValueError: not a number or infinite; over 2,000 characters; control characters or lone surrogates; a number of
            more than 28 digits or outside 1e-15 to 1e16. The message never repeats the value.
    """
    if isinstance(value, str):
        return _read_text(value, (unit_beside or "").strip())
    return _read_number(value)


def blood_pressure(value: str, unit_beside: str = "") -> tuple[Decimal, Decimal, str | None] | None:
    """Systolic and diastolic of a reading written as one pair, and the unit inside it, as written.

    Such as ``120/80``, ``120-80 mmHg``, ``17.3/9.5 kPa`` and ``高压130低压85``. In the unit
    written, which may only be mmHg, kPa or missing. ``None`` when the text is no such pair; a pair whose first number
    is not the larger one is returned as written. Raises nothing.
    """
    if len(value) > MAX_LENGTH:
        return None
    text = _plain_form(value)
    match = _BLOOD_PRESSURE_KPA.fullmatch(text)
    if match is None or ucum_unit(match["unit"] or unit_beside) != "kPa":
        match = _BLOOD_PRESSURE.fullmatch(text) or _BLOOD_PRESSURE_NAMED.fullmatch(text)
    if match is None:
        return None
    unit = match["unit"]
    if unit is not None and ucum_unit(unit) not in _PRESSURES:
        return None
    return Decimal(match[1]), Decimal(match[2]), unit


def _read_number(value: int | float) -> Quantity:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("the value is not a finite number")
    number = _in_range(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))
    return Quantity(number, None, None, _plain_text(number))


def _read_text(value: str, unit_beside: str) -> Quantity:
    if len(value) > MAX_LENGTH:
        raise ValueError(f"the value is longer than {MAX_LENGTH} characters")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise ValueError("the value contains control characters")
    text = _plain_form(value)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("the value is not a finite number")
    read = _read_flagged(text, value, unit_beside) or _read_before_unit(text, value)
    return read or Quantity(number=None, comparator=None, unit=None, text=value)


def _read_flagged(text: str, written: str, unit_beside: str) -> Quantity | None:
    rest, flag = _without_flag(text, unit_beside)
    read = _read_quantity(rest, written, unit_beside) or _read_composite(rest, written, unit_beside)
    return read and replace(read, flag=flag)


def _read_before_unit(text: str, written: str) -> Quantity | None:
    """A value as it is shown, with the unit from beside it at its end: ``6.8 H mmol/L``, ``3.5x10^9 10^9/L``."""
    rest, _, unit = text.rpartition(" ")
    beside = _larger_unit(unit)
    if not rest or unit in _RESULT_FLAGS or not beside:
        return None
    read = _read_flagged(rest, written, unit)
    if read is None or not (read.unit or ucum_unit(unit)):
        return None
    if read.unit and beside not in {ucum_unit(read.unit), *read.parts}:
        return None
    return replace(read, unit=read.unit or unit, scale=Decimal(1))


def _without_flag(text: str, unit_beside: str) -> tuple[str, str]:
    """The text without what it says of itself, and that: ``high``, ``low``, or nothing."""
    forms = [_BRACKETED_FLAG, _TRAILING, _LEADING] + ([_LETTER_AFTER, _LETTER_BEFORE] if unit_beside else [])
    match = next((match for form in forms if (match := form.fullmatch(text))), None)
    if match is None:
        return text, ""
    if match["flag"] in _HIGH or match["flag"].startswith("↑"):
        return match["rest"], "high"
    return match["rest"], "low" if match["flag"] in _LOW or match["flag"].startswith("↓") else ""


def _read_quantity(text: str, written: str, unit_beside: str) -> Quantity | None:
    for words, sign in _COMPARATOR_WORDS:
        text = words.sub(sign, text)
    power = _BARE_POWER.fullmatch(text)
    if power:
        return Quantity(_in_range(Decimal(10) ** int(power["power"])), None, None, written)
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    unit = match["unit"]
    if unit == _DEGREES and ucum_unit(unit_beside) in _TEMPERATURES:
        unit = None
    if unit is not None and (unit in _RESULT_FLAGS or ucum_unit(unit) is None):
        return None
    digits = _decimal_form(match["number"])
    if digits is None:
        return None
    comparator = match["comparator"]
    number = _in_range(_in_range(Decimal(digits)).scaleb(_exponent(match, unit_beside)))
    return Quantity(number, _COMPARATORS.get(comparator, comparator), unit, written)


def _exponent(match: re.Match[str], unit_beside: str) -> int:
    """The power of ten after a number, but one that only repeats its unit's: ``3.5x10^9`` beside ``10^9/L``."""
    power = int(match["power"] or 0)
    repeats = bool(power) and (ucum_unit(unit_beside) or "").startswith(f"10*{power}/")
    return (0 if repeats else power) + _MYRIADS.get(match["myriads"] or "", 0)


def _read_composite(text: str, written: str, unit_beside: str) -> Quantity | None:
    match = _COMPOSITE.fullmatch(text)
    if match is None:
        return None
    larger = _larger_unit(match["larger"])
    pair, second = _PAIRS.get(larger), Decimal(match["second"])
    if pair is None or second >= pair.size or not _is_smaller(pair, match):
        return None
    total = int(match["first"]) * pair.size + second
    sizes = {larger: Decimal(pair.size), pair.smaller: Decimal(1)}
    told, beside = sizes[pair.told_in], sizes.get(_larger_unit(unit_beside))
    scale = beside / told if beside else Decimal(1)
    return Quantity(total / told, None, pair.told_in, written, parts=(larger, pair.smaller), scale=scale)


def _larger_unit(written: str) -> str:
    return _LARGER_ONLY.get(written) or ucum_unit(written) or ""


def _is_smaller(pair: _Pair, match: re.Match[str]) -> bool:
    """Whether the second number is in the pair's smaller unit: it says so, or need not."""
    if match["smaller"]:
        return match["smaller"].casefold() in pair.names
    return pair.bare is not None and re.fullmatch(pair.bare, f"{match['first']} {match['second']}") is not None


def _plain_form(value: str) -> str:
    """Full-width forms made plain; superscripts and fractions kept, since ² is not 2."""
    value = _SUPERSCRIPT_POWER.sub(r"10^\1", value)
    if _LOOSE_SUPERSCRIPT.search(re.sub(r"10\^[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", "", value)):
        return value
    return " ".join(unicodedata.normalize("NFKC", value).translate(_SAME_SIGN).split())


def _decimal_form(written: str) -> str | None:
    """The same number with a decimal point and no grouping marks; ``None`` when the marks follow no rule."""
    sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written.removeprefix("+"))
    if not digits.isascii():
        return None
    if _PLAIN.fullmatch(digits):
        return sign + digits
    if _GROUPED_BY_COMMA.fullmatch(digits):
        return sign + digits.replace(",", "")
    if _GROUPED_BY_DOT.fullmatch(digits):
        return sign + digits.replace(".", "").replace(",", ".")
    if _GROUPED_BY_APOSTROPHE.fullmatch(digits):
        return sign + digits.replace("'", "")
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
