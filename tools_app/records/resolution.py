"""From the names people ask for to the series they mean among one person's records."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from tools_app.records.models import HealthRecordQuerySet
from tools_app.records.names import normalised
from tools_app.records.statistics import Series, series_in
from tools_app.standardization import concepts_matching, concepts_named

# What an everyday word may stand for as well, beside the analyte that bears the name itself.
FAMILIES = {
    "glucose": ("glucose_fasting", "glucose_postprandial"),
    "cholesterol_ldl": ("cholesterol_ldl_calculated",),
    "blood_pressure": ("blood_pressure_systolic", "blood_pressure_diastolic"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One name and what it may mean: analytes that bear it, and analytes that only have it in a part of a name."""

    name: str
    exact: frozenset[str]
    near: frozenset[str]

    def choose(self, present: Sequence[Series]) -> list[Series]:
        """The series meant: those that bear the name if there are any, else those that come near."""
        key = normalised(self.name)
        bearing = [s for s in present if s.analyte in self.exact or (not s.analyte and s.name == key)]
        return bearing or [s for s in present if s.analyte in self.near or (not s.analyte and key in s.name)]


def asked_for(name: str) -> Asked:
    """What ``name`` (any language, or a LOINC code) may mean."""
    near = frozenset(concept.analyte for concept in concepts_matching(name))
    return Asked(name, exact=_bearers(name), near=near)


def resolve(names: Sequence[str], records: HealthRecordQuerySet) -> dict[str, list[Series]]:
    """For each name, as asked, the series in ``records`` that it means; an empty list when there is none. One query."""
    wanted = [asked_for(name) for name in names]
    present = series_in(records.filter(_candidates(wanted)))
    return {asked.name: asked.choose(present) for asked in wanted}


def _candidates(wanted: Sequence[Asked]) -> Q:
    analytes = frozenset[str]().union(*(asked.exact | asked.near for asked in wanted))
    condition = Q(analyte__in=analytes - {""})
    for asked in wanted:
        condition |= Q(analyte="", name__contains=normalised(asked.name))
    return condition


def _bearers(name: str) -> frozenset[str]:
    bearers = {concept.analyte for concept in concepts_named(name)}
    return frozenset(bearers.union(*(FAMILIES.get(analyte, ()) for analyte in bearers)))
