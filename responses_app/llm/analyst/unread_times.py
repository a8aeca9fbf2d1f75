"""Finds times that a question names and that no calendar tells: clock times, "on my birthday", "the last decade".

What can be read is in dates.py and relative_periods.py.
"""

import re
from collections.abc import Sequence

from responses_app.llm.analyst.dates import Period
from responses_app.llm.analyst.small_talk import stop_words_removed

_CLOCK = re.compile(
    r"\b(?:at|around|by|before|after|since|until)\s+(?:about\s+)?(?:\d{1,2}(?::\d{2}){0,2}\s*(?:am\b|pm\b|a\.m\.?|p\.m\.?"
    r"|o['’]?clock\b)|\d{1,2}:\d{2}\b|midnight\b|noon\b)"
    r"|(?:凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜)?\s*(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*点(?!\d|[零一二三四五六七八九])"
    r"(?:\d{1,2}分|半|钟|整)?|(?<!\d)\d{1,2}:\d{2}(?!\d)",
    re.IGNORECASE,
)
_COUNT = r"(?:(?:\d+(?:[.,]\d+)*|one|two|three|four|five|six|seven|eight|nine|ten|a|an|few|couple of|several|many)\s+)?"
_SPAN = re.compile(
    rf"\b(?:the\s+)?(?:past|last|previous|recent)\s+{_COUNT}(?:seconds?|minutes?|hours?|hrs?|fortnights?|decades?|centur(?:y|ies)"
    r"|millenni(?:um|a)|eons?|days|weeks|months|quarters|years)\b"
    r"|(?:最近|近|过去|前)(?:的)?\s*[\d.一二两三四五六七八九十百千万几半]+\s*个?(?:小时|钟头|分钟|秒|世纪|年代|天|周|星期|月|季度|年)(?!前)",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\b(?:on|during|since)\s+(?:my|our|his|her|their)\s+([A-Za-z][A-Za-z'-]*(?:\s+[A-Za-z][A-Za-z'-]*)?)"
    r"|\b(?:before|after|until)\s+(?:my|our|the|his|her|their)\s+(?:[a-z]+\s+)?(birthday|wedding|anniversary|surgery|operation"
    r"|vacation|holidays?|trip|pregnancy|marathon|race|accident|diagnosis|divorce|graduation|diet|move|new job)\b",
    re.IGNORECASE,
)
_ZH_EVENT = re.compile(
    r"(?:我)?(?:的)?(?:生日|婚礼|手术|假期|度假|旅行|旅游|怀孕|毕业|车祸|比赛|搬家|结婚)(?:那天|当天|那段时间|期间|时|前后|之?前|之?后|以来|以前|以后)"
)


_NO_EVENT = re.compile(
    r"(?:apple |smart |left |right )?(?:watch|phone|scale|meter|device|band|ring|tracker|app|account|own|behalf|report"
    r"|chart|file|arm|leg|wrist|hand|finger|side|profile|dashboard)",
    re.IGNORECASE,
)


def unread_times(text: str, periods: Sequence[Period]) -> list[Period]:
    """What names a time in ``text`` and is none of ``periods``, as periods that are not possible.

    Everything else that was recognised in ``text`` must be masked, with the periods left in it.
    """
    found = [m for pattern in (_CLOCK, _SPAN, _ZH_EVENT) for m in pattern.finditer(text)]
    found += [m for m in _EVENT.finditer(text) if _is_event(m)]
    return [
        Period(None, None, m[0].strip(), m.start(), m.end(), possible=False)
        for m in found
        if all(m.end() <= p.begin or m.start() >= p.stop for p in periods)
    ]


def _is_event(m: re.Match[str]) -> bool:
    """Whether a person's own thing is something that happened: "on my birthday", not "on my watch"."""
    return bool(m[2]) or (bool(stop_words_removed(m[1])) and _NO_EVENT.match(m[1]) is None)
