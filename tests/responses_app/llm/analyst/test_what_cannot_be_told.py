"""What the analyst cannot work out it says, instead of answering something else; and what figures leave out."""

from typing import Any

import pytest

from tests.responses_app.llm.analyst.conversation import BOOK, ask, figures, latest, query_result


@pytest.mark.parametrize(
    "question",
    [
        "second highest fasting glucose",
        "my 3 highest fasting glucose values",
        "top three fasting glucose readings",
        "第二高的空腹血糖",
    ],
)
def test_other_statistics_are_refused_without_a_look_up(question: str) -> None:
    turn = ask(question, query_result(figures()))
    assert turn.lookups == []
    assert "cannot work out" in turn.text or "无法计算" in turn.text


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is my median fasting glucose?", "median"),
        ("空腹血糖的中位数", "median"),
        ("standard deviation of my fasting glucose", "standard_deviation"),
        ("空腹血糖的标准差是多少", "standard_deviation"),
    ],
)
def test_a_statistic_of_the_tool_is_stated(question: str, name: str) -> None:
    turn = ask(question, query_result(figures(**{name: 5.55})))
    assert [lookup["operation"] for lookup in turn.lookups] == ["aggregate"]
    assert "**5.55 mmol/L**" in turn.text


def test_a_result_of_another_shape_is_no_answer() -> None:
    turn = ask("Any unusual fasting glucose readings?", query_result(figures()))
    assert "could not be looked up" in turn.text


def test_a_condition_on_another_statistic_does_nothing() -> None:
    turn = ask("If my median glucose is above 5, book an appointment", query_result(figures()), clients=[BOOK])
    assert turn.handed_over == []
    assert "cannot work out “median”" in turn.text


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("What was my fasting glucose at 3am?", "at 3am"),
        ("What was my fasting glucose on my birthday?", "on my birthday"),
        ("我生日那天的空腹血糖是多少", "我生日那天"),
        ("average fasting glucose over the last 99999999 years", "the last 99999999 years"),
        ("average fasting glucose in the last 0 days", "the last 0 days"),
        ("average fasting glucose in the last decade", "the last decade"),
        ("过去24小时的步数", "过去24小时"),
        ("最近999999999天的空腹血糖平均", "最近999999999天"),
    ],
)
def test_a_time_that_cannot_be_looked_up_is_named(question: str, time: str) -> None:
    turn = ask(question, query_result(figures()))
    assert turn.lookups == []
    assert f"“{time}”" in turn.text
    assert "shares data" not in turn.text


def test_a_long_span_is_read() -> None:
    (lookup,) = ask("average fasting glucose over the last 5000 days", query_result(figures())).lookups
    assert (lookup["start"], lookup["end"]) == ("2012-07-10", "2026-03-18")


@pytest.mark.parametrize("question", ["fasting glucose in the mornings", "早上的空腹血糖"])
def test_hours_of_the_day_cannot_be_singled_out(question: str) -> None:
    told = ask(question, query_result(latest(6.4, "2026-03-10"))).text
    assert "whole day" in told or "全天" in told


def test_a_clock_time_to_do_something_at_is_no_time_of_readings() -> None:
    question = "Book an appointment at 3pm tomorrow if my fasting glucose is above 6"
    turn = ask(question, query_result(latest(6.4, "2026-03-10")), clients=[BOOK])
    assert [arguments["date"] for _, arguments in turn.handed_over] == ["2026-03-19"]


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("latest weirdthing", "latest"),
        ("average weirdthing", "aggregate"),
        ("weirdthing trend", "trend"),
        ("is my weirdthing above 5 spoons?", "latest"),
    ],
)
def test_a_word_that_is_no_known_indicator_is_asked_of_the_tool(question: str, operation: str) -> None:
    (lookup,) = ask(question, query_result()).lookups
    assert (lookup["operation"], lookup["indicators"]) == (operation, ["weirdthing"])


@pytest.mark.parametrize(("unit", "told"), [("spoons", "which is above 5 spoons"), ("forks", "cannot compare")])
def test_an_unknown_indicator_compares_in_its_own_unit(unit: str, told: str) -> None:
    weird = latest(7, "2026-03-10", "weirdthing", "spoons", text="7 spoons")
    assert told in ask(f"Is my weirdthing above 5 {unit}?", query_result(weird)).text


def test_a_condition_on_an_unknown_indicator() -> None:
    weird = latest(7, "2026-03-10", "weirdthing", "spoons", text="7 spoons")
    turn = ask("If my weirdthing is above 5, book an appointment", query_result(weird), clients=[BOOK])
    assert len(turn.handed_over) == 1


def bound(comparator: str, value: float) -> dict[str, Any]:
    return {"value": value, "comparator": comparator, "text": f"{comparator}{value:g} mg/L", "date": "2026-01-01"}


BOUNDED = figures("hs-CRP", "mg/L", count=5, excluded=2, maybe_lower=bound("<", 0.5), maybe_higher=bound(">", 10))


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("highest hs-CRP?", ">10 mg/L"),
        ("lowest hs-CRP?", "<0.5 mg/L"),
        ("超敏C反应蛋白最高多少", ">10 mg/L"),
        ("average hs-CRP?", ""),
    ],
)
def test_figures_say_what_they_leave_out(question: str, named: str) -> None:
    told = ask(question, query_result(BOUNDED)).text
    assert "Left out: 2 readings" in told or "未计入 2 次" in told
    assert named in told
    assert (">10" in told) is (named == ">10 mg/L")


@pytest.mark.parametrize(
    ("question", "excluded", "without_unit", "told"),
    [
        ("average weight?", 2, 2, "Left out: 2 readings without a unit"),
        ("average weight?", 3, 1, "(words or only a bound) and 1 reading without a unit"),
        ("体重平均多少", 2, 2, "未计入 2 次测量（数值没有可用的单位）"),
        ("体重平均多少", 3, 1, "未计入 2 次测量（只有文字或上下限），1 次测量（数值没有可用的单位）"),
    ],
)
def test_a_number_without_a_unit_is_left_out_for_that(
    question: str, excluded: int, without_unit: int, told: str
) -> None:
    result = figures("Body weight", "kg", count=6, excluded=excluded, without_unit=without_unit)
    text = ask(question, query_result(result)).text
    assert told in text
    assert ("plain number" in text or "只有文字" in text) is (excluded > without_unit)


def test_readings_that_are_all_without_a_unit_are_said_to_lack_one() -> None:
    none = figures("Body weight", "kg", count=1, excluded=1, without_unit=1, average=None, sum=None)
    none |= {"minimum": None, "maximum": None, "first": None, "last": None}
    told = ask("average weight?", query_result(none)).text
    assert "no numbers with a unit" in told
    assert "Left out: 1 reading without a unit" in told


def test_figures_of_all_readings_say_nothing_of_the_kind() -> None:
    assert "Left out" not in ask("highest hs-CRP?", query_result(figures("hs-CRP", "mg/L"))).text


@pytest.mark.parametrize(
    ("condition", "books"),
    [
        ("my highest hs-CRP is above 5", True),
        ("my highest hs-CRP is above 8", True),
        ("my highest hs-CRP is above 12", False),
        ("my highest hs-CRP is below 8", False),
        ("my lowest hs-CRP is above 0.2", False),
        ("my lowest hs-CRP is below 1", True),
    ],
)
def test_a_bound_beyond_an_extreme_decides_no_condition_it_leaves_open(condition: str, books: bool) -> None:
    turn = ask(f"If {condition}, book an appointment", query_result(BOUNDED), clients=[BOOK])
    assert bool(turn.handed_over) is books


@pytest.mark.parametrize(
    ("value", "stated"),
    [(0.0054, "0.0054"), (0.0125, "0.0125"), (0.514286, "0.514"), (5.733333, "5.73"), (5.125, "5.125"), (6.0, "6")],
)
def test_at_least_three_digits_are_stated(value: float, stated: str) -> None:
    assert f"**{stated} mmol/L**" in ask("latest fasting glucose?", query_result(latest(value, "2026-03-10"))).text
