"""Records and figures as the tools' JSON: rounded numbers, ISO dates, values in the unit in which they are shown."""

import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from tools_app.records.models import HealthRecord
from tools_app.standardization import to_canonical

DECIMALS = 6
SIGNIFICANT = 6
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEKPARTS = ("Monday to Friday", "weekend")
DAYPARTS = ("morning", "afternoon", "evening")


@dataclass(frozen=True, slots=True)
class Scale:
    """From the unit in which a series compares to the one shown: canonical = ``factor`` * shown + ``offset``."""

    unit: str
    factor: float = 1.0
    offset: float = 0.0

    def value(self, canonical: float | None) -> float | int | None:
        """A value in the shown unit, rounded."""
        return None if canonical is None else number((canonical - self.offset) / self.factor)

    def difference(self, canonical: float | None) -> float | int | None:
        """A difference, a slope or a standard deviation in the shown unit, rounded."""
        return None if canonical is None else number(canonical / self.factor)

    def total(self, canonical: float | None, count: int) -> float | int | None:
        """A sum of ``count`` values in the shown unit, rounded."""
        return None if canonical is None else number((canonical - count * self.offset) / self.factor)

    def canonical(self, shown: float) -> float:
        """A value of the shown unit in that in which the series compares."""
        return shown * self.factor + self.offset


def scale_for(analyte: str, canonical_unit: str, unit: str) -> Scale | None:
    """How numbers of an analyte are shown in a UCUM unit; ``None`` when they cannot be. Every conversion is linear."""
    if unit == canonical_unit:
        return Scale(unit)
    at_zero, at_one = (to_canonical(Decimal(n), unit, analyte) for n in (0, 1))
    if at_zero is None or at_one is None or at_one == at_zero:
        return None
    return Scale(unit, float(at_one - at_zero), float(at_zero))


def number(value: float | None) -> float | int | None:
    """Rounded to six decimals, or to six significant digits where that is finer; whole numbers without a point."""
    if value is None or value == 0:
        return None if value is None else 0
    decimals = max(DECIMALS, SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
    rounded = round(float(value), decimals)
    return int(rounded) if rounded.is_integer() else rounded


def percent(difference: float | None, of: float | None) -> float | int | None:
    """A difference as a percentage of what it is a difference from."""
    return None if difference is None or not of else number(100 * difference / abs(of))


def reading(record: HealthRecord, scale: Scale) -> dict[str, Any]:
    """One reading; ``value`` is null when it has no number that compares."""
    return {
        "id": record.public_id,
        "value": scale.value(record.canonical_number),
        "text": record.text,
        "comparator": record.comparator or None,
        "time": record.time,
        "date": record.local_date.isoformat(),
        "abnormal": record.abnormal if record.abnormal in ("low", "high", "abnormal") else None,
        "reference_low": scale.value(_in_canonical_unit(record.reference_low, record)),
        "reference_high": scale.value(_in_canonical_unit(record.reference_high, record)),
        "source": record.source or "api",
    }


def landmark(record: HealthRecord | None, scale: Scale) -> dict[str, Any] | None:
    """A reading that stands out: its value, day and id."""
    if record is None:
        return None
    return {
        "value": scale.value(record.canonical_number),
        "date": record.local_date.isoformat(),
        "id": record.public_id,
    }


def bound(record: HealthRecord | None, scale: Scale) -> dict[str, Any] | None:
    """A reading that is only a bound: its value and comparator, what was written, day and id."""
    if record is None:
        return None
    return {
        "value": scale.value(record.canonical_number),
        "comparator": record.comparator,
        "text": record.text,
        "date": record.local_date.isoformat(),
        "id": record.public_id,
    }


def change(
    before: HealthRecord | None, after: HealthRecord | None, scale: Scale, name: str = "change"
) -> dict[str, Any]:
    """From one reading to another: the difference and what percentage that is, as ``name`` and ``name_percent``."""
    shown = [None if record is None else scale.value(record.canonical_number) for record in (before, after)]
    if shown[0] is None or shown[1] is None:
        return {name: None, f"{name}_percent": None}
    difference = shown[1] - shown[0]
    return {name: number(difference), f"{name}_percent": percent(difference, shown[0])}


def period(first_day: date | int, group_by: str) -> str:
    """``2026-03-01``, ``2026-W09``, ``2026-03``, ``2026-Q1``, ``2026``, ``Monday``, ``weekend``, ``evening``."""
    if isinstance(first_day, int):
        names = {"weekday": ("", *WEEKDAYS), "weekpart": WEEKPARTS, "daypart": DAYPARTS}
        return names[group_by][first_day]
    match group_by:
        case "week":
            # The Thursday of a week decides its ISO year; any day gives the same.
            year, week, _ = (first_day + timedelta(days=3)).isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return first_day.isoformat()[:7]
        case "quarter":
            return f"{first_day.year}-Q{(first_day.month + 2) // 3}"
        case "year":
            return str(first_day.year)
        case _:
            return first_day.isoformat()


def _in_canonical_unit(limit: float | None, record: HealthRecord) -> float | None:
    if limit is None or record.canonical_number is None:
        return None
    if not record.analyte or not record.ucum_unit:
        return limit
    converted = to_canonical(Decimal(str(limit)), record.ucum_unit, record.analyte)
    return None if converted is None else float(converted)
