"""Questions for a statistic of one indicator: a median, a percentile, a share, how stable it is."""

import re

from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.study import (
    Steps,
    Topic,
    bold,
    first_result,
    limit_of,
    named,
    no_data,
    query,
    results,
    value,
    words,
)

_SHARE = words(r"fraction|proportion|share of|percentage of", r"比例|占比|百分之几的")
_MEDIAN = words(r"medians?", r"中位数|中位值")
_DEVIATION = words(r"standard[ -]deviations?", r"标准差")
_PERCENTILE = re.compile(r"(\d{1,2})(?:st|nd|rd|th) percentile|(\d{1,2})\s*(?:百分位|分位)", re.IGNORECASE)
_MOVING = re.compile(r"(\d+)-?\s*day (?:moving|rolling) average|(\d+)\s*[日天](?:移动|滑动)平均", re.IGNORECASE)
_STABLE = words(r"(?:is|are) .* stable|stable", r"稳定吗|稳不稳定")


def statistics(topic: Topic) -> Steps | None:
    """A statistic of the readings."""
    if len(topic.periods) > 1 or topic.says(words("quarterly|per (?:quarter|month|year)|by", "按季|每")):
        return None
    if match := _MOVING.search(topic.text):
        return _moving(topic, int(match[1] or match[2]))
    if match := _PERCENTILE.search(topic.text):
        return _percentile(topic, int(match[1] or match[2]))
    if topic.says(_SHARE) and topic.limits:
        return _share(topic, topic.limits[0])
    if topic.says(_MEDIAN):
        return _figure(topic, "median", "median", "中位数")
    if topic.says(_DEVIATION):
        return _figure(topic, "standard_deviation", "standard deviation", "标准差")
    if topic.says(_STABLE) and not topic.periods:
        return _stability(topic)
    return None


def _figure(topic: Topic, key: str, en: str, zh: str) -> Steps:
    (data,) = yield [query("aggregate", topic.names, **topic.span())]
    say = topic.say
    lines = [
        say.pick(
            f"{named(part, say)}: {en} {value(part.get(key), part, say)} over {part['count']} readings.",
            f"{named(part, say)}：{zh} {value(part.get(key), part, say)}，共 {part['count']} 次测量。",
        )
        for part in results(data)
        if part.get("count")
    ]
    return "\n".join(lines) or no_data(topic)


def _moving(topic: Topic, days: int) -> Steps:
    start = topic.today.fromordinal(topic.today.toordinal() - days + 1).isoformat()
    (data,) = yield [query("aggregate", topic.names, start=start, end=topic.today.isoformat())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    average = value(part["daily_average"], part, say)
    return say.pick(
        f"{named(part, say)}: {days}-day moving average {average} up to {topic.today}.",
        f"{named(part, say)}：截至 {topic.today} 的 {days} 日移动平均为 {average}。",
    )


def _percentile(topic: Topic, percent: int) -> Steps:
    (data,) = yield [query("aggregate", topic.names, percentile=percent, **topic.span())]
    part, say = first_result(data), topic.say
    if part is None or not part.get("percentile"):
        return no_data(topic)
    told = value(part["percentile"]["value"], part, say)
    return say.pick(
        f"{named(part, say)}: the percentile {percent} is {told}.",
        f"{named(part, say)}：第 {percent} 百分位为 {told}。",
    )


def _share(topic: Topic, limit: Limit) -> Steps:
    (data,) = yield [query("aggregate", topic.names, **limit_of(limit), **topic.span())]
    part, say = first_result(data), topic.say
    if part is None or not part.get("meeting") or part["meeting"]["share"] is None:
        return no_data(topic)
    met = part["meeting"]
    return say.pick(
        f"{named(part, say)}: **{100 * met['share']:.1f}%** of the readings are {say.limit(limit)} "
        f"({met['count']} of {part['count']} readings).",
        f"{named(part, say)}：**{100 * met['share']:.1f}%** 的测量{say.limit(limit)}"
        f"（{part['count']} 次中 {met['count']} 次）。",
    )


_MOST_VARIATION = 0.1


def _stability(topic: Topic) -> Steps:
    (data,) = yield [query("aggregate", topic.names, **topic.span())]
    part, say = first_result(data), topic.say
    if part is None or part.get("coefficient_of_variation") is None:
        return no_data(topic)
    out, variation = part["out_of_range"]["low"] + part["out_of_range"]["high"], part["coefficient_of_variation"]
    stable = variation <= _MOST_VARIATION and not out
    verdict = say.pick("stable", "稳定") if stable else say.pick("not stable", "不稳定")
    return say.pick(
        f"{named(part, say)} is {verdict}: average {value(part['average'], part, say)}, standard deviation "
        f"{value(part['standard_deviation'], part, say)}, coefficient of variation {variation:.4f}, "
        f"{bold(out)} readings out of range.",
        f"{named(part, say)}{verdict}：平均 {value(part['average'], part, say)}，标准差 "
        f"{value(part['standard_deviation'], part, say)}，变异系数 {variation:.4f}，超出参考范围 {bold(out)} 次。",
    )
