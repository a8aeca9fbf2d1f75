"""Reads the numbers, units and dates an answer states, in English or Chinese. What is right is decided elsewhere."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from tests.questions.units import UNIT_PATTERN, unit_named

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_TIME = r"(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
# The most telling form first: what one pattern took is hidden from the next.
_DATE_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?){_TIME}(?!\d)",
        rf"(?<!\d){_YEAR}-W(?P<week>\d\d)(?!\d)",
        rf"(?<!\d){_YEAR}[-/](?P<month>0[1-9]|1[0-2])(?!\d)",
        rf"{_YEAR}\s*年\s*(?P<month>\d\d?)\s*月\s*(?P<day>\d\d?)\s*[日号]",
        rf"{_YEAR}\s*年\s*(?P<month>\d\d?)\s*月(?:份)?",
        r"(?<!\d)(?P<month>\d\d?)\s*月\s*(?P<day>\d\d?)\s*[日号]",
        rf"\b(?P<name>{_MONTH})\s+(?P<day>\d\d?)(?:st|nd|rd|th)?,?\s+{_YEAR}\b",
        rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_MONTH}),?\s+{_YEAR}\b",
        rf"\b(?P<name>{_MONTH}),?\s+(?:of\s+)?{_YEAR}\b",
        rf"\b(?P<name>{_MONTH})\s+(?P<day>\d\d?)(?:st|nd|rd|th)?\b",
        rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?\s+(?P<name>{_MONTH})(?![a-z])",
        rf"{_YEAR}\s*年",
        r"(?<!\d)(?P<month>1[0-2]|[1-9])\s*月(?:份)?",
        rf"(?<![\d.,]){_YEAR}(?![\d.,]*\d)(?!\s*(?:{UNIT_PATTERN}))",
    )
)
_DAY_LIST = re.compile(
    r"(?P<month>(?:(?:19|20)\d\d\s*年\s*)?\d\d?\s*月)\s*(?P<day>\d\d?\s*[日号])(?P<link>\s*[、,，和至到~～–—-]\s*)"
    r"(?=\d\d?\s*[日号])"
)
_DAY_RANGE = re.compile(
    rf"\b(?P<name>{_MONTH})\s+(?P<first>\d\d?)\s*[-–—]\s*(?P<last>\d\d?),?\s+{_YEAR}\b", re.IGNORECASE
)
_CLOCK = re.compile(r"(?<!\d)\d{1,2}:\d\d(?::\d\d)?(?!\d)")
_CHART = re.compile(r"```[ \t]*vis-chart.*?(?:```|\Z)", re.DOTALL)
_EMPHASIS = re.compile(r"\\(?=[*_])|\*{2,}|(?<!\d)\*|\*(?!\d)|(?<!\w)_+|_+(?!\w)|`+")
_LIST_NUMBER = re.compile(r"^[ \t]*\d{1,3}[.)、][ \t]+", re.MULTILINE)
_NAME_WITH_DIGITS = re.compile(
    r"\b25[-\s]?\(?(?:OH|hydroxy|羟)\)?|\b(?:LOINC|代码)[\s:：]*\d+-\d\b|(?<![\d./-])\d{3,5}-\d(?![\d./-])",
    re.IGNORECASE,
)
_COMPARATORS = {"less than": "<", "below": "<", "under": "<", "低于": "<", "小于": "<"} | {
    sign: sign for sign in ("<", "<=", ">", ">=", "≤", "≥")
}
_NUMBER = r"[+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_HOURS_AND_MINUTES = re.compile(
    r"(?<![\w.])(?P<hours>\d+)\s*(?:h|hrs?|hours?|小时)\s*(?:and\s+)?(?P<minutes>\d+)\s*(?:min(?:ute)?s?|m|分钟?)(?![a-z])",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:[a-z-]+[ \t]+){0,3}?(?:readings?|records?|measurements?|values?|results?|entries|tests?|times?|occasions?"
    r"|nights?|indicators?|types?|items?)\b|次|条|个(?!月|小时|星期)|项|笔|种|类|晚"
)
_SPAN = r"(?:calendar\s+)?(?:days?|weeks?|months?|years?)\b|-(?:day|week|month|year)\b|天|日|周|个月|个星期|星期|年|岁"
_FIGURE = re.compile(
    r"(?<![A-Za-z0-9_.])(?P<comparator>[<>≤≥]=?|less than|below|under|低于|小于)?\s*"
    rf"(?P<number>{_NUMBER})(?P<gap>[ \t|]*)(?:(?P<unit>{UNIT_PATTERN})|(?P<noun>{_NOUN})|(?P<span>{_SPAN}))?",
    re.IGNORECASE,
)
_PAIR_LINK = re.compile(r"\s*(?:/|-|–|—|~|～|至|到|to|and|or|和|、|,|，|→)\s*", re.IGNORECASE)
_COUNT_LINK = re.compile(r"\s*(?:of|out of|/)\s*(?:the\s+|your\s+)?(?:last\s+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """A number an answer states.

    `step` is the size of its last digit (0.1 for "5.4"), `unit` as in units.py or None when none follows,
    `role` "value" (a measured value or computed from some), "count" (so many readings) or "span" (so many days).
    """

    number: float
    step: float
    unit: str | None
    role: str
    comparator: str | None = None


@dataclass(frozen=True)
class StatedDate:
    """A day, week, month or year an answer names. A year left out is None: such a date fits every year."""

    year: int | None
    month: int | None = None
    day: int | None = None
    week: int | None = None

    def is_day(self, day: date) -> bool:
        """Whether exactly this day is named."""
        return self.day == day.day and self.month == day.month and self.year in (None, day.year)

    def touches(self, first: date, last: date) -> bool:
        """Whether the named stretch has a day from `first` to `last`."""
        years = range(first.year, last.year + 1) if self.year is None else (self.year,)
        return any(start <= last and end >= first for start, end in map(self._stretch, years))

    def _stretch(self, year: int) -> tuple[date, date]:
        if self.week is not None:
            monday = date.fromisocalendar(year, self.week, 1)
            return monday, monday + timedelta(days=6)
        if self.month is None:
            return date(year, 1, 1), date(year, 12, 31)
        last_day = monthrange(year, self.month)[1]
        if self.day is None:
            return date(year, self.month, 1), date(year, self.month, last_day)
        day = date(year, self.month, min(self.day, last_day))
        return day, day


@dataclass(frozen=True)
class Reading:
    """What an answer states. `text` is the prose that was read: charts, dates and list numbers taken out."""

    figures: tuple[Figure, ...]
    dates: tuple[StatedDate, ...]
    text: str

    def of_role(self, role: str) -> tuple[Figure, ...]:
        """The figures of one role, in the order they are stated."""
        return tuple(figure for figure in self.figures if figure.role == role)


def read(answer: str) -> Reading:
    """Numbers with units, and dates, in the prose of `answer` (Markdown, English or Chinese)."""
    prose = _LIST_NUMBER.sub("", _CHART.sub(" ", answer))
    prose = _EMPHASIS.sub("", prose).replace("µ", "u").replace("μ", "u")
    prose, dates = _take_dates(_spell_out_days(_NAME_WITH_DIGITS.sub(" ", prose)))
    prose, durations = _take_durations(prose)
    return Reading((*durations, *_figures(prose)), tuple(dates), prose)


def _spell_out_days(prose: str) -> str:
    """Gives every day its month: "3月1日、5日" becomes "3月1日、3月5日", "March 1–5, 2026" two whole dates."""
    prose = _DAY_RANGE.sub(r"\g<name> \g<first>, \g<year> - \g<name> \g<last>, \g<year>", prose)
    while (spelled := _DAY_LIST.sub(r"\g<month>\g<day>\g<link>\g<month>", prose)) != prose:
        prose = spelled
    return prose


def _take_dates(prose: str) -> tuple[str, list[StatedDate]]:
    found: list[StatedDate] = []

    def take(match: re.Match[str]) -> str:
        stated = _stated_date(match)
        if stated is None:
            return match.group()
        found.append(stated)
        return "; "

    for pattern in _DATE_PATTERNS:
        prose = pattern.sub(take, prose)
    return _CLOCK.sub("; ", prose), found


def _stated_date(match: re.Match[str]) -> StatedDate | None:
    parts = {name: int(text) for name, text in match.groupdict().items() if text and name != "name"}
    if name := match.groupdict().get("name"):
        parts["month"] = _MONTHS.index(name[:3].lower()) + 1
    stated = StatedDate(parts.get("year"), parts.get("month"), parts.get("day"), parts.get("week"))
    return stated if _exists(stated) else None


def _exists(stated: StatedDate) -> bool:
    leap_year = 2024
    year = stated.year or leap_year
    if stated.week is not None:
        return 1 <= stated.week <= date(year, 12, 28).isocalendar().week
    if stated.month is None:
        return True
    return 1 <= stated.month <= 12 and 1 <= (stated.day or 1) <= monthrange(year, stated.month)[1]


def _take_durations(prose: str) -> tuple[str, list[Figure]]:
    """Takes out "7 h 12 min" and its like, which are one number of hours."""
    durations: list[Figure] = []

    def take(match: re.Match[str]) -> str:
        durations.append(Figure(int(match["hours"]) + int(match["minutes"]) / 60, 1 / 60, "h", "value"))
        return "; "

    return _HOURS_AND_MINUTES.sub(take, prose), durations


def _figures(prose: str) -> list[Figure]:
    matches = list(_FIGURE.finditer(prose))
    figures: list[Figure] = []
    for index in reversed(range(len(matches))):
        match = matches[index]
        link = match["gap"] + prose[match.end() : matches[index + 1].start()] if figures else ""
        figures.append(_figure(match, link, figures[-1] if figures else None))
    return figures[::-1]


def _figure(match: re.Match[str], link: str, following: Figure | None) -> Figure:
    """One figure; a number without its own unit shares that of the number it is paired with ("3.9–6.1 mmol/L")."""
    digits = match["number"].replace(",", "").replace("−", "-")
    decimals = len(digits.partition(".")[2])
    unit, role = unit_named(match["unit"]), "value"
    if match["noun"] and not decimals:
        role = "count"
    elif match["span"]:
        role = "span"
    elif unit is None and following is not None and _PAIR_LINK.fullmatch(link):
        unit, role = following.unit, following.role
    elif unit is None and following is not None and following.role == "count" and _COUNT_LINK.fullmatch(link):
        role = "count"
    return Figure(float(digits), 10.0**-decimals, unit, role, _COMPARATORS.get((match["comparator"] or "").lower()))
