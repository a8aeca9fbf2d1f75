"""Writes of health records: all of a batch or nothing, each reading once; deletion."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import transaction

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.services import lock_subject
from tools_app.records.batch import Batch
from tools_app.records.interpretation import fingerprinted, interpret
from tools_app.records.models import HealthRecord, HealthRecordQuerySet, RecordRemoval, Retention
from tools_app.records.selectors import named_exactly


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a batch, counted in rows (a blood pressure is two).

    ``ingested``: newly kept; ``standardized``: of those, the ones with a LOINC code; ``duplicates``: readings that were
    there already, in the store or earlier in the batch.
    """

    ingested: int
    standardized: int
    duplicates: int


def ingest(account_id: int, user: str, batch: Batch, now: datetime) -> Ingested:
    """Keeps the batch for the account's Subject ``user`` (``""``: the default one), which is made when missing.

    All or nothing: raises ``InvalidRequestError`` naming the first impossible record, and nothing is written, not even
    the Subject. The same reading again is kept once, for the longest of the times it was given.
    """
    known = find_subject(account_id, user)
    rows = interpret(batch, ZoneInfo(known.time_zone if known else "UTC"), now)
    with transaction.atomic():
        # Writers of one Subject wait for each other, so that each sees what the others have kept.
        subject = lock_subject(account_id, user)
        fresh = _without_known(fingerprinted(rows, subject), subject, batch, now)
        HealthRecord.objects.bulk_create(fresh)
    standardized = sum(1 for row in fresh if row.loinc_code)
    return Ingested(ingested=len(fresh), standardized=standardized, duplicates=len(rows) - len(fresh))


def _without_known(rows: list[HealthRecord], subject: Subject, batch: Batch, now: datetime) -> list[HealthRecord]:
    """The rows that are not kept yet. Those that are live on for as long as this batch asks; expired ones make room."""
    known = HealthRecord.objects.filter(subject=subject, fingerprint__in=[row.fingerprint for row in rows])
    live = list(known.live(now).only("fingerprint", "retention", "expires_at", "session_id"))
    known.exclude(pk__in=[record.pk for record in live]).delete()
    _keep_longer([record for record in live if rows and _outlasts(rows[0], record)], rows)
    fingerprints = {record.fingerprint for record in live}
    return [row for row in rows if row.fingerprint not in fingerprints]


def _keep_longer(records: list[HealthRecord], rows: list[HealthRecord]) -> None:
    if not records:
        return
    # Every row of a batch is kept for the same time.
    keeping = {name: getattr(rows[0], name) for name in ("retention", "session_id", "expires_at")}
    HealthRecord.objects.filter(pk__in=[record.pk for record in records]).update(**keeping)


def _outlasts(new: HealthRecord, old: HealthRecord) -> bool:
    """Whether ``new`` is kept longer: permanent over a session's over a timed one; of two sessions the later named."""
    if Retention.PERMANENT in (new.retention, old.retention):
        return old.retention != Retention.PERMANENT
    if Retention.SESSION in (new.retention, old.retention):
        return new.retention == Retention.SESSION and new.session_id != old.session_id
    return bool(new.expires_at and old.expires_at and new.expires_at > old.expires_at)


def delete_by_id(subject: Subject, public_id: str, now: datetime) -> int:
    """Deletes one record; the number of records the caller could see that are gone: 1 or 0."""
    return _delete(subject, HealthRecord.objects.filter(public_id=public_id), now)


def delete_by_indicator(subject: Subject, indicator: str, now: datetime) -> int:
    """Deletes the records with this whole written name or code; the number of visible ones that are gone."""
    return _delete(subject, named_exactly(HealthRecord.objects.all(), indicator), now)


def delete_all(subject: Subject, now: datetime) -> int:
    """Deletes every record of the Subject; the number of visible ones that are gone."""
    return _delete(subject, HealthRecord.objects.all(), now)


def delete_session_records(subject: Subject, session_id: str, now: datetime) -> int:
    """Ends a session's working data: the records kept for it; the number of visible ones that are gone."""
    kept_for_it = HealthRecord.objects.filter(retention=Retention.SESSION, session_id=session_id)
    return _delete(subject, kept_for_it, now)


@transaction.atomic
def _delete(subject: Subject, which: HealthRecordQuerySet, now: datetime) -> int:
    """Deletes those of the Subject's records and notes it, for whoever has kept what they said."""
    if not Subject.objects.select_for_update(no_key=True).filter(pk=subject.pk).first():
        return 0
    records = which.filter(subject=subject)
    visible = records.live(now).count()
    if records.delete()[0]:
        RecordRemoval.objects.create(owner_id=subject.pk, removed_at=now)
    return visible


def note_erasure(subject_id: int, now: datetime) -> None:
    """Notes that the Subject itself goes, for whoever has kept what it said."""
    RecordRemoval.objects.create(owner_id=subject_id, erased=True, removed_at=now)


def sweep_records(now: datetime, batch: int) -> int:
    """Deletes expired records in batches; how many. What came from them knows their expiry, so nothing is noted.

    Safe to run at once with itself.
    """
    swept = 0
    expired = HealthRecord.objects.filter(expires_at__lte=now).order_by("pk")
    while deleted := _sweep_batch(expired[:batch]):
        swept += deleted
    return swept


@transaction.atomic
def _sweep_batch(records: HealthRecordQuerySet) -> int:
    """Leaves out what another one is deleting right now, and so waits for nobody."""
    keys = list(records.select_for_update(skip_locked=True).values_list("pk", flat=True))
    return HealthRecord.objects.filter(pk__in=keys).delete()[0] if keys else 0


def erase_records(subject_id: int, batch: int, on_progress: Callable[[int], None]) -> int:
    """Deletes all records of a Subject that is being erased, in batches; how many. ``on_progress`` is told each."""
    erased = 0
    records = HealthRecord.objects.filter(subject_id=subject_id).order_by("pk")
    while keys := list(records.values_list("pk", flat=True)[:batch]):
        gone = HealthRecord.objects.filter(pk__in=keys).delete()[0]
        on_progress(gone)
        erased += gone
    return erased
