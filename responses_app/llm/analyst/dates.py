"""Reads dates and periods out of a question, in English and Chinese, relative to a given day.

What a period is used for is not known here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

_DAYS_IN_WEEK = 7
_MONTHS_IN_YEAR = 12
_SUNDAY = 6
_SATURDAY = 5
_OLDEST, _NEWEST = 1900, 2199

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORD_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple of": 2, "few": 3, "half a": 0,
}  # fmt: skip
NUMBER = r"((?<![\d.,])\d{1,9}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|couple of|few)"
UNIT = r"(day|week|month|quarter|year)s?"
_ZH_DIGITS = {
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
ZH_NUMBER = r"((?<![\d.,])\d{1,9}|[一二两三四五六七八九十]{1,3}|几)"
ZH_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "个月": "month", "月": "month"}
ZH_UNITS |= {"个季度": "quarter", "季度": "quarter", "年": "year", "个星期": "week"}


@dataclass(frozen=True, slots=True)
class Period:
    """Days from ``start`` to ``end``, both included; ``None`` is open. ``text`` is the period as it was written.

    ``begin`` and ``stop`` are its place in the question. ``possible`` is false for a date that no calendar has.
    ``night``: meant is last night, which ends today.
    """

    start: date | None
    end: date | None
    text: str
    begin: int
    stop: int
    possible: bool = True
    implied_year: bool = False
    bare_day: bool = False
    two_ended: bool = False
    night: bool = False

    @property
    def is_day(self) -> bool:
        """Whether it is one single day."""
        return self.start is not None and self.start == self.end


Range = tuple[date, date]
_OF_NIGHT = re.compile(r"night|evening|晚|夜", re.IGNORECASE)
_THEN_NIGHT = re.compile(r"\s*(?:night|evening|晚|夜)", re.IGNORECASE)


def nights_of_sleep(periods: Sequence[Period], text: str, today: date) -> list[Period]:
    """Periods as they are meant of sleep: a night counts for the day it ends on, so last night is today."""
    return [_night(period, text, today) for period in periods]


def _night(period: Period, text: str, today: date) -> Period:
    named = _OF_NIGHT.search(text, period.begin, period.stop) or _THEN_NIGHT.match(text, period.stop)
    if not named or period.start is None or not period.is_day:
        return period
    day = period.start + timedelta(days=1)
    return replace(period, start=day, end=day, night=day == today)


def find_periods(text: str, today: date, *, ahead: bool = False, join: bool = True) -> list[Period]:
    """The periods a question names, in order. ``ahead`` reads what names no year as yet to come.

    ``join`` makes one period of two ends ("from March to May"); without it both stand on their own.
    """
    found = _without_overlaps(_single_periods(text, today, ahead))
    return _with_open_ends(text, _joined(text, found, join), today, ahead)


def working_day_after(today: date, days: int) -> date:
    """The first day from Monday to Friday at least ``days`` after ``today``."""
    day = today + timedelta(days=days)
    while day.weekday() >= _SATURDAY:
        day += timedelta(days=1)
    return day


def add_months(day: date, months: int) -> date:
    """The same day ``months`` later (earlier when negative), or the last of that month."""
    index = day.year * _MONTHS_IN_YEAR + day.month - 1 + months
    year, month = divmod(index, _MONTHS_IN_YEAR)
    return min(date(year, month + 1, 1) + timedelta(days=day.day - 1), _month(year, month + 1)[1])


def _month(year: int, month: int) -> Range:
    following = date(year + month // _MONTHS_IN_YEAR, month % _MONTHS_IN_YEAR + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)


def _year(year: int) -> Range:
    return date(year, 1, 1), date(year, 12, 31)


def _quarter(year: int, quarter: int) -> Range:
    return _month(year, 3 * quarter - 2)[0], _month(year, 3 * quarter)[1]


def _half(year: int, second: bool) -> Range:
    return (date(year, 7, 1), date(year, 12, 31)) if second else (date(year, 1, 1), date(year, 6, 30))


def _calendar(unit: str, offset: int, today: date) -> Range:
    """The whole week, month, quarter or year ``offset`` away from the one that holds ``today``."""
    if unit == "day":
        return (today + timedelta(days=offset),) * 2
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=offset)
        return monday, monday + timedelta(days=_SUNDAY)
    if unit == "month":
        first = add_months(today.replace(day=1), offset)
        return _month(first.year, first.month)
    if unit == "quarter":
        first = add_months(today.replace(day=1), 3 * offset)
        return _quarter(first.year, (first.month + 2) // 3)
    return _year(today.year + offset)


def _rolling(unit: str, count: int, today: date) -> Range:
    """The last ``count`` units up to and including ``today``. Raises ValueError for none of them."""
    if count < 1:
        raise ValueError("no time at all")
    if unit == "day":
        return today - timedelta(days=max(count - 1, 0)), today
    if unit == "week":
        return today - timedelta(days=_DAYS_IN_WEEK * count - 1), today
    return add_months(today, -count * {"month": 1, "quarter": 3, "year": 12}[unit]), today


def shifted(unit: str, count: int, today: date) -> date:
    """The day ``count`` units from ``today``."""
    if unit in {"day", "week"}:
        return today + timedelta(days=count * (1 if unit == "day" else _DAYS_IN_WEEK))
    return add_months(today, count * {"month": 1, "quarter": 3, "year": 12}[unit])


_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}


def _season(name: str, year: int | None, today: date) -> Range:
    """Three whole months of the northern year, the last ones begun when no year is named."""
    first = _SEASONS[name]
    start = date(year if year is not None else _nearest_year(first, 1, today, ahead=False), first, 1)
    return _to_date((start, add_months(start, 3) - timedelta(days=1)), today)


def _ago(unit: str, count: int, today: date) -> Range:
    return _calendar(unit, -count, today)


def number_of(word: str) -> int:
    """A count in digits or in words."""
    word = word.lower()
    if word.isdecimal():
        return int(word)
    return _WORD_NUMBERS.get(word) or _zh_number(word)


def _zh_number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    if word == "几":
        return 3
    tens, ten, ones = word.rpartition("十")
    if not ten:
        return _ZH_DIGITS.get(word[-1:], 0)
    return (_ZH_DIGITS.get(tens, 1) if tens else 1) * 10 + (_ZH_DIGITS.get(ones, 0) if ones else 0)


def _month_number(name: str) -> int:
    return _MONTH_NAMES.index(name[:3].lower()) + 1


def _nearest_year(month: int, day: int, today: date, ahead: bool) -> int:
    """The year that an unqualified month or day means: the last one that has come, or the next to come."""
    if ahead:
        return today.year if (month, day) >= (today.month, today.day) else today.year + 1
    return today.year if (month, day) <= (today.month, today.day) else today.year - 1


def _zh_year(word: str | None, today: date) -> int | None:
    if not word:
        return None
    return {"今": today.year, "去": today.year - 1, "前": today.year - 2, "明": today.year + 1}.get(word) or int(word)


@dataclass(frozen=True, slots=True)
class _Reader:
    """One way to write a period. ``read`` gives its days; ``ValueError`` says that there is no such day."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], date, bool], Range]
    implied_year: Callable[[re.Match[str]], bool] = lambda _: False
    bare_day: bool = False


def _day(year: int, month: int, day: int) -> Range:
    return (date(year, month, day),) * 2


def _read_iso_month(m: re.Match[str], today: date, ahead: bool) -> Range:
    return _month(int(m[1]), _valid_month(int(m[2])))


def _valid_month(month: int) -> int:
    if not 1 <= month <= _MONTHS_IN_YEAR:
        raise ValueError("no such month")
    return month


def _read_slashed(m: re.Match[str], today: date, ahead: bool) -> Range:
    first, second = int(m[1]), int(m[2])
    month, day = (second, first) if first > _MONTHS_IN_YEAR else (first, second)
    return _day(int(m[3]), month, day)


def _read_named_month(m: re.Match[str], today: date, ahead: bool) -> Range:
    """March 2026, March 5, March 5th 2026, 5 March 2026, last March, March last year."""
    which, early_day, name, late_day, year_text, year_word = m[1], m[2], m[3], m[4], m[5], m[6]
    month = _month_number(name)
    day = int(early_day or late_day or 0)
    year = _named_year(which, month, day, year_text, year_word, today, ahead)
    return _day(year, month, day) if day else _month(year, month)


def _named_year(
    which: str | None, month: int, day: int, year_text: str | None, year_word: str | None, today: date, ahead: bool
) -> int:
    if year_text:
        return int(year_text)
    if year_word:
        return today.year + {"last": -1, "this": 0, "next": 1}[year_word.lower()]
    if which and which.lower() == "this":
        return today.year
    year = _nearest_year(month, day or 1, today, ahead)
    in_its_midst = which and which.lower() == "last" and year == today.year and month == today.month
    return year - 1 if in_its_midst else year


def _read_zh_date(m: re.Match[str], today: date, ahead: bool) -> Range:
    """2026年3月5日, 去年3月, 3月5号, 三月."""
    month = _valid_month(_zh_number(m[2]))
    day = _zh_number(m[3]) if m[3] else 0
    year = _zh_year(m[1], today) or _nearest_year(month, day or 1, today, ahead)
    return _day(year, month, day) if m[3] else _month(year, month)


def _read_zh_year_part(m: re.Match[str], today: date, ahead: bool) -> Range:
    year = _zh_year(m[1], today) or today.year
    if m[2]:
        return _to_date(_half(year, m[2] == "下"), today)
    return _to_date(_quarter(year, _zh_number(m[3])), today)


_WEEKS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 0}
_WEEKS |= {"一": 1, "二": 2, "三": 3, "四": 4, "1": 1, "2": 2, "3": 3, "4": 4, "最后一": 0}
_THIRDS = {"early": 1, "mid": 11, "late": 21, "上旬": 1, "中旬": 11, "下旬": 21, "初": 1, "底": 21, "末": 21}
_DAYS_IN_THIRD = 10


def _read_week_of_month(m: re.Match[str], today: date, ahead: bool) -> Range:
    """The first week of a month is its first seven days, the last its last seven."""
    month = _month_number(m[2])
    return _week_of(month, _named_year(None, month, 1, m[3], None, today, ahead), _WEEKS[m[1].lower()])


def _read_zh_week_of_month(m: re.Match[str], today: date, ahead: bool) -> Range:
    month = _valid_month(_zh_number(m[2]))
    return _week_of(month, _zh_year(m[1], today) or _nearest_year(month, 1, today, ahead), _WEEKS[m[3]])


def _week_of(month: int, year: int, week: int) -> Range:
    first, last = _month(year, month)
    if not week:
        return last - timedelta(days=_DAYS_IN_WEEK - 1), last
    start = first + timedelta(days=_DAYS_IN_WEEK * (week - 1))
    return start, start + timedelta(days=_DAYS_IN_WEEK - 1)


def _read_third_of_month(m: re.Match[str], today: date, ahead: bool) -> Range:
    month = _month_number(m[2])
    return _third_of(month, _named_year(None, month, 1, m[3], None, today, ahead), _THIRDS[m[1].lower()])


def _read_zh_third_of_month(m: re.Match[str], today: date, ahead: bool) -> Range:
    month = _valid_month(_zh_number(m[2]))
    return _third_of(month, _zh_year(m[1], today) or _nearest_year(month, 1, today, ahead), _THIRDS[m[3]])


def _third_of(month: int, year: int, start: int) -> Range:
    last = _month(year, month)[1]
    return date(year, month, start), last if start > _DAYS_IN_THIRD * 2 else date(year, month, start + 9)


def _read_weekday(index: int, which: str, today: date, ahead: bool) -> Range:
    monday = today - timedelta(days=today.weekday())
    if which in {"this", "这", "本"}:
        return (monday + timedelta(days=index),) * 2
    if which in {"上"}:
        return (monday + timedelta(days=index - _DAYS_IN_WEEK),) * 2
    if which in {"下"}:
        return (monday + timedelta(days=index + _DAYS_IN_WEEK),) * 2
    if which == "next" or (ahead and which != "last"):
        return (today + timedelta(days=(index - today.weekday() - 1) % _DAYS_IN_WEEK + 1),) * 2
    return (today - timedelta(days=(today.weekday() - index - 1) % _DAYS_IN_WEEK + 1),) * 2


def _read_day_of_month(day: int, today: date, ahead: bool) -> Range:
    first = today.replace(day=1)
    if ahead and day < today.day:
        first = add_months(first, 1)
    if not ahead and day > today.day:
        first = add_months(first, -1)
    return _day(first.year, first.month, day)


def _read_named_day(m: re.Match[str], today: date, ahead: bool) -> Range:
    return (today + timedelta(days=_NAMED_DAYS[re.sub(r"\s+", " ", m[0].lower())]),) * 2


_NAMED_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0,
    "tonight": 0, "this morning": 0, "this evening": 0, "this afternoon": 0, "the day after tomorrow": 2,
    "day after tomorrow": 2, "tomorrow": 1, "今天": 0, "今日": 0, "今早": 0, "今晚": 0, "昨天": -1, "昨日": -1,
    "昨晚": -1,    "昨夜": -1, "前天": -2, "明天": 1, "明日": 1, "明早": 1, "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip

_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}
_WHICH = {"last": -1, "previous": -1, "preceding": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_ZH_WHICH = {"上上": -2, "上": -1, "这": 0, "本": 0, "当": 0, "下": 1, "下下": 2}


def _read_this_unit(m: re.Match[str], today: date, ahead: bool) -> Range:
    return _to_date(_calendar(m[2].lower(), _WHICH[m[1].lower()], today), today)


def _read_zh_this_unit(m: re.Match[str], today: date, ahead: bool) -> Range:
    return _to_date(_calendar(ZH_UNITS[m[2]], _ZH_WHICH[m[1]], today), today)


def _to_date(days: Range, today: date) -> Range:
    """A period that is still going on ends today."""
    return (days[0], min(days[1], today)) if days[0] <= today else days


def _reader(pattern: str, read: Callable[[re.Match[str], date, bool], Range]) -> _Reader:
    return _Reader(re.compile(pattern, re.IGNORECASE), read)


def _zh_without_year(m: re.Match[str]) -> bool:
    return not m[1]


def _month_without_year(m: re.Match[str]) -> bool:
    return not (m[1] or m[5] or m[6])


_READERS: tuple[_Reader, ...] = (
    _reader(
        r"(?<![\d.])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\d)",
        lambda m, _t, _a: _day(int(m[1]), int(m[3]), int(m[4])),
    ),
    _reader(r"(?<![\d.])((?:19|20)\d{2})[-/](\d{1,2})(?![\d/-])", _read_iso_month),
    _reader(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)", _read_slashed),
    _Reader(
        re.compile(
            r"(?:\b(last|this|next)\s+)?(?:\b(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+)?\b"
            + _MONTH
            + r"(?:\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?(?![\d:.,]*\d)\b)?"
            + r"(?:,?\s*(?:of\s+)?(\d{4})\b|\s+(?:of\s+)?(last|this|next)\s+year\b)?",
            re.IGNORECASE,
        ),
        _read_named_month,
        _month_without_year,
    ),
    _Reader(
        re.compile(
            r"(?:(\d{4}|今|去|前|明)\s*年\s*(?:的)?)?\s*(\d{1,2}|[一二三四五六七八九十]{1,2})\s*月(?:份)?"
            r"(?:\s*(\d{1,2}|[一二三四五六七八九十]{1,3})\s*[日号])?"
        ),
        _read_zh_date,
        _zh_without_year,
    ),
    _reader(
        r"\b(?:the\s+)?(first|second|third|fourth|last|1st|2nd|3rd|4th)\s+week\s+(?:of|in)\s+"
        + _MONTH
        + r"(?:,?\s*(?:of\s+)?(\d{4})\b)?",
        _read_week_of_month,
    ),
    _reader(
        r"(?:(\d{4}|今|去|前|明)\s*年\s*(?:的)?)?(\d{1,2}|[一二三四五六七八九十]{1,2})\s*月份?的?(?:第|(?=最后))"
        r"([一二三四1-4]|最后一)个?(?:周|星期|礼拜)",
        _read_zh_week_of_month,
    ),
    _reader(r"\b(early|mid|late)[ -]" + _MONTH + r"(?:,?\s*(?:of\s+)?(\d{4})\b)?", _read_third_of_month),
    _reader(
        r"(?:(\d{4}|今|去|前|明)\s*年\s*(?:的)?)?(\d{1,2}|[一二三四五六七八九十]{1,2})\s*月份?(?:的)?"
        r"(上旬|中旬|下旬|初|底|末)",
        _read_zh_third_of_month,
    ),
    _reader(r"(?:(\d{4}|今|去|前|明)\s*年\s*(?:的)?)?(?:([上下])半年|第?([一二三四1-4])季度)", _read_zh_year_part),
    _reader(r"(\d{4}|今|去|前|明)\s*年(?!前|后)", lambda m, t, _a: _to_date(_year(_zh_year(m[1], t) or t.year), t)),
    _Reader(
        re.compile(r"(?<![\d月个第])(\d{1,2})\s*[号日](?!线)"),
        lambda m, t, a: _read_day_of_month(int(m[1]), t, a),
        bare_day=True,
    ),
    _Reader(
        re.compile(r"\b(?:on\s+)?the\s+(\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE),
        lambda m, t, a: _read_day_of_month(int(m[1]), t, a),
        bare_day=True,
    ),
    _reader(
        r"\bq([1-4])\b(?:\s*(?:of\s+)?(\d{4}))?",
        lambda m, t, _a: _quarter(int(m[2]) if m[2] else t.year, int(m[1])),
    ),
    _reader(
        r"\b(?:the\s+)?(first|second|third|fourth|1st|2nd|3rd|4th|last)\s+quarter\s+of\s+(?:(\d{4})|(this"
        r"|last)\s+year)",
        lambda m, t, _a: _quarter(int(m[2]) if m[2] else t.year - (m[3].lower() == "last"), _ORDINALS[m[1].lower()]),
    ),
    _reader(
        r"\b(?:the\s+)?(first|second)\s+half\b(?:\s+of\s+(?:(\d{4})|(this|last)\s+year|(?:the\s+)?year))?",
        lambda m, t, _a: _half(
            int(m[2]) if m[2] else t.year - ((m[3] or "").lower() == "last"), m[1].lower() == "second"
        ),
    ),
    _reader(
        r"(?:\b(?:the|in|during|of|since|before|after|for|from|until|year)\s+)*\b(?<![\d.,])((?:19"
        r"|20)\d{2})\b(?![.,:/-]?\d)",
        lambda m, t, _a: _to_date(_year(int(m[1])), t),
    ),
    _reader(
        r"\b(?:(?:in|during|since|before|after|until|year)\s+)([12]\d{3})\b(?![.,:/-]?\d)(?!\s*(?:steps|kcal"
        r"|calories|m\b|ml\b))",
        lambda m, t, _a: _to_date(_year(int(m[1])), t),
    ),
    _reader(
        r"\b(?:the\s+)?(?:(last|this)\s+)?(spring|summer|autumn|winter|(?<=last )fall"
        r"|(?<=this )fall)\b(?:\s+(?:of\s+)?(\d{4}))?",
        lambda m, t, _a: _season(m[2].lower(), int(m[3]) if m[3] else None, t),
    ),
    _reader(
        r"(?:(\d{4}|今|去|前)\s*年\s*(?:的)?)?([春夏秋冬])(?:天|季)",
        lambda m, t, _a: _season(m[2], _zh_year(m[1], t), t),
    ),
    _reader(
        r"\b(?:the\s+)?day before yesterday\b|\byesterday\b|\blast night\b|\btoday\b|\btonight\b|\bthis (?:morning"
        r"|evening|afternoon)\b"
        r"|\b(?:the\s+)?day after tomorrow\b|\btomorrow\b|今天|今日|今早|今晚|昨天|昨日|昨晚|昨夜|大后天|前天|明天"
        r"|明日|明早|明晚|后天",
        _read_named_day,
    ),
    _reader(
        r"\b(?:the\s+)?(?:past|last|previous|recent|latest)\s+(?:half\s+(?:a\s+)?year|six-month period)\b|(?:最近"
        r"|近|过去|这)半年",
        lambda _m, t, _a: _rolling("month", 6, t),
    ),
    _reader(
        rf"\b(?:the\s+)?(?:past|last|previous|recent|latest|trailing)\s+(?:a\s+)?{NUMBER}\s+{UNIT}\b",
        lambda m, t, _a: _rolling(m[2].lower(), number_of(m[1]), t),
    ),
    _reader(
        r"\b(?:the\s+past|past)\s+(day|week|month|quarter|year)\b"
        r"|\b(?:in|over|during|within|across|for|throughout)\s+the\s+last\s+(day|week|month|quarter|year)\b",
        lambda m, t, _a: _rolling((m[1] or m[2]).lower(), 1, t),
    ),
    _reader(r"\b(last|previous|preceding|this|current|next|coming)\s+(week|month|quarter|year)\b", _read_this_unit),
    _reader(
        rf"\b(?:about\s+)?(?:{NUMBER}|an?)\s+{UNIT}\s+ago\b",
        lambda m, t, _a: _ago(m[2].lower(), number_of(m[1] or "a"), t),
    ),
    _reader(
        rf"\b(?:{NUMBER}|an?)\s+{UNIT}\s+(?:from now|from today|later)\b",
        lambda m, t, _a: (shifted(m[2].lower(), number_of(m[1] or "a"), t),) * 2,
    ),
    _reader(r"\byear[ -]to[ -]date\b|\bytd\b|今年以来|今年至今", lambda _m, t, _a: (date(t.year, 1, 1), t)),
    _reader(
        rf"(?:最近|近|过去|前|这)(?:的)?(?:这)?\s*{ZH_NUMBER}\s*(个星期|天|日|周|星期|礼拜|个月|月|个季度|季度"
        r"|年)(?:内|里|以来)?",
        lambda m, t, _a: _rolling(ZH_UNITS[m[2]], _zh_number(m[1]), t),
    ),
    _reader(
        rf"{ZH_NUMBER}\s*(个星期|天|日|周|星期|礼拜|个月|年)(?:之|以)?前",
        lambda m, t, _a: _ago(ZH_UNITS[m[2]], _zh_number(m[1]), t),
    ),
    _reader(
        rf"{ZH_NUMBER}\s*(个星期|天|日|周|星期|礼拜|个月|年)(?:之|以)?后",
        lambda m, t, _a: (shifted(ZH_UNITS[m[2]], _zh_number(m[1]), t),) * 2,
    ),
    _reader(
        r"(上上|下下|上|这|本|当|下)(?:一)?(?:个)?(月|周|星期|礼拜|季度)"
        r"(?![一二三四五六日天](?!共|起|直|般|样|次|下))(?:份)?",
        _read_zh_this_unit,
    ),
    _reader(r"(上)一?年(?!级)|(今年)", lambda m, t, _a: _to_date(_calendar("year", -1 if m[1] else 0, t), t)),
    _reader(
        r"\b(?:(last|next|this)\s+)?(monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
        lambda m, t, a: _read_weekday(_WEEKDAYS.index(m[2].lower()), (m[1] or "").lower(), t, a),
    ),
    _reader(
        r"(上|这|本|下)?(?:个)?(?:周|星期|礼拜)([一二三四五六日天])(?!共|起|直|般|样|次|下)",
        lambda m, t, a: _read_weekday("一二三四五六日".index(m[2].replace("天", "日")), m[1] or "", t, a),
    ),
)

# "Most steps in a day" is no date, "book a visit in a week" is one.
_READERS_AHEAD: tuple[_Reader, ...] = (
    _reader(
        rf"\bin\s+(?:about\s+)?(?:{NUMBER}|an?)\s+{UNIT}(?:'s?\s+time)?\b(?!\s+of)",
        lambda m, t, _a: (shifted(m[2].lower(), number_of(m[1] or "a"), t),) * 2,
    ),
)


_BEFORE_MAY = re.compile(
    r"(?:in|since|last|this|next|of|from|between|and|to|until|during|through|before|after|vs\.?|than|-)\s*$", re.I
)


def _is_the_verb(m: re.Match[str], text: str) -> bool:
    """ "May" and "march" are months only next to a number or after a preposition."""
    if not re.fullmatch(r"may|mar|march", m[0].strip(), re.IGNORECASE):
        return False
    if m[0].strip() in {"March", "Mar"}:
        return False
    return not _BEFORE_MAY.search(text[: m.start()])


def _single_periods(text: str, today: date, ahead: bool) -> list[Period]:
    return [
        period
        for reader in (*_READERS, *(_READERS_AHEAD if ahead else ()))
        for m in reader.pattern.finditer(text)
        if not _is_the_verb(m, text) and (period := _read(reader, m, today, ahead)) is not None
    ]


def _read(reader: _Reader, m: re.Match[str], today: date, ahead: bool) -> Period | None:
    begin = m.start() + len(m[0]) - len(m[0].lstrip())
    stop = m.end() - (len(m[0]) - len(m[0].rstrip()))
    if begin >= stop:
        return None
    written = m[0].strip()
    try:
        start, end = reader.read(m, today, ahead)
    except (ValueError, OverflowError):
        return Period(None, None, written, begin, stop, possible=False)
    if not (start.year >= _OLDEST and end.year <= _NEWEST):
        return Period(None, None, written, begin, stop, possible=False)
    return Period(start, end, written, begin, stop, True, reader.implied_year(m), reader.bare_day)


def _without_overlaps(found: list[Period]) -> list[Period]:
    kept: list[Period] = []
    for period in sorted(found, key=lambda p: (p.begin - p.stop, p.begin)):
        if all(period.stop <= other.begin or period.begin >= other.stop for other in kept):
            kept.append(period)
    return sorted(kept, key=lambda p: p.begin)


_RANGE_WORD = re.compile(
    r"\s*(?:,?\s*(?:to|until|till|through|thru|and|up to|-|–|—|~|到|至|和|与)\s*(?:the\s+)?)", re.I
)
_RANGE_START = re.compile(r"(?:\b(?:between|from)|从|自|在)\s*$", re.IGNORECASE)
_FROM = re.compile(r"(?:\bfrom|从|自)\s*$", re.IGNORECASE)
_NEEDS_OPENING = re.compile(r"\s*,?\s*(?:and|和|与)\s*(?:the\s+)?", re.IGNORECASE)


def _joined(text: str, found: list[Period], join: bool) -> list[Period]:
    result: list[Period] = []
    for period in found:
        if result and _is_range(text, result[-1], period, join):
            result[-1] = _range(text, result[-1], period)
        else:
            result.append(period)
    return result


def _is_range(text: str, first: Period, second: Period, join: bool) -> bool:
    gap = text[first.stop : second.begin]
    if not _RANGE_WORD.fullmatch(gap):
        return False
    before = text[: first.begin]
    if not join:
        return bool(_FROM.search(before))
    return not _NEEDS_OPENING.fullmatch(gap) or bool(_RANGE_START.search(before))


def _range(text: str, first: Period, second: Period) -> Period:
    written = text[first.begin : second.stop]
    if first.start is None or second.start is None or second.end is None:
        return Period(None, None, written, first.begin, second.stop, possible=False)
    start, end = first.start, second.end
    try:
        start, end = _in_one_year(first, second)
    except ValueError:
        return Period(None, None, written, first.begin, second.stop, possible=False)
    return Period(start, end, written, first.begin, second.stop, possible=start <= end, two_ended=True)


def _in_one_year(first: Period, second: Period) -> Range:
    """Lets an end that names no year (or no month) take it from the other end."""
    start, end = first.start, second.end
    assert start is not None  # noqa: S101 - both ends were read before
    assert end is not None  # noqa: S101
    if second.bare_day:
        end = end.replace(year=start.year, month=start.month)
    elif second.implied_year and not first.implied_year:
        end = end.replace(year=start.year)
        end = end if end >= start else end.replace(year=start.year + 1)
    elif (first.implied_year and start > end) or (first.implied_year and not second.implied_year):
        start = start.replace(year=end.year)
        start = start if start <= end else start.replace(year=end.year - 1)
    return start, end


_SINCE = re.compile(r"(?:\b(?:since|starting(?:\s+from)?|from|ever since)|自从|自|从)\s*(?:the\s+)?$", re.IGNORECASE)
# "Results from 2025" are those of that year; "from 2025-03-01" is a beginning.
_FROM_EN = re.compile(r"(?<!starting )\bfrom\s*(?:the\s+)?$", re.IGNORECASE)
_AFTER = re.compile(r"\bafter\s*(?:the\s+)?$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|prior to|earlier than)\s*(?:the\s+)?$", re.IGNORECASE)
_UNTIL = re.compile(r"(?:\b(?:until|till|through|up to|as of)|截至|截止到?)\s*(?:the\s+)?$", re.IGNORECASE)
_ZH_SINCE = re.compile(r"^\s*(?:以来|至今|到现在|起|开始|到今天)")
_ZH_AFTER = re.compile(r"^\s*(?:之后|以后|过后)")
_ZH_BEFORE = re.compile(r"^\s*(?:之前|以前)")
_ONWARD = re.compile(r"^\s*(?:onwards?|and later)\b", re.IGNORECASE)


def _with_open_ends(text: str, found: list[Period], today: date, ahead: bool) -> list[Period]:
    return [period if ahead else _open_ended(text, period, today) for period in found]


def _open_ended(text: str, period: Period, today: date) -> Period:
    if period.start is None or period.end is None or period.two_ended:
        return period
    before, after = text[: period.begin] + _own_preposition(period), text[period.stop :]
    if _AFTER.search(before) or _ZH_AFTER.search(after):
        return replace(period, start=period.end + timedelta(days=1), end=None)
    if _BEFORE.search(before) or _ZH_BEFORE.search(after):
        return replace(period, start=None, end=period.start - timedelta(days=1))
    if _UNTIL.search(before):
        return replace(period, start=None, end=period.end)
    since = _SINCE.search(before) and (period.is_day or not _FROM_EN.search(before))
    if period.end <= today and (since or _ZH_SINCE.search(after) or _ONWARD.search(after)):
        return replace(period, end=None)
    return period


def _own_preposition(period: Period) -> str:
    """A bare year is read together with the words before it ("since 2025")."""
    m = re.match(r"(since|before|after|from|until)\b.*\d{4}$", period.text, re.IGNORECASE)
    return " " + m[1] if m else ""
