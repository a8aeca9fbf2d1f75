"""Times as callers write them, ISO 8601 dates or date-times, and the day they fall on for the Subject."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tools_app.records.models import Precision

EARLIEST_YEAR = 1900
LATEST_YEAR = 2200
SLEEP = "sleep"
"""How the analytes of sleep begin."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2}(:[0-9]{2})?)?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as written and as understood. A date stays a date: its ``instant`` only places it among the others.

    ``text`` is ISO 8601: what was written, with the Subject's offset added where there was none.
    """

    text: str
    instant: datetime
    precision: Precision
    local_date: date

    @property
    def key(self) -> str:
        """The same for every spelling of the same time, whatever the offset or the Subject's zone."""
        if self.precision == Precision.DAY:
            return self.local_date.isoformat()
        return self.instant.astimezone(UTC).isoformat()


def read_moment(text: str, zone: ZoneInfo) -> Moment:
    """The time that ``text`` names; without an offset it is the Subject's.

    Raises ``ValueError`` with a message for the caller that does not hold the text.
    """
    text = text.strip()
    if _DATE.fullmatch(text):
        return _day(_checked_year(_parsed(text)).date(), zone)
    if not _DATE_TIME.fullmatch(text):
        raise ValueError("must be an ISO 8601 date (2026-03-01) or date-time (2026-03-01T08:00:00+08:00)")
    moment = _checked_year(_parsed(text))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
        text = moment.isoformat()
    return Moment(text, moment, Precision.INSTANT, moment.astimezone(zone).date())


def moment_of(now: datetime, zone: ZoneInfo) -> Moment:
    """The moment ``now`` (aware), to the millisecond, as the Subject's clock shows it."""
    local = now.astimezone(zone)
    text = local.isoformat(timespec="milliseconds")
    return Moment(text, datetime.fromisoformat(text), Precision.INSTANT, local.date())


def is_future(moment: Moment, now: datetime, zone: ZoneInfo) -> bool:
    """Whether it lies more than a day ahead, which no clock error explains."""
    if moment.precision == Precision.DAY:
        return moment.local_date > now.astimezone(zone).date() + timedelta(days=1)
    return moment.instant > now + timedelta(days=1)


def is_before(end: Moment, start: Moment) -> bool:
    """Whether ``end`` is certainly before ``start``."""
    if Precision.DAY in (end.precision, start.precision):
        return end.local_date < start.local_date
    return end.instant < start.instant


def timed(start: Moment, end: Moment | None, analyte: str) -> dict[str, Any]:
    """The columns of a reading that say when it was. A night's sleep counts for the day it ends on, an episode of
    anything else for the day it begins on.
    """
    day = end.local_date if end and analyte.startswith(SLEEP) else start.local_date
    return {
        "time": start.text,
        "instant": start.instant,
        "precision": start.precision.value,
        "local_date": day,
        "day": day.toordinal(),
        "end_time": end.text if end else "",
        "end_instant": end.instant if end else None,
    }


def _day(day: date, zone: ZoneInfo) -> Moment:
    return Moment(day.isoformat(), datetime.combine(day, time.min, tzinfo=zone), Precision.DAY, day)


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is not a date or time of the calendar") from None


def _checked_year(moment: datetime) -> datetime:
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        raise ValueError(f"must lie between the years {EARLIEST_YEAR} and {LATEST_YEAR}")
    return moment
