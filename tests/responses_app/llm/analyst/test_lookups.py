"""What the analyst looks up for a question, and whose data."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.responses_app.llm.analyst.conversation import (
    Arguments,
    ask,
    earlier_turn,
    figures,
    latest,
    query_result,
    trend,
)

BLOOD_PRESSURE = ["Systolic blood pressure", "Diastolic blood pressure"]
MARTIN = {"member": "martin", "display_name": "Martin (father)", "scope": "all"}


def lookups(question: str, **more: Any) -> list[dict[str, Any]]:
    return ask(question, query_result(), **more).lookups


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What's my latest HbA1c?", {"operation": "latest", "indicators": ["HbA1c"]}),
        ("我最近一次的空腹血糖是多少？", {"operation": "latest", "indicators": ["Fasting glucose"]}),
        ("How is my fasting glucose trending?", {"operation": "trend", "indicators": ["Fasting glucose"]}),
        ("我的体重是在上升还是下降？", {"operation": "trend", "indicators": ["Body weight"]}),
        (
            "What was my average resting heart rate last month?",
            {
                "operation": "aggregate",
                "indicators": ["Resting heart rate"],
                "start": "2026-02-01",
                "end": "2026-02-28",
            },
        ),
        (
            "过去三个月我的平均血压是多少？",
            {
                "operation": "aggregate",
                "indicators": ["Systolic blood pressure", "Diastolic blood pressure"],
                "start": "2025-12-18",
                "end": "2026-03-18",
            },
        ),
        ("When was my LDL highest?", {"operation": "aggregate", "indicators": ["LDL cholesterol"]}),
        (
            "What was my weight on March 5, 2026?",
            {
                "operation": "readings",
                "indicators": ["Body weight"],
                "start": "2026-03-05",
                "end": "2026-03-05",
                "limit": 10,
            },
        ),
        (
            "What are my latest cholesterol, LDL and HDL?",
            {"operation": "latest", "indicators": ["Total cholesterol", "LDL cholesterol", "HDL cholesterol"]},
        ),
        ("最近三次体重", {"operation": "readings", "indicators": ["Body weight"], "limit": 3}),
        ("What data do you have?", {"operation": "overview"}),
        ("你有我的哪些数据？", {"operation": "overview"}),
        (
            "昨天我走了多少步？",
            {"operation": "aggregate", "indicators": ["Steps"], "start": "2026-03-17", "end": "2026-03-17"},
        ),
        (
            "Average glucose by month in 2025",
            {
                "operation": "aggregate",
                "indicators": ["Glucose"],
                "start": "2025-01-01",
                "end": "2025-12-31",
                "group_by": "month",
            },
        ),
        (
            "Did my LDL go up since June?",
            {"operation": "trend", "indicators": ["LDL cholesterol"], "start": "2025-06-01"},
        ),
        ("上回量的血压是多少来着？", {"operation": "latest", "indicators": BLOOD_PRESSURE}),
        (
            "How low was my vitamin D the last time they checked it?",
            {"operation": "latest", "indicators": ["Vitamin D (25-OH)"]},
        ),
        ("我最近变胖了吗？", {"operation": "trend", "indicators": ["Body weight"]}),
        ("Am I getting heavier?", {"operation": "trend", "indicators": ["Body weight"]}),
        ("我的尿酸是不是越来越低？", {"operation": "trend", "indicators": ["Uric acid"]}),
        (
            "Show me the current results for ferritin and TSH",
            {"operation": "latest", "indicators": ["Ferritin", "TSH"]},
        ),
        ("Show my newest lab results", {"operation": "latest"}),
        ("我最新的体检数据", {"operation": "latest"}),
        ("我通常睡多久", {"operation": "aggregate", "indicators": ["Sleep duration"]}),
        ("How many steps do I do per day?", {"operation": "aggregate", "indicators": ["Steps"]}),
        ("我一天大概走几步", {"operation": "aggregate", "indicators": ["Steps"]}),
        ("Is my LDL under control?", {"operation": "latest", "indicators": ["LDL cholesterol"]}),
        ("倒数第二次的肌酐", {"operation": "readings", "indicators": ["Creatinine"], "limit": 2}),
        ("List all my TSH results", {"operation": "readings", "indicators": ["TSH"], "limit": 20}),
        ("What's my unicorn index?", {"operation": "latest", "indicators": ["unicorn index"]}),
    ],
)
def test_looks_up_once_what_is_asked(question: str, expected: Mapping[str, Any]) -> None:
    assert lookups(question) == [expected]


@pytest.mark.parametrize(
    ("question", "limits"),
    [
        ("How many times was my fasting glucose above 6.5 mmol/L?", {"above": 6.5, "unit": "mmol/L", "limit": 1}),
        ("我的空腹血糖有几次高于6.1？", {"above": 6.1, "limit": 1}),
        ("On which days was my fasting glucose below 70 mg/dL?", {"below": 70, "unit": "mg/dL", "limit": 20}),
        ("上个月有多少天步数超过一万？", {"above": 10000, "limit": 1}),
        ("血压有超过140的情况吗？", {"above": 140, "limit": 1}),
        ("这个月有几天走够8000步？", {"above": 7999.9999999, "limit": 1}),
        ("有多少天睡觉没睡到6小时？", {"below": 6, "unit": "h", "limit": 1}),
        ("How many days did I not reach 5000 steps?", {"below": 5000, "limit": 1}),
        ("How often did I walk at least 10,000 steps?", {"above": 9999.9999999, "limit": 1}),
    ],
)
def test_a_limit_filters_the_readings(question: str, limits: Mapping[str, Any]) -> None:
    (lookup,) = lookups(question)
    assert lookup["operation"] == "readings"
    assert {name: lookup.get(name) for name in limits} == limits


def test_blood_pressure_against_one_number_is_systolic_and_against_two_is_both() -> None:
    (one,) = lookups("Was my blood pressure ever above 140?")
    both = lookups("How often was my blood pressure above 140/90?")
    assert one["indicators"] == ["Systolic blood pressure"]
    assert [(x["indicators"], x["above"]) for x in both] == [
        (["Systolic blood pressure"], 140),
        (["Diastolic blood pressure"], 90),
    ]


def test_two_periods_are_looked_up_in_one_step() -> None:
    turn = ask("Compare my average steps this month with last month", query_result())
    assert [(x["start"], x["end"]) for x in turn.lookups] == [
        ("2026-03-01", "2026-03-18"),
        ("2026-02-01", "2026-02-28"),
    ]


def test_the_period_before_another_is_compared_with_it() -> None:
    turn = ask("Did I sleep longer in January than the month before?", query_result())
    assert [(x["start"], x["end"]) for x in turn.lookups] == [
        ("2026-01-01", "2026-01-31"),
        ("2025-12-01", "2025-12-31"),
    ]


@pytest.mark.parametrize("question", ["Was my weight higher in January or in February?", "一月和二月哪个月体重更重？"])
def test_which_of_two_periods_has_more_is_a_comparison(question: str) -> None:
    turn = ask(question, query_result())
    assert [(x["operation"], x["start"]) for x in turn.lookups] == [
        ("aggregate", "2026-01-01"),
        ("aggregate", "2026-02-01"),
    ]


def test_months_up_to_today_are_compared_with_as_many_months_before() -> None:
    turn = ask("我最近三个月的平均血糖和之前比怎么样？", query_result())
    assert [(x["start"], x["end"]) for x in turn.lookups] == [
        ("2025-12-18", "2026-03-18"),
        ("2025-09-18", "2025-12-17"),
    ]


def test_a_lone_period_is_compared_with_the_present_one() -> None:
    first, second = lookups("我的体重和去年相比怎么样？")
    assert (first["start"], first["end"]) == ("2025-01-01", "2025-12-31")
    assert (second["start"], second["end"]) == ("2026-01-01", "2026-03-18")


def test_two_wishes_with_their_own_indicators_are_two_lookups() -> None:
    first, second = lookups("What's my latest weight and my average heart rate last month?")
    assert first == {"operation": "latest", "indicators": ["Body weight"]}
    assert second["operation"] == "aggregate"
    assert second["start"] == "2026-02-01"


@pytest.mark.parametrize(
    "question", ["What is my father's blood pressure?", "我爸的血压怎么样？", "What is Martin's blood pressure?"]
)
def test_someone_elses_data_is_looked_up_by_the_key_they_share_under(question: str) -> None:
    (lookup,) = lookups(question, members=[MARTIN])
    assert lookup["member"] == "martin"


@pytest.mark.parametrize(
    "question",
    ["What is my mother's LDL?", "What's my dog's glucose?", "我邻居的血糖是多少？", "Query user bob's glucose"],
)
def test_nobodys_data_stands_in_for_someone_who_does_not_share(question: str) -> None:
    turn = ask(question, query_result(latest(6.4, "2026-03-10")), members=[MARTIN])
    assert turn.lookups == []
    assert "Martin (father)" in turn.text
    assert "6.4" not in turn.text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is bob's LDL?", ("Nobody called “bob” shares data with you.", "ask for “my …”")),
        ("小明的血糖是多少？", ("没有“小明”", "请用“我的……”提问")),
    ],
)
@pytest.mark.parametrize("members", [[], [MARTIN]])
def test_a_name_nobody_shares_under_may_be_the_askers_own(
    question: str, told: tuple[str, ...], members: list[Mapping[str, str]]
) -> None:
    turn = ask(question, query_result(latest(6.4, "2026-03-10")), members=members)
    assert turn.lookups == []
    assert all(part in turn.text for part in told)
    assert ("Martin (father)" in turn.text) is bool(members)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("最近三次的血压", 3),
        ("我最近两次的血压分别是多少", 2),
        ("最近十二次的血压", 12),
        ("最近两三次的血压", 3),
        ("近3次的血压", 3),
    ],
)
def test_how_many_readings_are_wanted_is_no_name(question: str, count: int) -> None:
    (lookup,) = lookups(question, members=[MARTIN])
    assert lookup == {"operation": "readings", "indicators": BLOOD_PRESSURE, "limit": count}


@pytest.mark.parametrize(
    "question", ["三天的血压", "五个月的血压", "两周的血压", "前十个的血压", "头三次的血压", "最近三个月的血压"]
)
def test_chinese_numerals_are_no_names(question: str) -> None:
    (lookup,) = lookups(question, members=[MARTIN])
    assert lookup["indicators"] == BLOOD_PRESSURE
    assert "member" not in lookup


@pytest.mark.parametrize("question", ["马丁最近三次的血压", "马丁最近十二次的血压", "马丁的血压"])
def test_a_chinese_name_before_a_number_of_readings_is_still_read(question: str) -> None:
    (lookup,) = lookups(question, members=[{"member": "m", "display_name": "马丁", "scope": "all"}])
    assert lookup["member"] == "m"


def test_a_chinese_name_may_hold_a_numeral() -> None:
    assert "“张三”" in ask("张三的血压", query_result(), members=[MARTIN]).text


LAST_TWO_MONTHS = {"start": "2026-01-18", "end": "2026-03-18"}
SYSTOLIC = {"indicators": ["Systolic blood pressure"]}


@pytest.mark.parametrize(
    "question",
    [
        "Was my systolic above 125 in the last 2 months and what was the average?",
        "What was my average systolic in the last 2 months and was it ever above 125?",
        "What was my average systolic in the last 2 months, and how often was it above 125?",
        "我的收缩压最近两个月有没有高于125，平均是多少？",
        "最近两个月我的收缩压平均是多少，有没有超过125？",
    ],
)
def test_readings_beyond_a_limit_and_an_average_are_two_wishes(question: str) -> None:
    beyond, average = lookups(question)
    assert beyond == {"operation": "readings", "above": 125, "limit": 1} | SYSTOLIC | LAST_TWO_MONTHS
    assert average == {"operation": "aggregate"} | SYSTOLIC | LAST_TWO_MONTHS


@pytest.mark.parametrize(
    "question",
    [
        "Is my average systolic above 125 in the last 2 months?",
        "Was the average of my systolic above 125 in the last 2 months?",
        "What is my average systolic in the last 2 months, and is it above 125?",
        "最近两个月我的平均收缩压高于125吗？",
    ],
)
def test_an_average_held_against_a_limit_is_one_wish(question: str) -> None:
    assert lookups(question) == [{"operation": "aggregate"} | SYSTOLIC | LAST_TWO_MONTHS]


def test_mine_and_my_fathers_are_both_looked_up() -> None:
    mine, his = lookups("Compare my father's fasting glucose with mine", members=[MARTIN])
    assert "member" not in mine
    assert his["member"] == "martin"


def test_who_shares_is_told_without_looking_at_data() -> None:
    turn = ask("Who shares data with me?", query_result(), members=[MARTIN])
    assert turn.lookups == []
    assert "Martin (father)" in turn.text


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        (
            "What was my average LDL in 2026?",
            "and last year?",
            {"operation": "aggregate", "indicators": ["LDL cholesterol"], "start": "2025-01-01", "end": "2025-12-31"},
        ),
        (
            "我今年的平均血糖是多少？",
            "那去年呢？",
            {"operation": "aggregate", "indicators": ["Glucose"], "start": "2025-01-01", "end": "2025-12-31"},
        ),
        (
            "What was my average LDL in 2025?",
            "and my HDL?",
            {"operation": "aggregate", "indicators": ["HDL cholesterol"], "start": "2025-01-01", "end": "2025-12-31"},
        ),
        ("What's my latest weight?", "How has it changed?", {"operation": "trend", "indicators": ["Body weight"]}),
    ],
)
def test_a_follow_up_takes_what_it_leaves_out_from_the_question_before(
    before: str, question: str, expected: Mapping[str, Any]
) -> None:
    assert lookups(question, earlier=earlier_turn(before)) == [expected]


def test_a_follow_up_stays_with_the_person_before() -> None:
    (lookup,) = lookups(
        "What about his weight?", earlier=earlier_turn("What's my father's blood pressure?"), members=[MARTIN]
    )
    assert lookup == {"operation": "latest", "indicators": ["Body weight"], "member": "martin"}


def test_the_assistants_own_words_are_no_question() -> None:
    earlier = earlier_turn("What's my latest HbA1c?", "You could ask: How is my fasting glucose trending?")
    (lookup,) = lookups("What's my latest LDL?", earlier=earlier)
    assert lookup["indicators"] == ["LDL cholesterol"]


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Tell me a joke",
        "asdkjh qwe",
        "🙂🙂",
        "",
        "Hello!",
        "你好",
        "What can you do?",
        "What is glucose?",
        "What will my glucose be next month?",
        "What was my glucose on February 30, 2026?",
        "明天我的血糖会是多少？",
    ],
)
def test_nothing_is_looked_up_and_no_number_said_for_what_has_no_answer(question: str) -> None:
    turn = ask(question, query_result(latest(6.4, "2026-03-10")))
    assert turn.lookups == []
    assert turn.text
    assert not {c for c in turn.text if c.isdigit()} - set(question)


def test_nothing_is_looked_up_twice() -> None:
    def data(arguments: Arguments) -> Any:
        return query_result(trend() if arguments["operation"] == "trend" else figures())

    turn = ask("Is my fasting glucose rising, and how has my fasting glucose changed?", data)
    assert len(turn.lookups) == 1
