"""Questions about what happened: when, for how long, which medicines, and what an indicator did before and after."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from responses_app.llm.analyst.events import event_named, is_about_dose
from responses_app.llm.analyst.numbers import read_number
from responses_app.llm.analyst.study import (
    CLINICAL,
    Call,
    Data,
    Steps,
    Topic,
    dated,
    failed,
    first_result,
    named,
    no_data,
    query,
    results,
    value,
    words,
)
from responses_app.llm.analyst.wording import Wording

_TAKING = words(
    r"(?:which|what) (?:medicines?|medications?|drugs?|pills?|tablets?)|what was i taking|what am i taking",
    r"(?:什么|哪些|啥)药|用药",
)
_NOW = words(r"today|now|at the moment|currently", r"现在|目前|今天")
_WHEN = words(r"when|(?:on )?(?:which|what) (?:date|day)", r"哪一?天|什么时候|何时|几号|哪年")
_HOW_LONG = words(r"how (?:many days|many nights|long)", r"几天|多少天|多久|几晚")
_HAPPENED = words(r"what happened|events?", r"事件|发生了什么|大事")
_WHY = words(
    r"why|what (?:happened|explains|was going on|could be behind|caused)|what['’]s behind",
    r"为什么|怎么回事|怎么(?:突然|那么|这么)|前后发生|什么原因|因为什么",
)
_LOW = words(
    r"low\w*|least|drop\w*|dip\w*|fell|fall\w*|collaps\w*|down|oxygen|less|shortest", r"最?低|最少|降|跌|血氧|少"
)
_SINCE = words(
    r"compared to when|than when|before the|last .{0,20}before|since the diagnosis", r"到现在|刚|最新|最近一次"
)
_BESIDE = words(
    r"after the .{0,20} than before|affected|before and after the (?:hospital )?stay|dipped",
    r"前一次和后一次|有影响|住院前后|前后一次",
)
_BOTH_SIDES = words(
    r"before|after|since|work(?:ed|s)?|vs|better|change|did .* (?:do|add|help|leave)|suffer\w*|show up|because of"
    r"|on \w+ compared|compare",
    r"前后|之后|以来|有效|效果|以后|前.{0,12}后|反应|打完|伤到|看得出",
)
_WINDOW = words(r"(\d+|\w+)[ -](days?|weeks?|months?|years?)", r"(\d+|[一二两三四五六七八九十半]+)\s*(天|周|个月|年)")
_NEAREST = words(
    r"when i was diagnosed|at the time|nearest to it|closest", r"确诊.{0,12}(?:那会儿|时|当时)|当时|最接近"
)
_RECOVERY = words(r"back to (?:normal|usual)|recover\w*", r"恢复")
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "天": 1, "周": 7, "个月": 30, "年": 365}
_USUAL_WINDOW, _YEAR, _NEAR, _FEW = 90, 365, 7, 3
_ONGOING = ("medication", "condition")


def happenings(topic: Topic) -> Steps | None:
    """Questions that no indicator answers: medicines, dates of events, stays, what happened."""
    if topic.mentions and not (event_named(topic.text) and topic.says(_WHEN) and "vitamin" in topic.text.lower()):
        return None
    event = event_named(topic.text)
    if topic.says(_TAKING) and (topic.periods or topic.says(_NOW)):
        return _taking(topic)
    if event and topic.says(_HOW_LONG):
        return _stay(topic, event)
    if event and topic.says(_WHEN):
        return _dates(topic, event)
    if topic.says(_HAPPENED) and topic.periods:
        return _happened(topic)
    return None


def _clinical(**arguments: Any) -> Call:
    return CLINICAL, arguments


def _taking(topic: Topic) -> Steps:
    day = (topic.periods[0].start or topic.today) if topic.periods else topic.today
    (data,) = yield [_clinical(kinds=["medication"], start=day.isoformat(), end=day.isoformat())]
    say = topic.say
    if failed(data):
        return say.pick("The records could not be looked up.", "未能查询到记录。")
    names = [str(entry["name"]) for entry in results(data)]
    if not names:
        return say.pick(f"No medicine is recorded for {day}.", f"没有 {day} 的用药记录。")
    return say.pick(f"Medicines recorded as taken on {day}:", f"{day} 正在服用的药物：") + "".join(
        f"\n- {name}" for name in names
    )


def _stay(topic: Topic, event: str) -> Steps:
    (data,) = yield [_clinical(search=event, **topic.span())]
    say = topic.say
    lines = []
    for entry in results(data):
        if not entry.get("time") or not entry.get("end_time"):
            continue
        first, last = str(entry["time"])[:10], str(entry["end_time"])[:10]
        nights = (date.fromisoformat(last) - date.fromisoformat(first)).days
        lines.append(
            say.pick(
                f"{entry['name']}: **{nights + 1} days** ({nights} nights), from {first} to {last}.",
                f"{entry['name']}：**{nights + 1} 天**（{nights} 晚），{first} 至 {last}。",
            )
        )
    return "\n".join(lines) or say.pick("Nothing of the kind is recorded.", "没有相关记录。")


def _dates(topic: Topic, event: str) -> Steps:
    (data,) = yield [_clinical(search=event, **topic.span())]
    return _entries(results(data), topic.say)


def _happened(topic: Topic) -> Steps:
    (data,) = yield [_clinical(limit=100, **topic.span())]
    return _entries(_in(results(data), topic), topic.say)


def _in(entries: Sequence[Data], topic: Topic) -> list[Data]:
    """What began in the period, or lasted into it; what merely went on is left out."""
    span = topic.span()
    return _overlapping(entries, span.get("start", ""), span.get("end", "9999"))


def _overlapping(entries: Sequence[Data], first: str, last: str) -> list[Data]:
    kept = []
    for entry in entries:
        start = str(entry.get("time") or "")[:10]
        end = str(entry.get("end_time") or "")[:10] if entry.get("kind") not in _ONGOING else ""
        if start and start <= last and (end or start) >= first:
            kept.append(entry)
    return kept


def _entries(entries: Sequence[Data], say: Wording) -> str:
    if not entries:
        return say.pick("Nothing of the kind is recorded.", "没有相关记录。")
    ordered = sorted(entries, key=lambda entry: str(entry.get("time") or ""))
    return say.pick("On record:", "记录如下：") + "".join(f"\n- {_entry(entry)}" for entry in ordered)


def _entry(entry: Data) -> str:
    time, end = str(entry.get("time") or "?")[:10], str(entry.get("end_time") or "")[:10]
    return f"{time}{f' – {end}' if end and end != time else ''}: {entry['name']}"


def with_event(topic: Topic) -> Steps | None:
    """An indicator and something that happened: nearest to it, before and after it, next to it, since it."""
    event = event_named(topic.text)
    if not event or not topic.mentions:
        return None
    if topic.says(_RECOVERY):
        return _recovery(topic, event)
    if topic.says(_NEAREST):
        return _nearest_to(topic, event)
    if topic.says(_BESIDE):
        return _beside(topic, event, "next_to_it")
    if topic.says(_SINCE) and not topic.says(words("weeks|trend|developing|moved", "走势|怎么变|前后")):
        return _beside(topic, event, "since")
    if topic.says(words("since|after i took|after i started", "以来|之后|以后|后")) and topic.says(
        words(
            r"moved|developing|improv\w*|trend|weekly|monthly mean|is \W* \w*ing", "怎么变|走势|上升|进步|趋势|下降吗"
        )
    ):
        return _since(topic, event)
    return _before_after(topic, event) if topic.says(_BOTH_SIDES) else None


def _window(topic: Topic) -> dict[str, int]:
    match = _WINDOW.search(topic.text)
    if match is None:
        return {"days_before": _USUAL_WINDOW, "days_after": _USUAL_WINDOW}
    number, unit = (match[1], match[2].lower().removesuffix("s")) if match[1] else (match[3], match[4])
    count = read_number(number) or 1
    days = int(count * _DAYS[unit])
    return {"days_before": max(days, 1), "days_after": max(days, 1)}


def _chosen(part: Data, topic: Topic) -> Data | None:
    """Of several records that an event's words name the first, or the last where a change of dose is meant."""
    around = [one for one in part.get("around") or [] if isinstance(one, dict)]
    if not around:
        return None
    return around[-1 if is_about_dose(topic.text) else 0]


def _around(topic: Topic, event: str, **more: Any) -> Call:
    return query("compare", topic.names, around=[event], **more)


def _before_after(topic: Topic, event: str) -> Steps:
    (data,) = yield [_around(topic, event, **_window(topic))]
    if _WINDOW.search(topic.text) is None and _is_sparse(data, topic):
        (data,) = yield [_around(topic, event, days_before=_YEAR, days_after=_YEAR)]
    lines = [line for part in results(data) if (line := _two_sides(part, topic))]
    return "\n".join(lines) or no_data(topic)


def _is_sparse(data: Data, topic: Topic) -> bool:
    """Whether some indicator has hardly a reading on a side, as laboratory values have."""
    chosen = [one for part in results(data) if (one := _chosen(part, topic)) is not None]
    return any(one[side]["count"] < _FEW for one in chosen for side in ("before", "after"))


def _two_sides(part: Data, topic: Topic) -> str:
    say, one = topic.say, _chosen(part, topic)
    if one is None:
        return ""
    before, after = one["before"], one["after"]
    name, what = named(part, say), one.get("event") or one["date"]
    difference, percent = (after[key]["average"] for key in ("difference", "percent"))
    change = "" if difference is None else _change(difference, percent, part, say)
    return say.pick(
        f"{name} around {what} ({one['date']}): average {value(before['average'], part, say)} from {before['start']} "
        f"to {before['end']}, then {value(after['average'], part, say)} from {after['start']} to {after['end']}"
        f"{change}. That it came after does not show that it came from it.",
        f"{name}，{what}（{one['date']}）前后：之前平均 {value(before['average'], part, say)}（{before['start']} 至 "
        f"{before['end']}），之后平均 {value(after['average'], part, say)}（{after['start']} 至 {after['end']}）"
        f"{change}。先后发生并不说明因果。",
    )


def _change(difference: Any, percent: Any, part: Data, say: Wording) -> str:
    share = "" if percent is None else f" ({percent:+.1f}%)"
    return say.pick(
        f": a change of {value(difference, part, say)}{share}", f"：变化 {value(difference, part, say)}{share}"
    )


def _beside(topic: Topic, event: str, key: str) -> Steps:
    (data,) = yield [_around(topic, event)]
    say, lines = topic.say, []
    for part in results(data):
        one = _chosen(part, topic)
        if one is None:
            continue
        pair = one[key]
        first, last = pair.get("last_before", pair.get("at_start")), pair.get("first_after", pair.get("latest"))
        change = "" if pair["change"] is None else _change(pair["change"], pair["change_percent"], part, say)
        lines.append(
            say.pick(
                f"{named(part, say)} and {one.get('event')} ({one['date']}): {dated(first, part, say)} before, "
                f"{dated(last, part, say)} after{change}.",
                f"{named(part, say)}，{one.get('event')}（{one['date']}）：之前 {dated(first, part, say)}，"
                f"之后 {dated(last, part, say)}{change}。",
            )
        )
    return "\n".join(lines) or no_data(topic)


def _recovery(topic: Topic, event: str) -> Steps:
    (data,) = yield [_around(topic, event, days_before=30)]
    say, part = topic.say, first_result(data)
    one = _chosen(part, topic) if part else None
    if part is None or one is None:
        return no_data(topic)
    back = one["back_to_usual"]
    if back is None:
        return say.pick(
            f"{named(part, say)} has not been back to usual yet.", f"{named(part, say)}尚未恢复到平时水平。"
        )
    return say.pick(
        f"{named(part, say)} was back to usual **{back['days']} days** after {one['event']}, on {back['date']}.",
        f"{named(part, say)}在{one['event']}之后 **{back['days']} 天**恢复到平时水平（{back['date']}）。",
    )


def _nearest_to(topic: Topic, event: str) -> Steps:
    (data,) = yield [query("nearest", topic.names, around=[event])]
    say, lines = topic.say, []
    for part in results(data):
        near = [one for one in part.get("nearest") or [] if one.get("readings")]
        if near:
            one = near[0]
            lines.append(
                say.pick(
                    f"{named(part, say)} nearest to {one.get('event') or one['around']}: "
                    f"{dated(one['readings'][0], part, say)}.",
                    f"离{one.get('event') or one['around']}最近的{named(part, say)}："
                    f"{dated(one['readings'][0], part, say)}。",
                )
            )
    return "\n".join(lines) or no_data(topic)


def _since(topic: Topic, event: str) -> Steps:
    """The trend since something began."""
    (found,) = yield [_clinical(search=event)]
    days = sorted(str(entry["time"])[:10] for entry in results(found) if entry.get("time"))
    if not days:
        return topic.say.pick("I found no record of when that began.", "没有找到开始时间的记录。")
    (data,) = yield [query("trend", topic.names, start=days[-1 if is_about_dose(topic.text) else 0])]
    return trends(data, topic)


def trends(data: Data, topic: Topic) -> str:
    """Where each indicator is going."""
    say, lines = topic.say, []
    for part in results(data):
        line = part["trend"]
        lines.append(
            say.pick(
                f"{named(part, say)} is {say.direction(line['direction'])}: first {dated(part['first'], part, say)}, "
                f"most recently {dated(part['last'], part, say)}; {value(line['slope_per_week'], part, say)} a week, "
                f"{value(line['slope_per_month'], part, say)} a month, "
                f"{value(line['slope_per_year'], part, say)} a year.",
                f"{named(part, say)}{say.direction(line['direction'])}：最早 {dated(part['first'], part, say)}，最近 "
                f"{dated(part['last'], part, say)}；每周 {value(line['slope_per_week'], part, say)}，每月 "
                f"{value(line['slope_per_month'], part, say)}，每年 {value(line['slope_per_year'], part, say)}。",
            )
        )
    return "\n".join(lines) or no_data(topic)


def explained(topic: Topic) -> Steps | None:
    """ "Why was it so high in January": the extreme, and what was recorded around that day. Claims no cause."""
    if not topic.mentions or not topic.says(_WHY):
        return None
    return _near_extreme(topic)


def _near_extreme(topic: Topic) -> Steps:
    (data,) = yield [query("aggregate", topic.names[:1], **topic.span())]
    say, part = topic.say, first_result(data)
    extreme, en, zh = ("minimum", "lowest", "最低") if topic.says(_LOW) else ("maximum", "highest", "最高")
    if part is None or not part.get(extreme):
        return no_data(topic)
    day = date.fromisoformat(part[extreme]["date"])
    first, last = (day - timedelta(days=_NEAR)).isoformat(), (day + timedelta(days=_NEAR)).isoformat()
    (found,) = yield [_clinical(start=first, end=last, limit=100)]
    entries = _overlapping(results(found), first, last)
    head = say.pick(
        f"{named(part, say)} was {en} with {dated(part[extreme], part, say)}. ",
        f"{named(part, say)}{zh}为 {dated(part[extreme], part, say)}。",
    )
    if not entries:
        return head + say.pick("Nothing is recorded in the seven days before and after it.", "前后七天内没有其他记录。")
    near = say.pick("In the seven days on either side", "前后七天内")
    told = "".join(f"\n- {_entry(entry)}" for entry in entries)
    return f"{head}{near}:{told}\n" + say.pick(
        "I cannot tell whether the one came from the other.", "无法判断两者之间是否有因果关系。"
    )
