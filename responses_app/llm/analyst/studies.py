"""Which study answers a question, if one does, and where a study stands given the calls made so far."""

import logging
import re
from collections.abc import Callable, Sequence
from datetime import date

from responses_app.llm.analyst.event_studies import explained, happenings, with_event
from responses_app.llm.analyst.facts import read_json
from responses_app.llm.analyst.period_studies import periods
from responses_app.llm.analyst.question import drafted
from responses_app.llm.analyst.relation_studies import relations
from responses_app.llm.analyst.series_studies import series
from responses_app.llm.analyst.study import Call, Data, Steps, Topic
from responses_app.llm.analyst.text import is_chinese
from responses_app.llm.analyst.turn import Done
from responses_app.llm.analyst.wording import Wording

log = logging.getLogger(__name__)

_NO_PERSON = re.compile(r"watch|ring|cuff|scale|phone|device|relative|手表|手环|血压计|手机", re.IGNORECASE)
_WHY_OWN = re.compile(r"\bwhy (?:\w+ ){0,2}(?:my|i)\b|为什么|怎么回事", re.IGNORECASE)
_SHAPES: tuple[Callable[[Topic], Steps | None], ...] = (happenings, with_event, explained, relations, series, periods)


def find_study(text: str, today: date) -> Steps | None:
    """The study for a question of one of the shapes, not begun."""
    draft = drafted(text, today)
    topic = Topic(
        draft.text,
        draft.mask,
        tuple({m.names: m for m in draft.mentions}.values()),
        tuple(p for p in draft.periods if p.possible),
        tuple(draft.limits),
        today,
        Wording(zh=is_chinese(text)),
    )
    return next((steps for shape in _SHAPES if (steps := shape(topic)) is not None), None)


def is_no_person(written: str) -> bool:
    """Whether what looks like somebody's name is a thing that measures, or no name at all."""
    return _NO_PERSON.fullmatch(written.strip()) is not None


def asks_why_of_own(text: str) -> bool:
    """Whether it is asked why the asker's own figures are as they are."""
    return _WHY_OWN.search(text) is not None


def advance(steps: Steps, done: Sequence[Done], unread: str) -> list[Call] | str:
    """The calls to make next, or the answer when all is there; ``unread`` for a result of another shape."""
    try:
        wanted = next(steps)
        taken = 0
        while len(done) >= taken + len(wanted):
            outputs = [_data(one) for one in done[taken : taken + len(wanted)]]
            taken += len(wanted)
            wanted = steps.send(outputs)
    except StopIteration as stop:
        return str(stop.value)
    except (KeyError, IndexError, TypeError):
        log.exception("a study could not read what a tool gave")
        return unread
    return wanted


def _data(done: Done) -> Data:
    data = None if done.failed else read_json(done.output or "")
    return data if isinstance(data, dict) else {}
