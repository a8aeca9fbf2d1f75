"""Questions about the readings of one indicator as a series: out of range, runs, gaps, what is unusual, statistics."""

import re
from typing import Any

from responses_app.llm.analyst.dates import Period, add_months
from responses_app.llm.analyst.event_studies import trends
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.measures import last_n
from responses_app.llm.analyst.numbers import read_number
from responses_app.llm.analyst.study import (
    Data,
    Steps,
    Topic,
    bold,
    dated,
    failed,
    first_result,
    limit_of,
    listed,
    named,
    no_data,
    query,
    results,
    value,
    words,
)
from responses_app.llm.analyst.text import shown

_OUT = words(
    r"out[ -]of[ -](?:the )?(?:reference )?range|outside (?:the|its) (?:reference )?range|leave the reference range"
    r"|abnormal\w*|flagged|strange",
    r"超出(?:过)?(?:参考)?范围|超范围|不在参考范围|不正常|异常|偏高的结果|偏低的结果",
)
_EVER = words(r"ever|any|often|how many|which|were|times|did|do i have", r"有没有|过|哪|几|多少|有异常|吗")
_LAST_CHECK = words(r"last (?:check-?up|lab|blood)\w*", r"上次(?:体检|化验|检查)|最近一次(?:体检|化验)")
_MOST_OFTEN = words(r"most often|most frequently", r"次数最多|最常")
_EACH_YEAR = words(r"each of the (?:three|two|four) years|each year|per year", r"每年|各年")
_ROW = words(r"in a row|consecutive|successive", r"连着|连续(?!记录)")
_STREAK = words(r"streak|in a row|without a break|run of days|consecutive(?! weigh)", r"连续|最长坚持|连着")
_CURRENTLY = words(r"currently|right now|up to now|today", r"到今天|目前|现在")
_STAYED = words(r"since when|stayed|has been under", r"从什么时候开始一直|一直在")
_FIRST_TIME = words(r"(?:first|when did .* first)", r"第一次|首次")
_GAP = words(
    r"longest (?:gap|stretch|time|break)|gap between|without any|recorded nothing|missing|no (?:wearable )?data"
    r"|without a single",
    r"最长(?:有多少天没|隔|间隔)|隔了多久|缺了|完全没有数据|没有?数据|没记|没量",
)
_LONGEST = words(r"longest|gap between", r"最长")
_WEEKS_WITHOUT = words(r"weeks? without", r"哪一?周.*没")
_UNUSUAL = words(
    r"unusual|outliers?|odd|typed in wrongly|impossible|anomal\w+", r"离群|不对劲|输错|明显异常|反常|不可能"
)
_JUMP = words(r"(?:biggest|largest) (?:jump|change|fall|rise)|crash\w*", r"差得最多|跌得最|跳得最|变化最大")
_FALL = words(r"crash\w*|fall|drop", r"跌|降")
_TWICE = words(r"duplicates?|entered twice", r"重复")
_USUALLY = words(r"what i usually have|than usual|compared with my usual", r"跟平时比|和平时比|跟我平时")
_LAST_NIGHTS = re.compile(r"last (\d+) (?:nights|days)|最近\s*(\d+)\s*[晚天]", re.IGNORECASE)
_SHARE = words(r"fraction|proportion|share of|percentage of", r"比例|占比|百分之几的")
_MEDIAN = words(r"medians?", r"中位数|中位值")
_DEVIATION = words(r"standard[ -]deviations?", r"标准差")
_PERCENTILE = re.compile(r"(\d{1,2})(?:st|nd|rd|th) percentile|(\d{1,2})\s*(?:百分位|分位)", re.IGNORECASE)
_MOVING = re.compile(r"(\d+)-?\s*day (?:moving|rolling) average|(\d+)\s*[日天](?:移动|滑动)平均", re.IGNORECASE)
_REFERENCE = words(r"reference range does|what (?:is the )?reference range", r"参考范围是")
_STABLE = words(r"(?:is|are) .* stable|stable", r"稳定吗|稳不稳定")
_LAST_BUT_ONE = words(r"test before last|last[- ]but[- ]one|second[- ]to[- ]last|penultimate", r"倒数第二")
_TOP = re.compile(
    r"(?:which|what|the) (\w+) (?:days|nights|readings).*(?:most|highest|least|lowest)"
    r"|(?:最多|最高|最少|最低)的(\S)[天晚次]",
    re.IGNORECASE,
)
_RUN = words(r"in a row have gone (?:down|up)", r"连续(?:下降|上升)了几次")
_FAR = words(r"how far (?:from there )?is it|from there", r"现在比那时")
_LEAST = words(r"lowest|least|minimum|fewest", r"最低|最少|最小")
_CHANGED = words(
    r"from the first to the last|than at my first|what was the change|change in my",
    r"第一次到最后一次|比第一次|变化了多少",
)
_LISTING = words(r"is there|did .* ever|have i|any|did i ever|were there|ever exceed", r"有没有")
_NEAREST = words(r"closest to|nearest to", r"最近的那?次|最接近")
_DIFFERENCE = words(r"how far is my last|last-but-one|those of the test before", r"前一次差|最近一次.*和上一次比")
_EACH_TEST = words(r"test by test|reading by reading", r"每次的.*分别")
_PACE = words(r"how (?:quickly|fast)", r"速度")
_WAY = words(r"gone|going|trend\w*|develop\w*|moved", r"走势|趋势|变化")
_IN_UNIT = re.compile(r"(?:\bin|\bto|换算成|换成|用)\s*([a-zA-Zµ]{1,4}/[a-zA-Z]{1,4})", re.IGNORECASE)
_YEARS_AGO = re.compile(r"than (\w+) years? ago|比([一两二三四五六七八九十\d]+)年前", re.IGNORECASE)


def series(topic: Topic) -> Steps | None:
    """The first of these shapes that a question about the readings of indicators has."""
    if not topic.mentions:
        return _without_indicator(topic)
    shapes = (_statistics, _runs, _gaps, _standing_out, _range, _single)
    return next((steps for shape in shapes if (steps := shape(topic)) is not None), None)


# Statistics -----------------------------------------------------------------------------------------------------------


def _statistics(topic: Topic) -> Steps | None:
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


# Runs and gaps --------------------------------------------------------------------------------------------------------


def _runs(topic: Topic) -> Steps | None:
    if topic.says(_RUN):
        return _steps_in_a_row(topic)
    if topic.says(_OUT) and topic.says(_ROW) and not topic.limits:
        return _out_in_a_row(topic)
    if not topic.limits:
        return None
    if topic.says(_STAYED):
        return _stayed(topic)
    if topic.says(_STREAK):
        return _streak(topic)
    if topic.says(_FIRST_TIME):
        return _first_time(topic)
    return None


def _steps_in_a_row(topic: Topic) -> Steps:
    (data,) = yield [query("trend", topic.names)]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    down = topic.says(words("down", "下降"))
    wanted, line = "falling" if down else "rising", part["trend"]
    steps = line["steps_in_a_row"] if line["steps_direction"] == wanted else 0
    way = say.pick("down" if down else "up", "下降" if down else "上升")
    return say.pick(
        f"{named(part, say)} has gone {way} {bold(steps)} times in a row.",
        f"{named(part, say)}连续{way}了 {bold(steps)} 次。",
    )


def _out_in_a_row(topic: Topic) -> Steps:
    (data,) = yield [query("streaks", topic.names, **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    least = 2
    runs = [run for run in part["runs_of_readings"] if run["readings"] >= least]
    if not runs:
        return say.pick(
            f"No: {named(part, say)} was never out of range twice in a row.",
            f"没有：{named(part, say)}从未连续两次异常。",
        )
    days = [", ".join(run.get("dates") or [run["first"]["date"], run["last"]["date"]]) for run in runs]
    return say.pick("Yes, out of range in a row: ", "有，连续超出参考范围：") + "; ".join(days)


def _stayed(topic: Topic) -> Steps:
    limit = topic.limits[0]
    (data,) = yield [query("streaks", topic.names, **limit_of(limit))]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    run = part["current_run_of_readings"]
    if run is None:
        return say.pick(
            f"{named(part, say)} is not {say.limit(limit)}.", f"{named(part, say)}目前并不{say.limit(limit)}。"
        )
    return say.pick(
        f"{named(part, say)} has been {say.limit(limit)} since {dated(run['first'], part, say)}.",
        f"{named(part, say)}从 {dated(run['first'], part, say)} 起一直{say.limit(limit)}。",
    )


def _streak(topic: Topic) -> Steps:
    limit = topic.limits[0]
    (data,) = yield [query("streaks", topic.names, **limit_of(limit), **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    current = topic.says(_CURRENTLY)
    run = part["current_run_of_days"] if current else next(iter(part["runs_of_days"]), None)
    if run is None:
        return say.pick(
            f"{named(part, say)}: **0 days** in a row {say.limit(limit)}.",
            f"{named(part, say)}连续{say.limit(limit)} **0 天**。",
        )
    which = say.pick("current" if current else "longest", "目前" if current else "最长")
    return say.pick(
        f"{named(part, say)} {say.limit(limit)}: the {which} run is **{run['days']} days**, from "
        f"{run['first_date']} to {run['last_date']}.",
        f"{named(part, say)}{say.limit(limit)}，{which}连续 **{run['days']} 天**"
        f"（{run['first_date']} 至 {run['last_date']}）。",
    )


def _first_time(topic: Topic) -> Steps:
    limit = topic.limits[0]
    (data,) = yield [query("readings", topic.names, order="oldest", limit=1, **limit_of(limit), **topic.span())]
    part, say = first_result(data), topic.say
    if part is None or not part["readings"]:
        return say.pick(f"It was never {say.limit(limit)}.", f"从未{say.limit(limit)}。")
    first = dated(part["readings"][0], part, say)
    return say.pick(
        f"{named(part, say)} was first {say.limit(limit)} with {first}.",
        f"{named(part, say)}首次{say.limit(limit)}：{first}。",
    )


def _gaps(topic: Topic) -> Steps | None:
    if topic.limits or not topic.says(_GAP):
        return None
    if topic.says(_WEEKS_WITHOUT):
        return _weeks_without(topic)
    return _longest_gap(topic) if topic.says(_LONGEST) else _days_without(topic)


def _longest_gap(topic: Topic) -> Steps:
    (data,) = yield [query("gaps", topic.names[:1], **topic.span())]
    part, say = first_result(data), topic.say
    gap = next(iter((part or {}).get("longest_gaps") or []), None)
    if part is None or gap is None:
        return no_data(topic)
    return say.pick(
        f"{named(part, say)}: the longest gap is **{gap['days_between']} days**, from {gap['last_before']} to "
        f"{gap['first_after']}.",
        f"{named(part, say)}：最长间隔 **{gap['days_between']} 天**，{gap['last_before']} 至 {gap['first_after']}。",
    )


def _days_without(topic: Topic) -> Steps:
    (data,) = yield [query("gaps", topic.names[:1], **topic.span())]
    part, say = first_result(data), topic.say
    if part is None or "without_readings" not in part:
        return no_data(topic)
    runs = [
        run["first_date"] if run["days"] == 1 else f"{run['first_date']} – {run['last_date']}"
        for run in part["without_readings"]
    ]
    return say.pick(
        f"{named(part, say)}: **{part['days_without_readings']} days** without a reading: ",
        f"{named(part, say)}：**{part['days_without_readings']} 天**没有数据：",
    ) + "; ".join(runs)


def _weeks_without(topic: Topic) -> Steps:
    (data,) = yield [query("gaps", topic.names[:1], group_by="week", **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    weeks = part.get("empty_periods") or []
    if not weeks:
        return say.pick("No week is without a reading.", "没有哪一周缺少测量。")
    return say.pick(f"{named(part, say)}: weeks without a reading: ", f"{named(part, say)}没有测量的周：") + ", ".join(
        weeks
    )


# What stands out ------------------------------------------------------------------------------------------------------


def _standing_out(topic: Topic) -> Steps | None:
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


# Out of range ---------------------------------------------------------------------------------------------------------


def _range(topic: Topic) -> Steps | None:
    if topic.says(_REFERENCE):
        return _reference(topic)
    if topic.limits or not (topic.says(_OUT) and topic.says(_EVER)):
        return None
    if topic.says(words("last|latest|newest|now", "上次|最近|最新|现在")):
        return None
    return _out_of_range(topic)


def _reference(topic: Topic) -> Steps:
    (data,) = yield [query("latest", topic.names)]
    part, say = first_result(data), topic.say
    reading = next(iter((part or {}).get("readings") or []), None)
    if part is None or reading is None:
        return no_data(topic)
    low, high = (value(reading.get(f"reference_{side}"), part, say) for side in ("low", "high"))
    return say.pick(
        f"The reference range stored with {named(part, say)} is {low} to {high}.",
        f"{named(part, say)}的参考范围为 {low} 至 {high}。",
    )


def _out_of_range(topic: Topic) -> Steps:
    (data,) = yield [query("out_of_range", topic.names, **topic.span())]
    parts = results(data)
    return "\n".join(_outside(part, topic) for part in parts) or no_data(topic)


def _outside(part: Data, topic: Topic) -> str:
    say, out = topic.say, part["out_of_range"]
    if not out:
        return say.pick(
            f"{named(part, say)} was never outside its reference range.", f"{named(part, say)}没有超出参考范围的结果。"
        )
    head = say.pick(
        f"{named(part, say)} was outside its reference range in **{out} readings**:",
        f"{named(part, say)}有 **{out} 次**超出参考范围：",
    )
    return "\n".join([head, *listed(part["readings"], part, say)])


def _without_indicator(topic: Topic) -> Steps | None:
    """Of all laboratory values."""
    if topic.says(words("wearable|watch", "手表|手环")) and topic.says(_GAP):
        return _wearable_gaps(topic)
    if not topic.says(_OUT) or (topic.limits and not topic.says(words("lab days", "化验"))):
        return None
    if topic.says(_LAST_CHECK):
        return _last_check(topic)
    if topic.says(_MOST_OFTEN):
        return _most_often(topic)
    if topic.says(_EACH_YEAR):
        return _by_year(topic)
    if topic.says(words("which lab days", "哪几次化验")):
        return _days_with(topic)
    return None


def _wearable_gaps(topic: Topic) -> Steps:
    (data,) = yield [query("gaps", ["steps"], **topic.span())]
    part, say = first_result(data), topic.say
    if part is None or "without_readings" not in part:
        return say.pick("I have no data of a watch.", "没有手表数据。")
    runs = [
        run["first_date"] if run["days"] == 1 else f"{run['first_date']} – {run['last_date']}"
        for run in part["without_readings"]
    ]
    return say.pick(
        f"The watch recorded no steps on **{part['days_without_readings']} days**: ",
        f"手表有 **{part['days_without_readings']} 天**没有数据：",
    ) + "; ".join(runs)


def _last_check(topic: Topic) -> Steps:
    (first,) = yield [query("out_of_range", [], limit=1)]
    days = first.get("days") or []
    if not days:
        return topic.say.pick("There are no laboratory values.", "没有化验数据。")
    day = days[0]["date"]
    (data,) = yield [query("out_of_range", [], start=day, end=day)]
    say = topic.say
    rows = [
        f"- {say.indicator(str(part['indicator']))}: {dated(row, part, say)}"
        for part in results(data)
        for row in part["readings"]
    ]
    if not rows:
        return say.pick(f"On {day} nothing was out of range.", f"{day} 没有异常。")
    return "\n".join([say.pick(f"Out of range on {day}:", f"{day} 超出参考范围："), *rows])


def _most_often(topic: Topic) -> Steps:
    (data,) = yield [query("out_of_range", [], limit=1, **topic.span())]
    parts, say = results(data), topic.say
    if not parts:
        return say.pick("Nothing was out of range.", "没有超出参考范围的项目。")
    most = parts[0]["out_of_range"]
    names = say.listed([say.indicator(str(p["indicator"])) for p in parts if p["out_of_range"] == most])
    return say.pick(
        f"Most often out of range: {names}, **{most} readings**.", f"超出参考范围最多的是{names}，**{most} 次**。"
    )


_YEARS = 3


def _by_year(topic: Topic) -> Steps:
    """The last three years, each up to today's date."""
    ends = [topic.today.replace(year=topic.today.year - n) for n in range(_YEARS, -1, -1)]
    after = [end.fromordinal(end.toordinal() + 1) for end in ends]
    spans = [f"{start}/{end}" for start, end in zip(after, ends[1:], strict=False)]
    (data,) = yield [query("out_of_range", [], limit=1, periods=spans)]
    say = topic.say
    lines = [
        say.pick(
            f"- {one['start']} to {one['end']}: **{one['out_of_range']} readings**",
            f"- {one['start']} 至 {one['end']}：**{one['out_of_range']} 次**",
        )
        for one in data.get("periods") or []
    ]
    return "\n".join([say.pick("Out of range:", "超出参考范围："), *lines])


def _days_with(topic: Topic) -> Steps:
    (data,) = yield [query("out_of_range", [], limit=1, **topic.span())]
    match = re.search(r"more than (\w+)|超过\s*([\d一二两三四五六七八九十]+)", topic.text, re.IGNORECASE)
    least = int(read_number(match[1] or match[2]) or 0) if match else 0
    days = sorted(day["date"] for day in data.get("days") or [] if day["out_of_range"] > least)
    say = topic.say
    if not days:
        return say.pick("There is no such day.", "没有这样的日子。")
    return say.pick(f"Days with more than {least} of them: ", f"超过 {least} 项的日子：") + ", ".join(days)


# Single readings and changes ------------------------------------------------------------------------------------------


def _single(topic: Topic) -> Steps | None:
    readers = (_by_number, _by_words, _by_limit)
    return next((steps for read in readers if (steps := read(topic)) is not None), None)


def _by_number(topic: Topic) -> Steps | None:
    """Shapes with a unit or a number in their words."""
    if match := _IN_UNIT.search(topic.text):
        return _in_unit(topic, match[1])
    if match := _YEARS_AGO.search(topic.text):
        return _than_years_ago(topic, int(read_number(match[1] or match[2]) or 1))
    if topic.says(_WAY) and (count := last_n(topic.mask)):
        return _trend(topic, limit=count)
    return None


def _by_words(topic: Topic) -> Steps | None:
    if topic.says(_NEAREST) and topic.periods:
        return _nearest(topic, topic.periods[0])
    shapes = (
        (_PACE, _trend),
        (_EACH_TEST, _each),
        (_FAR, _far_from_extreme),
        (_DIFFERENCE, _last_two),
        (_LAST_BUT_ONE, _before_latest),
        (_CHANGED, _changed),
    )
    return next((study(topic) for pattern, study in shapes if topic.says(pattern)), None)


def _by_limit(topic: Topic) -> Steps | None:
    if topic.limits and topic.says(_LISTING) and not topic.says(words("how (?:many|often)", "几|多少")):
        return _meeting(topic)
    if match := _TOP.search(topic.text):
        count = read_number(match[1] or match[2])
        return _top(topic, int(count)) if count else None
    return None


def _trend(topic: Topic, **more: Any) -> Steps:
    (data,) = yield [query("trend", topic.names, **more, **topic.span())]
    return trends(data, topic)


def _each(topic: Topic) -> Steps:
    (data,) = yield [query("readings", topic.names[:1], order="oldest", limit=200, **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    return "\n".join([f"{named(part, say)}:", *listed(part["readings"], part, say)])


def _in_unit(topic: Topic, unit: str) -> Steps:
    (data,) = yield [query("latest", topic.names, unit=unit, **topic.span())]
    say = topic.say
    if failed(data):
        return say.pick(f"That cannot be given in “{shown(unit)}”.", f"无法用“{shown(unit)}”表示。")
    lines = []
    for part in results(data):
        reading = next(iter(part["readings"]), None)
        if reading is None:
            continue
        status = {"high": ("high", "偏高"), "low": ("low", "偏低")}.get(reading.get("abnormal") or "")
        ranged = reading.get("reference_low") is not None or reading.get("reference_high") is not None
        told = ""
        if status:
            told = say.pick(f"; it is marked {status[0]}", f"；{status[1]}")
        elif ranged:
            told = say.pick("; it is within its reference range", "；在参考范围内")
        lines.append(f"{named(part, say)}: {dated(reading, part, say)}{told}.")
    return "\n".join(lines) or no_data(topic)


def _than_years_ago(topic: Topic, years: int) -> Steps:
    """The readings nearest to that day and to today."""
    then = add_months(topic.today, -12 * years)
    (data,) = yield [query("nearest", topic.names[:1], around=[then.isoformat(), topic.today.isoformat()])]
    part, say = first_result(data), topic.say
    rows = [one["readings"][0] for one in (part or {}).get("nearest") or [] if one["readings"]]
    if part is None or len(rows) < 2:  # noqa: PLR2004 - one is held against the other
        return no_data(topic)
    first, last = rows
    change = last["value"] - first["value"]
    way = say.pick("higher" if change > 0 else "lower", "较高" if change > 0 else "较低")
    return say.pick(
        f"{named(part, say)} was {dated(first, part, say)} and is {dated(last, part, say)}: "
        f"{value(abs(change), part, say)} {way}.",
        f"{named(part, say)}：当时 {dated(first, part, say)}，现在 {dated(last, part, say)}：{way} "
        f"{value(abs(change), part, say)}。",
    )


def _far_from_extreme(topic: Topic) -> Steps:
    (data,) = yield [query("aggregate", topic.names[:1], **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    key, en, zh = ("minimum", "lowest", "最低") if topic.says(_LEAST) else ("maximum", "highest", "最高")
    return say.pick(
        f"{named(part, say)}: {en} {dated(part[key], part, say)}, now {dated(part['last'], part, say)}: a "
        f"difference of {value(part[f'last_minus_{key}'], part, say)}.",
        f"{named(part, say)}：{zh} {dated(part[key], part, say)}，现在 {dated(part['last'], part, say)}，相差 "
        f"{value(part[f'last_minus_{key}'], part, say)}。",
    )


def _change_told(data: Data, topic: Topic) -> str:
    say, lines = topic.say, []
    for part in results(data):
        line = part["trend"]
        percent = "" if line.get("change_percent") is None else f" ({line['change_percent']:+.1f}%)"
        lines.append(
            say.pick(
                f"{named(part, say)}: from {dated(part['first'], part, say)} to {dated(part['last'], part, say)}, "
                f"a change of {value(line.get('change'), part, say)}{percent}.",
                f"{named(part, say)}：从 {dated(part['first'], part, say)} 到 {dated(part['last'], part, say)}，变化 "
                f"{value(line.get('change'), part, say)}{percent}。",
            )
        )
    return "\n".join(lines) or no_data(topic)


def _changed(topic: Topic) -> Steps:
    (data,) = yield [query("trend", topic.names, **topic.span())]
    return _change_told(data, topic)


def _last_two(topic: Topic) -> Steps:
    (data,) = yield [query("trend", topic.names, limit=2)]
    return _change_told(data, topic)


def _before_latest(topic: Topic) -> Steps:
    number = 2
    (data,) = yield [query("readings", topic.names, limit=number)]
    part, say = first_result(data), topic.say
    rows = (part or {}).get("readings") or []
    if part is None or len(rows) < number:
        return no_data(topic)
    return say.pick(
        f"{named(part, say)}, the one before the latest: {dated(rows[-1], part, say)}.",
        f"{named(part, say)}，倒数第二次：{dated(rows[-1], part, say)}。",
    )


def _nearest(topic: Topic, period: Period) -> Steps:
    day = (period.start or period.end or topic.today).isoformat()
    (data,) = yield [query("nearest", topic.names, around=[day])]
    part, say = first_result(data), topic.say
    rows: list[Any] = [row for one in (part or {}).get("nearest") or [] for row in one["readings"]]
    if part is None or not rows:
        return no_data(topic)
    return say.pick(
        f"{named(part, say)} nearest to {day}: {dated(rows[0], part, say)}.",
        f"离 {day} 最近的{named(part, say)}：{dated(rows[0], part, say)}。",
    )


def _meeting(topic: Topic) -> Steps:
    limit, most = topic.limits[0], 200
    (data,) = yield [query("readings", topic.names[:1], order="oldest", limit=most, **limit_of(limit), **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    if not part["count"]:
        return say.pick(
            f"No reading of {named(part, say)} is {say.limit(limit)}.",
            f"{named(part, say)}没有{say.limit(limit)}的记录。",
        )
    head = say.pick(
        f"{named(part, say)}: **{part['count']} readings** {say.limit(limit)}:",
        f"{named(part, say)}有 **{part['count']} 次**{say.limit(limit)}：",
    )
    return "\n".join([head, *listed(part["readings"], part, say)])


def _top(topic: Topic, count: int) -> Steps:
    order = "lowest" if topic.says(_LEAST) else "highest"
    (data,) = yield [query("readings", topic.names[:1], order=order, limit=count, **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    return "\n".join([f"{named(part, say)}:", *listed(part["readings"], part, say)])
