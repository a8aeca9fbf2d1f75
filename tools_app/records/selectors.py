"""Reads of a Subject's records and of the shares it has received. Figures over records are in statistics.py."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from django.db.models import Model, Q, QuerySet

from mirobody_site.tenancy.models import Subject
from tools_app.records.clinical import CLINICAL_PREFIX, ClinicalRecord, ClinicalRecordQuerySet
from tools_app.records.models import NEWEST_FIRST, HealthRecord, HealthRecordQuerySet, Precision, RecordRemoval, Share
from tools_app.records.names import normalised
from tools_app.records.times import Moment

Row = TypeVar("Row", bound=Model)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` to ``end``, both inclusive, each open when ``None``. Dates mean whole days of the Subject."""

    start: Moment | None = None
    end: Moment | None = None


def records_of(subject: Subject, now: datetime) -> HealthRecordQuerySet:
    """The Subject's records that have not expired."""
    return HealthRecord.objects.filter(subject=subject).live(now)


def pages_of(rows: QuerySet[Row]) -> Iterator[list[Row]]:
    """All rows by their keys, some at a time: no cursor, and no connection, is held between two pages.

    The keys are read first: a database asked for what comes after the last one may sort a person's rows for each page.
    """
    keys = array("q", rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), _PAGE):
        yield list(rows.filter(pk__in=keys[start : start + _PAGE]).order_by("pk"))


def find_record(account_id: int, public_id: str, now: datetime) -> HealthRecord | None:
    """The record with this id and its Subject, if it is one of the account's and has not expired."""
    own = HealthRecord.objects.live(now).filter(subject__account_id=account_id, subject__erased_at=None)
    return own.filter(public_id=public_id).select_related("subject").first()


def clinical_records_of(subject: Subject, now: datetime) -> ClinicalRecordQuerySet:
    """The Subject's clinical records that have not expired."""
    return ClinicalRecord.objects.filter(subject=subject).live(now)


def count_of_records(subject: Subject, now: datetime) -> int:
    """How many records, clinical ones too, the Subject has that have not expired."""
    return records_of(subject, now).count() + clinical_records_of(subject, now).count()


def within(records: HealthRecordQuerySet, period: Period) -> HealthRecordQuerySet:
    """Those that lie in the period. A record that is only dated counts when its day touches it."""
    return records.filter(_from(period.start), _until(period.end))


def _from(start: Moment | None) -> Q:
    if start is None:
        return Q()
    # The day is in the index; the instant only trims the first of them.
    days = Q(local_date__gte=start.local_date)
    if start.precision == Precision.DAY:
        return days
    return days & (Q(precision=Precision.DAY) | Q(instant__gte=start.instant))


def _until(end: Moment | None) -> Q:
    if end is None:
        return Q()
    days = Q(local_date__lte=end.local_date)
    if end.precision == Precision.DAY:
        return days
    return Q(days, precision=Precision.DAY) | Q(precision=Precision.INSTANT, instant__lte=end.instant)


def named_in_part(records: HealthRecordQuerySet, text: str) -> HealthRecordQuerySet:
    """Those with ``text`` in their written or canonical name, or with it as their code."""
    return records.filter(
        Q(name__contains=normalised(text)) | Q(canonical_name__icontains=text) | Q(loinc_code=text.strip())
    )


def named_exactly(records: HealthRecordQuerySet, text: str) -> HealthRecordQuerySet:
    """Those with ``text`` as their whole written name (case and width aside), or as their code."""
    return records.filter(Q(name=normalised(text)) | Q(loinc_code=text.strip()))


def page_of(records: HealthRecordQuerySet, limit: int, offset: int) -> tuple[list[HealthRecord], bool]:
    """``limit`` records, newest first, after the first ``offset``, and whether there are more."""
    rows = list(records.order_by(*NEWEST_FIRST)[offset : offset + limit + 1])
    return rows[:limit], len(rows) > limit


def shares_received(subject_id: int | None, now: datetime) -> Sequence[Share]:
    """The shares that let this Subject see others at ``now``, with their givers, oldest first."""
    if subject_id is None:
        return []
    known = Share.objects.filter(with_subject_id=subject_id, scope__in=Share.Scope.values)
    return [share for share in known.select_related("subject").order_by("id") if holds(share, now)]


def holds(share: Share, now: datetime) -> bool:
    """Whether the share holds at ``now``: on a day of the Subject who shares from its first to its last."""
    today = now.astimezone(ZoneInfo(share.subject.time_zone)).date()
    return (share.start is None or share.start <= today) and (share.end is None or today <= share.end)


def end_of(share: Share, time_zone: str) -> datetime | None:
    """When the share stops to hold by itself, in the zone of the Subject who shares; ``None`` for never."""
    if share.end is None:
        return None
    return datetime.combine(share.end + timedelta(days=1), time.min, tzinfo=ZoneInfo(time_zone))


def shares_of(subject: Subject) -> Sequence[Share]:
    """The shares that the Subject gave and received, whether they hold or not, oldest first."""
    known = Share.objects.filter(Q(subject=subject) | Q(with_subject=subject))
    return list(known.select_related("subject", "with_subject").order_by("id"))


def shared_records(share: Share, now: datetime) -> HealthRecordQuerySet:
    """The readings that the share shows."""
    records = records_of(share.subject, now)
    return records if share.scope in (Share.Scope.ALL, Share.Scope.READINGS) else records.none()


def shared_clinical_records(share: Share, now: datetime) -> ClinicalRecordQuerySet:
    """The clinical records that the share shows."""
    records = clinical_records_of(share.subject, now)
    return records if share.scope in (Share.Scope.ALL, Share.Scope.CLINICAL) else records.none()


def removals(owner_ids: Iterable[int], since: datetime) -> list[RecordRemoval]:
    """The notes of what was deleted of these Subjects' records since then."""
    return list(RecordRemoval.objects.filter(owner_id__in=set(owner_ids), removed_at__gte=since))


def surviving(public_ids: Iterable[str], now: datetime) -> set[str]:
    """Those of the records, clinical ones too, that are still there and have not expired."""
    asked = set(public_ids)
    clinical = {public_id for public_id in asked if public_id.startswith(CLINICAL_PREFIX)}
    readings = HealthRecord.objects.live(now).filter(public_id__in=asked - clinical)
    alive = set(readings.values_list("public_id", flat=True)) if asked - clinical else set()
    if clinical:
        facts = ClinicalRecord.objects.live(now).filter(public_id__in=clinical)
        alive |= set(facts.values_list("public_id", flat=True))
    return alive
