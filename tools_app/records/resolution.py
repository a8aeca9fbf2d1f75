"""From the names people ask for to the series they mean among one person's records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q

from tools_app.records.models import HealthRecordQuerySet
from tools_app.records.names import searchable
from tools_app.records.series import Series, series_of_analytes, uncoded_series
from tools_app.standardization import concepts_matching, concepts_named

# What an everyday word may stand for as well, beside the analyte that bears the name itself.
FAMILIES = {
    "glucose": ("glucose_fasting", "glucose_postprandial"),
    "cholesterol_ldl": ("cholesterol_ldl_calculated",),
    "blood_pressure": ("blood_pressure_systolic", "blood_pressure_diastolic"),
}


@dataclass(frozen=True)
class Asked:
    """One name and what it may mean: ``exact`` are the analytes that bear it, in order."""

    name: str
    key: str
    exact: tuple[str, ...]

    @cached_property
    def near(self) -> frozenset[str]:
        """The analytes that have it in a part of a name; a search through all names there are."""
        return frozenset(concept.analyte for concept in concepts_matching(self.key))

    def bearing(self, coded: Mapping[str, Series], uncoded: Sequence[Series]) -> list[Series]:
        """Those that bear the name."""
        found = [coded[analyte] for analyte in self.exact if analyte in coded]
        return found + [series for series in uncoded if self.key and series.name == self.key]

    def nearby(self, coded: Sequence[Series], uncoded: Sequence[Series]) -> list[Series]:
        """Those that have it in a part of their name."""
        found = [series for series in coded if series.analyte in self.near]
        return found + [series for series in uncoded if self.key and self.key in series.name]


def asked_for(name: str) -> Asked:
    """What ``name`` (any language, or a LOINC code) may mean."""
    key = searchable(name)
    return Asked(name, key, exact=_bearers(key))


def resolve(names: Sequence[str], records: HealthRecordQuerySet) -> dict[str, list[Series]]:
    """For each name, as asked, the series in ``records`` that it means; an empty list for none.

    What bears a name is looked up; only where nothing does, everything that comes near.
    """
    wanted = [asked_for(name) for name in names]
    uncoded = uncoded_series(records, Q(name__in={asked.key for asked in wanted if asked.key}))
    exact = {analyte: None for asked in wanted for analyte in asked.exact}
    bearing = {series.analyte: series for series in series_of_analytes(records, exact)}
    meant = {asked.name: asked.bearing(bearing, uncoded) for asked in wanted}
    without = [asked for asked in wanted if not meant[asked.name]]
    return meant | (_near(without, records) if without else {})


def _near(wanted: Sequence[Asked], records: HealthRecordQuerySet) -> dict[str, list[Series]]:
    analytes = {analyte for asked in wanted for analyte in asked.near}
    present = records.filter(analyte__in=analytes).order_by().values_list("analyte", flat=True).distinct()
    coded = series_of_analytes(records, sorted(present)) if analytes else []
    named = Q(pk__in=[])
    for asked in wanted:
        if asked.key:
            named |= Q(name__contains=asked.key)
    uncoded = uncoded_series(records, named)
    return {asked.name: asked.nearby(coded, uncoded) for asked in wanted}


def _bearers(name: str) -> tuple[str, ...]:
    named = [concept.analyte for concept in concepts_named(name)]
    return tuple(dict.fromkeys(one for analyte in named for one in (analyte, *FAMILIES.get(analyte, ()))))
