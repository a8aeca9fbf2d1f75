"""Conditions are decided on tool results before a client tool is called, and the answer says which way they went."""

from typing import Any

import pytest

from tests.responses_app.llm.analyst.conversation import (
    BOOK,
    Turn,
    ask,
    client_tool,
    figures,
    latest,
    query_result,
    trend,
)

REFERENCE = "Check my recent glucose and book a follow-up if it is trending up."
MESSAGE = client_tool(
    "send_message", "Send a message", ["recipient", "message"], recipient={"type": "string"}, message={"type": "string"}
)


def turn_of(question: str, *results: Any) -> Turn:
    return ask(question, query_result(*results), clients=[BOOK, MESSAGE])


@pytest.mark.parametrize(
    "question",
    [
        REFERENCE,
        "Check my recent glucose and book a follow-up if it's trending up.",
        "帮我看一下血糖，如果在上升就预约复诊",
    ],
)
def test_the_reference_question_hands_over_on_a_rising_trend(question: str) -> None:
    turn = turn_of(question, trend("rising"))
    assert turn.lookups == [{"operation": "trend", "indicators": ["Glucose"]}]
    assert turn.handed_over == [("book_appointment", {"date": "2026-03-25"})]
    assert "6.4 mmol/L" in turn.text
    assert "2026-03-25" in turn.text


@pytest.mark.parametrize("direction", ["falling", "stable"])
def test_the_reference_question_does_not_hand_over_otherwise(direction: str) -> None:
    turn = turn_of(REFERENCE, trend(direction))
    assert turn.handed_over == []
    assert f"is {direction}" in turn.text
    assert "is not met" in turn.text


def test_a_trend_that_cannot_be_told_hands_nothing_over() -> None:
    turn = turn_of(REFERENCE, trend("not enough data"))
    assert turn.handed_over == []
    assert "could not tell" in turn.text


@pytest.mark.parametrize(
    ("question", "value", "holds"),
    [
        ("If my fasting glucose is above 7, book an appointment", 7.2, True),
        ("If my fasting glucose is above 7, book an appointment", 7.0, False),
        ("If my fasting glucose is at least 7, book an appointment", 7.0, True),
        ("If my fasting glucose is not above 7, book an appointment", 6.4, True),
        ("If my fasting glucose is over 126 mg/dL, book an appointment", 7.2, True),
        ("如果我的空腹血糖高于7，请帮我预约", 7.2, True),
        ("如果我的空腹血糖低于7就帮我预约", 7.2, False),
        ("Book an appointment if my fasting glucose is between 5 and 6", 5.5, True),
    ],
)
def test_a_limit_is_held_against_the_latest_value(question: str, value: float, holds: bool) -> None:
    turn = turn_of(question, latest(value, "2026-03-10"))
    assert bool(turn.handed_over) is holds
    assert f"{value:g} mmol/L" in turn.text
    assert "2026-03-10" in turn.text


def test_a_limit_on_an_average() -> None:
    turn = turn_of("If my average fasting glucose last month is above 5.5, book an appointment", figures())
    assert turn.lookups[0]["operation"] == "aggregate"
    assert len(turn.handed_over) == 1


def test_blood_pressure_140_over_90_holds_for_either_half() -> None:
    systolic = latest(134, "2026-03-10", "Systolic blood pressure", "mm[Hg]")
    diastolic = latest(93, "2026-03-10", "Diastolic blood pressure", "mm[Hg]")
    turn = turn_of("If my blood pressure is above 140/90 book an appointment", systolic, diastolic)
    assert len(turn.handed_over) == 1


def test_unless_turns_a_condition_round() -> None:
    normal = latest(5.2, "2026-03-10", reference_high=6.1)
    assert turn_of("Book a follow-up unless my fasting glucose is normal", normal).handed_over == []


def test_if_so_stands_for_what_was_checked() -> None:
    turn = turn_of("Check whether my fasting glucose is rising, and if so book a follow-up", trend("rising"))
    assert len(turn.handed_over) == 1


def test_otherwise_does_the_other_thing() -> None:
    question = 'If my LDL is above 3 book a follow-up, otherwise send a message to my wife saying "all good"'
    low = turn_of(question, latest(2.1, "2026-03-10", "LDL cholesterol"))
    high = turn_of(question, latest(3.3, "2026-03-10", "LDL cholesterol"))
    assert low.handed_over == [("send_message", {"recipient": "wife", "message": "all good"})]
    assert [name for name, _ in high.handed_over] == ["book_appointment"]


def test_a_condition_without_data_does_nothing() -> None:
    turn = ask(REFERENCE, query_result(not_found=["Glucose"]), clients=[BOOK])
    assert turn.handed_over == []
    assert "no data" in turn.text


def test_a_condition_that_is_not_understood_does_nothing() -> None:
    turn = turn_of("Check my glucose and book a follow-up if the moon is full", latest(6.4, "2026-03-10"))
    assert turn.handed_over == []
    assert "if the moon is full" in turn.text


def test_tell_me_if_is_a_question() -> None:
    turn = turn_of("Tell me if my fasting glucose is above 6", latest(6.4, "2026-03-10"))
    assert turn.handed_over == []
    assert "which is above 6" in turn.text
