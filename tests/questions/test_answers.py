"""Questions a person would ask about the demo data: the answer states the right figures, units and dates, no others."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.questions import truth
from tests.questions.verdict import Case, faults, invented_numbers

HERE = Path(__file__).parent
ANSWERABLE = json.loads((HERE / "answerable.json").read_text(encoding="utf-8"))
UNANSWERABLE = json.loads((HERE / "unanswerable.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("entry", "phrasing"),
    [
        pytest.param(entry, phrasing, id=f"{entry['id']}-{number}")
        for entry in ANSWERABLE
        for number, phrasing in enumerate(entry["phrasings"], start=1)
    ],
)
def test_answer_states_what_the_rows_say(
    entry: dict[str, Any], phrasing: str, ask: Callable[[str], str], rows: list[dict[str, Any]], today: date
) -> None:
    filled = truth.fill(rows, entry["fill"], today) if "fill" in entry else {}
    question = phrasing.format(**filled)

    answer = ask(question)

    assert faults(answer, Case(question, entry["truth"], rows, today, filled)) == [], f"{question}\n{answer}"


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry["id"]) for entry in UNANSWERABLE])
def test_no_number_is_made_up_where_there_is_no_answer(entry: dict[str, Any], ask: Callable[[str], str]) -> None:
    answer = ask(entry["question"])

    assert answer.strip()
    invented = invented_numbers(answer, entry["question"], may_repeat=entry.get("may_repeat_numbers", True))
    assert invented == [], f"{entry['question']}\n{answer}"
