"""Words the answer to what was asked of the data. Every figure in it comes out of a tool's result."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from responses_app.llm.analyst.comparison import beyond, compares, point_beyond
from responses_app.llm.analyst.facts import Answer, Point, Result, group_figure, written_number
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.measures import Measure
from responses_app.llm.analyst.plan import FIGURES, Part
from responses_app.llm.analyst.text import shown
from responses_app.llm.analyst.usual_units import converted
from responses_app.llm.analyst.wording import Wording, capitalised
from tools_app.standardization import ucum_unit

_LISTED = 20
_LEAST_POINTS = 2
# A pace is told over no longer a time than there are readings for, give or take.
_MONTH, _YEAR = 28, 300


def answer_ask(parts: Sequence[Part], answers: Sequence[Answer], say: Wording) -> str:
    """The answer to one ask: ``answers`` belong to ``parts`` one by one."""
    pairs = list(zip(parts, answers, strict=True))
    if _compares(parts):
        return "\n".join(_comparison(pairs, say))
    blocks = [_part(part, answer, say) for part, answer in pairs]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def chart(result: Result, say: Wording) -> str:
    """A trend's points as a fenced ``vis-chart`` block, or nothing when there is no line to draw."""
    data = [{"time": p.date, "value": p.value} for p in result.points if p.value is not None]
    if len(data) < _LEAST_POINTS:
        return ""
    title = capitalised(say.indicator(result.indicator))
    unit = say.unit(result.unit, result.indicator)
    described = {
        "type": "line",
        "title": title,
        "axisXTitle": say.pick("Date", "日期"),
        "axisYTitle": f"{title} ({unit})" if unit else title,
        "data": data,
    }
    return f"```vis-chart\n{json.dumps(described, ensure_ascii=False)}\n```"


def trend_sentence(result: Result, whose: str, say: Wording) -> str:
    """Where an indicator is going, from its first to its last reading."""
    name = whose + say.indicator(result.indicator)
    told = say.direction(result.direction)
    if result.first is None or result.last is None:
        return say.pick(f"{capitalised(name)}: {told}.", f"{name}{told}。")
    first, last = say.dated(result.first, result), say.dated(result.last, result)
    if result.first == result.last:
        return say.pick(
            f"The trend of {name} is {told}; the only reading is {last}.", f"{name}{told}；仅有一次：{last}。"
        )
    return (
        say.pick(
            f"{capitalised(name)} is {told}: first {first}, most recently {last}{pace(result, say)}.",
            f"{name}{told}：最早 {first}，最近 {last}{pace(result, say)}。",
        )
        if result.direction in {"rising", "falling", "stable"}
        else say.pick(
            f"The trend of {name} is {told}: first {first}, most recently {last}.",
            f"{name}{told}：最早 {first}，最近 {last}。",
        )
    )


def pace(result: Result, say: Wording) -> str:
    """How fast an indicator goes by its least-squares line, a month and a year, where it was read for that long."""
    paces = [
        say.pick(f"{_paced(number, result, say)} a {en}", f"每{zh} {_paced(number, result, say)}")
        for number, least, en, zh in ((result.per_month, _MONTH, "month", "月"), (result.per_year, _YEAR, "year", "年"))
        if number is not None and _days_spanned(result) >= least
    ]
    if not paces:
        return ""
    return say.pick(f"; by the line {', '.join(paces)}", f"；拟合线{'，'.join(paces)}")


def _paced(number: float, result: Result, say: Wording) -> str:
    return say.value(number, result.unit, result.indicator)


def _days_spanned(result: Result) -> int:
    """How many days lie between the first and the last reading."""
    try:
        ends = [date.fromisoformat(point.date) for point in (result.first, result.last) if point is not None]
    except ValueError:
        return 0
    return (ends[-1] - ends[0]).days if ends else 0


def left_out(result: Result, measures: Sequence[Measure], say: Wording) -> str:
    """That some readings are in no figure and why, and which of them may lie beyond a stated extreme."""
    if not result.excluded:
        return ""
    beyond_extremes = [
        say.pick(f"{say.dated(point, result)} may be {en}", f"{say.dated(point, result)}可能{zh}")
        for measure, point, en, zh in (
            (Measure.MINIMUM, result.maybe_lower, "lower", "更低"),
            (Measure.MAXIMUM, result.maybe_higher, "higher", "更高"),
        )
        if measure in measures and point is not None
    ]
    return say.pick("; ", "；").join([_why_left_out(result, say), *beyond_extremes]) + say.pick(".", "。")


def _why_left_out(result: Result, say: Wording) -> str:
    unitless = min(result.without_unit, result.excluded)
    reasons = [
        say.pick(f"{say.readings(count)} {en}", f"{say.readings(count)}（{zh}）")
        for count, en, zh in (
            (result.excluded - unitless, "without a plain number (words or only a bound)", "只有文字或上下限"),
            (unitless, "without a unit that says how much the number is", "数值没有可用的单位"),
        )
        if count
    ]
    return say.pick("Left out: ", "未计入 ") + say.pick(" and ", "，").join(reasons)


def missing_lines(part: Part, answer: Answer, say: Wording) -> list[str]:
    """What was asked for and is not there."""
    family = [m for m in part.ask.mentions if m.family]
    absent = [n for n in answer.not_found if not _is_covered(n, family, answer)]
    empty = [n for n in answer.no_data_in_range if not _is_covered(n, family, answer)]
    whose = part.subject
    of = "" if whose.member is None else say.pick(f" of {whose.name}", f"{whose.name}的")
    lines = []
    if absent:
        names = say.listed([say.asked(n) for n in absent])
        lines.append(say.pick(f"I have no data{of} on {names}.", f"没有找到{of}{names}的数据。"))
    if empty:
        names = say.listed([say.indicator(n) for n in empty])
        when = say.as_written(part.period)
        lines.append(say.pick(f"There are no readings of {names}{of}{when}.", f"{of}{names}{when}没有数据。"))
    return lines


def failure_line(answer: Answer, say: Wording) -> str:
    """That a look-up failed, with the tool's own word on it."""
    told = f" ({answer.failure})" if answer.failure else ""
    return say.pick(f"The data could not be looked up{told}.", f"未能查询到数据{told}。")


def _is_covered(name: str, family: Sequence[Any], answer: Answer) -> bool:
    """One word for several indicators ("lipids") is answered when any of them is there."""
    return bool(answer.results) and any(name in m.names for m in family)


def _part(part: Part, answer: Answer, say: Wording) -> list[str]:
    if answer.failure is not None:
        return [failure_line(answer, say)]
    missing = missing_lines(part, answer, say)
    if part.operation == "overview":
        return _overview(part, answer, say) + missing
    if not part.ask.mentions:
        return _of_all(part, answer, say)
    lines = [line for result in answer.results for line in _result(part, result, say)]
    if not lines and not missing:
        missing = [_nothing(part, say)]
    if part.ask.unit and lines:
        missing.append(
            say.pick("I state values in the unit shown and do not convert them.", "数值以上述单位给出，不作换算。")
        )
    if len(lines) > 1 and part.operation != "trend" and not any("\n" in x for x in lines):
        lines = [f"- {line}" for line in lines]
    return lines + missing


def _nothing(part: Part, say: Wording) -> str:
    names = say.mentions(part.ask.mentions)
    return say.pick(f"I have no data on {names}.", f"没有找到{names}的数据。")


def _result(part: Part, result: Result, say: Wording) -> list[str]:
    if part.ask.unit and (refused := _unit_line(part, result, say)):
        return [refused]
    if part.limit is not None:
        return [_filtered(part, result, part.limit, say)]
    if result.count == 0:
        return [_empty(part, result, say)]
    return _OPERATIONS.get(part.operation, _latest)(part, result, say)


def _unit_line(part: Part, result: Result, say: Wording) -> str:
    """That an indicator cannot be given in a unit that measures something else; empty when it could."""
    wanted = ucum_unit(part.ask.unit)
    if wanted is not None and (wanted == result.unit or converted(1, wanted, result.indicator) is not None):
        return ""
    name, unit = say.indicator(result.indicator), shown(part.ask.unit)
    return say.pick(f"{capitalised(name)} cannot be given in “{unit}”.", f"{name}无法用“{unit}”表示。")


def _empty(part: Part, result: Result, say: Wording) -> str:
    name = say.indicator(result.indicator)
    when = say.as_written(part.period) if part.period else ""
    return say.pick(f"There are no readings of {name}{when}.", f"{name}{when}没有数据。")


def _latest(part: Part, result: Result, say: Wording) -> list[str]:
    point = next(iter(result.readings), None)
    if point is None:
        return [_empty(part, result, say)]
    name = say.latest_of(part.subject, result)
    within = say.period(part.period) if part.period and not part.period.is_day else ""
    line = say.pick(
        f"{capitalised(name)}{within} is {say.dated(point, result)}", f"{name}{within}为 {say.dated(point, result)}"
    )
    if Measure.STATUS in part.ask.measures or point.has_reference:
        line += say.pick("; ", "；") + _status(point, say)
    if part.ask.limit is not None:
        line += say.pick(", ", "，") + _point_against(point, part.ask.limit, result, say)
    return [line + say.pick(".", "。")]


def _status(point: Point, say: Wording) -> str:
    if point.abnormal == "high":
        return say.pick("it is marked high against its reference range", "高于参考范围")
    if point.abnormal == "low":
        return say.pick("it is marked low against its reference range", "低于参考范围")
    if point.has_reference:
        return say.pick("it is within its reference range", "在参考范围内")
    return say.pick(
        "no reference range is stored with it, so I cannot say whether it is normal",
        "没有附带参考范围，无法判断是否正常",
    )


def _point_against(point: Point, limit: Limit, result: Result, say: Wording) -> str:
    return _against(point_beyond(point, limit, result), limit, result, say, bound=bool(point.comparator))


def _against(outcome: bool | None, limit: Limit, result: Result, say: Wording, *, bound: bool = False) -> str:
    """Which side of a limit a value lies on; ``bound``: it is itself only a bound."""
    told = say.limit(limit)
    if outcome is None:
        return say.pick("which ", "") + not_comparable(limit, result, say, bound=bound)
    if outcome:
        return say.pick(f"which is {told}", f"{told}")
    return say.pick(f"which is not {told}", f"并不{told}" if not told.startswith("不") else f"并非{told}")


def not_comparable(limit: Limit, result: Result, say: Wording, *, bound: bool = False) -> str:
    """That a value cannot be held against a limit, as the end of a sentence."""
    told = say.limit(limit)
    if limit.unread and not limit.written_unit:
        return say.pick(
            f"I cannot compare with “{told}” because I cannot read the number", f"无法读出“{told}”中的数字，不作比较"
        )
    if not compares(limit, result):
        unit = shown(limit.written_unit or say.unit(limit.unit or ""))
        return say.pick(f"I cannot compare with “{told}” in the unit “{unit}”", f"无法用单位“{unit}”与“{told}”比较")
    if bound:
        return say.pick(
            f"I cannot compare with “{told}” because the reading is only a bound", f"只是上限或下限，无法与“{told}”比较"
        )
    return say.pick(f"I cannot compare with “{told}” because there is no number", f"没有数值，无法与“{told}”比较")


def _readings(part: Part, result: Result, say: Wording) -> list[str]:
    points = result.readings[:_LISTED]
    if not points:
        return [_empty(part, result, say)]
    name = say.whose(part.subject) + say.indicator(result.indicator)
    if part.ask.with_previous and len(points) > 1:
        return [_two(points, result, name, say)]
    if len(points) == 1:
        return [
            say.pick(
                f"{capitalised(name)}: {say.on_day(points[0], result)}.", f"{name}：{say.on_day(points[0], result)}。"
            )
        ]
    rest = (
        ""
        if result.count <= len(points)
        else say.pick(f", the newest {len(points)} of {result.count}", f"，共 {result.count} 次中最近 {len(points)} 次")
    )
    head = say.pick(f"{capitalised(name)}{say.period(part.period)}{rest}:", f"{name}{say.period(part.period)}{rest}：")
    return ["\n".join([head, *(f"- {p.date}: {say.reading(p, result)}" for p in points)])]


def _two(points: Sequence[Point], result: Result, name: str, say: Wording) -> str:
    newest, before = points[0], points[1]
    told = _higher(newest.value, before.value, say)
    return say.pick(
        f"{capitalised(name)} is {say.dated(newest, result)}, before that it was {say.dated(before, result)}{told}.",
        f"{name}为 {say.dated(newest, result)}，前一次为 {say.dated(before, result)}{told}。",
    )


def _higher(new: float | None, old: float | None, say: Wording) -> str:
    if new is None or old is None:
        return ""
    if new == old:
        return say.pick(": unchanged", "：没有变化")
    return say.pick(": higher", "：升高了") if new > old else say.pick(": lower", "：降低了")


def _filtered(part: Part, result: Result, limit: Limit, say: Wording) -> str:
    name = say.whose(part.subject) + say.indicator(result.indicator)
    second = "diastolic" in result.indicator.lower() and limit.second_above is not None
    told = say.limit(limit, second=second)
    when = say.period(part.period)
    if result.count == 0:
        return say.pick(f"{capitalised(name)}: no readings {told}{when}.", f"{name}{when}没有{told}的记录。")
    line = say.pick(
        f"{capitalised(name)}: **{say.readings(result.count)}** {told}{when}",
        f"{name}{when}有 **{result.count} 次**{told}",
    )
    if part.arguments.get("limit") == 1 and Measure.COUNT in part.ask.measures:
        return line + say.pick(".", "。")
    return _with_examples(line, part, result, say)


def _with_examples(line: str, part: Part, result: Result, say: Wording) -> str:
    points = result.readings
    if Measure.FIRST in part.ask.measures and len(points) == result.count:
        return line + say.pick(", first ", "，最早一次为 ") + say.dated(points[-1], result) + say.pick(".", "。")
    points = points[:_LISTED]
    if not points:
        return line + say.pick(".", "。")
    if len(points) == 1:
        label = say.pick(", most recently ", "，最近一次为 ") if result.count > 1 else say.pick(": ", "：")
        return line + label + say.dated(points[0], result) + say.pick(".", "。")
    rest = "" if result.count <= len(points) else say.pick(f" (the newest {len(points)})", f"（最近 {len(points)} 次）")
    return "\n".join([f"{line}{rest}{say.pick(':', '：')}", *(f"- {p.date}: {say.reading(p, result)}" for p in points)])


def _aggregate(part: Part, result: Result, say: Wording) -> list[str]:
    if part.ask.group is not None:
        return [_grouped(part, result, say)]
    name = say.whose(part.subject) + say.indicator(result.indicator)
    wanted = [m for m in part.ask.measures if m in FIGURES] or [Measure.AVERAGE]
    wanted += [Measure.LATEST] if {Measure.FIRST, Measure.LATEST} <= set(part.ask.measures) else []
    phrases = [_figure(m, result, say) for m in wanted]
    span = _span(part, result, say)
    if wanted == [Measure.COUNT]:
        return [
            say.pick(
                f"There are **{say.readings(result.count)}** of {name}{span}.",
                f"{name}共有 **{result.count} 次**记录{span}。",
            )
        ]
    if result.average is None:
        en, zh = ("numbers with a unit", "带单位、可计算的数值") if result.without_unit else ("numbers", "可计算的数值")
        line = say.pick(f"The readings of {name}{span} have no {en} to compute with.", f"{name}{span}没有{zh}。")
        return [_with_left_out(line, result, wanted, say)]
    needs_span = any(m in {Measure.AVERAGE, Measure.SUM} for m in wanted)
    tail = span if needs_span or part.period else ""
    used = result.count - result.excluded
    basis = say.pick(f" ({say.readings(used)})", f"（{say.readings(used)}）") if needs_span else ""
    line = say.pick(
        f"{capitalised(name)}{tail}: {', '.join(phrases)}{basis}.", f"{name}{tail}：{'，'.join(phrases)}{basis}。"
    )
    if part.ask.limit is not None and Measure.AVERAGE in wanted:
        outcome = beyond(result.average, part.ask.limit, result)
        line = line[:-1] + say.pick(", ", "，") + _against(outcome, part.ask.limit, result, say) + line[-1]
    return [_with_left_out(line, result, wanted, say)]


def _with_left_out(line: str, result: Result, measures: Sequence[Measure], say: Wording) -> str:
    told = left_out(result, measures, say)
    return line + (say.pick(" ", "") + told if told else "")


def _span(part: Part, result: Result, say: Wording) -> str:
    if part.period is not None:
        return say.period(part.period)
    if result.first is None or result.last is None or not result.first.date:
        return ""
    if result.first.date == result.last.date:
        return say.pick(f" on {result.first.date}", f"（{result.first.date}）")
    return say.pick(
        f" from {result.first.date} to {result.last.date}", f"（{result.first.date} 至 {result.last.date}）"
    )


_ONE_SOURCE = (" (of each day the source that counted most)", "（同一天有多个来源时取最多者）")


def _figure(measure: Measure, result: Result, say: Wording) -> str:
    value: Callable[[float | None], str] = lambda number: say.value(number, result.unit, result.indicator)  # noqa: E731
    if measure is Measure.AVERAGE:
        return say.pick(f"average {value(result.average)}", f"平均 {value(result.average)}")
    if measure is Measure.SUM:
        en, zh = _ONE_SOURCE if result.total_is_of_one_source else ("", "")
        return say.pick(f"total {value(result.total)}{en}", f"合计 {value(result.total)}{zh}")
    if measure is Measure.COUNT:
        return f"**{say.readings(result.count)}**"
    point, en, zh = {
        Measure.MINIMUM: (result.minimum, "lowest", "最低"),
        Measure.MAXIMUM: (result.maximum, "highest", "最高"),
        Measure.FIRST: (result.first, "first", "最早"),
        Measure.LATEST: (result.last, "most recently", "最近"),
    }[measure]
    return say.pick(f"{en} {say.on_day(point, result)}", f"{zh} {say.on_day(point, result)}")


_GROUP_FIGURES = {
    Measure.SUM: "sum",
    Measure.MINIMUM: "minimum",
    Measure.MAXIMUM: "maximum",
    Measure.AVERAGE: "average",
}
# "The highest average by month" is about averages.
_BY_RANK = (Measure.AVERAGE, Measure.SUM, Measure.MINIMUM, Measure.MAXIMUM)
_GROUP_WORDS = {
    "sum": ("total", "合计"),
    "minimum": ("lowest", "最低"),
    "maximum": ("highest", "最高"),
    "average": ("average", "平均"),
    "count": ("number", "次数"),
}


def _grouped(part: Part, result: Result, say: Wording) -> str:
    figure = next((_GROUP_FIGURES[m] for m in _BY_RANK if m in part.ask.measures), "average")
    if Measure.COUNT in part.ask.measures:
        figure = "count"
    name = say.whose(part.subject) + say.indicator(result.indicator)
    if part.ask.best:
        return _best_group(name, figure, part, result, say)
    head = say.pick(
        f"{capitalised(name)}, {_GROUP_WORDS[figure][0]} by {part.ask.group}:",
        f"{name}，各期{_GROUP_WORDS[figure][1]}：",
    )
    lines = [f"- {period}: {_group_value(group, figure, result, say)}" for period, group in result.groups]
    told = left_out(result, part.ask.measures, say) if figure != "count" else ""
    return "\n".join([head, *lines, *([told] if told else [])])


def _best_group(name: str, figure: str, part: Part, result: Result, say: Wording) -> str:
    """The calendar period that is highest, or lowest when that is asked for."""
    lowest = Measure.MINIMUM in part.ask.measures
    ranked = [(number, p, g) for p, g in result.groups if (number := group_figure(g, figure)) is not None]
    if not ranked:
        return _empty(part, result, say)
    _, period, group = (min if lowest else max)(ranked, key=lambda r: r[0])
    value = _group_value(group, figure, result, say)
    en, zh = _GROUP_WORDS[figure]
    if figure in {"minimum", "maximum"}:
        return say.pick(f"{capitalised(name)}: {en} in {period}, {value}.", f"{name}{zh}的是 {period}：{value}。")
    rank_en, rank_zh = ("lowest", "最低") if lowest else ("highest", "最高")
    return say.pick(
        f"{capitalised(name)}: {rank_en} {en} in {period}, {value}.", f"{name}{zh}{rank_zh}的是 {period}：{value}。"
    )


def _group_value(group: Mapping[str, Any], figure: str, result: Result, say: Wording) -> str:
    number = group_figure(group, figure)
    if figure == "count":
        return f"**{written_number(number or 0)}**"
    return say.value(number, result.unit, result.indicator)


def _trend(part: Part, result: Result, say: Wording) -> list[str]:
    drawn = chart(result, say)
    extra = [_figure(m, result, say) for m in part.ask.measures if m in FIGURES]
    line = trend_sentence(result, say.whose(part.subject), say)
    if extra:
        line += say.pick(" ", "") + capitalised(say.listed(extra)) + say.pick(".", "。")
    line = _with_left_out(line, result, part.ask.measures, say)
    return [line, *([f"\n{drawn}\n"] if drawn else [])]


_OPERATIONS: dict[str, Callable[[Part, Result, Wording], list[str]]] = {
    "latest": _latest,
    "readings": _readings,
    "aggregate": _aggregate,
    "trend": _trend,
}


def _overview(part: Part, answer: Answer, say: Wording) -> list[str]:
    if not answer.results:
        return [] if part.ask.mentions else [say.pick("There is no data yet.", "目前还没有任何数据。")]
    whose = say.whose(part.subject)
    counted = Measure.COUNT in part.ask.measures or part.ask.how_much
    if counted and not part.ask.mentions and not answer.truncated:
        return [
            say.pick(
                f"There is data on **{len(answer.results)} indicators**.",
                f"共有 **{len(answer.results)} 项**指标的数据。",
            )
        ]
    head = say.pick(f"{capitalised(whose)}data:", f"{whose}数据：")
    lines = [f"- {_overview_line(r, say)}" for r in answer.results]
    more = [say.pick("There is more than fits in one answer.", "内容较多，未全部列出。")] if answer.truncated else []
    return [head, *lines, *more]


def _overview_line(result: Result, say: Wording) -> str:
    name = capitalised(say.indicator(result.indicator))
    days = (
        result.first_date
        if result.first_date == result.last_date
        else say.pick(f"{result.first_date} to {result.last_date}", f"{result.first_date} 至 {result.last_date}")
    )
    return say.pick(f"{name}: {say.readings(result.count)}, {days}", f"{name}：{say.readings(result.count)}，{days}")


def _of_all(part: Part, answer: Answer, say: Wording) -> list[str]:
    """Latest values of everything, or those outside their range."""
    found = [(r, p) for r in answer.results for p in r.readings[:1]]
    if not found:
        return [say.pick("There is no data yet.", "目前还没有任何数据。")]
    whose = say.whose(part.subject)
    if Measure.STATUS not in part.ask.measures:
        head = say.pick(f"{capitalised(whose)}latest values:", f"{whose}最近数值：")
        return [head, *(f"- {capitalised(say.indicator(r.indicator))}: {say.dated(p, r)}" for r, p in found)]
    flagged = [(r, p) for r, p in found if p.abnormal]
    if not flagged:
        return [
            say.pick(
                "None of the latest values is marked as outside its reference range.",
                "最近数值中没有标记为超出参考范围的项目。",
            )
        ]
    head = say.pick("Latest values outside their reference range:", "最近数值中超出参考范围的项目：")
    high_low = {"high": say.pick("high", "偏高"), "low": say.pick("low", "偏低")}
    return [
        head,
        *(
            f"- {capitalised(say.indicator(r.indicator))}: {say.dated(p, r)}, {high_low.get(p.abnormal, p.abnormal)}"
            for r, p in flagged
        ),
    ]


def _compares(parts: Sequence[Part]) -> bool:
    return (
        len(parts) > 1 and Measure.COMPARE in parts[0].ask.measures and all(p.operation == "aggregate" for p in parts)
    )


def _comparison(pairs: Sequence[tuple[Part, Answer]], say: Wording) -> list[str]:
    failed = next((a for _, a in pairs if a.failure is not None), None)
    if failed is not None:
        return [failure_line(failed, say)]
    indicators = list(dict.fromkeys(r.indicator for _, a in pairs for r in a.results))
    if not indicators:
        return list(dict.fromkeys(line for p, a in pairs for line in missing_lines(p, a, say)))
    return [_compared(indicator, pairs, say) for indicator in indicators]


def _compared(indicator: str, pairs: Sequence[tuple[Part, Answer]], say: Wording) -> str:
    measure = next((m for m in pairs[0][0].ask.measures if m in FIGURES and m is not Measure.FIRST), Measure.AVERAGE)
    phrases: list[str] = []
    values: list[float] = []
    for part, answer in pairs:
        result = next((r for r in answer.results if r.indicator == indicator), None)
        who = say.whose(part.subject) if any(p.subject != part.subject for p, _ in pairs) else ""
        if result is None or result.count == 0 or (result.average is None and measure is not Measure.COUNT):
            phrases.append(say.pick(f"no readings{say.period(part.period)}", f"{who}{say.period(part.period)}没有数据"))
            continue
        phrases.append(f"{who}{_figure(measure, result, say)}{say.period(part.period)}")
        values.append(_compared_value(measure, result))
    verdict = _order(values, pairs, say) if len(values) == len(pairs) == 2 else ""  # noqa: PLR2004 - two are compared
    name = (
        capitalised(say.whose(pairs[0][0].subject) + say.indicator(indicator))
        if len({p.subject for p, _ in pairs}) == 1
        else capitalised(say.indicator(indicator))
    )
    line = say.pick(f"{name}: {'; '.join(phrases)}{verdict}.", f"{name}：{'；'.join(phrases)}{verdict}。")
    results = [r for _, a in pairs for r in a.results if r.indicator == indicator]
    told = [left_out(r, pairs[0][0].ask.measures, say) for r in results] if measure is not Measure.COUNT else []
    return say.pick(" ", "").join([line, *dict.fromkeys(t for t in told if t)])


def _compared_value(measure: Measure, result: Result) -> float:
    point = {Measure.MINIMUM: result.minimum, Measure.MAXIMUM: result.maximum}.get(measure)
    number = {Measure.AVERAGE: result.average, Measure.SUM: result.total, Measure.COUNT: float(result.count)}.get(
        measure
    )
    return number if number is not None else (point.value if point and point.value is not None else 0.0)


def _order(values: Sequence[float], pairs: Sequence[tuple[Part, Answer]], say: Wording) -> str:
    first, second = values
    if first == second:
        return say.pick(" — the same", "，两者相同")
    higher = pairs[0][0] if first > second else pairs[1][0]
    place = say.period(higher.period) or say.pick(
        f" for {say.whose(higher.subject).strip()}", say.whose(higher.subject)
    )
    return say.pick(f" — higher{place}", f"，{place.strip('（）')}较高")
