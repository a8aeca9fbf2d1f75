"""Whole replies that hold no figure: greetings, help, and the ways to say that something cannot be done."""

from collections.abc import Sequence

from responses_app.llm.analyst.small_talk import Kind
from responses_app.llm.analyst.text import shown
from responses_app.llm.analyst.wording import Wording


def abilities(say: Wording) -> str:
    """What the analyst can do."""
    return say.pick(
        "I can tell you about the health data that is stored here: the latest value of an indicator or its value on "
        "a day, its "
        "trend, average, lowest, highest, total or number of readings, how two periods compare, and what was above "
        "or below a "
        "limit. For example: “How is my fasting glucose trending?” or “What data do you have?”",
        "我可以查询这里保存的健康数据：某项指标的最近数值或某天的数值、趋势、平均、最低、最高、合计、次数，"
        "两个时间段的对比，"
        "以及高于或低于某个界限的记录。例如：“我的空腹血糖趋势如何？”或“有哪些数据？”",
    )


def small_talk(kind: Kind, say: Wording) -> str:
    """The reply to a question that is not about a value."""
    replies = {
        Kind.EMPTY: say.pick("I see no question. ", "没有看到问题。") + abilities(say),
        Kind.GREETING: say.pick("Hello! ", "您好！") + abilities(say),
        Kind.THANKS: say.pick("You are welcome.", "不客气。"),
        Kind.HELP: abilities(say),
        Kind.NONSENSE: not_understood(say),
        Kind.KNOWLEDGE: say.pick(
            "I report recorded health data only; I do not explain it and give no medical advice. ",
            "我只报告已记录的健康数据，不作解释，也不提供医疗建议。",
        )
        + abilities(say),
        Kind.PREDICTION: say.pick(
            "I cannot tell what will be: I only report what has been recorded. You can ask me for the trend so far.",
            "我无法预测未来，只能报告已记录的数据。您可以问我到目前为止的趋势。",
        ),
    }
    return replies.get(kind, abilities(say))


def not_understood(say: Wording) -> str:
    """For a question nothing was found in."""
    return say.pick("I did not understand that. ", "抱歉，我没有理解这个问题。") + abilities(say)


def no_text(say: Wording) -> str:
    """For input without text, such as an image alone."""
    return say.pick(
        "I can only read text, and there is no question in it. ", "我只能读取文字，没有看到问题。"
    ) + abilities(say)


def no_tools(say: Wording) -> str:
    """When the turn has no tool to look data up with."""
    return say.pick(
        "I cannot look up health data in this turn, because no data tools are available to me.",
        "本轮没有可用的数据工具，我无法查询健康数据。",
    )


def no_family_tool(say: Wording) -> str:
    """When someone else's data is asked for and there is no tool that tells who shares."""
    return say.pick("I cannot look up another person's data in this turn.", "本轮无法查询其他人的数据。")


def impossible_period(written: str, say: Wording) -> str:
    """For a date that no calendar has, or a period that ends before it begins."""
    return say.pick(
        f"“{shown(written)}” is not a date or period that I can look up.",
        f"“{shown(written)}”不是可以查询的日期或时间段。",
    )


def cannot_compute(written: str, say: Wording) -> str:
    """For a figure that no tool computes."""
    return say.pick(
        f"I cannot work out “{shown(written)}”: I can tell the latest value, the average, the lowest and the highest, "
        "the total, the number of readings, the trend, and the readings of a time.",
        f"我无法计算“{shown(written)}”。我可以查询最近数值、平均、最低、最高、合计、次数、趋势，以及某段时间的记录。",
    )


def one_limit(told: str, say: Wording) -> str:
    """When readings are to be held against several limits at once."""
    return say.pick(
        f"I hold readings against one limit at a time; this is for “{told}” only.",
        f"一次只能对照一个界限，以上只针对“{told}”。",
    )


def whole_day(say: Wording) -> str:
    """When only some hours of the day are asked about."""
    return say.pick(
        "I cannot single out times of day, so this covers the whole day.", "无法只统计一天中的某个时段，以上包括全天。"
    )


def which_indicator(say: Wording) -> str:
    """When a figure is wanted, but of what is not said."""
    return say.pick(
        "Which indicator do you mean? Please name it, for example fasting glucose.",
        "请问您指的是哪项指标？例如空腹血糖。",
    )


def all_weekdays(say: Wording) -> str:
    """When only some days of the week are asked about."""
    return say.pick(
        "I cannot single out days of the week, so this covers all days.", "无法只统计一周中的某几天，以上包括所有日子。"
    )


def no_such_person(written: str, names: Sequence[str], say: Wording) -> str:
    """When nobody who shares data is the one who was asked about."""
    others = _those_who_share(names, say)
    return say.pick(
        f"No “{shown(written)}” shares data with you, so I have none.{others}",
        f"没有“{shown(written)}”与您共享的数据。{others}",
    )


def no_such_name(written: str, names: Sequence[str], say: Wording) -> str:
    """When nobody who shares data has the name that was asked about: it may be the asker's own."""
    others = _those_who_share(names, say)
    return say.pick(
        f"Nobody called “{shown(written)}” shares data with you.{others} If you mean your own data, ask for “my …”.",
        f"与您共享数据的人中没有“{shown(written)}”。{others}如果您要查询自己的数据，请用“我的……”提问。",
    )


def _those_who_share(names: Sequence[str], say: Wording) -> str:
    if not names:
        return ""
    listed = say.listed([shown(n) for n in names])
    return say.pick(f" Those who share data with you: {listed}.", f"与您共享数据的有：{listed}。")


def night_before(day: str, say: Wording) -> str:
    """That nothing is recorded of last night, and which night was told of instead. ``day`` is the day it ended on."""
    return say.pick(
        f"Nothing is recorded for last night yet; the latest is the night before, which ended on {day}.",
        f"昨晚尚无记录；最近的是前一晚（结束于 {day}）。",
    )


def which_person(written: str, names: Sequence[str], say: Wording) -> str:
    """When several people who share data may be meant."""
    listed = say.listed([shown(n) for n in names])
    return say.pick(
        f"Several people may be meant by “{shown(written)}”: {listed}. Which one?",
        f"“{shown(written)}”可能指：{listed}。请问是哪一位？",
    )


def members(names: Sequence[str], say: Wording) -> str:
    """Who shares data."""
    if not names:
        return say.pick("Nobody shares data with you.", "目前没有人与您共享数据。")
    listed = say.listed([shown(n) for n in names])
    return say.pick(f"These people share data with you: {listed}.", f"与您共享数据的有：{listed}。")


def members_failed(say: Wording) -> str:
    """When it could not be looked up who shares data."""
    return say.pick("It could not be looked up who shares data with you.", "未能查询到谁与您共享数据。")


def no_tool_for(written: str, say: Wording) -> str:
    """When something is to be done that no declared tool does."""
    return say.pick(
        f"I have no tool for “{shown(written)}”, so I did not do it.",
        f"没有可用于“{shown(written)}”的工具，因此没有执行。",
    )


def needs(tool: str, names: str, say: Wording) -> str:
    """When a tool cannot be called because the question leaves something out."""
    return say.pick(
        f"To call `{tool}` I still need: {names}. Please tell me.", f"调用 `{tool}` 还需要：{names}。请告诉我。"
    )


def calling(tool: str, day: str, proposed: str, say: Wording) -> str:
    """That a tool is being called, naming the day it is for, and that it was proposed if it was."""
    if proposed:
        return say.pick(
            f"I am calling `{tool}` with {proposed} as the proposed date.",
            f"现在调用 `{tool}`，建议日期为 {proposed}。",
        )
    when = say.pick(f" for {day}", f"，日期为 {day}") if day else ""
    return say.pick(f"I am calling `{tool}`{when}.", f"现在调用 `{tool}`{when}。")


def condition_outcome(condition: str, holds: bool | None, say: Wording) -> str:
    """Which way a condition went."""
    told = shown(condition, 120)
    if holds is None:
        return say.pick(
            f"So I could not tell whether “{told}” holds, and did nothing further.",
            f"因此无法判断“{told}”是否成立，没有进一步操作。",
        )
    if holds:
        return say.pick(f"So the condition “{told}” is met.", f"因此条件“{told}”成立。")
    return say.pick(f"So the condition “{told}” is not met.", f"因此条件“{told}”不成立。")


def not_done(tool: str, say: Wording) -> str:
    """That a tool was not called since its condition does not hold."""
    return say.pick(f"I did not call `{tool}`.", f"没有调用 `{tool}`。")


def tool_said(tool: str, output: str, failed: bool, say: Wording) -> str:
    """A client tool's output, quoted."""
    if failed:
        return say.pick(f"`{tool}` did not succeed: {output}", f"`{tool}` 没有成功：{output}")
    if not output:
        return say.pick(f"`{tool}` gave no output.", f"`{tool}` 没有返回内容。")
    return say.pick(f"`{tool}` answered: {output}", f"`{tool}` 返回：{output}")
