"""Numbers in the canonical unit of their analyte, checked against known pairs and against ucumvert/pint."""

from decimal import Decimal
from functools import cache

import pytest
from ucumvert import PintUcumRegistry

from tools_app.standardization import to_canonical
from tools_app.standardization.conversion import _KINDS, kind_of

NOT_IN_PINT = {"fibrinogen equivalents", "D-dimer units", "clearance by area"}


@pytest.mark.parametrize(
    ("number", "unit", "analyte", "expected"),
    [
        ("97.3", "mg/dL", "glucose", "5.4009"),
        ("97", "mg/dL", "glucose_fasting", "5.3842"),
        ("130", "mg/dL", "glucose", "7.2160"),
        ("1.0", "mg/dL", "creatinine", "88.4017"),
        ("200", "mg/dL", "cholesterol_total", "5.1726"),
        ("150", "mg/dL", "triglycerides", "1.6941"),
        ("14", "mg/dL", "urea_nitrogen", "4.9976"),
        ("6", "mg/dL", "urate", "356.9092"),
        ("1", "mg/dL", "bilirubin_total", "17.1040"),
        ("10", "mg/dL", "calcium", "2.4951"),
        ("5", "meq/L", "calcium", "2.5"),
        ("140", "meq/L", "sodium", "140"),
        ("30", "ng/mL", "vitamin_d", "74.8802"),
        ("300", "pg/mL", "vitamin_b12", "221.3418"),
        ("1.2", "ng/dL", "t4_free", "15.4466"),
        ("14", "g/dL", "hemoglobin", "140"),
        ("8.7", "mmol/L", "hemoglobin", "140.1962"),
        ("48", "mmol/mol", "hba1c", "6.5430"),
        ("98.6", "[degF]", "body_temperature", "37"),
        ("150", "[lb_av]", "body_weight", "68.0389"),
        ("70", "[in_i]", "body_height", "177.8"),
        ("1.75", "m", "body_height", "175"),
        ("450", "min", "sleep_duration", "7.5"),
        ("250000", "/uL", "platelets", "250"),
        ("250", "10*3/uL", "platelets", "250"),
        ("16", "kPa", "blood_pressure_systolic", "120.0102"),
        ("35", "[IU]/L", "alt", "35"),
        ("500", "ng/mL{FEU}", "d_dimer_feu", "0.5"),
        ("72", "{beats}/min", "heart_rate", "72"),
    ],
)
def test_known_conversions(number, unit, analyte, expected):
    converted = to_canonical(Decimal(number), unit, analyte)

    assert converted is not None
    assert round(converted, 4) == Decimal(expected)


def test_the_canonical_unit_keeps_the_number_as_it_is():
    assert str(to_canonical(Decimal("5.40"), "mmol/L", "glucose")) == "5.40"


@pytest.mark.parametrize(
    ("unit", "analyte"),
    [
        ("%", "glucose"), ("kg", "glucose"), ("mg/d", "glucose"), ("", "glucose"), ("mmol/mol", "glucose"),
        ("mmol/L", "ferritin"),
        ("meq/L", "glucose"), ("mL/min", "egfr"), ("ng/mL{DDU}", "d_dimer_feu"), ("mg/dL", "no such analyte"),
        ("mg/dL", "urine_ketones"),
    ],
)  # fmt: skip
def test_what_does_not_convert_is_none(unit, analyte):
    assert to_canonical(Decimal(1), unit, analyte) is None


@cache
def registry() -> PintUcumRegistry:
    return PintUcumRegistry()


def pairs() -> list[tuple[str, str, Decimal]]:
    found = []
    for kind, units in _KINDS.items():
        if kind in NOT_IN_PINT or kind == "temperature":
            continue
        base, *others = units
        found += [(base, other) for other in others if family(base) == family(other)]
    return found


def family(unit: str) -> str:
    return next((name for name in ("[IU]", "[arb'U]") if name in unit), "")


@pytest.mark.parametrize(("base", "unit"), pairs())
def test_the_factor_table_agrees_with_ucum(base, unit):
    ratio = to_canonical_ratio(unit, base)

    expected = (registry().from_ucum(unit) / registry().from_ucum(base)).to("dimensionless").magnitude

    assert float(ratio) == pytest.approx(expected, rel=5e-6)


def to_canonical_ratio(unit: str, base: str) -> Decimal:
    units = _KINDS[kind_of(unit) or ""]
    sizes = {name: Decimal(size.split("/")[0]) / Decimal(size.partition("/")[2] or 1) for name, size in units.items()}
    return sizes[unit] / sizes[base]
