"""Standardization: written names → LOINC, written units → UCUM, written values → numbers, and numbers between units.

Re-exports the public names; nothing lives here.
"""

from tools_app.standardization.concepts import (
    Concept,
    accepted_units,
    concepts,
    concepts_matching,
    concepts_named,
    find_concept,
    to_canonical,
    unit_in_name,
)
from tools_app.standardization.everyday import everyday_quantity
from tools_app.standardization.results import Interval, Ordinal, interval, ordinal, titre
from tools_app.standardization.units import ucum_unit
from tools_app.standardization.values import Quantity, blood_pressure, parse_value

__all__ = [
    "Concept",
    "Interval",
    "Ordinal",
    "Quantity",
    "accepted_units",
    "blood_pressure",
    "concepts",
    "concepts_matching",
    "concepts_named",
    "everyday_quantity",
    "find_concept",
    "interval",
    "ordinal",
    "parse_value",
    "titre",
    "to_canonical",
    "ucum_unit",
    "unit_in_name",
]
