"""Questions about two or more indicators: whether they go together, one on days of the other, which is more."""

from typing import Any

from responses_app.llm.analyst.study import (
    Data,
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

_RELATED = words(
    r"relat(?:ed|ion|ionship)|link(?:ed)?|tied|connect(?:ed|ion)|correlat\w+|follow|together with|goes? along|affect\w*"
    r"|better after|lower .* next|raise|goes? up when|behind my|associated|depends? on",
    r"关系|相关|联系|跟着|会.{0,10}(?:更好|低一些|升高|更高)|随着|是不是因为|影响",
)
_NEXT_DAY = words(r"next (?:day|morning)|day after|after active days|following day", r"第二天|次日|白天.*晚上|隔天")
_MOST = words(r"which .* most|most (?:closely )?(?:with|related)", r"哪[项个].*(?:最|关系)")
_ON_DAYS = words(
    r"on (?:the )?days|days? (?:with|after|when)|nights? (?:with|after)|on nights", r"的日子|那天|第二天|头晚"
)
_WHICH = words(r"which (?:was|is|one|took)|different from|larger|whose|higher,", r"哪个|差多少|谁更|哪项更")
_VARIATION = words(r"variation|variable|var(?:y|ies)", r"波动|变异")
_LATEST = words(r"latest|last|newest|most recent", r"最近一次|最新")
_WINDOW, _MOST_DAYS, _FEW_READINGS = 14, 0.7, 100
_WEARABLE = (
    "steps",
    "sleep duration",
    "heart rate variability",
    "active energy",
    "respiratory rate",
)


def relations(topic: Topic) -> Steps | None:
    """Whether two go together, day by day or on days of a kind; which of two is more."""
    if (
        topic.mentions
        and len(topic.mentions) == 1
        and topic.says(_MOST)
        and topic.says(words("wearable|watch", "手表|手环"))
    ):
        return _strongest(topic)
    if len(topic.mentions) < 2:  # noqa: PLR2004 - two are held against each other
        return None
    if topic.limits and topic.says(_ON_DAYS):
        return _on_days(topic)
    if topic.says(_RELATED):
        return _correlated(topic)
    if topic.says(_WHICH) and not topic.limits:
        return _which(topic)
    return None


def _pair(topic: Topic) -> tuple[str, str]:
    """The indicator that may follow, then the one it may follow: of blood pressure the systolic one."""
    first, second = topic.mentions[0].names[0], topic.mentions[1].names[0]
    if topic.says(words(r"follow|behind|together with", r"是不是跟着|是不是因为|是跟着")):
        return first, second
    return (second, first)


def _correlated(topic: Topic) -> Steps:
    outcome, other = _pair(topic)
    lag = {"lag_days": 1} if topic.says(_NEXT_DAY) and not _is_overnight(outcome, other) else {}
    (data,) = yield [query("correlate", [outcome, other], **lag, **topic.span())]
    found = _found(data)
    if found is not None and not lag and _is_rarely_together(data, found):
        (data,) = yield [query("correlate", [outcome, other], window_days=_WINDOW, **topic.span())]
        found = _found(data)
    part = first_result(data)
    if part is None or found is None:
        return no_data(topic)
    return _correlation(part, found, topic)


def _is_overnight(outcome: str, other: str) -> bool:
    """A night is recorded under the day it ends on, so that "the next day" is that day already."""
    return "sleep" in other.lower() and "sleep" not in outcome.lower()


def _is_rarely_together(data: Data, found: Data) -> bool:
    """Whether the days of the one are mostly no days of the other, so that the time up to it has to serve."""
    part = first_result(data)
    return (
        part is None
        or found.get("r") is None
        or (found["pairs"] < _MOST_DAYS * part["count"] and part["count"] < _FEW_READINGS)
    )


def _found(data: Data) -> Any:
    part = first_result(data)
    return next(iter(part.get("with") or []), None) if part else None


def _correlation(part: Data, found: Data, topic: Topic) -> str:
    say = topic.say
    one, other, pairs = named(part, say), say.indicator(str(found["indicator"])), found["pairs"]
    if found.get("r") is None:
        return say.pick(
            f"{one} and {other}: there are not enough readings that go together ({pairs}).",
            f"{one}与{other}：可配对的测量不足（{pairs} 对）。",
        )
    related = say.pick("related", "相关") if found["related"] else say.pick("not related", "不相关")
    return say.pick(
        f"{one} and {other} are {related}: r = {found['r']:.3f} over {bold(pairs)} pairs of readings. "
        "This shows no cause.",
        f"{one}与{other}{related}：r = {found['r']:.3f}，共 {bold(pairs)} 对数据。这并不说明因果。",
    )


def _strongest(topic: Topic) -> Steps:
    target = topic.names[0]
    (data,) = yield [query("correlate", [target, *_WEARABLE], **topic.span())]
    part, say = first_result(data), topic.say
    found = [one for one in (part or {}).get("with") or [] if one.get("r") is not None]
    if part is None or not found:
        return no_data(topic)
    ranked = sorted(found, key=lambda one: -abs(one["r"]))
    best = ranked[0]
    head = say.pick(
        f"{named(part, say)} goes most closely with {say.indicator(best['indicator'])}:",
        f"与{named(part, say)}关系最密切的是{say.indicator(best['indicator'])}：",
    )
    return head + "".join(f"\n- {say.indicator(one['indicator'])}: r = {one['r']:.3f}" for one in ranked)


def _on_days(topic: Topic) -> Steps:
    """What one indicator is on days of another: the limit belongs to the one written nearest to it."""
    limit = topic.limits[0]
    deciding = min(topic.mentions, key=lambda m: min(abs(m.begin - limit.stop), abs(m.stop - limit.begin)))
    asked = next(m for m in topic.mentions if m is not deciding)
    when = {"indicator": deciding.names[0]} | limit_of(limit)
    (data,) = yield [query("compare", list(asked.names[:1]), on_days_when=when, **topic.span())]
    part, say = first_result(data), topic.say
    if part is None:
        return no_data(topic)
    met, other = part["days_met"], part["days_not_met"]
    told, days_when = say.limit(limit), say.indicator(str(part["days_when"]))
    return say.pick(
        f"{named(part, say)} averages {value(met['average'], part, say)} on the {met['days']} days with {days_when} "
        f"{told}, and {value(other['average'], part, say)} on the {other['days']} others: a difference of "
        f"{value(part['difference'], part, say)}.",
        f"{named(part, say)}：{days_when}{told}的 {met['days']} 天平均 {value(met['average'], part, say)}，其余 "
        f"{other['days']} 天平均 {value(other['average'], part, say)}，相差 {value(part['difference'], part, say)}。",
    )


def _which(topic: Topic) -> Steps:
    latest = topic.says(_LATEST) and not topic.periods
    names = [mention.names[0] for mention in topic.mentions[:2]]
    (data,) = yield [query("latest" if latest else "aggregate", names, **topic.span())]
    parts, say = results(data), topic.say
    if len(parts) < len(names):
        return no_data(topic)
    figures = [_figure(part, topic, latest=latest) for part in parts]
    told = "；" if say.zh else "; "
    lines = told.join(f"{named(part, say)}: {text}" for part, (_, text) in zip(parts, figures, strict=True))
    best = max(zip(parts, figures, strict=True), key=lambda pair: pair[1][0])[0]
    name = say.indicator(str(best["indicator"]))
    return lines + say.pick(f"; {name} is higher.", f"；{name}较高。")


def _figure(part: Data, topic: Topic, *, latest: bool) -> tuple[float, str]:
    if latest:
        reading = part["readings"][0]
        return reading["value"], value(reading["value"], part, topic.say)
    if topic.says(_VARIATION):
        number = part["coefficient_of_variation"] or 0.0
        return number, topic.say.pick(f"coefficient of variation {number:.4f}", f"变异系数 {number:.4f}")
    return part["average"] or 0.0, topic.say.pick("average ", "平均 ") + value(part["average"], part, topic.say)
