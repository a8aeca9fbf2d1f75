"""Clinical times, which may be a year or a month alone. Whole days and instants are read by times.py.

Source: FHIR R4, dateTime.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tools_app.records.clinical import DatePrecision
from tools_app.records.models import Precision
from tools_app.records.times import read_moment

# Without an end, what has one of these goes on; anything else happened when it began.
GOING_ON = frozenset({"active", "recurrence", "relapse", "on-hold", "intended", "in-progress", "arrived"})
_YEAR = re.compile(r"[0-9]{4}")
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class ClinicalTime:
    """A time as written: what is known of it, and the days it may mean. ``instant`` is ``None`` without an hour."""

    text: str
    precision: DatePrecision
    first_day: date
    last_day: date
    instant: datetime | None = None


def read_clinical_time(text: str, zone: ZoneInfo) -> ClinicalTime:
    """The time that ``text`` names. Raises ``ValueError`` with a message that does not hold the text."""
    text = text.strip()
    if _YEAR.fullmatch(text):
        first = _checked(f"{text}-01-01", zone)
        return ClinicalTime(text, DatePrecision.YEAR, first, first.replace(month=12, day=31))
    if _MONTH.fullmatch(text):
        first = _checked(f"{text}-01", zone)
        last = first.replace(day=monthrange(first.year, first.month)[1])
        return ClinicalTime(text, DatePrecision.MONTH, first, last)
    moment = read_moment(text, zone)
    if moment.precision == Precision.DAY:
        return ClinicalTime(moment.text, DatePrecision.DAY, moment.local_date, moment.local_date)
    return ClinicalTime(moment.text, DatePrecision.INSTANT, moment.local_date, moment.local_date, moment.instant)


def timed(start: ClinicalTime | None, end: ClinicalTime | None, status: str) -> dict[str, Any]:
    """The columns of a clinical record that say when it was."""
    begins = start or end
    last = end or (None if status in GOING_ON else start)
    return {
        "time": start.text if start else "",
        "precision": begins.precision if begins else "",
        "instant": begins.instant if begins else None,
        "local_date": begins.first_day if begins else None,
        "end_time": end.text if end else "",
        "last_date": last.last_day if last else None,
    }


def _checked(day: str, zone: ZoneInfo) -> date:
    return read_moment(day, zone).local_date
