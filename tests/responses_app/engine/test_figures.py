"""Which numbers a text states: with their units, and without dates, times, ordinals and names that hold digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_app.engine.figures import figures_in

STATED = {
    "Your ferritin is 51.5 ng/mL.": [("51.5", 51.5, "ng/mL")],
    "血糖为6.7 mmol/L": [("6.7", 6.7, "mmol/L")],
    "**6.7 mmol/L**": [("6.7", 6.7, "mmol/L")],
    "| 6.7 | mmol/L |": [("6.7", 6.7, "mmol/L")],
    "129/82 mmHg": [("129", 129, None), ("82", 82, "mm[Hg]")],
    "between 3.9–6.1 mmol/L": [("3.9", 3.9, None), ("6.1", 6.1, "mmol/L")],
    "8,213 steps": [("8,213", 8213, "{steps}")],
    "1,234,567": [("1,234,567", 1234567, None)],
    "8\u202f213 steps": [("8\u202f213", 8213, "{steps}")],
    "1.2万步": [("1.2万", 12000, "{steps}")],
    "5k steps, 3 million": [("5k", 5000, "{steps}"), ("3 million", 3000000, None)],
    "up 3.2% and 百分之三十": [("3.2", 3.2, "%"), ("百分之三十", 30, "%")],
    "测量了十二次，两天": [("十二", 12, None), ("两", 2, "d")],
    "一百二十步、三万步": [("一百二十", 120, "{steps}"), ("三万", 30000, "{steps}")],
    "7 h 12 min": [("7 h 12 min", 432, "min")],
    "睡了7小时5分钟": [("7小时5分钟", 425, "min")],
    "３．５％": [("３．５", 3.5, "%")],
    "a change of −3 kg": [("−3", 3, "kg")],
    "6.1 × 10^9/L, 5.4×10⁹/L": [("6.1", 6.1, "10*9/L"), ("5.4", 5.4, "10*9/L")],
    "eGFR 88 mL/min/1.73m²": [("88", 88, "mL/min/{1.73_m2}")],
    "2025 steps in 2025": [("2025", 2025, "{steps}")],
    "12 fasting readings": [("12", 12, None)],
    "😀 is 5.4 mmol/L": [("5.4", 5.4, "mmol/L")],
}
LEFT_ASIDE = [
    "on 2026-11-02 at 08:30, 2026-11-02T08:30:00Z",
    "in 2025, 2026-W09, 2026-Q1, 2026/03",
    "May 5, 2026; 5 May 2026; March 1–5; Sept. 2026; 3rd of June",
    "2026年3月5日，3月，11月5日，5号",
    "at 8:30 pm, 7 am, 8点30分",
    "1. First\n2. Second\n  3) Third\n4、第四",
    "the 2nd time, 第3次, 第十二天, No. 4, #5",
    "HbA1c, B12, COVID-19, IL-6, T3, CA-125, 25-OH vitamin D, LOINC 1558-6",
    "type 2 diabetes, stage 3, Phase 2, 2型糖尿病",
    "over the last 3 months, 30 days ago, a 7-day stretch, 最近三个月, 近30天, 两周前",
    "https://example.org/a/very/long/path/of/12345/678 and lit:PMC123 and trial:NCT01234567",
    "doi 10.1000/182.5",
    "as known [1], [2, 3]",
    "一般、一些、一直、十分",
    "no number at all",
]


@pytest.mark.parametrize("text", STATED)
def test_numbers_are_found_where_they_stand(text: str) -> None:
    found = [(text[one.start : one.end], one.value, one.unit) for one in figures_in(text)]
    assert found == STATED[text]


@pytest.mark.parametrize("text", LEFT_ASIDE)
def test_what_is_no_figure_is_left_aside(text: str) -> None:
    assert [text[one.start : one.end] for one in figures_in(text)] == []


@given(st.text("0123456789.,-%/:[]#^* \n年月日次万一二十百分之mgLMay ", max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    places = [place for one in figures_in(text) for place in (one.start, one.end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


@given(st.integers(0, 10**9), st.integers(0, 3))
def test_a_number_is_read_however_it_is_written(number: int, decimals: int) -> None:
    value = number / 10**decimals
    for written in (f"{value:.{decimals}f}", f"{value:,.{decimals}f}"):
        (figure,) = figures_in(f"It is {written} kg.")
        assert (figure.value, figure.unit) == (float(f"{value:.{decimals}f}"), "kg")
