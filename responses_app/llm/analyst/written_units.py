"""Reads the unit that directly follows a number in a question: symbols, spelled-out words, Chinese measure words.

Whether an indicator can be converted from it is told in comparison.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from responses_app.llm.analyst.client_tools import first_verb
from responses_app.llm.analyst.indicators import find_mentions
from responses_app.llm.analyst.small_talk import is_ordinary_word
from responses_app.llm.analyst.text import has_han, word_set
from tools_app.standardization import ucum_unit


@dataclass(frozen=True, slots=True)
class WrittenUnit:
    """``written`` is the text from ``begin`` to ``stop``; ``choices`` what it may mean in UCUM, nothing if unknown."""

    written: str
    choices: tuple[str, ...]
    stop: int


_DEGREES = ("Cel", "[degF]")
# In any case and with or without spaces; what stands here needs no other sign that it is a unit.
_SPELLINGS: dict[str, str] = {
    "%": "%", "percent": "%", "mmol/l": "mmol/L", "mmol/mol": "mmol/mol", "umol/l": "umol/L", "nmol/l": "nmol/L",
    "pmol/l": "pmol/L", "mg/dl": "mg/dL", "g/dl": "g/dL", "g/l": "g/L", "mg/l": "mg/L", "ug/l": "ug/L",
    "ug/dl": "ug/dL", "ng/ml": "ng/mL", "ng/dl": "ng/dL", "pg/ml": "pg/mL", "pg": "pg", "fl": "fL", "u/l": "U/L",
    "mu/l": "mU/L", "iu/l": "[IU]/L", "miu/l": "m[IU]/L", "uiu/ml": "u[IU]/mL", "meq/l": "meq/L", "kpa": "kPa",
    "mmhg": "mm[Hg]", "mm hg": "mm[Hg]", "bpm": "/min", "/min": "/min", "beats/min": "/min", "breaths/min": "/min",
    "kg": "kg", "kgs": "kg", "kilo": "kg", "kilos": "kg", "lb": "[lb_av]", "lbs": "[lb_av]", "cm": "cm", "mm": "mm",
    "m": "m", "km": "km", "ft": "[ft_i]", "kg/m2": "kg/m2", "kcal": "kcal", "°c": "Cel", "c": "Cel", "°f": "[degF]",
    "f": "[degF]", "h": "h", "hr": "h", "hrs": "h", "min": "min", "mins": "min",
}  # fmt: skip
_WORDS: dict[str, str] = {
    "gram": "g", "milligram": "mg", "microgram": "ug", "nanogram": "ng", "picogram": "pg", "kilogram": "kg",
    "mole": "mol", "millimole": "mmol", "micromole": "umol", "nanomole": "nmol", "picomole": "pmol",
    "milliequivalent": "meq", "unit": "U", "international unit": "[IU]", "milliunit": "mU", "microunit": "uU",
    "liter": "L", "litre": "L", "deciliter": "dL", "decilitre": "dL", "milliliter": "mL", "millilitre": "mL",
    "microliter": "uL", "microlitre": "uL", "femtoliter": "fL", "femtolitre": "fL", "minute": "min", "hour": "h",
    "second": "s", "square meter": "m2", "square metre": "m2", "beat": "", "breath": "", "cell": "", "kilo": "kg",
    "millimeter of mercury": "mm[Hg]", "millimetre of mercury": "mm[Hg]", "kilopascal": "kPa", "pascal": "Pa",
    "pound": "[lb_av]", "ounce": "[oz_av]", "stone": "[stone_av]", "foot": "[ft_i]", "feet": "[ft_i]",
    "inch": "[in_i]", "inche": "[in_i]", "mile": "[mi_i]", "yard": "[yd_i]", "meter": "m", "metre": "m",
    "centimeter": "cm", "centimetre": "cm", "kilometer": "km", "kilometre": "km", "calorie": "kcal",
    "kilocalorie": "kcal", "kilojoule": "kJ", "celsius": "Cel", "centigrade": "Cel", "fahrenheit": "[degF]",
    "kelvin": "K", "millisecond": "ms",
}  # fmt: skip
_SYMBOLS = (
    "g", "mg", "ug", "ng", "pg", "kg", "mmol", "umol", "nmol", "pmol", "meq", "U", "L", "dL", "mL", "uL", "min",
)  # fmt: skip
_TEMPERATURE = re.compile(r"(?:degrees?|deg\.?|°)\s*(celsius|centigrade|c|fahrenheit|f)\b", re.IGNORECASE)
_DEGREE = re.compile(r"(?:degrees?|deg)\b\.?|°(?![A-Za-z])", re.IGNORECASE)
_POWER = re.compile(r"(?:[x×*]\s?)?10(?:\^|\*{1,2}|e)?(3|6|9|12)\s?/\s?([umµμ]?)l\b", re.IGNORECASE)
_INCHES = re.compile(r"in\b(?=\s*(?:$|[,.;:?!，。？]|tall\b|high\b))", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th|am|pm|a\.m|p\.m)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s,;:!?，。；：！？、()（）\"“”「」《》\ue000\ue001\u3400-\u9fff]+")
_RATE = re.compile(r"\s*/\s*|\s+per\s+|\s+an?\s+(?=minute|hour)", re.IGNORECASE)
_MOST_WORDS = 6
_LONGEST_ZH = 12
_NO_UNITS = word_set("""
    fasting systolic diastolic resting random postprandial during because despite though although whenever anytime
    lately recently mark line threshold limit target goal cutoff straight consecutive in otherwise once ago unless
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn fall winter either though even overnight afterwards
    alert warn page whereas since considering including excluding versus against among across within without
""")
_ZH_SPELLINGS = {"华氏": "[degF]", "摄氏": "Cel", "度": "Cel", "英石": "[stone_av]", "次/分": "/min", "次/分钟": "/min"}
# Words of time and number: "高于7时" and "超过3次" name no unit.
_ZH_NO_UNITS = frozenset({"时", "分", "天", "日", "周", "个月", "年", "岁", "个", "次", "时间"})
_ZH_UNREAD = re.compile(
    r"(?!分别|升高|升级|单独|里面|度过|两[次个周天]|点[钟吗])[毫微纳皮公厘华摄克摩尔斤两石磅镑盎司米尺寸码卡焦帕巴汞柱单位国际拷贝当量度"
    r"档吨元块杯勺粒片袋瓶滴格岁]+(?:[/每][^\s,，。?？]{1,4})?"
)


def read_unit(text: str, begin: int) -> WrittenUnit | None:
    """The unit that stands at ``begin``, right after a number; ``None`` when what stands there is no unit."""
    at = begin
    while at < len(text) and text[at] == " ":
        at += 1
    if at == len(text):
        return None
    if has_han(text[at]):
        return _chinese(text, at)
    return _latin(text, at, attached=at == begin)


def _latin(text: str, at: int, *, attached: bool) -> WrittenUnit | None:
    if m := _TEMPERATURE.match(text, at):
        return WrittenUnit(m[0], ("Cel" if m[1][0] in "cC" else "[degF]",), m.end())
    if m := _DEGREE.match(text, at):
        return WrittenUnit(m[0], _DEGREES, m.end())
    if m := _POWER.match(text, at):
        return WrittenUnit(m[0], (f"10*{m[1]}/{m[2].replace('µ', 'u').replace('μ', 'u')}L",), m.end())
    if m := _INCHES.match(text, at):
        return WrittenUnit(m[0], ("[in_i]",), m.end())
    for phrase in _phrases(text, at):
        if (unit := _meaning(phrase)) is not None:
            return WrittenUnit(phrase, (unit,), at + len(phrase))
    m = _TOKEN.match(text, at)
    word = m[0].rstrip(".'’") if m else ""
    if not word or not _looks_like_unit(text, at, word, attached=attached):
        return None
    unit = ucum_unit(word)
    return WrittenUnit(word, (unit,) if unit else (), at + len(word))


def _phrases(text: str, at: int) -> Iterator[str]:
    """The first words from ``at``, most words first."""
    ends: list[int] = []
    stop = at
    while len(ends) < _MOST_WORDS and (m := _TOKEN.match(text, stop)):
        ends.append(m.end())
        if not text.startswith(" ", m.end()):
            break
        stop = m.end() + 1
    for end in reversed(ends):
        yield text[at:end].rstrip(".'’")


def _meaning(phrase: str) -> str | None:
    """What a phrase that can be nothing but a unit means, in UCUM."""
    plain = phrase.casefold().replace("μ", "u").replace("µ", "u")
    known = _SPELLINGS.get(_SPACED_SLASH.sub("/", plain))
    if known is not None:
        return known
    sides = [side for side in map(_word, _RATE.split(plain)) if side is not None]
    unit = "/".join(sides)
    if len(sides) <= plain.count("/") + plain.count(" per ") or not unit:
        return None
    return unit if len(sides) == 1 else ucum_unit(unit)


_SPACED_SLASH = re.compile(r"\s*/\s*")


def _word(side: str) -> str | None:
    """A spelled-out word or a symbol in UCUM; "" for what is only counted (beats)."""
    words = side.strip()
    for word in (words, words.removesuffix("s"), words.replace("s ", " ", 1)):
        if word in _WORDS:
            return _WORDS[word]
    return next((symbol for symbol in _SYMBOLS if symbol.casefold() == words), None)


def _looks_like_unit(text: str, at: int, word: str, *, attached: bool) -> bool:
    """Whether a word after a number that is not known is a unit rather than the sentence going on."""
    if attached and _ORDINAL.match(word):
        return False
    if attached or not word.isalpha():
        return any(c.isalpha() or c in "/%^°‰" for c in word)
    lower = word.lower()
    if is_ordinary_word(lower) or lower in _NO_UNITS or lower.endswith("ly"):
        return False
    if first_verb(text[at:]) == 0:
        return False
    return not any(m.begin == 0 for m in find_mentions(text[at : at + 60]))


def _chinese(text: str, at: int) -> WrittenUnit | None:
    for length in range(_LONGEST_ZH, 0, -1):
        phrase = text[at : at + length]
        if len(phrase) < length or phrase in _ZH_NO_UNITS:
            continue
        plain = phrase.replace("每", "/").replace(" ", "")
        unit = _ZH_SPELLINGS.get(plain) or ucum_unit(plain)
        if unit is not None and not any(m.begin == 0 for m in find_mentions(phrase)):
            return WrittenUnit(phrase, (unit,), at + length)
    m = _ZH_UNREAD.match(text, at)
    return WrittenUnit(m[0], (), m.end()) if m else None
