"""Words that say what is wanted of an indicator: its latest value, an average, a trend, a comparison.

Patterns only; how they go together is decided in question.py.
"""

import re
from enum import Enum
from typing import Literal

from responses_app.llm.analyst.numbers import read_number

GroupBy = Literal["day", "week", "month"]
_ITEMS = r"(?:readings?|measurements?|results?|tests?|records?|entries|values?|data ?points?|checks?|samples?|numbers)"
_FILLER = "\ue000"

# "The range of my heart rate" is its lowest and its highest; "the normal range" is not.
_SPREAD = r"(?:what|the) range of|ranged|ranges from"
_ZH_SPREAD = r"(?<!正常)(?<!参考)(?<!健康)(?<!目标)(?<!参考值)范围(?!内|外|之内|之外)|区间|多少到多少"


class Measure(Enum):
    """What is wanted of an indicator."""

    LATEST = "latest"
    READINGS = "readings"
    AVERAGE = "average"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    SUM = "sum"
    COUNT = "count"
    FIRST = "first"
    TREND = "trend"
    COMPARE = "compare"
    STATUS = "status"
    OVERVIEW = "overview"


# Figures over many readings that may themselves be held against a limit.
HELD_AGAINST_LIMITS = frozenset({Measure.AVERAGE, Measure.MAXIMUM, Measure.MINIMUM, Measure.SUM})


def _re(en: str, zh: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{en})(?![A-Za-z])|{zh}", re.IGNORECASE)


_PATTERNS: dict[Measure, re.Pattern[str]] = {
    Measure.TREND: _re(
        r"trend(?:s|ed|ing|line)?|drift(?:s|ed|ing)?|(?:go(?:ing|ne|es)?|went|head(?:ing|ed)?|mov(?:ing|ed)|creep(?:ing)?|edg(?:ing"
        r"|ed)) (?:up|down)(?:wards?)?"
        r"|(?:up|down)wards?|up or down|ris(?:e|es|ing|en)|rose|fall(?:s|ing|en)?|fell|increas(?:e|es|ed|ing)"
        r"|decreas(?:e|es|ed|ing)"
        r"|drop(?:s|ped|ping)?|climb(?:s|ed|ing)?|declin(?:e|es|ed|ing)|over time|chang(?:e|es|ed|ing)|develop(?:s"
        r"|ed|ing|ment)?"
        r"|evol(?:ve|ves|ved|ving|ution)|progress(?:ion|ed|ing)?|improv(?:e|es|ed|ing|ement)|worsen(?:s|ed|ing)?"
        r"|(?:got|get|gets|gotten|getting) (?:better|worse|higher|lower|bigger|smaller|longer|shorter|heavier|lighter"
        r"|fatter|thinner|slimmer)|increasingly|higher and higher|lower and lower"
        r"|keeps? (?:going|getting|rising|falling)|chart|plot|graph|trajectory|direction|stable"
        rf"|(?:gain(?:s|ed|ing)?|los(?:e|es|ing|t)|put(?:ting)? on) (?:any |some |much |more |too )*"
        rf"(?:{_FILLER}|kilos?|kilograms?|kg|pounds?|lbs?|fat)",
        r"(?:降|升|涨|跌|减|瘦|胖|增加|减少|提高|(?<![太过偏最很])[高低])了|(?:变|长)(?:胖|瘦|重|轻|长|短|多|少)|越来越|一直在"
        r"|趋势|走势|走向|变化|上升|下降|升高|降低|上涨|下跌|走高|走低|变高"
        r"|变低|涨|好转|恶化|改善|曲线|图表|折线"
        r"|波动|偏移|稳定吗",
    ),
    Measure.AVERAGE: _re(
        r"averag(?:e|es|ed|ing)|mean|avg|typical(?:ly)?|usual(?:ly)?|(?<!in )(?:a|per) (?:day|night)",
        r"平均值?|均值|平均下来|平时|平常|通常|(?<![这那第最每哪的])一(?:天|晚)(?!比|天|晚)",
    ),
    Measure.MINIMUM: _re(
        rf"lowest|lows|minimum|min|smallest|least|fewest|trough|shortest|lightest|thinnest|slimmest|{_SPREAD}",
        rf"最低|最小|最少|最短|最轻|最瘦|{_ZH_SPREAD}",
    ),
    Measure.MAXIMUM: _re(
        r"highest|highs|maximum|max|peak(?:ed|s)?|largest|biggest|greatest|most(?! recent)|top|longest|heaviest"
        r"|record high"
        rf"|fattest|{_SPREAD}",
        rf"最高|最大|最多|最长|最重|最胖|峰值|顶峰|{_ZH_SPREAD}",
    ),
    Measure.SUM: _re(
        r"total(?:s|ed|led)?|sum|altogether|in all|add(?:s|ed)? up|combined|cumulative",
        r"总共|总和|合计|一共|总计|累计|共计|加起来|总数|总",
    ),
    Measure.COUNT: _re(
        rf"how many (?:times|different times|days|nights|weeks|occasions|{_FILLER}+ {_ITEMS}|{_ITEMS}|of (?:my|the"
        r"|those|these))|how often"
        rf"|number of (?:times|days|nights|{_FILLER}+ ?{_ITEMS}|{_ITEMS})|(?<!{_FILLER} )count(?:s| of)?"
        rf"|how many (?:\w+ )?{_ITEMS}",
        r"多少次|几次|次数|多少条|几条|多少个|多少天|几天|有几|几回|多少回|数量|几个(?!小时|钟头|月|星期|季度|公里)"
        r"|多少笔|多少晚|几晚|多少项|多少份",
    ),
    Measure.FIRST: _re(
        rf"(?:the )?(?:beginning|start)(?= of| {_FILLER})|first|earliest|oldest|initial(?:ly)?|very first",
        r"最早|第一次|首次|第一个|第一条|最初|最开始|年初|月初",
    ),
    Measure.LATEST: _re(
        rf"(?:the )?end(?= of| {_FILLER})|latest|(?:most )?recent|last|newest|current(?:ly)?|now|right now"
        r"|at the moment|these days"
        r"|up[ -]to[ -]date|at present",
        r"年底|年末|月底|月末|最新|最近一次|最近的?|上一?次|目前|现在|当前|上一?回|眼下|如今|近况",
    ),
    Measure.COMPARE: _re(
        r"compar(?:e|es|ed|ing|ison)|versus|vs\.?|differ(?:s|ed|ence|ent|ences)?|than|against|relative to",
        r"比较|对比|相比|差别|差异|差多少|相差|比(?!例|如|率|重|值)",
    ),
    Measure.STATUS: _re(
        r"normal|abnormal(?:ly)?|(?:with)?in (?:the )?(?:normal |reference |healthy )?range"
        r"|out of (?:the )?(?:normal |reference )?range"
        r"|under control|well[ -]controlled"
        r"|too (?:high|low)|(?:high|low) or (?:high|low)|healthy|elevated|flagged|outside (?:the )?(?:normal "
        r"|reference )?(?:range|limits)"
        rf"|(?:is|are|was|were) (?:my |the |this |it |{_FILLER}|\s)*(?:high|low|ok|okay|fine|good|bad|alright)",
        r"正常|异常|控制得|控制住|偏高|偏低|超标|达标|过高|过低|高不高|低不低|高吗|低吗|参考范围",
    ),
    Measure.READINGS: _re(
        r"(?:show|list|give|display|see|get)(?: me)?(?: all)?(?: of)?(?: the"
        rf"| my)?[\w\s{_FILLER}]{{0,40}}(?:readings|measurements|results|values|records|entries|history|numbers)"
        rf"|(?:all|every|each|individual|single) (?:of )?(?:my |the )?[\w{_FILLER}]* ?{_ITEMS}|history|list|log of"
        rf"|what (?:were|are) (?:all )?(?:my |the )[\w\s{_FILLER}]{{0,40}}(?:readings|measurements|results|values)",
        r"列出|列一下|全部|所有|每一?次|历次|历史|明细|逐[次条日天]|各次",
    ),
    Measure.OVERVIEW: _re(
        r"what (?:kinds? of |sorts? of |types? of )?(?:health |medical |personal )*(?:data|records?|information"
        r"|indicators?|metrics|measurements?|measures)"
        r"(?: (?:do|can|could|are|is|have)\b[\w\s]*)?(?: (?:do you|you|i|there|available|on file|stored|about me"
        r"|exist|tracked))?"
        r"|which (?:health |medical )*(?:data|records?|indicators?|metrics|measurements|measures)\b[\w\s]*(?:have"
        r"|available|there|track|stored|exist|recorded|see)?"
        r"|what (?:do|can) you (?:have|know|see)(?: (?:about|on|for|of) (?:me|my health))?|overview|summar(?:y|ise"
        r"|ize)(?: of)?(?: all)?(?: my)? ?(?:data|health|records)?"
        r"|(?:list|show)(?: me)?(?: all)?(?: of)?(?: my| the)? (?:available )?(?:data|indicators|metrics|records)"
        r"|what(?:'s| is)(?: there)? in my (?:health )?(?:record|records|file|data|profile)"
        r"|what (?:have i|do i|am i|was i|are you) (?:been )?(?:record|track|measur|log)\w*|what(?:'s| is) available"
        r"|(?:show|list|give|tell)(?: me)? everything|all my (?:data|indicators|metrics)"
        r"|how many (?:different )?(?:indicators|metrics|kinds of data)"
        rf"|what (?:lab |test |blood )*(?:results|labs|tests) (?:do i have|are there|do you have|are available)"
        rf"|(?:do (?:i|you) have|is there|are there|have i got) (?:any |some )?(?:of )?(?:my )?{_FILLER}+ ?(?:data"
        r"|readings?|records?|results?|measurements?|values?)?",
        r"(?:有|存|记录|保存|收集)了?(?:些)?(?:哪些|什么|多少种)[^,。?]{0,8}(?:数据|指标|记录|信息|项目|内容)"
        r"|(?:哪些|什么|几种|多少种)(?:健康|身体|体检|医疗|种类的?)*(?:数据|指标|记录|信息|项目)"
        r"|(?:数据|健康|指标)(?:的)?(?:概览|总览|汇总|概况|清单)|概览|总览|都有(?:哪些|什么)|有什么可以(?:看|查)"
        r"|(?:知道|了解)我(?:的)?(?:哪些|什么)"
        rf"|有没有(?:我的?)?{_FILLER}+(?:的)?(?:数据|记录|结果)|有{_FILLER}+(?:的)?(?:数据|记录)吗",
    ),
}
_NEWEST = _re(
    r"latest|most recent|newest|current(?:ly)?|now|last",
    r"最新|最近一次|上一?次|目前|现在|当前",
)
_EACH = _re(
    r"all|every|each|individual|single|history|log of|recent(?<!most recent)",
    r"全部|所有|每一?次|历次|历史|明细|逐|各次",
)
_WHEN = _re(
    r"when|what (?:date|day|time|month)|which (?:date|day|days|dates|month)|on what (?:date|day)|since when",
    r"哪一?天|什么时候|何时|几号|哪几天|日期|哪些天|啥时候|哪个月|几月",
)
_EVER = _re(
    r"ever|was|were|has|have|had|did|any|times|days|nights|readings|measurements|results|values|which|when|how many"
    r"|how often|list|show",
    rf"曾|过|哪|的时候|有{_FILLER}|什么时候|多少|几|有没有|是否有|次|列",
)
_SOME_READINGS = _re(
    r"ever|any|times|days|nights|readings|measurements|which|when|how many|how often",
    r"曾|过(?![去高低])|哪|的时候|什么时候|几|有没有|是否有|次",
)
_RANKS = _re(
    r"more|less|fewer|higher|lower|longer|shorter|better|worse|heavier|lighter|bigger|smaller",
    r"更|(?<![最太过偏很])(?:高|低|长|短|重|轻|大|小|多(?![少大高久长重])|(?<!多)少)",
)
_HOW_MANY = re.compile(
    r"(?:how many|how much|how long|how far|how many hours(?: of)?(?: did i)?)\b|多少|多久|几个小时|几小时|几公里",
    re.IGNORECASE,
)
_GROUPS: dict[GroupBy, re.Pattern[str]] = {
    "month": _re(
        r"(?:by|per|each|every|for each|in each|a) month|monthly|month by month|month over month",
        r"每个?月|按月|各月|逐月|月均",
    ),
    "week": _re(
        r"(?:by|per|each|every|for each|in each|a) week|weekly|week by week", r"每个?(?:周|星期)|按周|各周|逐周|周均"
    ),
    "day": _re(r"by day|each day|every day|day by day|for each day", r"按[天日]|逐[天日]|各天"),
}
_WHICH_PERIOD: dict[GroupBy, re.Pattern[str]] = {
    "month": _re(r"(?:which|what|in which) months?", r"哪个?月|哪一个月|几月份?"),
    "week": _re(r"(?:which|what|in which) weeks?", r"哪一?个?(?:周|星期)"),
}
_RESULTS = _re(
    r"labs?|blood ?work|(?:lab|test|blood|health)? ?(?:results?|tests?|values|readings|measurements|data|numbers"
    r"|report)",
    r"化验|检查|体检|检验|结果|数值|指标|数据|报告",
)
_SOME_WEEKDAYS = _re(
    r"weekends?|week ?days|work(?:ing)? ?days|(?:mon|tues|wednes|thurs|fri|satur|sun)days",
    r"周末|工作日|双休日|休息日|(?:每个?|逢)(?:周|星期|礼拜)[一二三四五六日天]",
)
_SOME_HOURS = _re(
    r"in the (?:early |late )?(?:mornings?|afternoons?|evenings?)|(?:every|each) (?:morning|afternoon|evening|night)"
    r"|at (?:night|noon|midday|midnight|dawn|lunchtime|bedtime)|mornings|evenings|nights only",
    r"凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜间|半夜|睡前",
)
_LAST_N = re.compile(
    r"\b(?:last|latest|most recent|recent|previous|newest|past)\s+(\d{1,3}|two|three|four|five|six|seven|eight"
    r"|nine|ten)\b(?!\s*(?:hours?|minutes?|days?|weeks?|months?|years?))"
    r"|\b(\d{1,3}|two|three|four|five|six|seven|eight|nine|ten)\s+(?:latest|most recent|newest)\b"
    r"|(?:最近|最新|近|最后|前)的?\s*(?:[一二两三四五六七八](?=[二三四五六七八九]))?(\d{1,3}|[一二两三四五六七八九十百]{1,5})\s*(?:次|条|个|笔|回|组)",
    re.IGNORECASE,
)
_PREVIOUS_READING = _re(
    r"(?:than|to|with|vs\.?|versus|against|from|since|as) (?:the |my )?(?:last|previous) (?:time|one)"
    r"|second[ -]to[ -]last|penultimate|last but one"
    r"|(?:the )?(?:previous|one before|prior|preceding) (?:one|reading|measurement|result"
    r"|test|value)?|the one before|last two",
    r"比上一?次|(?:和|与|跟|同)(?:上|前)一?次|上一?次(?:相比|比)|上上一?次|倒数第二次|前一次|最近两次",
)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}


def find_measures(text: str) -> list[tuple[int, Measure]]:
    """The measures a text asks for with their places, in order. Dates, limits and indicators in it must be masked.

    "Show the newest values of LDL and HDL" asks for one value of each, not for a list of readings.
    """
    found = [
        (m.start(), measure) for measure, pattern in _PATTERNS.items() for m in pattern.finditer(text) if m[0].strip()
    ]
    if _NEWEST.search(text) and not _EACH.search(text):
        found = [x for x in found if x[1] is not Measure.READINGS]
    return sorted(found, key=lambda x: x[0])


def group_by(text: str) -> GroupBy | None:
    """The calendar period by which figures are wanted."""
    return next((unit for unit, pattern in _GROUPS.items() if pattern.search(text)), None)


def names_results(text: str) -> bool:
    """Whether results of any kind are spoken of ("my latest labs")."""
    return _RESULTS.search(text) is not None


def singles_out_weekdays(text: str) -> bool:
    """Whether only some days of the week are meant."""
    return _SOME_WEEKDAYS.search(text) is not None


def singles_out_hours(text: str) -> bool:
    """Whether only some hours of the day are meant."""
    return _SOME_HOURS.search(text) is not None


def which_period(text: str) -> GroupBy | None:
    """The calendar period that is looked for ("which month had the highest …")."""
    return next((unit for unit, pattern in _WHICH_PERIOD.items() if pattern.search(text)), None)


def last_n(text: str) -> int | None:
    """How many of the newest readings are wanted ("last 3 readings", "最近三次"); of "两三次" the greater number."""
    m = _LAST_N.search(text)
    if not m:
        return None
    word = (m[1] or m[2] or m[3]).lower()
    number = int(word) if word.isdecimal() else _NUMBERS.get(word) or int(read_number(word) or 1)
    return max(number, 1)


def with_the_previous(text: str) -> bool:
    """Whether the latest reading is to be held against the one before."""
    return _PREVIOUS_READING.search(text) is not None


def asks_when(text: str) -> bool:
    """Whether the date is what is asked for."""
    return _WHEN.search(text) is not None


def asks_about_many(text: str) -> bool:
    """Whether a question with a limit is about all readings ("was it ever above") rather than about the latest."""
    return _EVER.search(text) is not None


def singles_out_readings(text: str) -> bool:
    """Whether a limit is expressly about readings ("was it ever above", "how often") and not about a figure of them."""
    return _SOME_READINGS.search(text) is not None


def ranks(text: str) -> bool:
    """Whether one of several is to be named as the greater or the smaller ("more in May or in June")."""
    return _RANKS.search(text) is not None


def asks_how_much(text: str) -> bool:
    """Whether an amount is asked for ("how many steps")."""
    return _HOW_MANY.search(text) is not None
