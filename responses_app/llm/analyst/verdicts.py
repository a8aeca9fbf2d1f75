"""Decides whether a condition holds, on tool results alone, and says on which figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from responses_app.llm.analyst.answer import failure_line, left_out, not_comparable, trend_sentence
from responses_app.llm.analyst.comparison import beyond, point_beyond
from responses_app.llm.analyst.conditions import Condition, Test
from responses_app.llm.analyst.facts import Answer, Point, Result
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.measures import Measure
from responses_app.llm.analyst.plan import TestPart, key
from responses_app.llm.analyst.wording import Wording, capitalised

_DIRECTIONS = {"rising", "falling", "stable"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """``holds`` is ``None`` when it cannot be told. ``because`` are sentences that name the figures."""

    holds: bool | None
    because: tuple[str, ...]


def judge(condition: Condition, parts: Sequence[TestPart], answers: Mapping[str, Answer], say: Wording) -> Verdict:
    """Whether ``condition`` holds; ``answers`` are keyed by the calls' arguments."""
    if not parts or len(parts) < len(condition.tests) or any(t.kind == "unclear" for t in condition.tests):
        told = say.pick(f"I do not understand the condition “{condition.text}”.", f"我不理解条件“{condition.text}”。")
        return Verdict(None, (told,))
    verdicts = [_judge_part(part, answers.get(key(part.arguments), Answer(failure="")), say) for part in parts]
    because = tuple(dict.fromkeys(sentence for v in verdicts for sentence in v.because))
    return Verdict(_combined([v.holds for v in verdicts], condition), because)


def _combined(outcomes: Sequence[bool | None], condition: Condition) -> bool | None:
    if condition.any_of and any(outcomes):
        holds: bool | None = True
    elif None in outcomes:
        holds = None
    else:
        holds = any(outcomes) if condition.any_of else all(outcomes)
    return holds if holds is None else holds != condition.negated


def _judge_part(part: TestPart, answer: Answer, say: Wording) -> Verdict:
    if answer.failure is not None:
        return Verdict(None, (failure_line(answer, say),))
    if part.test.kind in {"absent", "present"}:
        return _presence(part, answer, say)
    results = [r for r in answer.results if r.count]
    if not results:
        names = say.mentions(part.test.mentions)
        return Verdict(None, (say.pick(f"There is no data on {names}.", f"没有{names}的数据。"),))
    outcomes = [_outcome(part.test, r, results) for r in results]
    known = [o for o in outcomes if o is not None]
    told = tuple(
        _because(part, r, say) + _doubt(part.test, r, o, say)
        for r, o in zip(results, outcomes, strict=True)
        if o is not None or not known
    )
    return Verdict(any(known) if known else None, told)


def _presence(part: TestPart, answer: Answer, say: Wording) -> Verdict:
    there = any(r.count for r in answer.results)
    names = say.mentions(part.test.mentions)
    told = say.pick(
        f"There is {'some' if there else 'no'} data on {names}.", f"{'有' if there else '没有'}{names}的数据。"
    )
    return Verdict(there == (part.test.kind == "present"), (told,))


def _outcome(test: Test, result: Result, results: Sequence[Result]) -> bool | None:
    """Whether one indicator meets a test; ``None`` when the test is not about it or cannot be told."""
    if test.kind in _DIRECTIONS:
        outcome = result.direction == test.kind if result.direction in _DIRECTIONS else None
    elif test.kind == "limit":
        outcome = _beyond_limit(test, result, results)
    else:
        outcome = _status(test, result)
    return outcome if outcome is None else outcome != test.negated


def _beyond_limit(test: Test, result: Result, results: Sequence[Result]) -> bool | None:
    limit = test.limit
    if limit is None:
        return None
    diastolic = "diastolic" in result.indicator.lower()
    paired = limit.second_above is not None or limit.second_below is not None
    if diastolic and len(results) > 1 and not paired:
        return None
    second = diastolic and paired
    if test.measure in {Measure.AVERAGE, Measure.SUM}:
        figure = result.average if test.measure is Measure.AVERAGE else result.total
        return beyond(figure, limit, result, second=second)
    points = _points(test, result)
    outcomes = [point_beyond(point, limit, result, second=second) for point in points]
    if len(points) == 1 or None not in outcomes:
        return outcomes[-1] if points else None
    # An extreme and a bound that may lie beyond it: sure only where the bound cannot turn it round.
    return outcomes[0] if _only_strengthens(test, limit) and outcomes[0] else None


def _only_strengthens(test: Test, limit: Limit) -> bool:
    """Whether a value further out than the extreme meets the limit too: a higher highest one stays above."""
    return limit.below is None if test.measure is Measure.MAXIMUM else limit.above is None


def _points(test: Test, result: Result) -> list[Point]:
    """The reading that a test is about; after an extreme the bound that may lie beyond it."""
    extreme, bound = {
        Measure.MAXIMUM: (result.maximum, result.maybe_higher),
        Measure.MINIMUM: (result.minimum, result.maybe_lower),
    }.get(test.measure or Measure.LATEST, (None, None))
    points = [extreme, bound] if extreme or bound else [next(iter(result.readings), None)]
    return [point for point in points if point is not None]


def _doubt(test: Test, result: Result, outcome: bool | None, say: Wording) -> str:
    """What figures leave out, and why a limit could not be held against them."""
    measures = (test.measure,) if test.measure else ()
    told = left_out(result, measures, say) if measures or test.kind in _DIRECTIONS else ""
    if test.limit is not None and test.limit.assumed and outcome is not None:
        told += say.pick(" ", "") if told else ""
        unit = say.unit(test.limit.unit or "")
        told += say.pick(f"The limit is taken as {unit}.", f"界限按 {unit} 计。")
    if test.kind == "limit" and test.limit is not None and outcome is None:
        points = _points(test, result)
        bound = any(point.comparator for point in points)
        told += say.pick(" ", "") if told else ""
        told += capitalised(not_comparable(test.limit, result, say, bound=bound)) + say.pick(".", "。")
    return say.pick(" ", "") + told if told else ""


def _status(test: Test, result: Result) -> bool | None:
    point = next(iter(result.readings), None)
    if point is None or not (point.abnormal or point.has_reference):
        return None
    wanted = {
        "high": point.abnormal == "high",
        "low": point.abnormal == "low",
        "abnormal": bool(point.abnormal),
        "normal": not point.abnormal,
    }
    return wanted.get(test.kind)


def _because(part: TestPart, result: Result, say: Wording) -> str:
    whose = say.whose(part.subject)
    name = whose + say.indicator(result.indicator)
    test = part.test
    if test.kind in _DIRECTIONS:
        return trend_sentence(result, whose, say)
    if test.measure is Measure.AVERAGE:
        used = say.readings(result.count - result.excluded)
        span = _span(result, say)
        value = say.value(result.average, result.unit, result.indicator)
        return say.pick(
            f"{capitalised(name)} averages {value} ({used}{span}).", f"{name}平均为 {value}（{used}{span}）。"
        )
    if test.measure is Measure.SUM:
        value = say.value(result.total, result.unit, result.indicator)
        return say.pick(
            f"{capitalised(name)} totals {value}{_span(result, say)}.", f"{name}合计 {value}{_span(result, say)}。"
        )
    point = (
        {Measure.MAXIMUM: result.maximum, Measure.MINIMUM: result.minimum}.get(test.measure) if test.measure else None
    )
    point = point or next(iter(result.readings), None)
    label = {Measure.MAXIMUM: ("highest", "最高"), Measure.MINIMUM: ("lowest", "最低")}.get(
        test.measure or Measure.LATEST, ("latest", "最近一次")
    )
    named = say.latest_of(part.subject, result, *label)
    return say.pick(f"{capitalised(named)} is {say.dated(point, result)}.", f"{named}为 {say.dated(point, result)}。")


def _span(result: Result, say: Wording) -> str:
    if result.first is None or result.last is None:
        return ""
    return say.pick(f", {result.first.date} to {result.last.date}", f"，{result.first.date} 至 {result.last.date}")
