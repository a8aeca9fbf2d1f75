"""Numbers from one unit into another: exact factors between units of one kind, and what each analyte adds to them.

The table covers the units in use for the indexed measurements. Reading written units is the business of units.py.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

# One line for each kind of quantity: unit → size in the kind's own base. Units of different kinds never convert here.
# U and [IU] share a kind: for one analyte laboratories use the two names for the same number.
_KINDS: dict[str, dict[str, str]] = {
    "mass concentration": {
        "g/L": "1", "kg/L": "1000", "g/dL": "10", "g/mL": "1000", "mg/dL": "0.01", "mg/L": "0.001", "mg/mL": "1",
        "ug/dL": "0.00001", "ug/L": "0.000001", "ug/mL": "0.001", "ng/dL": "1e-8", "ng/L": "1e-9", "ng/mL": "0.000001",
        "pg/mL": "1e-9", "pg/dL": "1e-11", "pg/L": "1e-12",
    },
    "substance concentration": {
        "mol/L": "1", "mmol/L": "0.001", "mmol/dL": "0.01", "umol/L": "0.000001", "umol/dL": "0.00001",
        "umol/mL": "0.001", "nmol/L": "1e-9", "nmol/dL": "1e-8", "nmol/mL": "0.000001", "pmol/L": "1e-12",
        "pmol/dL": "1e-11", "pmol/mL": "1e-9",
        "fmol/L": "1e-15", "fmol/mL": "1e-12",
    },
    "equivalent concentration": {"eq/L": "1", "meq/L": "0.001", "meq/dL": "0.01", "ueq/L": "0.000001"},
    "activity concentration": {
        "U/L": "1", "U/dL": "10", "U/mL": "1000", "mU/L": "0.001", "mU/mL": "1", "uU/mL": "0.001", "kU/L": "1000",
        "[IU]/L": "1", "[IU]/dL": "10", "[IU]/mL": "1000", "m[IU]/L": "0.001", "m[IU]/mL": "1", "u[IU]/L": "0.000001",
        "u[IU]/mL": "0.001", "k[IU]/L": "1000", "k[IU]/mL": "1000000",
        "[arb'U]/L": "1", "[arb'U]/mL": "1000", "k[arb'U]/L": "1000",
    },
    "catalytic concentration": {"kat/L": "1", "ukat/L": "0.000001", "nkat/L": "1e-9"},
    "number concentration": {
        "/L": "1", "/mL": "1000", "/dL": "10", "/uL": "1e6", "10*3/L": "1e3", "10*6/L": "1e6", "10*9/L": "1e9",
        "10*12/L": "1e12", "10*3/mL": "1e6", "10*6/mL": "1e9", "10*3/uL": "1e9", "10*6/uL": "1e12", "10*9/uL": "1e15",
        "10*4/uL": "1e10",
    },
    "number per 100 leukocytes": {"/100{WBCs}": "1"},
    "fibrinogen equivalents": {"mg/L{FEU}": "1", "ug/mL{FEU}": "1", "ng/mL{FEU}": "0.001", "ug/L{FEU}": "0.001"},
    "D-dimer units": {"ng/mL{DDU}": "1", "ug/L{DDU}": "1", "mg/L{DDU}": "1000", "ug/mL{DDU}": "1000"},
    "fraction": {"%": "1", "L/L": "100", "[ppth]": "0.1"},
    "substance ratio": {"mmol/mol": "1", "mol/mol": "1000"},
    "mass ratio": {
        "mg/g": "1", "ug/mg": "1", "mg/mg": "1000", "g/g": "1000", "g/kg": "1", "ug/g": "0.001", "mg/kg": "0.001",
    },
    "mass per substance": {"mg/mmol": "1", "g/mol": "1"},
    "number": {"1": "1"},
    "titre": {"{titer}": "1"},
    "acidity": {"[pH]": "1"},
    "number in a field": {"/[HPF]": "1"},
    "number in a low field": {"/[LPF]": "1"},
    "osmolality": {"mosm/kg": "1", "osm/kg": "1000"},
    "frequency": {"/min": "1", "/s": "60", "Hz": "60", "/h": "1/60"},
    "clearance": {"mL/min": "1", "mL/s": "60", "L/min": "1000"},
    "clearance by area": {"mL/min/{1.73_m2}": "1", "mL/s/{1.73_m2}": "60"},
    "oxygen uptake by mass": {"mL/kg/min": "1", "mL/min/kg": "1"},
    "sedimentation": {"mm/h": "1"},
    "pressure": {"mm[Hg]": "133.322", "kPa": "1000", "Pa": "1", "cm[H2O]": "98.0665"},
    "mass": {
        "kg": "1", "g": "0.001", "mg": "0.000001", "ug": "1e-9", "ng": "1e-12", "pg": "1e-15", "[lb_av]": "0.45359237",
        "[oz_av]": "0.028349523125", "[stone_av]": "6.35029318",
    },
    "length": {
        "m": "1", "km": "1000", "cm": "0.01", "mm": "0.001", "dm": "0.1", "[in_i]": "0.0254", "[ft_i]": "0.3048",
        "[yd_i]": "0.9144", "[mi_i]": "1609.344",
    },
    "volume": {
        "L": "1", "dL": "0.1", "mL": "0.001", "uL": "0.000001", "nL": "1e-9", "pL": "1e-12", "fL": "1e-15",
        "um3": "1e-15",
    },
    "mass by area": {"kg/m2": "1"},
    "area": {"m2": "1"},
    "time": {"s": "1", "ms": "0.001", "min": "60", "h": "3600", "d": "86400", "wk": "604800"},
    "energy": {"kcal": "4184", "kJ": "1000", "J": "1"},
    "temperature": {"Cel": "1", "[degF]": "1", "K": "1"},
    "mass rate": {"mg/(24.h)": "1", "g/(24.h)": "1000", "ug/(24.h)": "0.001"},
    "substance rate": {"mmol/(24.h)": "1", "umol/(24.h)": "0.001", "nmol/(24.h)": "0.000001"},
    "volume a day": {"mL/(24.h)": "1", "L/(24.h)": "1000"},
    "number a day": {"/(24.h)": "1"},
    "enzymatic rate": {"ng/mL/h": "1", "ug/L/h": "1"},
}  # fmt: skip

# From one kind into another by the molar mass in g/mol: a factor between their bases, and the molar mass's power.
_CROSSINGS = {
    ("mass concentration", "substance concentration"): (Decimal(1), -1),
    ("substance concentration", "mass concentration"): (Decimal(1), 1),
    ("mass rate", "substance rate"): (Decimal(1), -1),
    ("substance rate", "mass rate"): (Decimal(1), 1),
    ("mass per substance", "mass ratio"): (Decimal(1000), -1),
    ("mass ratio", "mass per substance"): (Decimal("0.001"), 1),
}

# Annotations that make two units different things; every other {…} is a remark.
_KEPT_ANNOTATIONS = ("{1.73_m2}", "{FEU}", "{DDU}", "{WBCs}", "{titer}")
_ANNOTATION = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Analyte:
    """What conversion has to know: the analyte's key, canonical UCUM unit, molar mass in g/mol and ion charge."""

    key: str
    unit: str
    molar_mass: Decimal | None = None
    valence: int | None = None


def kind_of(unit: str) -> str | None:
    """The kind of quantity a UCUM unit measures, such as ``mass concentration``; ``None`` for one not in the table."""
    found = _table().get(_without_remarks(unit))
    return found[0] if found else None


def units_of_kind(unit: str) -> frozenset[str]:
    """The UCUM units of the table of the same kind as ``unit``; none for one that is not in it."""
    kind = kind_of(unit) if unit else None
    return frozenset(_KINDS[kind]) if kind else frozenset()


def convert(number: Decimal, unit: str, analyte: Analyte) -> Decimal | None:
    """The number in the analyte's canonical unit; ``None`` when the unit does not convert into it.

    Uses the molar mass between mass and substance (for a ratio to creatinine that of creatinine), the ion charge for
    equivalents, and for HbA1c the IFCC-NGSP master equation NGSP (%) = 0.09148 x IFCC (mmol/mol) + 2.152 (Hoelzel et
    al., Clin Chem 2004;50:166-174).
    """
    if unit == analyte.unit:
        return number
    source, target = _table().get(_without_remarks(unit)), _table().get(_without_remarks(analyte.unit))
    if source is None or target is None:
        return None
    (kind, size), (wanted_kind, wanted_size) = source, target
    if kind == wanted_kind == "temperature":
        return _from_celsius(_to_celsius(number, unit), analyte.unit)
    if kind == wanted_kind:
        return number * size / wanted_size
    if analyte.key == "hba1c" and (kind, wanted_kind) == ("substance ratio", "fraction"):
        return number * size * Decimal("0.09148") + Decimal("2.152")
    amount = _in_kind(number * size, kind, wanted_kind, analyte)
    return None if amount is None else amount / wanted_size


def _in_kind(amount: Decimal, kind: str, wanted_kind: str, analyte: Analyte) -> Decimal | None:
    """An amount in the base of one kind, in the base of another (g/L, mol/L, eq/L, mg/g …)."""
    if kind == wanted_kind:
        return amount
    if kind == "equivalent concentration" and analyte.valence:
        return _in_kind(amount / analyte.valence, "substance concentration", wanted_kind, analyte)
    crossing = _CROSSINGS.get((kind, wanted_kind))
    if analyte.molar_mass is None or crossing is None:
        return None
    factor, power = crossing
    return amount * factor * analyte.molar_mass**power


def _to_celsius(number: Decimal, unit: str) -> Decimal:
    match unit:
        case "[degF]":
            return (number - 32) * 5 / 9
        case "K":
            return number - Decimal("273.15")
        case _:
            return number


def _from_celsius(number: Decimal, unit: str) -> Decimal:
    match unit:
        case "[degF]":
            return number * 9 / 5 + 32
        case "K":
            return number + Decimal("273.15")
        case _:
            return number


def _without_remarks(unit: str) -> str:
    if "{" not in unit:
        return unit
    bare = _ANNOTATION.sub(lambda match: match[0] if match[0] in _KEPT_ANNOTATIONS else "", unit)
    return bare or "1"


@cache
def _table() -> dict[str, tuple[str, Decimal]]:
    return {unit: (kind, _size(size)) for kind, units in _KINDS.items() for unit, size in units.items()}


def _size(written: str) -> Decimal:
    numerator, _, denominator = written.partition("/")
    return Decimal(numerator) / Decimal(denominator or 1)
