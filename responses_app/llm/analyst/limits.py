"""Reads limits ("above 7 mmol/L", "低于 120", "between 5 and 7") out of a question."""

import re
from dataclasses import dataclass

from tools_app.standardization import ucum_unit

_NUMBER = (
    r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,12}(?:\.\d{1,6})?|(?:one|two|three|five|eight|ten|twelve|fifteen"
    r"|twenty)(?= thousand)"
    r"|[一二两三四五六七八九十](?=[万千百]))\s*(k\b|万|千|百|thousand\b)?"
)
_PAIR = r"(?:\s*/\s*(\d{1,3}(?:\.\d+)?))?"
_UNIT = (
    r"(?:\s*(%|mmol/mol|mmol/l|mg/dl|[µμu]mol/l|nmol/l|pmol/l|g/dl|g/l|mg/l|[µμu]g/l|[µμu]g/dl|ng/ml|ng/dl|pg/ml|pg|fl"
    r"|miu/l|m?u/l|iu/l|[µμu]iu/ml|meq/l|10\^9/l|10\^12/l|x?10\^9/l|mm\s?hg|bpm|/min|beats per minute|beats/min"
    r"|kg/m2|kg"
    r"|kilos?|kilograms?|lbs?|pounds?|cm|metres?|meters?|km|°c|℃|°f|℉|degrees|hours?|hrs?|h|minutes?|mins?|min"
    r"|kcal|percent|毫摩尔/升|毫摩尔每升|微摩尔/升|毫克/分升|毫米汞柱|次/分钟?|公斤|千克|斤|厘米|小时|分钟|度"
    r"|克/升)(?![a-z]))?"
)
_NOT_TIME = r"(?!\s*(?:days?|weeks?|months?|years?|times|天|周|星期|个月|年|月|次(?!/)|[-/.]\d|:\d|-\d))"
_ABOVE_EN = (
    r"above|over|greater than|more than|higher than|bigger than|exceed(?:s|ed|ing)?|beyond|>|in excess of|upwards? of"
)
_AT_LEAST_EN = r"at least|>=|≥|no less than|not less than|or above|reach(?:es|ed|ing)?|hit"
_BELOW_EN = (
    r"below|under|less than|lower than|fewer than|smaller than|<|short of|beneath"
    r"|(?:didn'?t|did not|don'?t|doesn'?t|never|not|fail(?:ed|s)? to|without) "
    r"(?:reach|reaching|hit|hitting|make|get to)"
)
_AT_MOST_EN = r"at most|<=|≤|no more than|not more than"
_ABOVE_ZH = r"高于|超过|大于|多于|高过|超出|超"
_AT_LEAST_ZH = r"够|满|不低于|不少于|不小于|至少|达到|大于等于"
_BELOW_ZH = r"(?<!有)(?:没有?|未|不)(?:能|有)?(?:达到|到|达|够|满|走到|睡到)|低于|小于|少于|不到|不足|低过"
_AT_MOST_ZH = r"不高于|不超过|不大于|不多于|至多|最多|小于等于"

_PREFIXED = re.compile(
    rf"(?:(?<!不)(?P<atleast>{_AT_LEAST_ZH}|{_AT_LEAST_EN})|(?P<atmost>{_AT_MOST_ZH}|{_AT_MOST_EN})"
    rf"|(?P<above>{_ABOVE_ZH}|\b(?:{_ABOVE_EN})|>)|(?P<below>{_BELOW_ZH}|\b(?:{_BELOW_EN})|<))"
    rf"\s*(?:了|a |an |the |about )?\s*{_NUMBER}{_PAIR}(?![\d:]){_NOT_TIME}{_UNIT}",
    re.IGNORECASE,
)
_SUFFIXED = re.compile(
    rf"(?<![\d.\-/]){_NUMBER}{_PAIR}{_UNIT}\s*(?:(?P<atleast>(?:及|或|\s)?以上|or (?:more|above|higher|over))"
    r"|(?P<atmost>(?:及|或|\s)?以下|or (?:less|below|lower|under)))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"(?:\b(?:between|from)|在|介于)\s*(\d{{1,6}}(?:\.\d+)?)(?:\s*(?:and|to|-)\s*|\s*(?:和|到|至"
    rf"|-)\s*)(\d{{1,6}}(?:\.\d+)?)"
    rf"(?![\d:]){_NOT_TIME}{_UNIT}(?!\s*(?:日|号))",
    re.IGNORECASE,
)
_SCALES = {"k": 1000, "thousand": 1000, "万": 10000, "千": 1000, "百": 100}
_WORDS = {"one": 1, "two": 2, "three": 3, "five": 5, "eight": 8, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20}
_WORDS |= dict(zip("一二三四五六七八九十", range(1, 11), strict=True)) | {"两": 2}
_OLDEST_YEAR, _NEWEST_YEAR = 1990, 2100
_EPSILON = 1e-7
_ZH_UNITS = {
    "毫摩尔/升": "mmol/L",
    "毫摩尔每升": "mmol/L",
    "微摩尔/升": "umol/L",
    "毫克/分升": "mg/dL",
    "毫米汞柱": "mmHg",
    "次/分": "/min",
    "次/分钟": "/min",
    "公斤": "kg",
    "千克": "kg",
    "厘米": "cm",
    "小时": "h",
    "分钟": "min",
    "度": "Cel",
    "克/升": "g/L",
    "hour": "h",
    "hours": "h",
    "hr": "h",
    "hrs": "h",
    "minute": "min",
    "minutes": "min",
    "mins": "min",
    "kilo": "kg",
    "kilos": "kg",
    "percent": "%",
    "bpm": "/min",
    "beats per minute": "/min",
    "beats/min": "/min",
    "degrees": "Cel",
}


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value is held against: above ``above`` and below ``below`` (``None``: no such side).

    ``inclusive`` lets the limit itself count. ``second_above`` and ``second_below`` are the diastolic half of "140/90".
    ``unit`` is UCUM where that is known, ``None`` when no unit was written. ``begin`` and ``stop`` are its place.
    """

    above: float | None
    below: float | None
    unit: str | None
    written_unit: str
    inclusive: bool
    begin: int
    stop: int
    second_above: float | None = None
    second_below: float | None = None

    def arguments(self, *, second: bool = False) -> dict[str, object]:
        """The limit as arguments of ``query_health_data``, whose own limits never include the limit itself."""
        above = self.second_above if second else self.above
        below = self.second_below if second else self.below
        given: dict[str, object] = {}
        if above is not None:
            given["above"] = round(above - _EPSILON, 7) if self.inclusive else above
        if below is not None:
            given["below"] = round(below + _EPSILON, 7) if self.inclusive else below
        if self.unit is not None:
            given["unit"] = self.unit
        return given


def find_limits(text: str) -> list[Limit]:
    """The limits a question names, in order. A bare year is no limit."""
    found = [_between(m) for m in _BETWEEN.finditer(text) if not (_is_plain_year(m[1]) and _is_plain_year(m[2]))]
    for pattern in (_PREFIXED, _SUFFIXED):
        found += [_one_sided(m) for m in pattern.finditer(text) if not _is_year(m)]
    kept: list[Limit] = []
    for limit in sorted(found, key=lambda x: x.begin - x.stop):
        if all(limit.stop <= other.begin or limit.begin >= other.stop for other in kept):
            kept.append(limit)
    return sorted(kept, key=lambda x: x.begin)


def plain_number(value: float) -> int | float:
    """A whole number without its ``.0``."""
    return int(value) if value == int(value) else value


def _one_sided(m: re.Match[str]) -> Limit:
    number, scale, pair, unit = _groups(m)
    upward = bool(m["atleast"]) or ("above" in m.re.groupindex and bool(m["above"]))
    inclusive = bool(m["atleast"] or m["atmost"])
    value = _value(number, scale)
    second = _value(pair, None) if pair else None
    ucum, written = _unit(unit)
    above, below = (value, None) if upward else (None, value)
    second_above, second_below = (second, None) if upward else (None, second)
    return Limit(above, below, ucum, written, inclusive, m.start(), m.end(), second_above, second_below)


def _groups(m: re.Match[str]) -> tuple[str, str | None, str | None, str | None]:
    """Number, scale, second number and unit: the groups that have no name."""
    named = set(m.re.groupindex.values())
    number, scale, pair, unit = (m[i] for i in range(1, (m.re.groups or 0) + 1) if i not in named)
    return number or "0", scale, pair, unit


def _between(m: re.Match[str]) -> Limit:
    low, high = sorted((float(m[1]), float(m[2])))
    ucum, written = _unit(m[3])
    return Limit(plain_number(low), plain_number(high), ucum, written, True, m.start(), m.end())


def _value(number: str, scale: str | None) -> float:
    plain = _WORDS.get(number.lower()) or float(number.replace(",", ""))
    return plain_number(plain * _SCALES.get((scale or "").lower(), 1))


def _unit(written: str | None) -> tuple[str | None, str]:
    if not written:
        return None, ""
    known = _ZH_UNITS.get(written.lower(), written)
    return ucum_unit(known) or known, written


def _is_year(m: re.Match[str]) -> bool:
    number, scale, pair, unit = _groups(m)
    return not (scale or pair or unit) and _is_plain_year(number)


def _is_plain_year(number: str) -> bool:
    return number.isdecimal() and _OLDEST_YEAR <= int(number) <= _NEWEST_YEAR
