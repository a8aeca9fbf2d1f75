"""Writes of what a Subject itself is: its name for others, and its time zone, which decides the days of its records."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models, transaction

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.services import lock_subject
from tools_app.records import clinical_times, times
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord
from tools_app.records.selectors import pages_of
from tools_app.records.sharing import ends_of_given, note_earlier_ends


@transaction.atomic
def change_subject(
    account_id: int, user: str, time_zone: str | None, display_name: str | None, now: datetime
) -> Subject:
    """Changes what is given, of the account's Subject ``user``, who is made when missing.

    ``time_zone`` is a name of the IANA database. Another zone moves the Subject's readings and clinical records to the
    days on which they are there; what is dated alone stays on its date. A share that then ends earlier takes along what
    was seen through it, since that is known to last until the old end.
    """
    subject = lock_subject(account_id, user)
    if display_name is not None:
        subject.display_name = display_name
    if time_zone is not None and time_zone != subject.time_zone:
        ends = ends_of_given(subject)
        subject.time_zone = time_zone
        note_earlier_ends(subject, ends, now)
        _move_readings(subject, ZoneInfo(time_zone))
        _move_clinical_records(subject, ZoneInfo(time_zone))
    subject.save(update_fields=["display_name", "time_zone"])
    return subject


def _move_readings(subject: Subject, zone: ZoneInfo) -> None:
    columns = ["local_date", "day", "instant", "end_instant"]
    for rows in pages_of(HealthRecord.objects.filter(subject=subject)):
        changed = []
        for row in rows:
            end = times.read_moment(row.end_time, zone) if row.end_time else None
            if _set(row, times.timed(times.read_moment(row.time, zone), end, row.analyte)):
                changed.append(row)
        HealthRecord.objects.bulk_update(changed, columns)


def _move_clinical_records(subject: Subject, zone: ZoneInfo) -> None:
    def read(text: str) -> clinical_times.ClinicalTime | None:
        return clinical_times.read_clinical_time(text, zone) if text else None

    for rows in pages_of(ClinicalRecord.objects.filter(subject=subject)):
        changed = [
            row for row in rows if _set(row, clinical_times.timed(read(row.time), read(row.end_time), row.status))
        ]
        ClinicalRecord.objects.bulk_update(changed, ["local_date", "last_date"])


def _set(row: models.Model, columns: dict[str, Any]) -> bool:
    """Whether this changed the row."""
    changed = {name: value for name, value in columns.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    return bool(changed)
