"""From the names people ask for to the series they mean among one person's records."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from tools_app.records.models import HealthRecordQuerySet
from tools_app.records.names import searchable
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
    """One name and what it may mean: analytes that bear it, in order, and analytes that have it in a part of a name."""

    name: str
    key: str
    exact: tuple[str, ...]
    near: frozenset[str]

    def choose(self, present: Sequence[Series]) -> list[Series]:
        """The series meant: those that bear the name if there are any, else those that come near."""
        coded = {series.analyte: series for series in present if series.analyte}
        uncoded = [series for series in present if not series.analyte and self.key]
        bearing = [coded[analyte] for analyte in self.exact if analyte in coded]
        bearing += [series for series in uncoded if series.name == self.key]
        near = [series for analyte, series in coded.items() if analyte in self.near]
        return bearing or near + [series for series in uncoded if self.key in series.name]


def asked_for(name: str) -> Asked:
    """What ``name`` (any language, or a LOINC code) may mean."""
    key = searchable(name)
    near = frozenset(concept.analyte for concept in concepts_matching(key))
    return Asked(name, key, exact=_bearers(key), near=near)


def resolve(names: Sequence[str], records: HealthRecordQuerySet) -> dict[str, list[Series]]:
    """For each name, as asked, the series in ``records`` that it means; an empty list for none. Two queries."""
    wanted = [asked_for(name) for name in names]
    present = series_in(records.filter(_candidates(wanted)))
    return {asked.name: asked.choose(present) for asked in wanted}


def _candidates(wanted: Sequence[Asked]) -> Q:
    condition = Q(analyte__in={analyte for asked in wanted for analyte in (*asked.exact, *asked.near)})
    for asked in wanted:
        if asked.key:
            condition |= Q(analyte="", name__contains=asked.key)
    return condition


def _bearers(name: str) -> tuple[str, ...]:
    named = [concept.analyte for concept in concepts_named(name)]
    return tuple(dict.fromkeys(one for analyte in named for one in (analyte, *FAMILIES.get(analyte, ()))))
