"""Which series a person's records make: what may be compared with each other, its name, unit and numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any

from django.db.models import Count, Max, Min, Q, QuerySet

from tools_app.records.models import NEWEST_FIRST, HealthRecord, HealthRecordQuerySet
from tools_app.standardization import Concept, concepts, find_concept

# From how many of the newest readings it is told in which unit a person's readings are written.
LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class Series:
    """Readings of one person that may be compared: of one analyte, or of one written name and unit without one.

    ``unit`` is the one in which the numbers compare, ``written_unit`` the UCUM unit most used of late. ``count``,
    ``first`` and ``last`` are known only of those that ``series_in`` gives.
    """

    analyte: str
    name: str
    unit: str
    title: str
    code: str
    written_unit: str = ""
    count: int = 0
    first: date | None = None
    last: date | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from the other series of the same person."""
        return (self.analyte, "", "") if self.analyte else ("", self.name, self.unit)

    @property
    def condition(self) -> Q:
        """True of the records that belong to it."""
        if self.analyte:
            return Q(analyte=self.analyte)
        return Q(analyte="", name=self.name, canonical_unit=self.unit)

    @property
    def numbered(self) -> Q:
        """True of its records that have a number that compares and is no mere bound."""
        return Q(canonical_number__isnull=False, comparator="")

    @property
    def usable(self) -> Q:
        """True of those of them that may enter a figure: a number that no body can have is a slip, and does not."""
        concept = _concept_of(self.analyte)
        if concept is None or concept.least is None or concept.most is None:
            return self.numbered
        return self.numbered & Q(canonical_number__gte=concept.least, canonical_number__lte=concept.most)


def series_in(records: HealthRecordQuerySet) -> list[Series]:
    """The series that occur, by title, with how many readings each has and from when to when. Two queries."""
    found = [*_coded(records.filter(analyte__gt="")), *_uncoded(records.filter(analyte=""))]
    return sorted(found, key=lambda series: (series.title.casefold(), series.unit))


def series_of_analytes(records: HealthRecordQuerySet, analytes: Iterable[str]) -> list[Series]:
    """Those of the analytes that occur, in that order, found without counting. One query each."""
    return [series for analyte in analytes if (series := _series_of(records, analyte))]


def uncoded_series(records: HealthRecordQuerySet, condition: Q) -> list[Series]:
    """The series without an analyte whose records meet the condition. One query."""
    return list(_uncoded(records.filter(condition, analyte="")))


def with_written_unit(series: Series, records: HealthRecordQuerySet) -> Series:
    """The same, knowing its written unit. One query."""
    if not series.analyte or series.written_unit:
        return series
    return _series_of(records, series.analyte, known=series) or series


def _series_of(records: HealthRecordQuerySet, analyte: str, known: Series | None = None) -> Series | None:
    newest = records.filter(analyte=analyte).order_by(*NEWEST_FIRST)
    rows = list(newest.values_list("canonical_number", "ucum_unit")[:LOOKED_AT])
    if not rows:
        return None
    # The index says little of an analyte without a number among its newest readings: then all are asked.
    units = [unit for number, unit in rows if number is not None]
    measured = bool(units) or (len(rows) == LOOKED_AT and newest.filter(canonical_number__isnull=False).exists())
    title, unit, code = _described(analyte, measured=measured)
    series = known or Series(analyte=analyte, name="", unit=unit, title=title, code=code)
    return replace(series, written_unit=max(units, key=units.count, default=unit) or unit)


def _coded(records: HealthRecordQuerySet) -> Iterator[Series]:
    rows = _with_extent(records, "analyte").annotate(numbers=Count("canonical_number"))
    for row in map(dict[str, Any], rows):
        title, unit, code = _described(row["analyte"], measured=bool(row.pop("numbers")))
        yield Series(name="", unit=unit, title=title, code=code, **row)


def _uncoded(records: HealthRecordQuerySet) -> Iterator[Series]:
    rows = _with_extent(records, "name", "canonical_unit").annotate(title=Max("indicator"))
    for row in map(dict[str, Any], rows):
        unit = row.pop("canonical_unit")
        yield Series(analyte="", unit=unit, code="", written_unit=unit, **row)


def _with_extent(records: HealthRecordQuerySet, *by: str) -> QuerySet[HealthRecord, Any]:
    extent = {"count": Count("id"), "first": Min("local_date"), "last": Max("local_date")}
    rows: QuerySet[HealthRecord, Any] = records.order_by().values(*by).annotate(**extent)
    return rows


@cache
def _concept_of(analyte: str) -> Concept | None:
    """Any concept of the analyte: they share name, unit and range."""
    return next((concept for concept in concepts() if concept.analyte == analyte), None)


@cache
def _described(analyte: str, *, measured: bool) -> tuple[str, str, str]:
    """Name, unit and code of an analyte as results give them: of its numbers, or else of its results in words."""
    concept = _concept_of(analyte)
    if concept is None:
        return analyte, "", ""
    unit = concept.unit if measured else ""
    coded = find_concept(concept.name, unit or None)
    return concept.name, unit, coded.code if coded and coded.analyte == analyte else ""
