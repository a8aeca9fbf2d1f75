"""Questions about reference ranges: what lay outside, how often, on which days, of one indicator or of all."""

import re

from responses_app.llm.analyst.numbers import read_number
from responses_app.llm.analyst.study import (
    GAP,
    OUT_OF_RANGE,
    Data,
    Steps,
    Topic,
    dated,
    first_result,
    listed,
    named,
    no_data,
    query,
    results,
    value,
    words,
)

_EVER = words(r"ever|any|often|how many|which|were|times|did|do i have", r"有没有|过|哪|几|多少|有异常|吗")
_LAST_CHECK = words(r"last (?:check-?up|lab|blood)\w*", r"上次(?:体检|化验|检查)|最近一次(?:体检|化验)")
_MOST_OFTEN = words(r"most often|most frequently", r"次数最多|最常")
_EACH_YEAR = words(r"each of the (?:three|two|four) years|each year|per year", r"每年|各年")
_REFERENCE = words(r"reference range does|what (?:is the )?reference range", r"参考范围是")


def ranges(topic: Topic) -> Steps | None:
    """Readings outside their reference range."""
    if topic.says(_REFERENCE):
        return _reference(topic)
    if topic.limits or not (topic.says(OUT_OF_RANGE) and topic.says(_EVER)):
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


def laboratory(topic: Topic) -> Steps | None:
    """Of all laboratory values, or of all that a watch records."""
    if topic.says(words("wearable|watch", "手表|手环")) and topic.says(GAP):
        return _wearable_gaps(topic)
    if not topic.says(OUT_OF_RANGE) or (topic.limits and not topic.says(words("lab days", "化验"))):
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
