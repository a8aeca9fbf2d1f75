"""Reads limits ("above 7 mmol/L", "低于 120", "between 5 and 7") out of a question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from responses_app.llm.analyst.numbers import NUMBER, read_number
from responses_app.llm.analyst.written_units import read_unit

_NOT_TIME = r"(?!\s*(?:days?|weeks?|months?|years?|times|天|周|星期|个月|年|月|次(?!/)|[-/.]\d|:\d|-\d))"
_ABOVE_EN = (
    r"above|over|greater than|more than|higher than|bigger than|exceed(?:s|ed|ing)?|beyond|>|in excess of|upwards? of"
)
_AT_LEAST_EN = r"at least|>=|≥|no less than|not less than|reach(?:es|ed|ing)?|hit"
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


_PAIR = r"(?:\s*/\s*(?P<pair>\d{1,3}(?:\.\d+)?)(?![\d.]))?"
_ENDED = r"(?![\d:]|[.,]\d)"
_PREFIXED = re.compile(
    rf"(?:(?<!不)(?P<atleast>{_AT_LEAST_ZH}|{_AT_LEAST_EN})|(?P<atmost>{_AT_MOST_ZH}|{_AT_MOST_EN})"
    rf"|(?P<above>{_ABOVE_ZH}|\b(?:{_ABOVE_EN})|>)|(?P<below>{_BELOW_ZH}|\b(?:{_BELOW_EN})|<))"
    rf"\s*(?:了|a |an |the |about )?\s*(?P<scale>华氏|摄氏)?(?P<number>-?{NUMBER}){_PAIR}{_ENDED}{_NOT_TIME}",
    re.IGNORECASE,
)
_NUMBER_FIRST = re.compile(rf"(?<![\d.,\-/A-Za-z])(?P<number>{NUMBER}){_PAIR}{_ENDED}", re.IGNORECASE)
_SUFFIX = re.compile(
    r"\s*(?:(?P<atleast>(?:及|或|\s)?以上|or (?:more|above|higher|over)(?!\s*[\d.]))"
    r"|(?P<atmost>(?:及|或|\s)?以下|or (?:less|below|lower|under)(?!\s*[\d.])))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"(?:\b(?:between|from)|在|介于)\s*(?P<low>{NUMBER})(?P<gap>\s*(?:and|to|-|和|到|至)\s*)(?P<high>{NUMBER})"
    rf"{_ENDED}{_NOT_TIME}(?!\s*(?:日|号))",
    re.IGNORECASE,
)
_BOTH_SIDES = re.compile(r"\s*,?\s*(?:and|but|且|并且|而且|但|同时)?\s*", re.IGNORECASE)
_SECOND = re.compile(rf"\s*(?:and\s+)?(?P<number>{NUMBER})(?![\d:])", re.IGNORECASE)
# What a second number after a unit counts, and how many of it make one of the first: 5 feet 10, 6 hours 30 minutes.
_COMPOUND = {
    "[ft_i]": ("[in_i]", 12),
    "[stone_av]": ("[lb_av]", 14),
    "h": ("min", 60),
    "m": ("cm", 100),
    "[lb_av]": ("[oz_av]", 16),
}
_METRES, _TENTHS = "米", 10
_LONGEST_UNIT = 60
_OLDEST_YEAR, _NEWEST_YEAR = 1990, 2100
_EPSILON = 1e-7


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value is held against: above ``above`` and below ``below`` (``None``: no such side).

    ``inclusive`` lets the limit itself count. ``second_above`` and ``second_below`` are the diastolic half of "140/90".
    ``unit`` is UCUM, ``None`` when none was written or it was not read; ``assumed`` when it was not written but taken.
    ``choices`` is what an ambiguous unit may mean ("degrees"). ``unread`` is what was written of a number or unit that
    could not be read: nothing may be compared then. ``begin`` and ``stop`` are its place.
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
    unread: str = ""
    assumed: bool = False
    choices: tuple[str, ...] = ()

    def arguments(self, *, second: bool = False) -> dict[str, object]:
        """The limit as arguments of ``query_health_data``, whose own limits never include the limit itself."""
        above = self.second_above if second else self.above
        below = self.second_below if second else self.below
        given: dict[str, object] = {}
        if above is not None:
            given["above"] = round(above - _EPSILON, 7) if self.inclusive else above
        if below is not None:
            given["below"] = round(below + _EPSILON, 7) if self.inclusive else below
        unit = self.unit or self.written_unit
        return given | ({"unit": unit} if unit else {})

    @property
    def numbers(self) -> list[float]:
        """The numbers in it."""
        sides = (self.above, self.below, self.second_above, self.second_below)
        return [side for side in sides if side is not None]


def find_limits(text: str) -> list[Limit]:
    """The limits a question names, in order; two sides of one ("above 5 and below 6") as one. A bare year is none."""
    found = [_between(m, text) for m in _BETWEEN.finditer(text) if not (_is_year(m["low"]) and _is_year(m["high"]))]
    found += [limit for m in _PREFIXED.finditer(text) if (limit := _prefixed(m, text)) is not None]
    found += [limit for m in _NUMBER_FIRST.finditer(text) if (limit := _suffixed(m, text)) is not None]
    kept: list[Limit] = []
    for limit in sorted(found, key=lambda x: x.begin - x.stop):
        if all(limit.stop <= other.begin or limit.begin >= other.stop for other in kept):
            kept.append(limit)
    joined = _joined(text, sorted(kept, key=lambda x: x.begin))
    return [replace(limit, unread=text[limit.begin : limit.stop]) if limit.unread else limit for limit in joined]


def plain_number(value: float) -> int | float:
    """A whole number without its ``.0``."""
    return int(value) if value == int(value) else value


def _joined(text: str, limits: Sequence[Limit]) -> list[Limit]:
    joined: list[Limit] = []
    for limit in limits:
        both = _both(text, joined[-1], limit) if joined else None
        if both is not None:
            joined[-1] = both
        else:
            joined.append(limit)
    return joined


def _both(text: str, first: Limit, second: Limit) -> Limit | None:
    """Two one-sided limits, one right after the other, as one; ``None`` when they are not two sides of one."""
    lower, upper = (first, second) if first.above is not None else (second, first)
    if not _BOTH_SIDES.fullmatch(text[first.stop : second.begin]) or first.inclusive != second.inclusive:
        return None
    if lower.above is None or upper.below is None or lower.below is not None or upper.above is not None:
        return None
    if {first.unit, second.unit} - {None, second.unit} or lower.above >= upper.below or len(first.numbers) > 1:
        return None
    unit = second if second.written_unit or not first.written_unit else first
    both = replace(unit, above=lower.above, below=upper.below, begin=first.begin, stop=second.stop)
    return replace(both, unread=first.unread or second.unread)


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number with its unit; ``number`` is ``None`` when it could not be read whole."""

    number: float | None
    pair: float | None
    written_unit: str
    choices: tuple[str, ...]
    stop: int
    text: str

    @property
    def unread(self) -> str:
        return self.text if self.number is None or (self.written_unit and not self.choices) else ""


def _amount(m: re.Match[str], text: str, scale: str | None = None) -> _Amount:
    number = read_number(m["number"].removeprefix("-"))
    number = number if number is None or not m["number"].startswith("-") else -number
    pair = float(m["pair"]) if m["pair"] else None
    if scale:
        stop = m.end() + (text[m.end() : m.end() + 1] == "度")
        return _Amount(number, pair, scale, ("[degF]" if scale == "华氏" else "Cel",), stop, text[m.start() : stop])
    unit = read_unit(text, m.end())
    if unit is None:
        return _Amount(number, pair, "", (), m.end(), text[m.start("number") : m.end()])
    number, written, stop = _with_second(number, unit.written, unit.choices, text, unit.stop)
    return _Amount(number, pair, written, unit.choices, stop, text[m.start("number") : stop])


def _with_second(
    number: float | None, written: str, choices: tuple[str, ...], text: str, stop: int
) -> tuple[float | None, str, int]:
    """The number with what a second one adds to it ("5 feet 10"), the unit's words, and where they end."""
    m = _SECOND.match(text, stop)
    if m is None or number is None or len(choices) != 1 or choices[0] not in _COMPOUND:
        return number, written, stop
    second = read_number(m["number"])
    smaller, ratio = _COMPOUND[choices[0]]
    unit = read_unit(text, m.end())
    if unit is not None and unit.choices != (smaller,):
        return number, written, stop
    if unit is None and written == _METRES and second is not None and second < _TENTHS:
        ratio = _TENTHS
    total = None if second is None else number + second / ratio
    end = unit.stop if unit is not None else m.end()
    return total, written, end


def _prefixed(m: re.Match[str], text: str) -> Limit | None:
    amount = _amount(m, text, m["scale"])
    upward = bool(m["atleast"] or m["above"])
    return _one_sided(m, amount, upward=upward, inclusive=bool(m["atleast"] or m["atmost"]))


def _suffixed(m: re.Match[str], text: str) -> Limit | None:
    if _SUFFIX.search(text, m.end(), m.end() + _LONGEST_UNIT) is None:
        return None
    amount = _amount(m, text)
    said = _SUFFIX.match(text, amount.stop)
    if said is None:
        return None
    limit = _one_sided(m, amount, upward=bool(said["atleast"]), inclusive=True)
    return limit and replace(limit, stop=said.end())


def _one_sided(m: re.Match[str], amount: _Amount, *, upward: bool, inclusive: bool) -> Limit | None:
    if not (amount.pair or amount.written_unit) and _is_year(m["number"]):
        return None
    number = plain_number(amount.number or 0)
    above, below = (number, None) if upward else (None, number)
    second_above, second_below = (amount.pair, None) if upward else (None, amount.pair)
    return Limit(
        above, below, amount.choices[0] if len(amount.choices) == 1 else None, amount.written_unit, inclusive,
        m.start(), amount.stop, second_above, second_below, amount.unread,
        choices=amount.choices if len(amount.choices) > 1 else (),
    )  # fmt: skip


def _between(m: re.Match[str], text: str) -> Limit:
    low, high = read_number(m["low"]), read_number(m["high"])
    unit = read_unit(text, m.end())
    stop = unit.stop if unit else m.end()
    choices = unit.choices if unit else ()
    unread = text[m.start("low") : stop] if low is None or high is None or (unit and not choices) else ""
    low, high = sorted((low or 0, high or 0))
    return Limit(
        plain_number(low), plain_number(high), choices[0] if len(choices) == 1 else None, unit.written if unit else "",
        inclusive=True, begin=m.start(), stop=stop, unread=unread, choices=choices if len(choices) > 1 else (),
    )  # fmt: skip


def _is_year(number: str) -> bool:
    return number.isdecimal() and _OLDEST_YEAR <= int(number) <= _NEWEST_YEAR
