"""Reads results that are no single number: words of a scale, ranges, titres, flags. Numbers are read in values.py."""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from tools_app.standardization.units import ucum_unit
from tools_app.standardization.values import MAX_LENGTH, Quantity, parse_value

Ordinal = Literal[
    "negative", "trace", "1+", "2+", "3+", "4+", "positive", "weakly positive", "not detected", "detected",
    "non-reactive", "reactive", "normal", "abnormal", "few",
]  # fmt: skip

_WRITTEN_AS: dict[Ordinal, tuple[str, ...]] = {
    "negative": (
        "negative", "neg", "阴性", "阴", "-", "(-)", "阴性(-)", "negative(-)", "neg(-)", "阴性-", "-阴性",
        "(-)阴性", "none seen",
    ),
    "trace": (
        "trace", "tr", "±", "+/-", "+-", "-/+", "微量", "痕量", "(±)", "(+/-)", "弱阳性(±)", "可疑(±)", "阳性(±)",
    ),
    "1+": ("+", "1+", "+1", "(+)", "(1+)", "+(1+)", "1+(+)"),
    "2+": ("++", "2+", "+2", "(++)", "(2+)", "阳性(++)", "阳性(2+)", "阳性++"),
    "3+": ("+++", "3+", "+3", "(+++)", "(3+)", "阳性(+++)", "阳性(3+)", "强阳性(+++)", "阳性+++"),
    "4+": ("++++", "4+", "+4", "(++++)", "(4+)", "阳性(++++)", "阳性(4+)", "强阳性(++++)", "阳性++++"),
    "positive": (
        "positive", "pos", "阳性", "阳", "阳性(+)", "positive(+)", "pos(+)", "阳性+", "强阳性", "strongly positive",
    ),
    "weakly positive": ("weakly positive", "weak positive", "弱阳性", "弱阳性(+)", "weakpos", "low positive"),
    "not detected": (
        "not detected", "nd", "undetectable", "none detected", "undetected", "未检出", "未检测到", "未测出",
        "未查见", "未见", "低于检测下限", "below detection limit", "target not detected",
    ),
    "detected": ("detected", "检出", "已检出", "target detected"),
    "non-reactive": ("non-reactive", "nonreactive", "non reactive", "nr", "无反应性", "无反应", "非反应性"),
    "reactive": ("reactive", "有反应性", "反应性", "有反应"),
    "normal": ("normal", "wnl", "within normal limits", "正常"),
    "abnormal": ("abnormal", "异常"),
    "few": ("few", "少量", "少许", "偶见", "rare"),
}  # fmt: skip
_ORDINALS: dict[str, Ordinal] = {form: ordinal for ordinal, forms in _WRITTEN_AS.items() for form in forms}
_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "﹣": "-", "➕": "+"})
_TRADITIONAL = str.maketrans(
    {"陰": "阴", "陽": "阳", "檢": "检", "無": "无", "應": "应", "異": "异", "強": "强", "測": "测"}
)

_RANGE = re.compile(r"(?P<low>[^\s~-][^~]*?)\s*(?:~|-{1,2}|\bto\b|至|到)\s*(?P<high>\d.*)")
_BOUND = re.compile(r"(?:[<>=≤≥]|less|more|greater|小于|大于|低于|高于|不超过|不低于).*", re.IGNORECASE)
_TITRE = re.compile(r"(?P<comparator>[<>]=?|[≤≥])?\s*1\s*:\s*(?P<number>\d{1,9})")
_COMPARATORS = {"≤": "<=", "≥": ">="}


@dataclass(frozen=True, slots=True)
class Interval:
    """From ``low`` to ``high``, each ``None`` where it is open; ``unit`` as written.

    ``excludes_low`` and ``excludes_high``: the bound itself lies outside, as in ``<5.2``.
    """

    low: Decimal | None
    high: Decimal | None
    unit: str | None = None
    excludes_low: bool = False
    excludes_high: bool = False


def ordinal(written: str) -> Ordinal | None:
    """The normal form of a result in words or signs: ``NEG``, ``阴性``, ``(-)`` are ``negative``, ``++`` is ``2+``.

    ``None`` for everything else. Raises nothing.
    """
    if len(written) > MAX_LENGTH:
        return None
    plain = _plain(written).casefold().translate(_TRADITIONAL).rstrip(".")
    return _ORDINALS.get(plain) or _ORDINALS.get(plain.replace(" (", "("))


def interval(written: str) -> Interval | None:
    """A range as it is written: ``3.9-6.1``, ``3~5``, ``3,5–5,1 mmol/L``, ``3 to 5``, also ``<5.2`` and ``≥40``.

    ``None`` for what is no range, such as a single number, a date, or one that does not rise. Raises nothing.
    """
    if len(written) > MAX_LENGTH:
        return None
    plain = _plain(written)
    match = _RANGE.fullmatch(plain)
    if match:
        return _between(_number(match["low"]), _number(match["high"]))
    return _bounded(_number(plain)) if _BOUND.fullmatch(plain) else None


def titre(written: str) -> Quantity | None:
    """A titre as the number it names: ``1:160`` is 160 in ``{titer}``, ``<1:10`` is below 10. Raises nothing."""
    match = _TITRE.fullmatch(_plain(written)) if len(written) <= MAX_LENGTH else None
    if match is None:
        return None
    comparator = match["comparator"]
    return Quantity(Decimal(match["number"]), _COMPARATORS.get(comparator, comparator), "{titer}", written)


def _between(low: Quantity | None, high: Quantity | None) -> Interval | None:
    if low is None or high is None or low.number is None or high.number is None:
        return None
    units = {ucum_unit(quantity.unit) for quantity in (low, high) if quantity.unit}
    if low.comparator or high.comparator or low.number >= high.number or len(units) > 1:
        return None
    return Interval(low.number, high.number, high.unit or low.unit)


def _bounded(bound: Quantity | None) -> Interval | None:
    if bound is None or bound.number is None or bound.comparator is None:
        return None
    excludes = len(bound.comparator) == 1
    if bound.comparator.startswith("<"):
        return Interval(None, bound.number, bound.unit, excludes_high=excludes)
    return Interval(bound.number, None, bound.unit, excludes_low=excludes)


def _number(text: str) -> Quantity | None:
    try:
        return parse_value(text)
    except ValueError:
        return None


def _plain(written: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", written).translate(_SIGNS).split())
