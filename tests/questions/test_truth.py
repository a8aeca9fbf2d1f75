"""The examiners' own tools over hand-made rows: expected figures, the reading of answers, right told from wrong."""

import json
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.questions import truth
from tests.questions.reading import StatedDate, read
from tests.questions.units import convert, unit_named
from tests.questions.verdict import Case, direction_stated, faults, invented_numbers

TODAY = date(2026, 3, 16)
ENTRIES = json.loads((Path(__file__).parent / "answerable.json").read_text(encoding="utf-8"))


def row(indicator: str, value: float | str, unit: str, day: str, **more: Any) -> dict[str, Any]:
    """A row of GET /v1/data as far as the examiners look at it."""
    number = None if isinstance(value, str) else value
    written = f"{value} {unit}".strip()
    empty = {"loinc_code": None, "canonical_name": None, "reference_low": None, "reference_high": None}
    return empty | {
        "indicator": indicator,
        "value": written,
        "parsed_value": number,
        "parsed_unit": unit or None,
        "time": day,
        **more,
    }


GLUCOSE = [
    row("Fasting glucose", 5.2, "mmol/L", "2025-09-10"),
    row("空腹血糖", 5.4, "mmol/L", "2025-10-10"),
    row("GLU fasting", 100.9, "mg/dL", "2025-11-10", loinc_code="1558-6"),
    row("Fasting glucose", 6.0, "mmol/L", "2025-12-10"),
    row("Fasting glucose", 6.3, "mmol/L", "2026-01-10"),
    row("Fasting glucose", 6.5, "mmol/L", "2026-02-10"),
    row("Fasting glucose", 6.7, "mmol/L", "2026-03-09", reference_low=3.9, reference_high=6.1),
]


def case(spec: Mapping[str, Any], rows: list[dict[str, Any]] | None = None, question: str = "?", **filled: Any) -> Case:
    return Case(question, spec, GLUCOSE if rows is None else rows, TODAY, filled)


# Rows to figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "unit", "into", "substance", "expected"),
    [
        (97.28424, "mg/dL", "mmol/L", "glucose", 5.4),
        (116.01, "mg/dL", "mmol/L", "cholesterol", 3.0),
        (177.14, "mg/dL", "mmol/L", "triglycerides", 2.0),
        (90, "min", "h", None, 1.5),
        (14.1, "g/dL", "g/L", None, 141),
    ],
)
def test_units_convert(number: float, unit: str, into: str, substance: str | None, expected: float) -> None:
    assert convert(number, unit, into, substance) == pytest.approx(expected)


def test_what_does_not_measure_the_same_does_not_convert() -> None:
    assert convert(97, "mg/dL", "mmol/L", None) is None
    assert convert(97, "kg", "mmol/L", "glucose") is None


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("mm[Hg]", "mmHg"),
        ("µmol/L", "umol/L"),
        ("{steps}/d", "steps"),
        ("次/分钟", "/min"),
        ("公斤", "kg"),
        ("x", None),
    ],
)
def test_unit_spellings(written: str, unit: str | None) -> None:
    assert unit_named(written) == unit


def test_a_series_takes_its_rows_by_name_and_code_in_one_unit() -> None:
    series = truth.measurements([*reversed(GLUCOSE), row("Body weight", 80.1, "kg", "2026-03-01")], "fasting_glucose")

    assert [one.number for one in series] == pytest.approx([5.2, 5.4, 5.6007, 6.0, 6.3, 6.5, 6.7], abs=1e-4)
    assert [one.converted for one in series] == [False, False, True, False, False, False, False]
    assert series[-1].limits == (3.9, 6.1)


def test_the_day_is_the_day_in_utc() -> None:
    night = row("Body weight", 80.1, "kg", "2026-03-01T01:00:00+08:00")

    assert truth.measurements([night], "weight")[0].day == date(2026, 2, 28)


def test_a_unit_nobody_can_compare_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="does not convert"):
        truth.measurements([row("Body weight", 80.1, "cm", "2026-03-01")], "weight")


def test_figures_leave_out_what_cannot_be_compared() -> None:
    rows = [
        row("hs-CRP", 1.0, "mg/L", "2025-10-01"),
        row("hs-CRP", "<0.5", "mg/L", "2025-11-01"),
        row("hs-CRP", 2.0, "mg/L", "2025-12-01"),
    ]
    series = truth.measurements(rows, "hs_crp")

    assert truth.average(series) == 1.5
    assert [one.day for one in truth.extremes(series, min)] == [date(2025, 10, 1)]
    assert series[1].comparator == "<"
    assert truth.beyond(series, "below", 1.5) == series[:1]


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("last_month", date(2026, 2, 1), date(2026, 2, 28)),
        ("month_before_last", date(2026, 1, 1), date(2026, 1, 31)),
        ("last_year", date(2025, 1, 1), date(2025, 12, 31)),
        ("this_year", date(2026, 1, 1), TODAY),
        ("in_month", date(2025, 11, 1), date(2025, 11, 30)),
    ],
)
def test_calendar_ranges(name: str, first: date, last: date) -> None:
    assert truth.spans(name, TODAY, {"day": date(2025, 11, 10)}) == [(first, last)]


def test_rolling_ranges_have_the_few_readings_a_person_would_accept() -> None:
    assert truth.spans("past_30_days", TODAY, {}) == [(date(2026, 2, 14), TODAY), (date(2026, 2, 15), TODAY)]
    starts = [first for first, _ in truth.spans("past_6_months", TODAY, {})]
    assert starts == [date(2025, 9, 16), date(2025, 9, 17), date(2025, 9, 18)]
    assert truth.spans("before_past_6_months", TODAY, {})[0] == (date(2025, 3, 16), date(2025, 9, 15))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.2, 5.4, 5.6, 6.0, 6.3, 6.5, 6.7], {"rising"}),
        ([90.0, 89.2, 88.1, 87.3, 86.0], {"falling"}),
        ([5.0, 5.2, 5.0, 5.2, 5.0], {"stable"}),
        ([5.0, 5.3, 5.1, 5.4, 5.2, 5.3], {"rising", "stable"}),
    ],
)
def test_directions(values: list[float], expected: set[str]) -> None:
    rows = [
        row("Body weight", value, "kg", str(date(2026, 1, 1) + timedelta(days=7 * week)))
        for week, value in enumerate(values)
    ]
    assert truth.directions(truth.measurements(rows, "weight")) == expected


def test_placeholders_are_filled_so_that_there_is_an_answer() -> None:
    filled = truth.fill(GLUCOSE, {"series": "fasting_glucose", "lone_in_month": -2}, TODAY)
    assert (filled["date"], filled["month_en"], filled["month_zh"]) == ("2026-02-10", "February 2026", "2026年2月")
    assert filled["date_en"] == "February 10, 2026"
    limit = {"series": "fasting_glucose", "limit_leaving": 2, "side": "above", "range": "all"}
    assert truth.fill(GLUCOSE, limit, TODAY) == {"limit": 6.4}
    assert truth.fill([], {"months_back": [2, 8]}, TODAY)["other_month_en"] == "July 2025"


def test_a_limit_equals_no_value() -> None:
    assert truth.limit_leaving([5.0, 5.1, 5.2], 1, "above") == 5.15
    assert truth.limit_leaving([5.0, 5.1, 5.1], 1, "above") == 5.05


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])
def test_every_placeholder_has_a_filling_and_every_series_is_known(entry: dict[str, Any]) -> None:
    filled = {"date", "date_en", "date_zh", "month_en", "month_zh", "other_month_en", "other_month_zh", "limit"}
    names = [
        *entry["truth"].get("series", []),
        *([entry["fill"]["series"]] if "series" in entry.get("fill", {}) else []),
    ]

    assert all(phrasing.format(**dict.fromkeys(filled, "x")) for phrasing in entry["phrasings"])
    assert any("{" in phrasing for phrasing in entry["phrasings"]) == ("fill" in entry)
    assert len(set(entry["phrasings"])) == 3
    assert set(names) <= set(truth.SERIES)


# Reading answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number", "unit", "role"),
    [
        ("It was **5.4** mmol/L.", 5.4, "mmol/L", "value"),
        ("空腹血糖为6.7 mmol/L。", 6.7, "mmol/L", "value"),
        ("You took 12,345 steps.", 12345, "steps", "value"),
        ("平均每天 8,123 步", 8123, "steps", "value"),
        ("| Weight | 81.3 | kg |", 81.3, "kg", "value"),
        ("静息心率 61 次/分钟", 61, "/min", "value"),
        ("WBC 5.6 10*9/L", 5.6, "10*9/L", "value"),
        ("TSH: 2.1 mIU/L", 2.1, "mIU/L", "value"),
        ("肌酐 71 µmol/L", 71, "umol/L", "value"),
        ("changed by -3.2%", -3.2, "%", "value"),
        ("HbA1c is 6.1 %", 6.1, "%", "value"),
        ("平均 7.2 小时", 7.2, "h", "value"),
        ("over 12 fasting glucose readings", 12, None, "count"),
        ("共测了 5 次", 5, None, "count"),
        ("in the past 30 days", 30, None, "span"),
        ("最近 6 个月", 6, None, "span"),
        ("the value is 7", 7, None, "value"),
    ],
)
def test_one_figure_is_read(text: str, number: float, unit: str | None, role: str) -> None:
    (figure,) = read(text).figures
    assert (figure.number, figure.unit, figure.role) == (number, unit, role)


def test_hours_and_minutes_are_one_figure() -> None:
    (figure,) = read("You slept 7 h 12 min.").figures
    assert figure.number == pytest.approx(7.2)
    assert figure.unit == "h"


def test_paired_numbers_share_a_unit() -> None:
    figures = read("Blood pressure 121/79 mmHg (reference 90–120 mmHg)").figures
    assert [(figure.number, figure.unit) for figure in figures] == [
        (121, "mmHg"),
        (79, "mmHg"),
        (90, "mmHg"),
        (120, "mmHg"),
    ]
    assert [figure.role for figure in read("3 of 12 readings").figures] == ["count", "count"]


def test_what_was_below_detection_keeps_its_sign() -> None:
    assert [read(text).figures[0].comparator for text in ("<0.5 mg/L", "低于 0.5 mg/L", "0.5 mg/L")] == ["<", "<", None]


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-03-09",
        "at 2026-03-09T08:00:00+08:00",
        "on March 9, 2026",
        "on 9 March 2026",
        "on Mar 9th",
        "2026年3月9日",
        "3月9日",
        "2026/03/09 08:00",
    ],
)
def test_a_day_is_read_and_leaves_no_figure(text: str) -> None:
    reading = read(text)
    assert [stated.is_day(date(2026, 3, 9)) for stated in reading.dates] == [True]
    assert reading.figures == ()
    assert not reading.dates[0].is_day(date(2026, 3, 8))


def test_longer_stretches_and_lists_of_days_are_read() -> None:
    assert read("in March 2026, 2026年2月, 2026-01, 2025年 and 2024").dates == (
        StatedDate(2026, 1),
        StatedDate(2026, 2),
        StatedDate(2026, 3),
        StatedDate(2025),
        StatedDate(2024),
    )
    assert [stated.day for stated in read("2026年3月1日、5日和9日").dates] == [1, 5, 9]
    assert [stated.day for stated in read("March 1–5, 2026").dates] == [1, 5]
    assert StatedDate(2026, 2).touches(date(2026, 2, 28), date(2026, 3, 5))
    assert not StatedDate(2026, 2).touches(date(2026, 3, 1), date(2026, 3, 5))


def test_charts_list_numbers_and_names_are_no_figures() -> None:
    chart = '```vis-chart\n{"data": [{"time": "2026-01", "value": 9.9}]}\n```'
    text = f"1. HbA1c\n2. 25-OH vitamin D (LOINC 1989-3)\n{chart}\n"
    assert read(text).figures == ()
    assert read(text).dates == ()


# Right and wrong answers ----------------------------------------------------------------------------------------------

LATEST = {"op": "latest", "series": ["fasting_glucose"]}


@pytest.mark.parametrize(
    "answer",
    [
        "Your latest fasting glucose was **6.7 mmol/L** on 2026-03-09 (reference 3.9–6.1 mmol/L).",
        "最近一次空腹血糖是 6.7 mmol/L(2026年3月9日),高于参考上限 6.1。",
        "6.70 mmol/L (120.7 mg/dL), March 9, 2026",
    ],
)
def test_right_latest_answers(answer: str) -> None:
    assert faults(answer, case(LATEST)) == []


@pytest.mark.parametrize(
    "answer",
    [
        "Your latest fasting glucose was 6.6 mmol/L on 2026-03-09.",
        "Your latest fasting glucose was 6.7 mg/dL on 2026-03-09.",
        "Your latest fasting glucose was 6.7 on 2026-03-09.",
        "Your latest fasting glucose was 7 mmol/L on 2026-03-09.",
        "Your latest fasting glucose was 6.7 mmol/L.",
        "Your latest fasting glucose was 6.7 mmol/L on 2026-03-08.",
        "Your latest fasting glucose was < 6.7 mmol/L on 2026-03-09.",
        "It was 6.7 mmol/L on 2026-03-09 and 6.5 mmol/L before.",
        "It was 6.7 mmol/L on 2026-03-09; the one before was on 2026-02-10.",
        "I do not know.",
        "",
    ],
)
def test_wrong_latest_answers(answer: str) -> None:
    assert faults(answer, case(LATEST))


TEXT_ROWS = [row("尿糖", "阴性", "", "2026-01-05"), row("Urine glucose", "positive", "", "2025-07-05")]
CRP_ROWS = [row("hs-CRP", "<0.5", "mg/L", "2026-01-05")]
STEP_ROWS = [row("Steps", 8000 + day, "{steps}", f"2026-02-{day:02}") for day in (1, 2, 4)] + [
    row("Steps", 6000 + day, "{steps}", f"2026-01-{day:02}") for day in (1, 3)
]
SLEEP_ROWS = [
    row("Sleep duration", hours, "h", f"2026-03-{day:02}") for day, hours in ((1, 7.5), (3, 5.1), (8, 5.5), (9, 6.9))
]
IN_JANUARY = {"day": date(2026, 1, 5)}
AVERAGE = {"op": "average", "series": ["steps"], "range": "last_month"}
MAXIMUM = {"op": "maximum", "series": ["fasting_glucose"], "range": "last_year"}
COUNT = {"op": "count", "series": ["fasting_glucose"], "range": "past_12_months"}
ABOVE = {"op": "count_above", "series": ["fasting_glucose"], "limit": 6.1, "range": "all"}
ANY_ABOVE = {"op": "any_above", "series": ["fasting_glucose"], "limit": 6.1, "range": "all"}
DAYS = {"op": "days_below", "series": ["sleep"], "limit": 6.0, "range": "past_30_days"}
COMPARE = {"op": "compare", "series": ["steps"], "range": "last_month", "against": "month_before_last"}
TREND = {"op": "trend", "series": ["fasting_glucose"], "range": "past_6_months"}
JUDGED = [
    (
        case({"op": "latest_text", "series": ["urine_glucose"]}, TEXT_ROWS),
        ["最近一次尿糖为阴性(2026-01-05)。", "Negative, on 5 January 2026"],
        [
            "阳性(2026-01-05)",
            "阴性",
            "阴性(2025-07-05)",
            "Negative on 2026-01-05, 5.0 mmol/L",
            "positive, negative 2026-01-05",
        ],
    ),
    (
        case({"op": "at", "series": ["hs_crp"], "range": "in_month"}, CRP_ROWS, **IN_JANUARY),
        ["hs-CRP in January 2026: <0.5 mg/L", "2026年1月5日的超敏C反应蛋白低于 0.5 mg/L"],
        [
            "hs-CRP in January 2026: 0.5 mg/L",
            "hs-CRP: <0.5 mg/L",
            "<0.5 mg/L in December 2025",
            "<0.5 mg/L on 2026-01-06",
        ],
    ),
    (
        case(AVERAGE, STEP_ROWS),
        ["On average 8,002 steps a day last month.", "2026年2月平均 8002.3 步/天,共 3 次记录"],
        [
            "8,003 steps",
            "8,002",
            "8,002 steps, at most 8,004 steps",
            "8,002 steps over 4 readings",
            "8,002 steps in January 2026... and 2025-11",
        ],
    ),
    (
        case(MAXIMUM),
        ["The highest was 6.0 mmol/L on 2025-12-10.", "最高 6 mmol/L,2025年12月10日"],
        [
            "6.0 mmol/L",
            "6.0 mmol/L on 2025-12-11",
            "6.7 mmol/L on 2026-03-09",
            "6.0 mmol/L on 2025-12-10, lowest 5.2 mmol/L",
        ],
    ),
    (
        case(COUNT),
        ["You had 7 readings.", "共 7 次"],
        ["8 readings", "Many readings", "7 readings, the latest 6.7 mmol/L", "7 readings since 2019-01-01"],
    ),
    (
        case(ABOVE, question="How many were above 6.1?"),
        ["3 of 7 readings were above 6.1 mmol/L.", "有 3 次超过 6.1 mmol/L"],
        ["4 of 7 readings were above 6.1 mmol/L.", "They were above 6.1", "3 times: 6.3, 6.5 and 6.7 mmol/L"],
    ),
    (
        case(ANY_ABOVE, question="Ever above 6.1?"),
        ["Yes, 3 of 7 readings were above 6.1 mmol/L.", "有:6.3、6.5、6.7 mmol/L"],
        ["No, though 3 readings were", "没有", "Yes.", "Yes, 3 readings, the lowest 5.2 mmol/L", "Yes, 4 readings"],
    ),
    (
        case(DAYS, SLEEP_ROWS, question="Less than 6.0 hours?"),
        ["On 2026-03-03 (5.1 h) and 2026-03-08 (5.5 h).", "3月3日、8日,共 2 天"],
        ["On 2026-03-03.", "On 2026-03-03, 2026-03-08 and 2026-03-09", "2026-03-03 (5.1 h), 2026-03-08 (6.9 h)"],
    ),
    (
        case(COMPARE, STEP_ROWS),
        ["February 2026: 8,002 steps, January 2026: 6,002 steps, 2,000.3 steps more (33.3 %)."],
        [
            "8,002 steps in February 2026",
            "8,002 steps against 6,003 steps",
            "8,002 steps, 6,002 steps, 25 steps more",
            "8,002 steps, 6,002 steps, 40% more",
            "8,002 steps, 6,002 steps in May 2025",
        ],
    ),
    (
        case(TREND),
        ["It is rising: from 5.4 mmol/L to 6.7 mmol/L on 2026-03-09 (+24%).", "呈上升趋势,最新 6.7 mmol/L(2026-03-09)"],
        [
            "It is falling, 6.7 mmol/L on 2026-03-09",
            "It is not rising. 6.7 mmol/L on 2026-03-09",
            "It is rising.",
            "It is rising, 6.7 mmol/L",
            "It is rising: 5.4, 5.6, 5.7, 5.8, 6.0, 6.3, 6.7 mmol/L, on 2026-03-09",
            "It is rising, from 2.2 mmol/L to 6.7 mmol/L on 2026-03-09",
        ],
    ),
    (
        case({"op": "overview"}, [*STEP_ROWS, *SLEEP_ROWS, *TEXT_ROWS, *CRP_ROWS, *GLUCOSE]),
        ["Steps (5 readings), sleep duration (4), urine glucose, hs-CRP and fasting glucose, since 2025-07-05"],
        [
            "Steps (6 readings), sleep duration, urine glucose, hs-CRP and fasting glucose",
            "Steps (5 readings) and sleep",
            "Steps, sleep duration, urine glucose, hs-CRP and fasting glucose",
            "Steps, sleep duration, urine glucose, hs-CRP, fasting glucose: 6.7 mmol/L on 2026-03-09",
            "Steps, sleep duration, urine glucose, hs-CRP and fasting glucose since 2019-01-01",
        ],
    ),
]


def _name(parameter: Case | str) -> str:
    return parameter if isinstance(parameter, str) else str(parameter.spec["op"])


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(asked, answer) for asked, right, _ in JUDGED for answer in right],
    ids=_name,
)
def test_right_answers_have_no_faults(asked: Case, answer: str) -> None:
    assert faults(answer, asked) == []


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(asked, answer) for asked, _, wrong in JUDGED for answer in wrong],
    ids=_name,
)
def test_wrong_answers_have_faults(asked: Case, answer: str) -> None:
    assert faults(answer, asked)


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("It isn't rising, it is stable.", "stable"),
        ("没有明显变化", "stable"),
        ("没有上升,而是下降", "falling"),
        ("Your weight went down", "falling"),
        ("There is no clear trend", "stable"),
        ("Nothing to say", None),
    ],
)
def test_the_direction_claimed(text: str, direction: str | None) -> None:
    assert direction_stated(text) == direction


def test_invented_numbers_are_those_neither_asked_nor_dates() -> None:
    question = "What was my PSA 17 days ago?"
    assert (
        invented_numbers("There is no PSA. Your data starts on 2024-03-01; ask about the past 30 days.", question) == []
    )
    assert invented_numbers("17", question) == []
    assert invented_numbers("17", question, may_repeat=False) == [17]
    assert invented_numbers("Your PSA was 2.5 ng/mL, 3 readings.", question) == [2.5, 3]
