"""Records and figures as the tools' JSON: rounded numbers, ISO dates, values in the unit in which they compare."""

import math
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from tools_app.records.models import HealthRecord
from tools_app.standardization import to_canonical

DECIMALS = 6
SIGNIFICANT = 6


def number(value: float | None) -> float | int | None:
    """Rounded to six decimals, or to six significant digits where that is finer; whole numbers without a point."""
    if value is None or value == 0:
        return None if value is None else 0
    decimals = max(DECIMALS, SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
    rounded = round(float(value), decimals)
    return int(rounded) if rounded.is_integer() else rounded


def reading(record: HealthRecord) -> dict[str, Any]:
    """One reading; ``value`` is null when it has no number that compares."""
    return {
        "id": record.public_id,
        "value": number(record.canonical_number),
        "text": record.text,
        "comparator": record.comparator or None,
        "time": record.time,
        "date": record.local_date.isoformat(),
        "abnormal": record.abnormal if record.abnormal in ("low", "high") else None,
        "reference_low": number(_in_canonical_unit(record.reference_low, record)),
        "reference_high": number(_in_canonical_unit(record.reference_high, record)),
        "source": record.source or "api",
    }


def landmark(record: HealthRecord | None) -> dict[str, Any] | None:
    """A reading that stands out: its value, day and id."""
    if record is None:
        return None
    return {
        "value": number(record.canonical_number),
        "date": record.local_date.isoformat(),
        "id": record.public_id,
    }


def bound(record: HealthRecord | None) -> dict[str, Any] | None:
    """A reading that is only a bound: its value and comparator, what was written, day and id."""
    if record is None:
        return None
    return {
        "value": number(record.canonical_number),
        "comparator": record.comparator,
        "text": record.text,
        "date": record.local_date.isoformat(),
        "id": record.public_id,
    }


def period(first_day: date, group_by: str) -> str:
    """``2026-03-01``, ``2026-W09``, ``2026-03``."""
    if group_by == "week":
        # The Thursday of a week decides its ISO year; any day gives the same.
        year, week, _ = (first_day + timedelta(days=3)).isocalendar()
        return f"{year}-W{week:02}"
    return first_day.isoformat()[:7] if group_by == "month" else first_day.isoformat()


def _in_canonical_unit(limit: float | None, record: HealthRecord) -> float | None:
    if limit is None or record.canonical_number is None:
        return None
    if not record.analyte or not record.ucum_unit:
        return limit
    converted = to_canonical(Decimal(str(limit)), record.ucum_unit, record.analyte)
    return None if converted is None else float(converted)
