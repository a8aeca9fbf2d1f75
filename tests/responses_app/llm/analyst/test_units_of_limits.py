"""Limits are read whole, number and unit, and held against values only in a unit the indicator converts from."""

from decimal import Decimal
from typing import Any

import pytest

from tests.responses_app.llm.analyst.conversation import (
    BOOK,
    Arguments,
    Turn,
    ask,
    heading,
    latest,
    query_result,
    reading,
)
from tools_app.standardization import to_canonical

TEMPERATURE = latest(38, "2026-03-10", "Body temperature", "Cel", text="38 Cel")
PLATELETS = latest(250, "2026-03-10", "Platelets", "10*9/L", text="250 10*9/L")
GLUCOSE = latest(6.7, "2026-03-10")
PRESSURE = latest(130, "2026-03-10", "Systolic blood pressure", "mm[Hg]", text="130 mmHg")
WEIGHT = latest(77.110703, "2026-03-10", "Body weight", "kg", text="170 lb")
HEIGHT = latest(150, "2026-03-10", "Body height", "cm", text="150 cm")
SLEEP = latest(6.4, "2026-03-10", "Sleep duration", "h", text="6.4 h")


def answer(question: str, result: Any) -> str:
    return ask(question, query_result(result)).text


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("Is my body temperature above 100 F?", TEMPERATURE),
        ("Is my body temperature above 100 fahrenheit?", TEMPERATURE),
        ("Is my body temperature above 100 degrees Fahrenheit?", TEMPERATURE),
        ("Is my body temperature above 310 K?", TEMPERATURE),
        ("Are my platelets above 200 K/uL?", PLATELETS),
        ("Are my platelets above 200,000 /uL?", PLATELETS),
        ("Are my platelets above 200,000 cells per microliter?", PLATELETS),
        ("Is my fasting glucose above 100 milligrams per deciliter?", GLUCOSE),
        ("Is my fasting glucose above 6.5 millimoles per litre?", GLUCOSE),
        ("Is my fasting glucose above 6,5 mmol/L?", GLUCOSE),
        ("Is my fasting glucose above 6.5mmol/l?", GLUCOSE),
        ("Is my fasting glucose above six point five?", GLUCOSE),
        ("Is my systolic blood pressure above 16 kPa?", PRESSURE),
        ("Is my weight above 12 stone?", WEIGHT),
        ("Is my weight above 12 stone 1?", WEIGHT),
        ("Is my height above 4 feet 10 inches?", HEIGHT),
        ("Is my sleep above 6 hours 20 minutes?", SLEEP),
    ],
)
def test_a_value_beyond_a_limit_in_another_unit(question: str, result: Any) -> None:
    assert "which is above" in answer(question, result)


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("Is my body temperature above 101 °F?", TEMPERATURE),
        ("Are my platelets above 300K/uL?", PLATELETS),
        ("Is my fasting glucose above 1e1 mmol/L?", GLUCOSE),
        ("Is my fasting glucose above 6,8 mmol/L?", GLUCOSE),
        ("Is my systolic blood pressure above 18 kPa?", PRESSURE),
        ("Is my weight above 13 stone?", WEIGHT),
        ("Is my height above 5 feet?", HEIGHT),
        ("Is my sleep above 6 hours 30 minutes?", SLEEP),
    ],
)
def test_a_value_not_beyond_a_limit_in_another_unit(question: str, result: Any) -> None:
    assert "which is not above" in answer(question, result)


@pytest.mark.parametrize(
    ("question", "result", "beyond"),
    [
        ("我的体温超过100华氏度吗？", TEMPERATURE, True),
        ("我的体温超过华氏101度吗？", TEMPERATURE, False),
        ("我的体重超过150磅吗？", WEIGHT, True),
        ("我的收缩压超过18千帕吗？", PRESSURE, False),
        ("我的身高超过5英尺吗？", HEIGHT, False),
        ("我的体重超过80千克吗？", WEIGHT, False),
        ("我的体重超过七十千克吗？", WEIGHT, True),
        ("我的身高超过1米4吗？", HEIGHT, True),
        ("我的空腹血糖高于6点5吗？", GLUCOSE, True),
        ("我的空腹血糖高于六点八吗？", GLUCOSE, False),
        ("我的空腹血糖高于100毫克每分升吗？", GLUCOSE, True),
    ],
)
def test_limits_in_chinese(question: str, result: Any, beyond: bool) -> None:
    assert ("并不高于" not in answer(question, result)) is beyond


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Is my weight above 13 bananas?", "bananas"),
        ("How often was my weight above 13 bananas?", "bananas"),
        ("Is my weight above 13 mmol/L?", "mmol/L"),
        ("我的体重超过120斤吗？", "斤"),
    ],
)
def test_a_unit_that_does_not_compare_gets_no_verdict(question: str, named: str) -> None:
    turn = ask(question, query_result(WEIGHT))
    assert [lookup["operation"] for lookup in turn.lookups] == ["latest"]
    assert f"“{named}”" in turn.text
    assert "which is" not in turn.text
    assert "并不" not in turn.text


def test_a_number_that_cannot_be_read_whole_gets_no_verdict() -> None:
    told = answer("Is my fasting glucose above 1.2.3?", GLUCOSE)
    assert "cannot read the number" in told
    assert "which is" not in told


@pytest.mark.parametrize(
    ("condition", "result", "books"),
    [
        ("my body temperature is above 100 F", TEMPERATURE, True),
        ("my body temperature is above 101 F", TEMPERATURE, False),
        ("my weight is above 12 stone", WEIGHT, True),
        ("my weight is above 13 bananas", WEIGHT, False),
        ("my weight is not above 13 bananas", WEIGHT, False),
        ("my fasting glucose is above 1.2.3", GLUCOSE, False),
    ],
)
def test_a_tool_is_called_only_on_a_comparison_that_can_be_made(condition: str, result: Any, books: bool) -> None:
    turn = ask(f"If {condition}, book an appointment", query_result(result), clients=[BOOK])
    assert bool(turn.handed_over) is books


def test_a_condition_says_that_it_cannot_compare() -> None:
    question = "If my weight is above 13 bananas, book an appointment"
    told = ask(question, query_result(WEIGHT), clients=[BOOK]).text
    assert "I cannot compare" in told
    assert "could not tell" in told


@pytest.mark.parametrize(
    ("question", "result", "told"),
    [
        ("Is my body temperature above 100?", TEMPERATURE, "which is above 100 (taken as °F)"),
        ("Is my body temperature above 100 degrees?", TEMPERATURE, "which is above 100 degrees (taken as °F)"),
        ("Is my fasting glucose above 126?", GLUCOSE, "which is not above 126 (taken as mg/dL)"),
        ("Is my weight above 160?", WEIGHT, "which is above 160 (taken as lb)"),
        ("Is my fasting glucose above 6?", GLUCOSE, "which is above 6."),
    ],
)
def test_a_bare_limit_is_taken_in_the_unit_that_fits_and_says_so(question: str, result: Any, told: str) -> None:
    assert told in answer(question, result)


def weights(written: str) -> Any:
    def data(arguments: Arguments) -> Any:
        if arguments["operation"] == "latest":
            return query_result(latest(77.1, "2026-03-10", "Body weight", "kg", text=written))
        return query_result(heading("Body weight", "kg", 2) | {"readings": [reading(77.1, "2026-03-10", written)]})

    return data


def counted(written: str) -> Turn:
    return ask("How many times was my weight above 160?", weights(written))


def test_readings_are_filtered_in_the_unit_the_newest_was_written_in() -> None:
    turn = counted("170 lb")
    assert [lookup["operation"] for lookup in turn.lookups] == ["latest", "readings"]
    assert turn.lookups[1]["unit"] == "[lb_av]"
    assert "2 readings** above 160 (taken as lb)" in turn.text


def test_readings_in_the_indicators_own_unit_are_filtered_in_it() -> None:
    turn = counted("77.1 kg")
    assert "unit" not in turn.lookups[1]
    assert turn.text == "Your body weight: **2 readings** above 160."


def test_a_condition_on_a_bare_limit_says_the_unit_it_was_taken_in() -> None:
    turn = ask("If my weight is above 160, book an appointment", query_result(WEIGHT), clients=[BOOK])
    assert len(turn.handed_over) == 1
    assert "taken as lb" in turn.text


@pytest.mark.parametrize(
    ("question", "limits"),
    [
        ("How many times was my fasting glucose above 5 and below 6?", {"above": 5, "below": 6}),
        ("我的空腹血糖有几次高于5且低于6？", {"above": 5, "below": 6}),
        ("How many days did I walk more than 10 000 steps?", {"above": 10000}),
        ("How many days did I walk over ten thousand steps?", {"above": 10000}),
        ("上个月有多少天步数超过一万二？", {"above": 12000}),
        ("上个月有多少天步数超过1万2千步？", {"above": 12000}),
        ("How often was my fasting glucose above 126 milligrams per deciliter?", {"above": 126, "unit": "mg/dL"}),
    ],
)
def test_numbers_are_read_whole(question: str, limits: dict[str, Any]) -> None:
    (lookup,) = ask(question, query_result()).lookups
    assert {name: lookup.get(name) for name in ("above", "below", "unit") if name in lookup} == limits


def test_of_two_limits_that_are_not_one_range_the_answer_names_the_one_it_is_for() -> None:
    found = heading(count=1) | {"readings": [reading(6.7, "2026-03-10")]}
    told = answer("How many times was my fasting glucose above 6.5 or below 4?", found)
    assert "for “above 6.5” only" in told


@pytest.mark.parametrize(
    "question",
    [
        "Was my fasting glucose above 6 in February?",
        "Is my fasting glucose above 6 today?",
        "Is my fasting glucose above 6 recently?",
        "Was my fasting glucose above 6 on Monday?",
        "我的空腹血糖高于6的话正常吗",
    ],
)
def test_words_that_go_on_after_a_number_are_no_unit(question: str) -> None:
    told = answer(question, heading(count=1) | {"readings": [reading(6.7, "2026-03-10")]})
    assert "cannot compare" not in told
    assert "无法" not in told


def test_a_limit_on_an_equal_value_in_another_unit() -> None:
    written = to_canonical(Decimal(126), "mg/dL", "cholesterol_ldl")
    assert written is not None
    equal = latest(round(float(written), 6), "2026-03-10", "LDL cholesterol")
    assert "which is not above" in answer("Is my LDL above 126 mg/dL?", equal)
    assert "which is at least" in answer("Is my LDL at least 126 mg/dL?", equal)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Is my hs-CRP above 5?", "which is above 5"),
        ("Is my hs-CRP below 5?", "which is not below 5"),
        ("Is my hs-CRP above 20?", "only a bound"),
    ],
)
def test_a_bound_is_held_against_a_limit_only_where_it_is_sure(question: str, told: str) -> None:
    assert told in answer(question, latest(10, "2026-03-10", "hs-CRP", "mg/L", text=">10 mg/L", comparator=">"))
