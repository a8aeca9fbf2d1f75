"""Questions about what stands out in one indicator: outliers, jumps, double entries, the newest against all before."""

import re

from responses_app.llm.analyst.study import (
    Steps,
    Topic,
    dated,
    first_result,
    listed,
    named,
    no_data,
    query,
    value,
    words,
)

_UNUSUAL = words(
    r"unusual|outliers?|odd|typed in wrongly|impossible|anomal\w+", r"离群|不对劲|输错|明显异常|反常|不可能"
)
_JUMP = words(r"(?:biggest|largest) (?:jump|change|fall|rise)|crash\w*", r"差得最多|跌得最|跳得最|变化最大")
_FALL = words(r"crash\w*|fall|drop", r"跌|降")
_TWICE = words(r"duplicates?|entered twice", r"重复")
_USUALLY = words(r"what i usually have|than usual|compared with my usual", r"跟平时比|和平时比|跟我平时")
_LAST_NIGHTS = re.compile(r"last (\d+) (?:nights|days)|最近\s*(\d+)\s*[晚天]", re.IGNORECASE)


def standing_out(topic: Topic) -> Steps | None:
    """What is unusual about the readings."""
    if topic.says(_TWICE):
        return _twice(topic)
    if topic.says(_JUMP):
        return _jump(topic)
    if topic.says(_USUALLY):
        return _newest(topic)
    match = _LAST_NIGHTS.search(topic.text)
    if match and topic.says(_UNUSUAL):
        return _unusual_period(topic, int(match[1] or match[2]))
    return _outliers(topic) if topic.says(_UNUSUAL) else None


def _outliers(topic: Topic) -> Steps:
    (data,) = yield [query("unusual", topic.names[:1], **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    rows = part["outliers"]
    if not rows:
        return say.pick(f"{named(part, say)}: no reading stands out.", f"{named(part, say)}：没有离群的数值。")
    head = say.pick(
        f"{named(part, say)}: {len(rows)} readings stand out:", f"{named(part, say)}：{len(rows)} 次明显偏离："
    )
    return "\n".join([head, *listed(rows, part, say)])


def _jump(topic: Topic) -> Steps:
    (data,) = yield [query("unusual", topic.names[:1], **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    both = [part["largest_fall"]] if topic.says(_FALL) else [part["largest_rise"], part["largest_fall"]]
    jumps = [one for one in both if one]
    if not jumps:
        return no_data(topic)
    jump = max(jumps, key=lambda one: abs(one["change"]))
    return say.pick(
        f"{named(part, say)}: the largest change is {value(jump['change'], part, say)}, from "
        f"{dated(jump['before'], part, say)} to {dated(jump['after'], part, say)}.",
        f"{named(part, say)}：最大变化 {value(jump['change'], part, say)}，从 {dated(jump['before'], part, say)} 到 "
        f"{dated(jump['after'], part, say)}。",
    )


def _twice(topic: Topic) -> Steps:
    (data,) = yield [query("unusual", topic.names[:1], **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    rows = part["entered_twice"]
    if not rows:
        return say.pick(f"{named(part, say)}: nothing was entered twice.", f"{named(part, say)}：没有重复记录。")
    head = say.pick(f"{named(part, say)}: entered more than once:", f"{named(part, say)}：重复记录：")
    return "\n".join([head, *listed(rows, part, say)])


def _newest(topic: Topic) -> Steps:
    (data,) = yield [query("unusual", topic.names[:1])]
    part, say = first_result(data), topic.say
    newest = (part or {}).get("newest")
    if part is None or not newest or newest["z_score"] is None:
        return no_data(topic)
    before = newest["before"]
    return say.pick(
        f"{named(part, say)}: latest {dated(newest['reading'], part, say)}; before that the average was "
        f"{value(before['average'], part, say)} with a standard deviation of "
        f"{value(before['standard_deviation'], part, say)}, so it lies "
        f"{newest['z_score']:.2f} standard deviations off.",
        f"{named(part, say)}：最近 {dated(newest['reading'], part, say)}；此前平均 "
        f"{value(before['average'], part, say)}，"
        f"标准差 {value(before['standard_deviation'], part, say)}，偏离 {newest['z_score']:.2f} 个标准差。",
    )


_UNUSUAL_Z = 2


def _unusual_period(topic: Topic, days: int) -> Steps:
    """The last days against the year before them."""
    today = topic.today
    first = today.fromordinal(today.toordinal() - days + 1)
    before = today.fromordinal(first.toordinal() - 1)
    year_before = before.fromordinal(before.toordinal() - 364)
    spans = [f"{year_before}/{before}", f"{first}/{today}"]
    (data,) = yield [query("compare", topic.names[:1], periods=spans)]
    part, say = first_result(data), topic.say
    if part is None or part["periods"][1].get("z_score") is None:
        return no_data(topic)
    usual, recent = part["periods"]
    z = recent["z_score"]
    verdict = say.pick("unusual", "异常") if abs(z) > _UNUSUAL_Z else say.pick("not unusual", "并无异常")
    return say.pick(
        f"{named(part, say)} is {verdict}: average {value(recent['average'], part, say)} against "
        f"{value(usual['average'], part, say)} in the year before, {z:.3f} standard deviations.",
        f"{named(part, say)}{verdict}：平均 {value(recent['average'], part, say)}，此前一年 "
        f"{value(usual['average'], part, say)}，相差 {z:.3f} 个标准差。",
    )
