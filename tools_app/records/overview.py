"""What a person's records hold as a whole, counted by the database. Figures over one series are in statistics.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Case, CharField, Count, F, Max, Min, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber

from tools_app.records.clinical import CLINICAL_NEWEST_FIRST, ClinicalRecord, ClinicalRecordQuerySet
from tools_app.records.models import HealthRecord, HealthRecordQuerySet
from tools_app.records.series import Series

Key = tuple[str, str, str]
_NEWEST_FIRST = (F("local_date").desc(), F("instant").desc(), F("id").desc())


@dataclass(frozen=True, slots=True)
class Source:
    """Where records came from: how many, and the newest day of them."""

    name: str
    count: int
    last: date | None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of clinical records: how many, and from when to when as far as they are dated."""

    kind: str
    count: int
    first: date | None
    last: date | None


def latest_of(records: HealthRecordQuerySet, series: Sequence[Series]) -> dict[Key, HealthRecord]:
    """The newest reading of each series, by its key. One query."""
    rank = Window(RowNumber(), partition_by=[F("analyte"), F("key_name"), F("key_unit")], order_by=_NEWEST_FIRST)
    newest = _keyed(_of(records, series)).annotate(rank=rank).filter(rank=1)
    return {(row.analyte, row.key_name, row.key_unit): row for row in newest}


def abnormal_counts(records: HealthRecordQuerySet, series: Sequence[Series]) -> dict[Key, int]:
    """How many readings of each series are low or high. One query."""
    abnormal = Count("id", filter=Q(abnormal__in=["low", "high"]))
    rows = _keyed(_of(records, series)).order_by().values_list("analyte", "key_name", "key_unit").annotate(n=abnormal)
    return {(analyte, name, unit): count for analyte, name, unit, count in rows}


def sources_of(records: HealthRecordQuerySet | ClinicalRecordQuerySet, most: int) -> list[Source]:
    """The tags records were written with, most records first."""
    rows: QuerySet[Any, Any] = records.order_by().values("source").annotate(n=Count("id"), last=Max("local_date"))
    return [Source(row["source"], row["n"], row["last"]) for row in rows.order_by("-n", "source")[:most]]


def clinical_kinds(records: ClinicalRecordQuerySet) -> list[Kind]:
    """Each kind there is."""
    rows: QuerySet[Any, Any] = records.order_by("kind").values("kind")
    rows = rows.annotate(count=Count("id"), first=Min("local_date"), last=Max("local_date"))
    return [Kind(**row) for row in rows]


def latest_clinical(records: ClinicalRecordQuerySet, most: int) -> list[ClinicalRecord]:
    """The newest records of each kind, at most so many of each, newest first. One query."""
    rank = Window(RowNumber(), partition_by=[F("kind")], order_by=_clinical_order())
    return list(records.annotate(rank=rank).filter(rank__lte=most).order_by("kind", "rank"))


def _clinical_order() -> tuple[Any, ...]:
    return (*CLINICAL_NEWEST_FIRST[:2], F("id").desc())


def _of(records: HealthRecordQuerySet, series: Sequence[Series]) -> HealthRecordQuerySet:
    condition = Q(pk__in=[])
    for one in series:
        condition |= one.condition
    return records.filter(condition)


def _keyed(records: HealthRecordQuerySet) -> QuerySet[Any, Any]:
    """With the parts of ``Series.key`` that an analyte makes blank."""
    return records.annotate(key_name=_unless_coded("name"), key_unit=_unless_coded("canonical_unit"))


def _unless_coded(column: str) -> Case:
    return Case(When(analyte="", then=F(column)), default=Value(""), output_field=CharField())
