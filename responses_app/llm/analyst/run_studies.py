"""Questions about runs and gaps of one indicator: streaks, since when it stays, the longest time without a reading."""

from responses_app.llm.analyst.study import (
    GAP,
    OUT_OF_RANGE,
    Steps,
    Topic,
    bold,
    dated,
    first_result,
    limit_of,
    named,
    no_data,
    query,
    words,
)

_ROW = words(r"in a row|consecutive|successive", r"连着|连续(?!记录)")
_STREAK = words(r"streak|in a row|without a break|run of days|consecutive(?! weigh)", r"连续|最长坚持|连着")
_CURRENTLY = words(r"currently|right now|up to now|today", r"到今天|目前|现在")
_STAYED = words(r"since when|stayed|has been under", r"从什么时候开始一直|一直在")
_FIRST_TIME = words(r"(?:first|when did .* first)", r"第一次|首次")
_LONGEST = words(r"longest|gap between", r"最长")
_WEEKS_WITHOUT = words(r"weeks? without", r"哪一?周.*没")
_RUN = words(r"in a row have gone (?:down|up)", r"连续(?:下降|上升)了几次")


def runs(topic: Topic) -> Steps | None:
    """Runs of readings or days that meet a limit."""
    if topic.says(_RUN):
        return _steps_in_a_row(topic)
    if topic.says(OUT_OF_RANGE) and topic.says(_ROW) and not topic.limits:
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


def gaps(topic: Topic) -> Steps | None:
    """Times without a reading."""
    if topic.limits or not topic.says(GAP):
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
