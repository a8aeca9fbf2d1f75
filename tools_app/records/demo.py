"""A synthetic person and her father: two years of records up to a given day. Writing them is in seeding.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

ACCOUNT = "demo"
PERSON = "alice"
RELATIVE = "martin"
RELATIVE_NAME = "Martin (father)"

Record = dict[str, Any]
MONTHS = 24
DAYS = 730
MG_PER_MMOL_GLUCOSE = 18.0156
MG_PER_MMOL_CHOLESTEROL = 38.67
MG_PER_MMOL_TRIGLYCERIDES = 88.54
RISING_GLUCOSE = (6.7, 6.5, 6.2, 5.9, 5.6, 5.4)
"""Fasting glucose of the newest months, newest first, in mmol/L."""
GLUCOSE_IN_MG = frozenset({3, 9, 14, 19})
GLUCOSE_IN_CHINESE = frozenset({1, 7, 12, 20})
HBA1C = (6.2, 5.9, 5.6, 5.5, 5.4, 5.5, 5.4, 5.4)
"""Quarterly, newest first, in percent."""


@dataclass(frozen=True, slots=True)
class Lab:
    """A laboratory test that stays level: its usual value and scatter in its unit, and its reference range."""

    indicator: str
    unit: str
    usual: float
    scatter: float
    decimals: int
    low: float | None
    high: float | None


QUARTERLY = (
    Lab("Creatinine", "umol/L", 68, 3, 0, 45, 84),
    Lab("ALT", "U/L", 22, 4, 0, None, 40),
    Lab("AST", "U/L", 20, 3, 0, None, 35),
    Lab("Uric acid", "umol/L", 305, 18, 0, 155, 357),
    Lab("Hemoglobin", "g/L", 132, 3, 0, 115, 150),
    Lab("WBC", "10^9/L", 5.9, 0.5, 1, 3.5, 9.5),
    Lab("Platelets", "10^9/L", 238, 15, 0, 125, 350),
    Lab("Sodium", "mmol/L", 140, 1.2, 0, 137, 147),
    Lab("Potassium", "mmol/L", 4.2, 0.2, 1, 3.5, 5.3),
)
HALF_YEARLY = (
    Lab("TSH", "mIU/L", 2.1, 0.3, 2, 0.27, 4.2),
    Lab("Vitamin D", "nmol/L", 58, 7, 0, 50, 125),
    Lab("Ferritin", "ng/mL", 62, 8, 0, 13, 150),
)
CHOLESTEROL = (
    Lab("Total cholesterol", "mmol/L", 5.0, 0.15, 2, None, 5.2),
    Lab("LDL cholesterol", "mmol/L", 3.0, 0.15, 2, None, 3.4),
    Lab("HDL cholesterol", "mmol/L", 1.45, 0.06, 2, 1.0, None),
)
TRIGLYCERIDES = Lab("Triglycerides", "mmol/L", 1.3, 0.15, 2, None, 1.7)
# The fifth quarter's lipids came from another laboratory, which writes mg/dL.
QUARTER_IN_MG = 4
QUARTER_BELOW_DETECTION = 2


def person(today: date) -> list[Record]:
    """Alice's records, about 2,600: as a caller would write them to ``POST /v1/data``. The same for the same day."""
    random = _random(PERSON)
    return [
        *_glucose(random, today - timedelta(days=7)),
        *_panels(random, today - timedelta(days=12)),
        *_wearables(random, today - timedelta(days=1)),
        *_weekly(random, today - timedelta(days=2)),
        *_occasional(random, today),
    ]


def relative(today: date) -> list[Record]:
    """Martin's records, fewer."""
    random = _random(RELATIVE)
    records = [_record("Body height", "176", "cm", _months_before(today, MONTHS))]
    for quarter in range(MONTHS // 3):
        day = _months_before(today - timedelta(days=20), quarter * 3)
        records += [
            _record("Fasting glucose", f"{random.gauss(6.1, 0.2):.1f}", "mmol/L", day, 3.9, 6.1),
            _record("Total cholesterol", f"{random.gauss(5.6, 0.2):.2f}", "mmol/L", day, None, 5.2),
        ]
    for month in range(MONTHS):
        day = _months_before(today - timedelta(days=4), month)
        records += [
            _record("Systolic blood pressure", f"{random.gauss(142, 5):.0f}", "mmHg", f"{day}T08:15:00Z"),
            _record("Diastolic blood pressure", f"{random.gauss(86, 3):.0f}", "mmHg", f"{day}T08:15:00Z"),
            _record("Body weight", f"{random.gauss(84, 0.6):.1f}", "kg", f"{day}T08:10:00Z"),
        ]
    return records


def _random(seed: str) -> Random:
    return Random(seed)  # noqa: S311  repeatable on purpose


def _record(
    indicator: str, value: str, unit: str, when: date | str, low: float | None = None, high: float | None = None
) -> Record:
    return {
        "indicator": indicator,
        "value": value,
        "unit": unit,
        "time": str(when),
        "source": "demo",
        "reference_low": low,
        "reference_high": high,
    }


def _months_before(day: date, months: int) -> date:
    """The same day of an earlier month; never later than the 28th, which every month has."""
    month = day.year * 12 + day.month - 1 - months
    return date(month // 12, month % 12 + 1, min(day.day, 28))


def _glucose(random: Random, newest: date) -> Iterator[Record]:
    for months in range(MONTHS):
        level = RISING_GLUCOSE[months] if months < len(RISING_GLUCOSE) else random.gauss(5.2, 0.1)
        name = "空腹血糖" if months in GLUCOSE_IN_CHINESE else "Fasting glucose"
        day = _months_before(newest, months)
        if months in GLUCOSE_IN_MG:
            yield _record(name, f"{level * MG_PER_MMOL_GLUCOSE:.0f}", "mg/dL", day, 70, 110)
        else:
            yield _record(name, f"{level:.1f}", "mmol/L", day, 3.9, 6.1)


def _panels(random: Random, newest: date) -> Iterator[Record]:
    for quarter in range(MONTHS // 3):
        day = _months_before(newest, quarter * 3)
        yield _record("HbA1c", f"{HBA1C[quarter]}", "%", day, 4.0, 6.0)
        yield from _lipids(random, quarter, day)
        yield from (_level(random, lab, day) for lab in QUARTERLY)
        yield _record(
            "hs-CRP",
            "<0.5" if quarter == QUARTER_BELOW_DETECTION else f"{random.uniform(0.6, 1.6):.1f}",
            "mg/L",
            day,
            None,
            3.0,
        )
        if quarter % 2 == 0:
            yield from (_level(random, lab, day) for lab in HALF_YEARLY)
            yield _record("尿糖" if quarter else "Urine glucose", "阴性" if quarter else "negative", "", day)


def _level(random: Random, lab: Lab, day: date) -> Record:
    value = f"{random.gauss(lab.usual, lab.scatter):.{lab.decimals}f}"
    return _record(lab.indicator, value, lab.unit, day, lab.low, lab.high)


def _lipids(random: Random, quarter: int, day: date) -> Iterator[Record]:
    factors = [(lab, MG_PER_MMOL_CHOLESTEROL) for lab in CHOLESTEROL] + [(TRIGLYCERIDES, MG_PER_MMOL_TRIGLYCERIDES)]
    for lab, factor in factors:
        if quarter != QUARTER_IN_MG:
            yield _level(random, lab, day)
            continue
        low, high = (round(limit * factor) if limit else None for limit in (lab.low, lab.high))
        yield _record(lab.indicator, f"{random.gauss(lab.usual, lab.scatter) * factor:.0f}", "mg/dL", day, low, high)


def _wearables(random: Random, newest: date) -> Iterator[Record]:
    for back in range(DAYS):
        day = newest - timedelta(days=back)
        steps = max(1200, random.gauss(7600 if day.weekday() < 5 else 9200, 1700))  # noqa: PLR2004  a weekend's walks
        yield _record("Steps", f"{steps:.0f}", "steps", day)
        yield _record("Resting heart rate", f"{random.gauss(62, 2):.0f}", "/min", f"{day}T06:30:00Z")
        yield _record("Sleep duration", f"{min(9.5, max(4.5, random.gauss(7.1, 0.7))):.1f}", "h", day)


def _weekly(random: Random, newest: date) -> Iterator[Record]:
    weeks = DAYS // 7
    for back in range(weeks):
        day = newest - timedelta(weeks=back)
        age = back / weeks
        yield _record("Systolic blood pressure", f"{random.gauss(121 + 10 * age, 3):.0f}", "mmHg", f"{day}T07:30:00Z")
        yield _record("Diastolic blood pressure", f"{random.gauss(77 + 6 * age, 2):.0f}", "mmHg", f"{day}T07:30:00Z")
        yield _record("Body weight", f"{random.gauss(62.5 + 4.5 * age, 0.25):.1f}", "kg", f"{day}T07:20:00Z")
        yield _record("Oxygen saturation", f"{random.choice((96, 97, 97, 98, 98, 99))}", "%", f"{day}T07:35:00Z")


def _occasional(random: Random, today: date) -> Iterator[Record]:
    yield _record("Body height", "165", "cm", _months_before(today, MONTHS - 1))
    for months, value in ((2, "36.6"), (6, "38.4"), (11, "36.7"), (17, "36.5"), (22, "37.9")):
        yield _record("Body temperature", value, "°C", f"{_months_before(today, months)}T20:00:00Z")
