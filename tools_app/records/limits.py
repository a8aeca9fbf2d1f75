"""Limits that readings are held against, in the unit in which their series compares."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from tools_app.records.derived import Source


@dataclass(frozen=True, slots=True)
class Limits:
    """Any of: greater than ``above``, ``at_least``, less than ``below``, ``at_most``; all that are given must hold."""

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None

    def __bool__(self) -> bool:
        return self != Limits()

    @property
    def certain(self) -> Q:
        """True of readings that certainly meet them: a bound does when all that it allows does."""
        return _above(self.above) & _at_least(self.at_least) & _below(self.below) & _at_most(self.at_most)

    @property
    def exact(self) -> Q:
        """True of readings without a comparator whose number meets them."""
        given = {
            "canonical_number__gt": self.above,
            "canonical_number__gte": self.at_least,
            "canonical_number__lt": self.below,
            "canonical_number__lte": self.at_most,
        }
        return Q(comparator="", **{name: limit for name, limit in given.items() if limit is not None})

    def sql(self, column: str) -> tuple[str, Mapping[str, Source]]:
        """The same test of a column as SQL for ``derived.select``, with the numbers it names."""
        given = {
            "above": (">", self.above),
            "at_least": (">=", self.at_least),
            "below": ("<", self.below),
            "at_most": ("<=", self.at_most),
        }
        tests = [f"{column} {sign} {{{name}}}" for name, (sign, limit) in given.items() if limit is not None]
        numbers = {name: limit for name, (_, limit) in given.items() if limit is not None}
        return " AND ".join(tests) or f"{column} IS NOT NULL", numbers


def _above(limit: float | None) -> Q:
    if limit is None:
        return Q()
    more = Q(comparator__in=["", ">="], canonical_number__gt=limit)
    return more | Q(comparator=">", canonical_number__gte=limit)


def _at_least(limit: float | None) -> Q:
    return Q() if limit is None else Q(comparator__in=["", ">", ">="], canonical_number__gte=limit)


def _below(limit: float | None) -> Q:
    if limit is None:
        return Q()
    less = Q(comparator__in=["", "<="], canonical_number__lt=limit)
    return less | Q(comparator="<", canonical_number__lte=limit)


def _at_most(limit: float | None) -> Q:
    return Q() if limit is None else Q(comparator__in=["", "<", "<="], canonical_number__lte=limit)
