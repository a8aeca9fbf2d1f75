"""Writes of health and clinical records: all of a batch or nothing, each once; deletion."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import transaction

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.services import lock_subject
from tools_app.records.batch import Batch
from tools_app.records.bulk import insert_readings
from tools_app.records.clinical import ClinicalRecord, ClinicalRecordQuerySet
from tools_app.records.interpretation import fingerprinted, interpret
from tools_app.records.models import HealthRecord, HealthRecordQuerySet, RecordRemoval, Retention
from tools_app.records.pressures import SIDES, set_apart
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

    def __add__(self, other: "Ingested") -> "Ingested":
        return Ingested(
            self.ingested + other.ingested,
            self.standardized + other.standardized,
            self.duplicates + other.duplicates,
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of clinical records: new ones, ones that say something else now, ones that were there as they are."""

    added: int = 0
    changed: int = 0
    duplicates: int = 0

    def __add__(self, other: "Kept") -> "Kept":
        return Kept(self.added + other.added, self.changed + other.changed, self.duplicates + other.duplicates)


def ingest(account_id: int, user: str, batch: Batch, now: datetime) -> Ingested:
    """Keeps the batch for the account's Subject ``user`` (``""``: the default one), which is made when missing.

    All or nothing: raises ``InvalidRequestError`` naming the first impossible record, and nothing is written, not even
    the Subject. The same reading again is kept once, for the longest of the times it was given.
    """
    known = find_subject(account_id, user)
    zone = known.time_zone if known else "UTC"
    rows = interpret(batch, ZoneInfo(zone), now)
    with transaction.atomic():
        # Writers of one Subject wait for each other, so that each sees what the others have kept.
        subject = lock_subject(account_id, user)
        if subject.time_zone != zone:
            rows = interpret(batch, ZoneInfo(subject.time_zone), now)
        return keep_readings(subject, rows, now)


def keep_readings(subject: Subject, rows: Sequence[HealthRecord], now: datetime) -> Ingested:
    """Keeps interpreted rows, all for the same time. The caller holds the Subject's lock in its transaction."""
    fresh = _without_known(fingerprinted(rows, subject), subject, now)
    set_apart(fresh)
    insert_readings(fresh)
    standardized = sum(1 for row in fresh if row.loinc_code)
    return Ingested(ingested=len(fresh), standardized=standardized, duplicates=len(rows) - len(fresh))


def _without_known(rows: list[HealthRecord], subject: Subject, now: datetime) -> list[HealthRecord]:
    """The rows that are not kept yet. Those that are live on for as long as this batch asks; expired ones make room."""
    stored = HealthRecord.objects.filter(subject=subject, fingerprint__in=[row.fingerprint for row in rows])
    known = list(stored.only("fingerprint", "public_id", "measurement_id", "retention", "expires_at", "session_id"))
    expired = {record.pk for record in known if record.expires_at and record.expires_at <= now}
    if expired:
        HealthRecord.objects.filter(pk__in=expired).delete()
    live = {record.fingerprint: record for record in known if record.pk not in expired}
    _keep_longer([record for record in live.values() if _outlasts(rows[0], record)], rows)
    return [row for row in rows if row.fingerprint not in live]


def _keep_longer(records: list[HealthRecord], rows: list[HealthRecord]) -> None:
    if not records:
        return
    # Every row of a batch is kept for the same time.
    keeping = {name: getattr(rows[0], name) for name in ("retention", "session_id", "expires_at")}
    HealthRecord.objects.filter(pk__in=[record.pk for record in records]).update(**keeping)
    # What stays longer than the first row of its measurement stays by itself.
    HealthRecord.objects.bulk_update(set_apart(records), ["measurement_id"])


def _outlasts(new: HealthRecord, old: HealthRecord) -> bool:
    """Whether ``new`` is kept longer: permanent over a session's over a timed one; of two sessions the later named."""
    if Retention.PERMANENT in (new.retention, old.retention):
        return old.retention != Retention.PERMANENT
    if Retention.SESSION in (new.retention, old.retention):
        return new.retention == Retention.SESSION and new.session_id != old.session_id
    return bool(new.expires_at and old.expires_at and new.expires_at > old.expires_at)


_WHAT_MAY_CHANGE = (
    "display", "codes", "search", "status", "precision", "instant", "local_date", "end_time", "last_date", "text",
)  # fmt: skip


def keep_clinical(subject: Subject, rows: Sequence[ClinicalRecord], now: datetime) -> dict[str, Kept]:
    """Keeps permanent rows, and those that are known as they are stated now; by kind what became of them.

    The caller holds the Subject's lock in its transaction.
    """
    stated = {row.fingerprint: row for row in rows}
    known = ClinicalRecord.objects.filter(subject=subject, fingerprint__in=stated)
    known.exclude(pk__in=known.live(now).values("pk")).delete()
    kept: dict[str, Kept] = defaultdict(Kept)
    changed = []
    for row in known:
        new = stated.pop(row.fingerprint)
        differs = any(getattr(row, name) != getattr(new, name) for name in _WHAT_MAY_CHANGE)
        kept[row.kind] += Kept(changed=1) if differs else Kept(duplicates=1)
        if differs:
            for name in _WHAT_MAY_CHANGE:
                setattr(row, name, getattr(new, name))
            changed.append(row)
    for row in stated.values():
        row.subject = subject
        kept[row.kind] += Kept(added=1)
    ClinicalRecord.objects.bulk_update(changed, _WHAT_MAY_CHANGE)
    ClinicalRecord.objects.bulk_create(stated.values())
    for kind, twice in Counter(row.kind for row in rows).items():
        extra = twice - sum((kept[kind].added, kept[kind].changed, kept[kind].duplicates))
        kept[kind] += Kept(duplicates=extra)
    return kept


def delete_by_id(subject: Subject, public_id: str, now: datetime) -> int:
    """Deletes one record, a clinical one too, and of a blood pressure both rows; the number of visible ones gone."""
    clinical = ClinicalRecord.objects.filter(public_id=public_id)
    return _delete(subject, now, _measured_with(subject, public_id), clinical)


def _measured_with(subject: Subject, public_id: str) -> HealthRecordQuerySet:
    """All rows of the measurement that the record belongs to. They have one time, which is in an index."""
    record = HealthRecord.objects.filter(subject=subject, public_id=public_id).first()
    if record is None:
        return HealthRecord.objects.none()
    return HealthRecord.objects.filter(
        measurement_id=record.measurement_id, local_date=record.local_date, instant=record.instant
    )


def delete_by_indicator(subject: Subject, indicator: str, now: datetime) -> int:
    """Deletes the records with this whole written name or code, of a blood pressure both; the visible ones gone."""
    named = named_exactly(HealthRecord.objects.filter(subject=subject), indicator)
    measurements = list(named.filter(analyte__in=SIDES).values_list("measurement_id", flat=True))
    pressures = HealthRecord.objects.filter(analyte__in=SIDES, measurement_id__in=measurements)
    return _delete(subject, now, pressures, named.exclude(measurement_id__in=measurements))


def delete_all(subject: Subject, now: datetime) -> int:
    """Deletes every record of the Subject, clinical ones too; the number of visible ones that are gone."""
    return _delete(subject, now, HealthRecord.objects.all(), ClinicalRecord.objects.all())


def delete_session_records(subject: Subject, session_id: str, now: datetime) -> int:
    """Ends a session's working data: the records kept for it; the number of visible ones that are gone."""
    kept_for_it = HealthRecord.objects.filter(retention=Retention.SESSION, session_id=session_id)
    return _delete(subject, now, kept_for_it)


Records = HealthRecordQuerySet | ClinicalRecordQuerySet


@transaction.atomic
def _delete(subject: Subject, now: datetime, *which: Records) -> int:
    """Deletes those of the Subject's records and notes it, for whoever has kept what they said."""
    if not Subject.objects.select_for_update(no_key=True).filter(pk=subject.pk).first():
        return 0
    own = [records.filter(subject=subject) for records in which]
    visible = sum(records.live(now).count() for records in own)
    if sum(records.delete()[0] for records in own):
        RecordRemoval.objects.create(owner_id=subject.pk, removed_at=now)
    return visible


def note_erasure(subject_id: int, now: datetime) -> None:
    """Notes that the Subject itself goes, for whoever has kept what it said."""
    RecordRemoval.objects.create(owner_id=subject_id, erased=True, removed_at=now)


def sweep_records(now: datetime, batch: int) -> int:
    """Deletes expired records in batches; how many. What came from them knows their expiry, so nothing is noted.

    Safe to run at once with itself.
    """
    return sum(_sweep(records.filter(expires_at__lte=now).order_by("pk"), batch) for records in _every_table())


def _every_table() -> tuple[Records, ...]:
    return HealthRecord.objects.all(), ClinicalRecord.objects.all()


def _sweep(expired: Records, batch: int) -> int:
    swept = 0
    while deleted := _sweep_batch(expired, batch):
        swept += deleted
    return swept


@transaction.atomic
def _sweep_batch(records: Records, batch: int) -> int:
    """Leaves out what another one is deleting right now, and so waits for nobody."""
    keys = list(records[:batch].select_for_update(skip_locked=True).values_list("pk", flat=True))
    return records.model._default_manager.filter(pk__in=keys).delete()[0] if keys else 0


def erase_records(subject_id: int, batch: int, on_progress: Callable[[int], None]) -> int:
    """Deletes all records of a Subject that is being erased, in batches; how many. ``on_progress`` is told each."""
    erased = 0
    for records in _every_table():
        own = records.filter(subject_id=subject_id).order_by("pk")
        while keys := list(own.values_list("pk", flat=True)[:batch]):
            gone = records.filter(pk__in=keys).delete()[0]
            on_progress(gone)
            erased += gone
    return erased
