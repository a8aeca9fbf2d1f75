"""How written names, with their units, find LOINC concepts, and when they find none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_app.standardization import concepts, concepts_matching, concepts_named, find_concept


def code(indicator: str, unit: str | None) -> str | None:
    concept = find_concept(indicator, unit)
    return concept.code if concept else None


@pytest.mark.parametrize(
    ("indicator", "unit", "expected"),
    [
        ("blood glucose", "mg/dL", "2345-7"), ("blood glucose", "mmol/L", "14749-6"), ("血糖", "mmol/L", "14749-6"),
        ("空腹血糖", "mmol/L", "14771-0"), ("fasting glucose", "mg/dL", "1558-6"),
        ("Glucose (fasting)", "mg/dL", "1558-6"),
        ("血糖（空腹）", "mmol/L", "14771-0"), ("餐后2小时血糖", "mg/dL", "1521-4"),
        ("总胆固醇", "mmol/L", "14647-2"), ("cholesterol", "mg/dL", "2093-3"), ("總膽固醇", "mmol/L", "14647-2"),
        ("低密度脂蛋白胆固醇", "mmol/L", "22748-8"), ("LDL-C", "mg/dL", "2089-1"),
        ("calculated LDL", "mg/dL", "13457-7"),
        ("ＨＤＬ－Ｃ", "mmol/L", "14646-4"), ("甘油三酯", "mmol/L", "14927-8"),
        ("肌酐", "umol/L", "14682-9"), ("creatinine", "mg/dL", "2160-0"),
        ("magnesium", "mg/dL", "19123-9"), ("magnesium", "mmol/L", "2601-3"), ("sodium", "meq/L", "2951-2"),
        ("HbA1c", "%", "4548-4"), ("A1c", "%", "4548-4"), ("Hb A1c", "%", "4548-4"),
        ("糖化血红蛋白", "mmol/mol", "59261-8"),
        ("Hb", "g/L", "718-7"), ("血红蛋白", "g/dL", "718-7"), ("HbA", "%", "4546-8"), ("HbA2", "%", "4551-8"),
        ("收缩压", "mm[Hg]", "8480-6"), ("高压", "mm[Hg]", "8480-6"), ("SBP", "mm[Hg]", "8480-6"),
        ("舒张压", "mm[Hg]", "8462-4"), ("低压", "mm[Hg]", "8462-4"), ("DBP", "mm[Hg]", "8462-4"),
        ("血压", "mm[Hg]", "85354-9"),
        ("hs-CRP", "mg/L", "30522-7"), ("CRP", "mg/L", "1988-5"), ("rheumatoid factor", "[IU]/mL", "11572-5"),
        ("WBC", "10*9/L", "6690-2"), ("eosinophils", "10*9/L", "711-2"), ("eosinophils", "%", "713-8"),
        ("platelets", "/uL", "777-3"),
        ("PCT", "ng/mL", "33959-8"), ("PCT", "%", "51637-7"),
        ("ALT", "[IU]/L", "1742-6"), ("TSH", "mU/L", "3016-3"), ("B12", "ug/L", "2132-9"),
        ("体温", "Cel", "8310-5"), ("body temperature", "[degF]", "8310-5"), ("weight", "[lb_av]", "29463-7"),
        ("height", "cm", "8302-2"),
        ("resting heart rate", "/min", "40443-4"), ("heart rate", "{beats}/min", "8867-4"),
        ("步数", "{steps}", "55423-8"),
        ("sleep duration", "h", "93832-4"), ("SpO2", "%", "59408-5"), ("2345-7", "mg/dL", "2345-7"),
        ("Creatinine [Moles/volume] in Serum or Plasma", "umol/L", "14682-9"),
    ],
)  # fmt: skip
def test_name_and_unit_find_the_code(indicator, unit, expected):
    assert code(indicator, unit) == expected


@pytest.mark.parametrize(
    ("indicator", "unit", "expected"),
    [
        ("serum creatinine", "umol/L", "14682-9"),
        ("Creatinine, plasma", "umol/L", "14682-9"),
        ("血清肌酐", "umol/L", "14682-9"),
        ("creatinine in urine", "mmol/L", "14683-7"),
        ("Urine creatinine", "mmol/L", "14683-7"),
        ("尿肌酐", "mmol/L", "14683-7"),
        ("fasting plasma glucose", "mmol/L", "14771-0"),
        ("Glucose, urine", "mg/dL", "2350-7"),
        ("尿酸", "umol/L", "14933-6"),
        ("cholesterol level", "mmol/L", "14647-2"),
    ],
)
def test_specimen_and_state_may_stand_anywhere(indicator, unit, expected):
    assert code(indicator, unit) == expected


@pytest.mark.parametrize(
    ("indicator", "expected"),
    [("尿糖", "25428-4"), ("尿蛋白", "20454-5"), ("TSH", "3016-3"), ("steps", "55423-8"), ("body weight", "29463-7")],
)
def test_without_unit_a_name_with_one_possible_code_finds_it(indicator, expected):
    assert code(indicator, None) == expected


@pytest.mark.parametrize("indicator", ["creatinine", "glucose", "总胆固醇", "HbA1c", "neutrophils", "PCT"])
def test_without_unit_a_name_with_several_codes_finds_none(indicator):
    assert code(indicator, None) is None


@pytest.mark.parametrize(
    ("indicator", "unit"),
    [
        ("glucose", "%"), ("glucose", "kg"), ("甘油三酯", "mg/d"), ("HbA1c", "g/L"), ("Hb", "%"), ("weight", "cm"),
        ("2345-7", "mmol/L"), ("urine creatinine", "umol/h"), ("TSH", "mg/dL"), ("serum hemoglobin", "g/L"),
    ],
)  # fmt: skip
def test_an_impossible_unit_finds_none(indicator, unit):
    assert code(indicator, unit) is None


@pytest.mark.parametrize(
    "indicator",
    [
        "", " ", "glucos", "glucosee", "my glucose stick", "cholesteroll", "saliva glucose", "fasting triglycerides",
        "9999-9", "酸", "x" * 300,
    ],
)  # fmt: skip
def test_no_exact_name_finds_none(indicator):
    assert code(indicator, "mg/dL") is None


def test_siblings_share_analyte_name_and_canonical_unit():
    siblings = concepts_named("fasting glucose")

    assert [concept.code for concept in siblings] == ["1558-6", "14771-0"]
    assert {(c.name, c.analyte, c.unit) for c in siblings} == {("Fasting glucose", "glucose_fasting", "mmol/L")}


def test_search_puts_the_exact_name_first_and_keeps_to_starts_of_words():
    names = [concept.name for concept in concepts_matching("glucose")]

    assert names[0] == "Glucose"
    assert {"Fasting glucose", "Urine glucose"} <= set(names)
    assert [concept.name for concept in concepts_matching("lucose")] == []


def test_search_reads_chinese_anywhere_in_a_name_and_codes():
    assert {"Total cholesterol", "HDL cholesterol"} <= {concept.name for concept in concepts_matching("膽固醇")}
    assert [concept.code for concept in concepts_matching("14771-0")] == ["14771-0"]


@pytest.mark.parametrize("text", ["", "  ", "--", "x" * 300])
def test_search_for_nothing_finds_nothing(text):
    assert concepts_matching(text) == []


@given(st.text(), st.one_of(st.none(), st.text()))
def test_any_text_finds_a_concept_or_none(indicator, unit):
    find_concept(indicator, unit)
    concepts_matching(indicator)


@given(
    st.sampled_from(concepts()),
    st.sampled_from(["{}", " {} ", "serum {}"]),
    st.sampled_from([str.upper, str.title, str]),
)
def test_writing_a_name_otherwise_never_leads_to_another_analyte(concept, frame, case):
    found = find_concept(frame.format(case(concept.names[0])), concept.code_unit or None)

    assert found in (None, concept)
