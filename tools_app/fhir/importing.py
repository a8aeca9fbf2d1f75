"""Imports a FHIR file as one person's readings and clinical records: all that can be taken, in one transaction.

What a resource says is read in readings.py and clinical.py; the rows are kept by records/services.py.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from django.db import transaction

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.services import lock_subject
from tools_app.fhir.clinical import READERS, clinical_record
from tools_app.fhir.documents import Document, Entry, Unusable, read_document
from tools_app.fhir.readings import readings_of
from tools_app.records.batch import CodedRecord
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.interpretation import kept_for, rows_of
from tools_app.records.models import HealthRecord, Retention
from tools_app.records.pressures import joined
from tools_app.records.services import Ingested, Kept, keep_clinical, keep_readings

T = TypeVar("T")
Track = Callable[[Sequence[T]], Iterable[T]]
CHUNK = 500
OBSERVATION = "Observation"


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file. ``clinical`` is by kind; ``skipped`` counts by resource type and reason."""

    resources: int
    readings: Ingested
    clinical: dict[str, Kept]
    skipped: Counter[tuple[str, str]]


@dataclass(slots=True)
class _Rows:
    time_zone: str
    readings: list[HealthRecord] = field(default_factory=list)
    clinical: list[ClinicalRecord] = field(default_factory=list)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)


def import_file(
    path: Path, account_id: int, user: str, now: datetime, *, dry_run: bool, track: Track[Any] = lambda items: items
) -> Imported:
    """Imports the file for the account's Subject ``user`` (``""``: the default one), which is made when missing.

    The same file again adds nothing. ``dry_run`` counts and keeps nothing. ``track`` is given what is worked through,
    to show how far it is. Raises BadFile, and nothing is written, not even the Subject.
    """
    document = read_document(path)
    taken = [entry for entry in document.entries if entry.type == OBSERVATION or entry.type in READERS]
    about = [entry.resource for entry in taken if document.is_about_a_patient(entry.resource)]
    document.check_one_patient(about)
    known = find_subject(account_id, user)
    rows = _read_all(document, known.time_zone if known else "UTC", now, track)
    with transaction.atomic():
        # Nothing to keep makes no Subject.
        if rows.readings or rows.clinical:
            subject = lock_subject(account_id, user)
            if subject.time_zone != rows.time_zone:
                rows = _read_all(document, subject.time_zone, now, track)
            readings, clinical = _keep(rows, subject, now, track)
        else:
            readings, clinical = Ingested(0, 0, 0), {}
        transaction.set_rollback(dry_run)
    return Imported(len(document.entries), readings, clinical, rows.skipped)


def _read_all(document: Document, time_zone: str, now: datetime, track: Track[Any]) -> _Rows:
    rows = _Rows(time_zone)
    for entry in track(document.entries):
        _read(entry, document, ZoneInfo(time_zone), now, rows)
    return rows


def _read(entry: Entry, document: Document, zone: ZoneInfo, now: datetime, rows: _Rows) -> None:
    try:
        if entry.type != OBSERVATION and entry.type not in READERS:
            raise Unusable("resources of this type are not taken")  # noqa: TRY301 - one way to say no
        if not document.is_about_a_patient(entry.resource):
            raise Unusable("not about a patient")  # noqa: TRY301
        if entry.type == OBSERVATION:
            _read_observation(entry, zone, now, rows)
        else:
            record = clinical_record(entry, document, zone)
            for name, value in kept_for(Retention.PERMANENT, now).items():
                setattr(record, name, value)
            rows.clinical.append(record)
    except Unusable as reason:
        rows.skipped[entry.type, str(reason)] += 1


def _read_observation(entry: Entry, zone: ZoneInfo, now: datetime, rows: _Rows) -> None:
    found: list[HealthRecord] = []
    for reading in readings_of(entry.resource):
        if isinstance(reading, Unusable):
            rows.skipped[entry.type, str(reading)] += 1
            continue
        try:
            found += _interpreted(reading, zone, now)
        except InvalidRequestError as error:
            rows.skipped[entry.type, error.message.removeprefix("reading.").rstrip(".")] += 1
    joined(found)
    rows.readings += found


def _interpreted(reading: CodedRecord, zone: ZoneInfo, now: datetime) -> list[HealthRecord]:
    return list(rows_of(reading, "reading", zone, now, kept_for(Retention.PERMANENT, now)))


def _keep(rows: _Rows, subject: Subject, now: datetime, track: Track[Any]) -> tuple[Ingested, dict[str, Kept]]:
    readings = [keep_readings(subject, chunk, now) for chunk in track(_chunks(rows.readings))]
    clinical: dict[str, Kept] = {}
    for chunk in track(_chunks(rows.clinical)):
        for kind, kept in keep_clinical(subject, chunk, now).items():
            clinical[kind] = clinical.get(kind, Kept()) + kept
    return sum(readings, Ingested(0, 0, 0)), clinical


def _chunks(rows: Sequence[T]) -> list[Sequence[T]]:
    return [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
