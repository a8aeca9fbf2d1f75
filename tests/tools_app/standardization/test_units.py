"""How written units become UCUM codes, and which are left alone because they could mean two things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ucumvert import get_ucum_parser

from tools_app.standardization import ucum_unit
from tools_app.standardization.unit_table import ANY_CASE, WRITTEN_AS

PARSER = get_ucum_parser()


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("g/dl", "g/dL"), ("G/DL", "g/dL"), ("MMOL/L", "mmol/L"), ("mg/dl", "mg/dL"), ("mg/100mL", "mg/dL"),
        ("mg%", "mg/dL"),
        ("μmol/L", "umol/L"), ("µmol/L", "umol/L"), ("mcg/L", "ug/L"), ("ug/L", "ug/L"), ("ｍｍｏｌ／Ｌ", "mmol/L"),
        ("㎎/㎗", "mg/dL"),
        ("mmHg", "mm[Hg]"), ("mm[Hg]", "mm[Hg]"), ("毫米汞柱", "mm[Hg]"),
        ("10^9/L", "10*9/L"), ("10*9/L", "10*9/L"), ("x10^9/L", "10*9/L"), ("×10⁹/L", "10*9/L"), ("x 10^9/L", "10*9/L"),
        ("K/uL", "10*3/uL"), ("10^12/L", "10*12/L"), ("/μL", "/uL"),
        ("bpm", "/min"), ("次/分", "/min"), ("/min", "/min"), ("{beats}/min", "{beats}/min"),
        ("℃", "Cel"), ("°C", "Cel"), ("C", "Cel"), ("°F", "[degF]"), ("F", "[degF]"), ("℉", "[degF]"),
        ("lb", "[lb_av]"), ("lbs", "[lb_av]"), ("公斤", "kg"), ("kg", "kg"), ("KG", "kg"), ("cm", "cm"),
        ("in", "[in_i]"),
        ("IU/L", "[IU]/L"), ("U/L", "U/L"), ("mIU/L", "m[IU]/L"), ("uIU/mL", "u[IU]/mL"), ("μIU/mL", "u[IU]/mL"),
        ("%", "%"), ("％", "%"), ("步", "{steps}"), ("steps", "{steps}"), ("{steps}", "{steps}"),
        ("小时", "h"), ("h", "h"), ("min", "min"), ("分钟", "min"), ("mm/h", "mm/h"), ("mm/hr", "mm/h"),
        ("fL", "fL"), ("fl", "fL"), ("pg", "pg"), ("g/L", "g/L"), ("g/l", "g/L"), ("mEq/L", "meq/L"),
        ("mL/min/1.73m²", "mL/min/{1.73_m2}"), ("kg/m²", "kg/m2"), ("kg/㎡", "kg/m2"), ("mg/L FEU", "mg/L{FEU}"),
        ("m2", "m2"), ("cm2", "cm2"), ("mm3", "mm3"), ("um3", "um3"), ("mL/m2", "mL/m2"),
        ("[CFU]/10*3", "[CFU]/10*3"), ("mmol.L-1", "mmol.L-1"),
        ("ug.m-3", "ug.m-3"), ("m/s2", "m/s2"), ("cm[H2O]", "cm[H2O]"),
        ("mL/min/1.73 m2", "mL/min/{1.73_m2}"), ("/100 WBC", "/100{WBCs}"), ("mg/24 h", "mg/(24.h)"),
        ("nmol/l", "nmol/L"), ("mmol/mol", "mmol/mol"), ("kcal", "kcal"), ("千卡", "kcal"), ("ml/kg/min", "mL/kg/min"),
    ],
)  # fmt: skip
def test_reads_a_written_unit(written, unit):
    assert ucum_unit(written) == unit


@pytest.mark.parametrize(
    "written",
    [
        None, "", " ", "斤", "度", "G/L", "Mmol/L", "Mg/dL", "MU/L", "Pmol/L", "mg/d", "ｍｇ／ｄ", "ng/m", "109/L",
        "/80", "80",
        "m75", "st5", "st 5", "ft9", "ft 9", "h30", "kg500", "kg.500", "kg2", "cm5", "mg/L3", "%5", "m 75", "s60",
        "g-5", "10*9/L5", "[ft_i]9", "mmol/L.2",
        "H", "cal", "st", "mgdL", "unknown", "mmol//L", "mmol/L high", "5 mmol/L", "x" * 41, "mmol/L\x00",
    ],
)  # fmt: skip
def test_a_doubtful_unit_is_not_guessed(written):
    assert ucum_unit(written) is None


@pytest.mark.parametrize("unit", sorted({*WRITTEN_AS, *ANY_CASE}))
def test_every_unit_of_the_table_is_ucum_and_stands_for_itself(unit):
    PARSER.parse(unit)

    assert ucum_unit(unit) == unit


def test_a_spelling_has_one_meaning():
    spellings = [form for forms in WRITTEN_AS.values() for form in forms]

    assert sorted(spellings) == sorted(set(spellings))


@pytest.mark.parametrize("form", sorted({form for forms in WRITTEN_AS.values() for form in forms}))
def test_every_spelling_of_the_table_is_reached(form):
    assert ucum_unit(form) in WRITTEN_AS


@given(st.text())
def test_any_text_is_read_or_left(written):
    unit = ucum_unit(written)

    assert unit is None or ucum_unit(unit) == unit


@given(st.text(alphabet="mgdLlMGUI[]{}/.*^0123456789µ%()- ", max_size=12))
def test_any_unit_like_text_gives_valid_ucum_or_nothing(written):
    unit = ucum_unit(written)

    if unit is not None:
        PARSER.parse(unit)
