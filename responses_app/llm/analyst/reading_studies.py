"""Questions for single readings and the change between two: nearest to a day, in another unit, first and last."""

import re
from typing import Any

from responses_app.llm.analyst.dates import Period, add_months
from responses_app.llm.analyst.event_studies import trends
from responses_app.llm.analyst.measures import last_n
from responses_app.llm.analyst.numbers import read_number
from responses_app.llm.analyst.study import (
    Data,
    Steps,
    Topic,
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

_LAST_BUT_ONE = words(r"test before last|last[- ]but[- ]one|second[- ]to[- ]last|penultimate", r"倒数第二")
_TOP = re.compile(
    r"(?:which|what|the) (\w+) (?:days|nights|readings).*(?:most|highest|least|lowest)"
    r"|(?:最多|最高|最少|最低)的(\S)[天晚次]",
    re.IGNORECASE,
)
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


def single(topic: Topic) -> Steps | None:
    """Single readings and changes between two."""
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
