"""Which unit a bare number is meant in: the only one in which such a value occurs, else that of the person's readings.

Data and the choice only; where the readings come from is told in plan.py.
"""

from collections.abc import Sequence
from decimal import Decimal

from tools_app.standardization import Concept, concepts, concepts_named, to_canonical

Ranges = dict[str, tuple[float, float]]

_GLUCOSE: Ranges = {"mmol/L": (0.5, 45), "mg/dL": (25, 800)}
_LIPID: Ranges = {"mmol/L": (0.1, 25), "mg/dL": (8, 1500)}
_SLEEP: Ranges = {"h": (0, 24), "min": (25, 1500)}
# In each unit people use, from the least to the most anyone asks about. Wide on purpose: a number in two is doubtful.
_USUAL: dict[str, Ranges] = {
    "glucose": _GLUCOSE,
    "glucose_fasting": _GLUCOSE,
    "glucose_postprandial": _GLUCOSE,
    "glucose_ogtt_2h": _GLUCOSE,
    "hba1c": {"%": (2, 20), "mmol/mol": (15, 200)},
    "cholesterol_total": _LIPID,
    "cholesterol_ldl": _LIPID,
    "cholesterol_ldl_calculated": _LIPID,
    "cholesterol_hdl": _LIPID,
    "cholesterol_non_hdl": _LIPID,
    "triglycerides": _LIPID,
    "creatinine": {"umol/L": (15, 2500), "mg/dL": (0.1, 30)},
    "urate": {"umol/L": (40, 2000), "mg/dL": (0.5, 35)},
    "hemoglobin": {"g/L": (25, 260), "g/dL": (2, 26)},
    "leukocytes": {"10*9/L": (0, 500), "/uL": (500, 500_000)},
    "platelets": {"10*9/L": (1, 3000), "/uL": (3001, 3_000_000)},
    "blood_pressure_systolic": {"mm[Hg]": (40, 350), "kPa": (4, 39)},
    "blood_pressure_diastolic": {"mm[Hg]": (20, 250), "kPa": (2, 19)},
    "body_temperature": {"Cel": (20, 46), "[degF]": (68, 115)},
    "body_weight": {"kg": (0.5, 350), "[lb_av]": (1, 800)},
    "body_height": {"cm": (30, 250), "m": (0.3, 2.5), "[in_i]": (12, 99), "[ft_i]": (1, 8.3)},
    "waist_circumference": {"cm": (30, 250), "[in_i]": (12, 99)},
    "sleep_duration": _SLEEP,
    "sleep_rem": _SLEEP,
    "sleep_deep": _SLEEP,
    "sleep_light": _SLEEP,
    "walking_distance": {"km": (0, 1000), "[mi_i]": (0, 600), "m": (100, 1_000_000)},
}


def possible_units(concept: Concept, numbers: Sequence[float], among: Sequence[str] = ()) -> tuple[str, ...]:
    """The units in which ``numbers`` may be meant of an indicator, its own first; only those ``among`` if any are."""
    usual = _USUAL.get(concept.analyte) or {unit: (float("-inf"), float("inf")) for unit in _units_of_codes(concept)}
    units = {unit: usual.get(unit, (float("-inf"), float("inf"))) for unit in among} if among else usual
    return tuple(unit for unit, (least, most) in units.items() if all(least <= number <= most for number in numbers))


def _units_of_codes(concept: Concept) -> list[str]:
    """The indicator's own unit and those of its codes that count differently."""
    others = [other.code_unit for other in concepts() if other.analyte == concept.analyte]
    return [concept.unit, *(unit for unit in others if converted(1, unit, concept.name) not in {None, 1.0})]


def converted(number: float, unit: str, indicator: str) -> float | None:
    """A number in a UCUM unit, in the indicator's own unit; ``None`` when it does not convert or is no known one."""
    for concept in concepts_named(indicator)[:1]:
        amount = to_canonical(Decimal(str(number)), unit, concept.analyte)
        return None if amount is None else float(amount)
    return None
