"""Finds the numbers a text states, with their units. Dates, times, ordinals and names with digits are no figures here.

English and Chinese. What a number is compared with is in grounding.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tools_app.standardization import ucum_unit
from tools_app.standardization.unit_table import ANY_CASE, WRITTEN_AS

_MAX_DIGITS = 20
# How far before its first digit what holds digits may begin ("previous 12 months", "September 30").
_REACH = 24

# One character for one, so that places in the folded text are places in the text itself.
_FULL_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_FOLDED = str.maketrans(_FULL_WIDTH | dict.fromkeys("−–—~～", "-") | dict.fromkeys("µμ", "u"))

_MONTH = (
    r"(?:(?:Jan|jan)(?:uary)?|(?:Feb|feb)(?:ruary)?|(?:Mar|mar)(?:ch)?|(?:Apr|apr)(?:il)?|May|(?:Jun|jun)e?"
    r"|(?:Jul|jul)y?|(?:Aug|aug)(?:ust)?|(?:Sep|sep)t?(?:ember)?|(?:Oct|oct)(?:ober)?|(?:Nov|nov)(?:ember)?"
    r"|(?:Dec|dec)(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_DAYS = rf"{_DAY}(?:\s?-\s?{_DAY})?"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?"
_OFFSET = r"(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_SPAN = r"(?:minute|hour|day|night|week|month|quarter|year)"
_CHINESE_SPAN = r"(?:分钟|个?小时|天|日|晚|周|个?星期|个?月|个?季度|年)"
_NUMERAL = "[零〇一二两三四五六七八九十百千万]"

# What holds digits and states no figure, by what it begins with; the longest form of a thing first.
_ASIDE_FROM_DIGIT = (
    r"(?<![A-Za-z_\d.])10\.\d{4,9}/\S+",
    rf"(?<![\d.]){_YEAR}[-/.]\d\d?[-/.]\d\d?(?:[T ]{_CLOCK}{_OFFSET})?(?!\d)",
    rf"(?<![\d.]){_YEAR}(?:-(?:W\d\d|Q[1-4])|[-/](?:0[1-9]|1[0-2]))(?!\d)",
    rf"(?<![\d.])\d\d?[/.]\d\d?[/.]{_YEAR}(?!\d)",
    rf"(?<!\d){_YEAR}\s?年(?:\s?\d\d?\s?月(?:份|\s?\d\d?\s?[日号])?)?",
    r"(?<![\d.])\d\d?\s?月(?:份|\s?\d\d?(?:\s?[日号])?)?",
    r"(?<![\d.])\d\d?\s?[号日](?!\d)",
    rf"(?<![\d.,]){_DAYS}\s(?:of\s)?{_MONTH}(?:,?\s{_YEAR})?(?!\w)",
    rf"(?<!\d){_CLOCK}{_OFFSET}(?:\s?[AaPp]\.?[Mm]\b)?(?![\d:])",
    r"(?<![\d.])\d\d?\s?[AaPp]\.?[Mm]\b",
    r"(?<![\d.])\d\d?\s?[点时](?:\d\d?分|整|半)?(?!间)",
    r"(?<![\d.,])\d{1,4}(?:st|nd|rd|th)\b",
    r"(?<![\d.])\d\s?[型期级](?!间)",
    rf"(?<![\d.,])\d{{1,4}}(?:\s{_SPAN}s?\s(?:ago|earlier|later)\b|-{_SPAN}\b)",
    rf"(?<![\d.])\d{{1,4}}\s?{_CHINESE_SPAN}(?:以?前|之前|以?内|以?来|以?后)",
    r"(?<![A-Za-z_\d.])\d{1,2}(?:,\d{1,2})?-?\(?(?:OH|hydroxy|dihydroxy)\w*\)?",
    r"(?<![\d.-])\d{3,5}-\d(?![\d.-])(?!\s?[a-zA-Z%/])",
    r"(?<!\d)10(?:(?:\^|\*{1,2})\d{1,2}|[⁰¹²³⁴-⁹]{1,2})",
    r"1\.73\s?m(?:\^?2|²)",
    rf"(?<![\d.,%]){_YEAR}(?![\d%]|[.,]\d)(?!\s?(?:{{unit}}|{{counted}}))",
)
_ASIDE_FROM_LETTER = (
    r"(?:lit|guide|trial):\w{1,40}",
    rf"{_MONTH}\s{_DAYS}(?:,?\s{_YEAR})?(?![\d.,]*\d)",
    rf"{_MONTH},?\s(?:of\s)?{_YEAR}(?!\d)",
    r"No\.\s?\d+",
    r"(?i:type|stage|phase|grade|class|step|table|figure|section|chapter|version|day|week|quarter)\s\d{1,3}"
    r"(?![\d.,]*\d)(?!\s?%)",
    rf"(?i:last|past|previous|prior|next|recent|coming|every)\s\d{{1,4}}[\s-]{_SPAN}s?\b",
)
_ASIDE_FROM_OTHER = (
    rf"第\s?(?:\d|{_NUMERAL})+",
    r"[#№]\s?\d+",
    r"(?m:^[ \t>*_#-]{0,8}\(?\d{1,3}(?:[.)]\*{0,2}[ \t]|、))",
    r"\[\^?\d{1,2}(?:,\s?\d{1,2}){0,9}\]",
    rf"(?:最近|过去|近|前|上|未来|今后|每)\s?(?:\d{{1,4}}|{_NUMERAL}{{1,4}})\s?[多几]?{_CHINESE_SPAN}",
    rf"{_NUMERAL}{{1,4}}{_CHINESE_SPAN}(?:以?前|之前|以?内|以?来|以?后)",
)
# Spellings of units.py that are words, or several things, in running text.
_NO_UNIT_IN_TEXT = frozenset(
    {
        *("1", "a", "in", "mo", "foot", "stone", "second", "S", "M", "F", "C", "pct", "PG", "Pg", "ph", "PH", "inr"),
        *("Index", "index", "count", "counts", "ratio", "比值", "指数", "个", "次", "年", "日", "时", "分"),
    }
)
_COUNTED = (
    r"(?:[A-Za-z-]{1,20}\s){0,2}?(?:readings?|records?|measurements?|values?|results?|entries|times|occasions|indicators)\b"
    r"|[次条个项笔种类份位名](?!月|小时|星期|季度)"
)
_BIG = {"k": 1e3, "K": 1e3, "千": 1e3, "万": 1e4, "亿": 1e8, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_HAS_NUMBER = re.compile(rf"\d|{_NUMERAL}")
_URL = re.compile(r"https?://\S+")
_SEPARATORS = str.maketrans("", "", ",\u00a0\u2009\u202f")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as a text states it. ``start`` and ``end`` are places in the text, in characters (code points).

    ``value`` is without its sign; ``step`` the size of its last digit (0.1 for "5.4", 1000 for "8k"); ``unit`` UCUM, or
    ``None`` where none stands that is known. ``is_count``: it says how many of something there are.
    """

    start: int
    end: int
    value: float
    step: float
    unit: str | None
    is_count: bool = False


def figures_in(text: str) -> Iterator[Figure]:
    """The figures of a text, in order. Takes time that grows with the text's length alone."""
    folded = text.translate(_FOLDED)
    if "://" in folded:
        folded = _URL.sub(lambda match: " " * len(match[0]), folded)
    end = 0
    while near := _HAS_NUMBER.search(folded, end):
        # Looking at what lies near a number alone is several times faster than looking at all of the text.
        match = _scanner().search(folded, max(end, near.start() - _REACH))
        if match is None:
            return
        end = match.end()
        figure = None if match["aside"] else _figure(match)
        if figure is not None:
            yield figure


def _figure(match: re.Match[str]) -> Figure | None:
    if match["hours"]:
        return Figure(*match.span(), int(match["hours"]) * 60 + int(match["minutes"]), 1, "min")
    if match["hundredths"]:
        value = _numeral(match["hundredths"])
        return None if value is None else Figure(*match.span(), value, 1, "%")
    if match["numeral"]:
        return _chinese(match)
    digits = match["number"].translate(_SEPARATORS)
    if len(digits) > _MAX_DIGITS:
        return None
    size = _BIG.get(match["big"] or "", 1.0)
    step = 10.0 ** -len(digits.partition(".")[2]) * size
    end = match.end("big" if match["big"] else "number")
    return Figure(match.start(), end, float(digits) * size, step, ucum_unit(match["unit"]), bool(match["counted"]))


def _chinese(match: re.Match[str]) -> Figure | None:
    value, unit = _numeral(match["numeral"]), ucum_unit(match["numeral_unit"])
    return None if value is None else Figure(*match.span(), value, 1, unit, is_count=unit is None)


def _numeral(written: str) -> float | None:
    """``十二`` is 12; ``None`` for what is no plain numeral, and for a lone ``一``, which is an article."""
    if written == "一":
        return None
    ahead, ten_thousand, rest = written.rpartition("万")
    high = _below_ten_thousand(ahead) if ten_thousand else 0
    low = _below_ten_thousand(rest) if rest else 0
    return None if high is None or low is None else float(high * 10_000 + low)


def _below_ten_thousand(written: str) -> int | None:
    total = 0
    digit: int | None = None
    for character in written:
        if character in _TENS:
            if digit is None and character != "十":
                return None
            total += (1 if digit is None else digit) * _TENS[character]
            digit = None
        elif character not in _DIGITS or digit:
            return None
        else:
            digit = _DIGITS[character]
    return total + (digit or 0) if written else None


@cache
def _scanner() -> re.Pattern[str]:
    """One pattern, so that what one of its parts took no other part sees."""
    unit = _unit_pattern()
    from_digit = "|".join(_ASIDE_FROM_DIGIT).replace("{unit}", unit).replace("{counted}", _COUNTED)
    aside = (
        rf"(?=\d)(?:{from_digit})|(?=[A-Za-z])(?<!\w)(?:{'|'.join(_ASIDE_FROM_LETTER)})|{'|'.join(_ASIDE_FROM_OTHER)}"
    )
    duration = (
        r"(?=\d)(?<![A-Za-z_\d.])(?P<hours>\d{1,4})\s?(?:h|hrs?|hours?|个?小时)(?:\sand)?\s?"
        r"(?P<minutes>\d{1,2})\s?(?:min(?:ute)?s?|m|分钟?)(?![a-z])"
    )
    number = r"(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:[\u00a0\u2009\u202f]\d{3})+|\d+)(?:\.\d+)?"
    figure = (
        rf"(?=[\d+-])(?:(?<![\w)])[+-])?(?<![A-Za-z_\d.])(?<![A-Za-z]-)(?P<number>{number})(?!\d)"
        r"(?:\s?(?P<big>千|万|亿|[kK](?![A-Za-z/])|(?:thousand|million|billion)\b))?"
        rf"(?:[\s|*_]{{0,4}}(?:(?P<unit>{unit})|(?P<counted>{_COUNTED})))?"
    )
    numeral = (
        rf"百分之(?P<hundredths>{_NUMERAL}{{1,12}})"
        rf"|(?<!几|数|{_NUMERAL[1:-1].replace('', '|')[1:-1]})(?P<numeral>{_NUMERAL}{{1,12}})"
        r"(?=\s?(?:(?P<numeral_unit>天|周|岁|步|小时|分钟|公斤|千克|毫米汞柱)|[次条个项笔种类份位名晚斤倍]))"
    )
    return re.compile(rf"(?P<aside>{aside})|{duration}|{figure}|{numeral}")


def _unit_pattern() -> str:
    written = {form for unit, forms in WRITTEN_AS.items() for form in (unit, *forms)}
    written |= {cased for form in ANY_CASE for cased in (form, form.upper(), form.lower())}
    signs, powers = ("×", "× ", "x", "x ", ""), ("^9", "⁹", "^12", "¹²")
    written |= {"mm Hg", "beats per minute", *(f"{sign}10{power}/L" for sign in signs for power in powers)}
    written |= {form.replace("m2", "m²") for form in written}
    longest_first = sorted(written - _NO_UNIT_IN_TEXT, key=len, reverse=True)
    # A Latin unit ends where its word ends: "m" is not the start of "measured", nor "mg" of "mg/dL".
    return "|".join(re.escape(form) + (r"(?![A-Za-z0-9/])" if form[-1].isascii() else "") for form in longest_first)
