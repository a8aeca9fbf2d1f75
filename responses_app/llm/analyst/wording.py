"""The small phrases of an answer in English and Chinese: indicators, values with unit and day, periods, whose data."""

from collections.abc import Sequence

from responses_app.llm.analyst.dates import Period
from responses_app.llm.analyst.facts import Point, Result, written_number
from responses_app.llm.analyst.indicators import Mention, chinese_name
from responses_app.llm.analyst.limits import Limit, plain_number
from responses_app.llm.analyst.plan import Subject
from responses_app.llm.analyst.text import shown

_UNITS = {
    "mm[Hg]": "mmHg",
    "{steps}": "steps",
    "Cel": "°C",
    "m[IU]/L": "mIU/L",
    "[IU]/L": "IU/L",
    "[IU]/mL": "IU/mL",
    "u[IU]/mL": "uIU/mL",
    "10*9/L": "×10^9/L",
    "10*12/L": "×10^12/L",
    "mL/min/{1.73_m2}": "mL/min/1.73 m²",
    "/min": "beats/min",
    "[degF]": "°F",
    "[lb_av]": "lb",
    "[in_i]": "in",
    "[ft_i]": "ft",
    "[mi_i]": "mi",
    "[pH]": "",
    "{ratio}": "",
    "{INR}": "",
    "1": "",
}
_ZH_UNITS = {"{steps}": "步", "/min": "次/分", "h": "小时", "min": "分钟"}
_BREATHING = "respiratory"
_LOOSE = {"%"}
_DECIMALS = 4


class Wording:
    """Phrases in one language. ``zh`` chooses Chinese."""

    def __init__(self, *, zh: bool) -> None:
        self.zh = zh

    def pick(self, en: str, zh: str) -> str:
        """The phrase of this language."""
        return zh if self.zh else en

    def indicator(self, name: str) -> str:
        """An indicator's canonical name in running text."""
        if self.zh:
            return chinese_name(name)
        first, _, rest = name.partition(" ")
        ordinary = first[:1].isupper() and first[1:].islower()
        return f"{first.lower()} {rest}".strip() if ordinary else name

    def asked(self, name: str) -> str:
        """A name as it was asked for; the tool gives it back when there is nothing."""
        return self.pick(f"“{shown(self.indicator(name))}”", f"“{shown(self.indicator(name))}”")

    def mentions(self, mentions: Sequence[Mention]) -> str:
        """The indicators of a question as written there."""
        return self.listed([shown(m.written) for m in mentions])

    def listed(self, words: Sequence[str]) -> str:
        """Words in a row."""
        if len(words) < 2:  # noqa: PLR2004 - one word needs no "and"
            return "".join(words)
        return self.pick(", ".join(words[:-1]) + " and " + words[-1], "、".join(words[:-1]) + "和" + words[-1])

    def value(self, number: float | None, unit: str, indicator: str = "") -> str:
        """A number with its unit, in bold."""
        if number is None:
            return "—"
        shown_unit = self.unit(unit, indicator)
        gap = "" if shown_unit in _LOOSE or not shown_unit else " "
        return f"**{written_number(number)}{gap}{shown_unit}**"

    def unit(self, ucum: str, indicator: str = "") -> str:
        """A UCUM unit as people write it."""
        if ucum == "/min" and _BREATHING in indicator.lower():
            return self.pick("breaths/min", "次/分")
        return _ZH_UNITS.get(ucum, _UNITS.get(ucum, ucum)) if self.zh else _UNITS.get(ucum, ucum)

    def reading(self, point: Point, result: Result) -> str:
        """One reading's value: its number, or what was written when it is a word or a bound."""
        if point.value is not None and not point.comparator:
            return self.value(point.value, result.unit, result.indicator)
        if point.value is not None and not point.text:
            return f"**{point.comparator}{written_number(point.value)} {self.unit(result.unit)}**"
        return f"**{point.text or '—'}**"

    def dated(self, point: Point | None, result: Result) -> str:
        """A reading's value and day."""
        if point is None:
            return "—"
        day = self.pick(f" ({point.date})", f"（{point.date}）") if point.date else ""
        return self.reading(point, result) + day

    def on_day(self, point: Point | None, result: Result) -> str:
        """A reading's value "on" its day."""
        if point is None:
            return "—"
        return self.reading(point, result) + (self.pick(f" on {point.date}", f"（{point.date}）") if point.date else "")

    def readings(self, count: int) -> str:
        """How many readings."""
        return self.pick(f"{count} reading{'' if count == 1 else 's'}", f"{count} 次测量")

    def whose(self, subject: Subject) -> str:
        """ "Your" or "Martin's", to stand before an indicator."""
        if subject.member is None:
            return self.pick("your ", "您的")
        return self.pick(f"{shown(subject.name)}'s ", f"{shown(subject.name)}的")

    def whose_own(self) -> str:
        """That it is the asker's."""
        return self.pick("your ", "您的")

    def period(self, period: Period | None) -> str:
        """A period by its days, with a space before; empty for none."""
        if period is None:
            return ""
        start, end = period.start, period.end
        if start is not None and end is not None:
            if start == end:
                return self.pick(f" on {start}", f"（{start}）")
            return self.pick(f" from {start} to {end}", f"（{start} 至 {end}）")
        if start is not None:
            return self.pick(f" since {start}", f"（{start} 起）")
        return self.pick(f" up to {end}", f"（截至 {end}）") if end is not None else ""

    def as_written(self, period: Period | None) -> str:
        """A period in the question's own words, for answers without figures."""
        if period is None or not period.text:
            return self.pick(" in that time", "在该时间段")
        return self.pick(f" for “{shown(period.text)}”", f"在“{shown(period.text)}”")

    def latest_of(self, subject: Subject, result: Result, en: str = "latest", zh: str = "最近一次") -> str:
        """An indicator's latest (or another) value, as a subject: "your latest LDL cholesterol"."""
        name = self.indicator(result.indicator)
        return self.pick(f"{self.whose(subject)}{en} {name}", f"{self.whose(subject).removesuffix('的')}{zh}的{name}")

    def limit(self, limit: Limit, *, second: bool = False) -> str:
        """A limit as it was asked for: "above 7 mmol/L"."""
        if limit.unread:
            return limit.unread
        above = limit.second_above if second else limit.above
        below = limit.second_below if second else limit.below
        unit = self._unit_of(limit)
        if above is not None and below is not None:
            return self.pick(
                f"between {_plain(above)} and {_plain(below)}{unit}",
                f"介于 {_plain(above)} 和 {_plain(below)}{unit} 之间",
            )
        if above is not None:
            return self.pick(
                f"{'at least' if limit.inclusive else 'above'} {_plain(above)}{unit}",
                f"{'不低于' if limit.inclusive else '高于'} {_plain(above)}{unit}",
            )
        number = _plain(below or 0)
        return self.pick(
            f"{'at most' if limit.inclusive else 'below'} {number}{unit}",
            f"{'不高于' if limit.inclusive else '低于'} {number}{unit}",
        )

    def _unit_of(self, limit: Limit) -> str:
        """A limit's unit after its number, and that it was taken to be that one if it was not written."""
        written = f" {limit.written_unit}" if limit.written_unit else ""
        if not limit.assumed or limit.unit is None:
            return written
        return written + self.pick(f" (taken as {self.unit(limit.unit)})", f"（按 {self.unit(limit.unit)} 计）")

    def direction(self, direction: str) -> str:
        """A trend's direction, as a predicate."""
        return {
            "rising": self.pick("rising", "呈上升趋势"),
            "falling": self.pick("falling", "呈下降趋势"),
            "stable": self.pick("stable", "保持稳定"),
        }.get(direction, self.pick("not clear, there are not enough readings", "还看不出趋势，测量次数不足"))


def _plain(value: float) -> str:
    return str(plain_number(round(value, _DECIMALS)))


def capitalised(text: str) -> str:
    """With a capital first letter."""
    return text[:1].upper() + text[1:]
