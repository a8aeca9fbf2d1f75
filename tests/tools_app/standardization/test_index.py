"""The linter of the curated index: every row of codes.csv and analytes.csv keeps the rules the look-ups rely on."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from ucumvert import get_ucum_parser

import tools_app.standardization
from tools_app.standardization import Concept, accepted_units, concepts, find_concept, to_canonical, ucum_unit
from tools_app.standardization.conversion import kind_of

FOLDER = Path(tools_app.standardization.__file__).parent
CODES = list(csv.DictReader((FOLDER / "codes.csv").open(encoding="utf-8")))
ANALYTES = list(csv.DictReader((FOLDER / "analytes.csv").open(encoding="utf-8")))

PARSER = get_ucum_parser()
MASS_UNITS = {"mass concentration", "fibrinogen equivalents", "D-dimer units"}
KINDS_OF_PROPERTY = {
    "MCnc": MASS_UNITS,
    "SCnc": {"substance concentration"},
    "ACnc": {"activity concentration"},
    "CCnc": {"activity concentration", "enzymatic rate"},
    "NCnc": {"number concentration"},
}
PROPERTIES_OF_WORDS = {"PrThr", "Type", "Aper"}
COMPONENT_OF_ANALYTE = {
    "cholesterol_total": "Cholesterol [",
    "cholesterol_ldl": "Cholesterol in LDL [",
    "cholesterol_hdl": "Cholesterol in HDL [",
    "creatinine": "Creatinine [",
    "triglycerides": "Triglyceride [",
    "glucose": "Glucose [",
    "glucose_fasting": "Fasting glucose [",
    "urate": "Urate [",
    "magnesium": "Magnesium [",
    "hba1c": "Hemoglobin A1c/",
    "hemoglobin": "Hemoglobin [",
    "alt": "Alanine aminotransferase [",
    "ast": "Aspartate aminotransferase [",
    "blood_pressure_systolic": "Systolic ",
    "blood_pressure_diastolic": "Diastolic ",
}


def check_digit(digits: str) -> int:
    doubled = [int(digit) * 2 if place % 2 == 0 else int(digit) for place, digit in enumerate(reversed(digits))]
    return -sum(number - 9 if number > 9 else number for number in doubled) % 10


def each_area() -> list[str]:
    return sorted({concept.category for concept in concepts()})


def of_area(area: str) -> list[Concept]:
    return [concept for concept in concepts() if concept.category == area]


@pytest.mark.parametrize("area", each_area())
def test_the_code_has_a_right_check_digit(area: str):
    for concept in of_area(area):
        assert re.fullmatch(r"\d{1,7}-\d", concept.code)
        assert int(concept.code[-1]) == check_digit(concept.code[:-2])


@pytest.mark.parametrize("area", each_area())
def test_the_units_are_ucum(area: str):
    for concept in of_area(area):
        for unit in filter(None, (concept.unit, concept.code_unit)):
            PARSER.parse(unit)
            assert ucum_unit(unit) == unit


@pytest.mark.parametrize("area", each_area())
def test_the_property_agrees_with_the_unit_and_the_long_name(area: str):
    for concept in of_area(area):
        kinds = KINDS_OF_PROPERTY.get(concept.property)
        if kinds:
            assert kind_of(concept.code_unit) in kinds
        assert ("[Mass/volume]" in concept.long_name) == (concept.property == "MCnc")
        assert "[Moles/volume]" not in concept.long_name or concept.property == "SCnc"
        assert (concept.property in PROPERTIES_OF_WORDS) == (not concept.code_unit)
        assert "[Presence]" not in concept.long_name or concept.property == "PrThr"


@pytest.mark.parametrize("area", each_area())
def test_a_reading_in_the_unit_of_the_code_converts(area: str):
    for concept in of_area(area):
        if concept.code_unit:
            assert to_canonical(1, concept.code_unit, concept.analyte) is not None


@pytest.mark.parametrize("area", each_area())
def test_every_name_finds_the_code_with_its_unit(area: str):
    for concept in of_area(area):
        found = {name: find_concept(name, concept.code_unit or None) for name in (*concept.names, concept.code)}

        assert found == dict.fromkeys(found, concept)


def test_the_index_has_each_code_and_each_analyte_once_and_no_leftovers():
    assert max(Counter(row["loinc"] for row in CODES).values()) == 1
    assert max(Counter(row["analyte"] for row in ANALYTES).values()) == 1
    assert {row["analyte"] for row in CODES} == {row["analyte"] for row in ANALYTES}
    assert len(CODES) >= 450


def test_every_analyte_has_english_and_chinese_names():
    assert [row["analyte"] for row in ANALYTES if not re.search(r"[\u4e00-\u9fff]", row["chinese"])] == []


def test_mass_and_molar_codes_of_one_analyte_come_with_a_molar_mass():
    properties: dict[str, set[str]] = {}
    for row in CODES:
        properties.setdefault(row["analyte"], set()).add(row["property"])
    both = {analyte for analyte, found in properties.items() if {"MCnc", "SCnc"} <= found}

    assert both <= {row["analyte"] for row in ANALYTES if row["molar_mass"]}


@pytest.mark.parametrize(("analyte", "component"), COMPONENT_OF_ANALYTE.items())
def test_the_code_measures_the_analyte(analyte, component):
    long_names = [row["long_name"] for row in CODES if row["analyte"] == analyte]

    assert long_names
    assert [name for name in long_names if not name.startswith(component)] == []


AREAS = {
    "blood count", "chemistry", "lipids", "liver", "kidney", "thyroid", "hormones", "coagulation", "urine",
    "tumour markers", "vitamins", "infection", "vital signs", "body measures", "wearables", "glucose monitoring",
    "blood gas", "cardiac", "inflammation",
}  # fmt: skip


def test_every_area_of_everyday_medicine_is_there():
    assert {row["category"] for row in ANALYTES} >= AREAS


@pytest.mark.parametrize("area", each_area())
def test_a_code_with_a_unit_accepts_units_and_has_a_range_of_what_is_possible(area: str):
    for concept in of_area(area):
        assert (concept.code_unit in accepted_units(concept)) == bool(concept.code_unit) or "{" in concept.code_unit
        if concept.unit:
            assert concept.least is not None
            assert concept.most is not None
            assert concept.least < concept.most
