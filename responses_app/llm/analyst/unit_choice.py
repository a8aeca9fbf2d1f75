"""Decides in which unit a question's bare limits are meant ("above 150"), and what to look up where that is doubtful.

The units that come into question are in usual_units.py. Runs nothing and words nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from responses_app.llm.analyst.conditions import Condition, Test
from responses_app.llm.analyst.facts import Answer
from responses_app.llm.analyst.indicators import Mention
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.measures import Measure
from responses_app.llm.analyst.plan import Arguments, Subject, newest_of
from responses_app.llm.analyst.question import Ask, Question
from responses_app.llm.analyst.usual_units import converted, possible_units
from tools_app.standardization import Concept, concepts_named, ucum_unit

Newest = Callable[[Sequence[Mention]], Answer | None]
_AFTER_NUMBER = re.compile(r"^[\s<>=≤≥~\d.,/-]+(?:e[+-]?\d+)?\s*")


def unit_lookups(question: Question, subject: Subject) -> list[Arguments]:
    """The calls that show in which unit the person's newest readings were written, where a limit's unit hangs on it."""
    doubtful = [mentions for limit, mentions in _limits(question) if len(_choices(limit, mentions)) > 1]
    return [newest_of(mentions, subject) for mentions in dict.fromkeys(doubtful)]


def with_units(question: Question, newest: Newest) -> Question:
    """The question with a unit for each limit that was written without one; ``newest`` gives what was looked up."""
    return replace(
        question,
        asks=tuple(_ask_with_unit(ask, newest) for ask in question.asks),
        conditions=tuple(_condition_with_units(question, condition, newest) for condition in question.conditions),
    )


def _limits(question: Question) -> list[tuple[Limit, tuple[Mention, ...]]]:
    asked = [(a.limit, a.mentions) for a in question.asks if a.limit and Measure.SUM not in a.measures]
    tests = [t for c in question.conditions for t in c.tests if t.limit and t.measure is not Measure.SUM]
    return asked + [(t.limit, t.mentions or question.named) for t in tests if t.limit]


def _ask_with_unit(ask: Ask, newest: Newest) -> Ask:
    if ask.limit is None or Measure.SUM in ask.measures:
        return ask
    return replace(ask, limit=_with_unit(ask.limit, ask.mentions, newest))


def _condition_with_units(question: Question, condition: Condition, newest: Newest) -> Condition:
    return replace(condition, tests=tuple(_test_with_unit(question, test, newest) for test in condition.tests))


def _test_with_unit(question: Question, test: Test, newest: Newest) -> Test:
    if test.limit is None or test.measure is Measure.SUM:
        return test
    return replace(test, limit=_with_unit(test.limit, test.mentions or question.named, newest))


def _with_unit(limit: Limit, mentions: tuple[Mention, ...], newest: Newest) -> Limit:
    choices = _choices(limit, mentions)
    concept = _concept(mentions)
    if concept is None or not choices:
        return limit
    written = _written_unit(newest(mentions), concept) if len(choices) > 1 else None
    unit = written if written in choices else choices[0]
    if unit == concept.unit and not limit.choices:
        return limit
    return replace(limit, unit=unit, assumed=True, choices=())


def _choices(limit: Limit, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """The units a limit without a sure one may be in; none when it needs none or cannot be held against these."""
    concept = _concept(mentions)
    if limit.unread or limit.unit or concept is None:
        return ()
    possible = possible_units(concept, limit.numbers, limit.choices)
    return tuple(unit for unit in possible if converted(1, unit, concept.name) is not None)


def _concept(mentions: Sequence[Mention]) -> Concept | None:
    return next((concept for m in mentions for concept in concepts_named(m.names[0])), None)


def _written_unit(answer: Answer | None, concept: Concept) -> str | None:
    """The unit of the newest reading as it was written, if the indicator can be in it."""
    points = [r.readings[0] for r in answer.results if r.readings] if answer else []
    newest = max(points, key=lambda p: p.date, default=None)
    unit = ucum_unit(_AFTER_NUMBER.sub("", newest.text)) if newest else None
    return unit if unit and converted(1, unit, concept.name) is not None else None
