"""What a blood pressure is made of: two readings of one measurement. Reading ``120/80`` is in interpretation.py."""

from collections.abc import Sequence

from django.db.models import Exists, F, OuterRef, Q

from tools_app.records.models import HealthRecord, HealthRecordQuerySet

BLOOD_PRESSURE = "blood_pressure"
PANEL, SYSTOLIC, DIASTOLIC = "85354-9", "8480-6", "8462-4"
SIDES = (f"{BLOOD_PRESSURE}_systolic", f"{BLOOD_PRESSURE}_diastolic")

IS_FIRST = Q(public_id=F("measurement_id")) | ~Q(analyte__in=SIDES)
"""True of one row of every blood pressure, and of every other row: two numbers in a doubtful unit are no pressures."""


def has_second(records: HealthRecordQuerySet) -> Q:
    """True of the first row of a blood pressure whose second one is among the records."""
    second = records.filter(
        local_date=OuterRef("local_date"), measurement_id=OuterRef("public_id"), analyte=SIDES[1]
    )  # fmt: skip
    return Q(Exists(second), analyte=SIDES[0])


def joined(rows: Sequence[HealthRecord]) -> None:
    """Makes readings that a source gave together one measurement, if they are a blood pressure's two."""
    sides = {row.analyte: row for row in rows if row.analyte in SIDES}
    if len(rows) == len(sides) == len(SIDES):
        for row in rows:
            row.measurement_id = sides[SIDES[0]].public_id


def set_apart(rows: Sequence[HealthRecord]) -> list[HealthRecord]:
    """Makes each row whose measurement's first row is not among them a measurement of its own; these rows."""
    firsts = {row.public_id for row in rows}
    alone = [row for row in rows if row.measurement_id not in firsts]
    for row in alone:
        row.measurement_id = row.public_id
    return alone


def measured_with(record: HealthRecord, records: HealthRecordQuerySet) -> list[HealthRecord]:
    """All rows of the record's measurement that are among the records, its first one first."""
    if record.analyte not in SIDES:
        return [record]
    rows = records.filter(local_date=record.local_date, measurement_id=record.measurement_id, analyte__in=SIDES)
    return sorted(rows, key=lambda row: row.public_id != row.measurement_id) or [record]


def with_seconds(firsts: Sequence[HealthRecord], records: HealthRecordQuerySet) -> list[list[HealthRecord]]:
    """The rows of each measurement, by its first. One query where there may be blood pressures."""
    systolic = [row for row in firsts if row.analyte == SIDES[0]]
    found = records.filter(
        local_date__in={row.local_date for row in systolic},
        measurement_id__in=[row.public_id for row in systolic],
        analyte=SIDES[1],
    )
    seconds = {row.measurement_id: row for row in found} if systolic else {}
    return [[row, seconds[row.public_id]] if row.public_id in seconds else [row] for row in firsts]
