"""A study: look-ups one after the other that answer one question of a particular shape, and the words for the result.

What shapes there are is told in the modules named for them; which one a question has, in studies.py.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from responses_app.llm.analyst.dates import Period
from responses_app.llm.analyst.indicators import Mention
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.wording import Wording, capitalised

QUERY, CLINICAL = "query_health_data", "list_clinical_records"
LISTED = 40
Data = Mapping[str, Any]
Call = tuple[str, dict[str, Any]]
Steps = Generator[list[Call], list[Data], str]
"""Yields the calls to make next, is sent their results, and returns the answer."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a question is about. ``mask`` is its text with indicators, times and limits replaced by fillers."""

    text: str
    mask: str
    mentions: tuple[Mention, ...]
    periods: tuple[Period, ...]
    limits: tuple[Limit, ...]
    today: date
    say: Wording

    @property
    def names(self) -> list[str]:
        """The indicators' names for the tool."""
        return list(dict.fromkeys(name for mention in self.mentions for name in mention.names))

    def span(self) -> dict[str, Any]:
        """The first period as arguments; nothing when there is none."""
        return span_of(self.periods[0]) if self.periods else {}

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether the question has words of a pattern."""
        return pattern.search(self.text) is not None


def words(en: str, zh: str) -> re.Pattern[str]:
    """A pattern of English words or Chinese ones."""
    return re.compile(rf"(?<![A-Za-z])(?:{en})(?![A-Za-z])|{zh}", re.IGNORECASE)


OUT_OF_RANGE = words(
    r"out[ -]of[ -](?:the )?(?:reference )?range|outside (?:the|its) (?:reference )?range|leave the reference range"
    r"|abnormal\w*|flagged|strange",
    r"超出(?:过)?(?:参考)?范围|超范围|不在参考范围|不正常|异常|偏高的结果|偏低的结果",
)
"""What stands outside its reference range."""
GAP = words(
    r"longest (?:gap|stretch|time|break)|gap between|without any|recorded nothing|missing|no (?:wearable )?data"
    r"|without a single",
    r"最长(?:有多少天没|隔|间隔)|隔了多久|缺了|完全没有数据|没有?数据|没记|没量",
)
"""A stretch without readings."""


def span_of(period: Period) -> dict[str, Any]:
    """A period as arguments."""
    ends = {"start": period.start, "end": period.end}
    return {name: day.isoformat() for name, day in ends.items() if day is not None}


def spelled(period: Period, today: date) -> str:
    """A period as one of the tool's ``periods``."""
    start = period.start or period.end or today
    return f"{start.isoformat()}/{(period.end or today).isoformat()}"


def query(operation: str, names: Sequence[str], **arguments: Any) -> Call:
    """A call of ``query_health_data``."""
    return QUERY, {"operation": operation} | ({"indicators": [*names]} if names else {}) | arguments


def limit_of(limit: Limit) -> dict[str, Any]:
    """A limit as arguments."""
    sides = {
        ("at_least" if limit.inclusive else "above"): limit.above,
        ("at_most" if limit.inclusive else "below"): limit.below,
    }
    unit = limit.unit or limit.written_unit
    return {name: side for name, side in sides.items() if side is not None} | ({"unit": unit} if unit else {})


def results(data: Data) -> list[Data]:
    """The parts of a result."""
    found = data.get("results")
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def first_result(data: Data) -> Data | None:
    """The only part that counts."""
    return next(iter(results(data)), None)


def failed(data: Data) -> bool:
    """Whether a look-up gave nothing to read."""
    return not isinstance(data.get("results"), list)


def no_data(topic: Topic) -> str:
    """That there is nothing of what is asked about."""
    names = topic.say.mentions(topic.mentions)
    return topic.say.pick(f"I have no data on {names}.", f"没有找到{names}的数据。")


def named(part: Data, say: Wording) -> str:
    """An indicator as it starts a sentence."""
    return capitalised(say.whose_own() + say.indicator(str(part["indicator"])))


def value(number: Any, part: Data, say: Wording) -> str:
    """A figure in the unit of its part; a dash for none."""
    plain = number if isinstance(number, int | float) else None
    return say.value(plain, str(part.get("unit") or ""), str(part["indicator"]))


def dated(landmark: Any, part: Data, say: Wording) -> str:
    """A reading with its day."""
    if not isinstance(landmark, dict):
        return "—"
    day = landmark.get("date", "")
    return value(landmark.get("value"), part, say) + say.pick(f" ({day})", f"（{day}）")


def bold(number: Any) -> str:
    """A bare number."""
    return f"**{number:g}**" if isinstance(number, int | float) else "—"


def listed(rows: Sequence[Any], part: Data, say: Wording) -> list[str]:
    """Readings as lines, with a last one that says how many more there are."""
    lines = [f"- {row.get('date')}: {value(row.get('value'), part, say)}" for row in rows[:LISTED]]
    more = len(rows) - LISTED
    return lines + ([say.pick(f"… and {more} more.", f"……另有 {more} 次。")] if more > 0 else [])
