"""Questions about calendar periods and parts of a week or day: figures for each, the best, one against another."""

from typing import Any

from responses_app.llm.analyst.study import (
    Data,
    Steps,
    Topic,
    limit_of,
    named,
    no_data,
    query,
    results,
    spelled,
    value,
    words,
)

_EACH = {
    "weekpart": words(
        r"week ?days? (?:vs\.?|versus|and|or) (?:the )?week-?ends?|week-?ends? than on weekdays",
        r"周末.*工作日|工作日.*周末",
    ),
    "daypart": words(r"morning .* evening|evening .* morning", r"早上.*晚上|晚上.*早上"),
    "weekday": words(r"(?:by |each )?day of the week|by weekday", r"星期几|周几"),
    "month": words(
        r"(?:per|by|each|every|which|what) month|monthly|month by month|in which month|month of",
        r"每个?月|每月|按月|哪个月|月均|月份",
    ),
    "quarter": words(r"(?:per|by|each) quarter|quarterly|quarters", r"每个?季度|按季度|个季度"),
    "week": words(r"(?:per|by|each) week|weekly|(?:a|any) week (?:this|in)|which week", r"每周|按周|哪一周|周均"),
    "year": words(r"(?:per|by|each|which|what) year|year by year|yearly|annual", r"逐年|每年|按年|哪一?年"),
}
_SUM = words(r"total|cumulative|sum|altogether", r"一共|合计|总共|累计")
_DEVIATION = words(r"standard[ -]deviations?|variable", r"标准差|波动")
_MEDIAN = words(r"median", r"中位数")
_WHICH = words(r"which|what|in which|peak|best|worst|when did", r"哪个|哪一|最好|最差|最久")
_BEST_AND_WORST = words(r"best and worst", r"最好和最差")
_LOW = words(r"lowest|least|worst|shortest|fewest", r"最低|最少|最差|最短")
_RANK = words(r"rank", r"排个?名|排序")
_ANY = words(r"was there a|any", r"有没有")
_COMPARING = words(r"compar\w*|than|versus|vs\.?|against|more in|how do", r"比|差多少")
_PARTS = {"weekpart": ("Monday to Friday", "weekend"), "daypart": ("morning", "evening")}


def periods(topic: Topic) -> Steps | None:
    """Figures by calendar period, or of two periods with their difference."""
    if not topic.mentions:
        return None
    group = next((name for name, pattern in _EACH.items() if topic.says(pattern)), None)
    if group is not None and len(topic.periods) < 2:  # noqa: PLR2004 - two that are named are no grouping
        return _grouped(topic, group)
    if len(topic.periods) == 2 and topic.says(_COMPARING) and topic.says(_MEDIAN):  # noqa: PLR2004 - one against the other
        return _compared(topic)
    return None


def _statistic(topic: Topic) -> tuple[str, str, str]:
    if topic.limits and not topic.says(_ANY):
        return "meeting", "number of readings", "次数"
    if topic.says(_DEVIATION):
        return "standard_deviation", "standard deviation", "标准差"
    if topic.says(_MEDIAN):
        return "percentile", "median", "中位数"
    if topic.says(_SUM):
        return "sum", "total", "合计"
    return "average", "average", "平均"


def _grouped(topic: Topic, group: str) -> Steps:
    key, en, zh = _statistic(topic)
    limits = limit_of(topic.limits[0]) if key == "meeting" else {}
    more: dict[str, Any] = {"percentile": 50} if key == "percentile" else {}
    (data,) = yield [query("aggregate", topic.names, group_by=group, **limits, **more, **topic.span())]
    lines = [_groups(part, topic, group, (key, en, zh)) for part in results(data) if part.get("groups")]
    return "\n".join(lines) or no_data(topic)


def _groups(part: Data, topic: Topic, group: str, statistic: tuple[str, str, str]) -> str:
    key, en, zh = statistic
    say = topic.say
    found = [(str(g["period"]), g[key]) for g in part["groups"] if g.get(key) is not None]
    head = say.pick(f"{named(part, say)}, {en} by {group}", f"{named(part, say)}，各期{zh}")
    if topic.says(_BEST_AND_WORST):
        chosen = [max(found, key=_number), min(found, key=_number)]
    elif topic.says(_RANK):
        chosen = sorted(found, key=_number, reverse=True)
    elif topic.says(_ANY) and topic.limits:
        return _that_meet(found, part, topic)
    elif topic.says(_WHICH) and group not in _PARTS:
        chosen = [(min if topic.says(_LOW) else max)(found, key=_number)]
    else:
        chosen = [one for one in found if one[0] in _PARTS.get(group, (one[0],))]
    lines = [f"- {period}: {number if key == 'meeting' else value(number, part, say)}" for period, number in chosen]
    return "\n".join([head + say.pick(":", "："), *lines])


def _number(group: tuple[str, float]) -> float:
    return group[1]


def _that_meet(found: list[tuple[str, float]], part: Data, topic: Topic) -> str:
    limit, say = topic.limits[0], topic.say
    met = [
        (period, number)
        for period, number in found
        if (limit.above is None or number > limit.above) and (limit.below is None or number < limit.below)
    ]
    if not met:
        return say.pick(f"No: none was {say.limit(limit)}.", f"没有{say.limit(limit)}的。")
    head = say.pick(f"{named(part, say)} {say.limit(limit)}:", f"{named(part, say)}{say.limit(limit)}：")
    return "\n".join([head, *(f"- {period}: {value(number, part, say)}" for period, number in met)])


def _compared(topic: Topic) -> Steps:
    spans = sorted(spelled(period, topic.today) for period in topic.periods)
    key, en, zh = ("median", "median", "中位数") if topic.says(_MEDIAN) else ("average", "average", "平均")
    (data,) = yield [query("compare", topic.names, periods=spans)]
    lines = [_difference(part, topic, key, topic.say.pick(en, zh)) for part in results(data) if part.get("count")]
    return "\n".join(lines) or no_data(topic)


def _difference(part: Data, topic: Topic, key: str, what: str) -> str:
    say, (first, second) = topic.say, part["periods"]
    sides = [
        say.pick(
            f"{value(one[key], part, say)} from {one['start']} to {one['end']}",
            f"{value(one[key], part, say)}（{one['start']} 至 {one['end']}）",
        )
        for one in (first, second)
    ]
    difference, percent = second["difference"][key], second["percent"][key]
    if difference is None:
        return f"{named(part, say)}: {what} {'; '.join(sides)}."
    share = "" if percent is None else f" ({percent:+.1f}%)"
    way = say.pick("higher" if difference > 0 else "lower", "较高" if difference > 0 else "较低")
    return say.pick(
        f"{named(part, say)}: {what} {sides[0]}, then {sides[1]}: {value(abs(difference), part, say)} {way}{share}.",
        f"{named(part, say)}：{what} {sides[0]}，{sides[1]}：后者{way} {value(abs(difference), part, say)}{share}。",
    )
