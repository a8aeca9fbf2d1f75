"""A night of sleep counts for the day it ends on; other indicators keep the day that is named."""

import pytest

from tests.responses_app.llm.analyst.conversation import Arguments, Tool, ask, figures, latest, query_result

SLEEP = "Sleep duration"
TODAY, YESTERDAY = "2026-03-18", "2026-03-17"


def slept(*days: str) -> Tool:
    """The tool with one night for each of ``days``."""

    def data(arguments: Arguments) -> object:
        found = [d for d in days if arguments.get("start", d) <= d <= arguments.get("end", d)]
        if not found:
            return query_result(no_data_in_range=[SLEEP])
        if arguments["operation"] == "aggregate":
            return query_result(figures(SLEEP, "h", sum=7.25, average=7.25, count=1))
        return query_result(latest(7.25, found[-1], SLEEP, "h"))

    return data


LAST_NIGHT = [
    "How long did I sleep last night?",
    "How did I sleep last night?",
    "昨晚我睡了多久？",
    "昨天晚上睡了多久",
    "昨夜睡眠",
]


@pytest.mark.parametrize("question", LAST_NIGHT)
def test_last_night_of_sleep_is_the_one_that_ended_today(question: str) -> None:
    text = ask(question, slept(TODAY, YESTERDAY)).text
    assert "7.25" in text
    assert TODAY in text
    assert YESTERDAY not in text


@pytest.mark.parametrize("question", LAST_NIGHT)
def test_an_earlier_night_is_told_as_such(question: str) -> None:
    text = ask(question, slept(YESTERDAY)).text
    assert "7.25" in text
    assert f"the night before, which ended on {YESTERDAY}" in text or f"前一晚（结束于 {YESTERDAY}）" in text


@pytest.mark.parametrize("question", LAST_NIGHT)
def test_without_either_night_there_is_nothing(question: str) -> None:
    text = ask(question, slept("2026-03-01")).text
    assert "7.25" not in text
    assert "no readings" in text or "没有数据" in text


@pytest.mark.parametrize("question", ["How did I sleep tonight?", "今晚睡了多久"])
def test_tonight_has_no_data_yet(question: str) -> None:
    assert "7.25" not in ask(question, slept(TODAY)).text


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("Compare my sleep last night with the night before", [TODAY, YESTERDAY]),
        ("Did I sleep less than 7 hours last night?", [TODAY]),
        ("How did I sleep yesterday?", [YESTERDAY]),
        ("How did I sleep on Monday night?", [YESTERDAY]),
        ("steps last night", [YESTERDAY]),
        ("What was my heart rate last night?", [YESTERDAY]),
        ("昨晚的心率", [YESTERDAY]),
    ],
)
def test_which_days_are_looked_at(question: str, days: list[str]) -> None:
    lookups = ask(question, slept(TODAY, YESTERDAY)).lookups
    assert [(arguments["start"], arguments["end"]) for arguments in lookups] == [(day, day) for day in days]
