"""The curated index of measurements (analytes.csv, codes.csv) and its look-ups: written names → LOINC concepts.

How names are folded and taken apart is in naming.py.
"""

import csv
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from tools_app.standardization.conversion import Analyte, convert, kind_of, units_of_kind
from tools_app.standardization.naming import (
    Form,
    bracketed_parts,
    forms_of,
    is_remark,
    joined,
    parts_by_script,
    without_last_bracket,
    words_of,
)
from tools_app.standardization.units import ucum_unit

MAX_LENGTH = 256
# Of the names people write few are written again and again.
NAMES_REMEMBERED = 4096

_FOLDER = Path(__file__).parent
# A word for a specimen may be left out where it is the one the measurement is made in anyway.
_OWN_SPECIMENS = {
    "serum": frozenset({"serum", "plasma"}),
    "blood": frozenset({"serum", "plasma", "blood"}),
    "whole blood": frozenset({"blood"}),
    "arterial": frozenset({"arterial blood"}),
    "venous": frozenset({"venous blood"}),
    "capillary": frozenset({"capillary blood"}),
    "urine": frozenset({"urine", "24 h urine"}),
    "24h": frozenset({"24 h urine"}),
    "stool": frozenset({"stool"}),
    "csf": frozenset({"cerebrospinal fluid"}),
}
# What stands in place of a name.
_NO_NAMES = frozenset({"n/a", "n.a.", "na.", "none", "null", "unknown"})
# An abbreviation this short means too many things for a bare number or word to decide.
_SHORT = 2
# Units of one kind that differ more than this are not used for the same thing.
_FAR = 1000

_LOADING = threading.RLock()


@dataclass(frozen=True, slots=True)
class Concept:
    """One LOINC code of the index.

    ``name`` is the canonical display name and ``analyte`` the key shared by the codes that measure the same thing in
    different units; ``unit`` is the canonical UCUM unit of that analyte ("" for results that are words) and
    ``code_unit`` the one usual with this code. ``names`` are all written names, ``property`` the LOINC property.
    ``least`` and ``most`` bound what is possible, in ``unit``; ``None`` for results that are words.
    """

    code: str
    name: str
    analyte: str
    unit: str
    names: tuple[str, ...]
    long_name: str
    property: str
    code_unit: str
    specimen: str
    category: str
    least: float | None
    most: float | None


class _SearchForm(NamedTuple):
    """A name folded for search: its words, each after a space, and the same without spaces."""

    spaced: str
    joined: str


@dataclass(frozen=True, slots=True)
class _Index:
    concepts: tuple[Concept, ...]
    analytes: dict[str, Analyte]
    by_code: dict[str, Concept]
    by_name: dict[str, tuple[Concept, ...]]
    by_form: dict[Form, tuple[Concept, ...]]
    search_forms: tuple[tuple[Concept, tuple[_SearchForm, ...]], ...]


@lru_cache(maxsize=NAMES_REMEMBERED)
def find_concept(indicator: str, unit: str | None, *, is_number: bool = False) -> Concept | None:
    """The concept a written indicator names, decided by its UCUM unit where an indicator has several codes.

    ``indicator`` is a name in English or Chinese, an abbreviation, a LOINC long name or a LOINC code. Names compare
    exactly after folding (width, case, punctuation, spaces, traditional characters, spelling, plural), and then taken
    apart: words for specimen, state and method may stand anywhere, and in a name without a ratio the words may stand in
    any order; those for serum and plasma, or for the only specimen there is, may be left out or added. A chemistry name
    without specimen means serum or plasma. A name may say itself twice, as in ``白细胞计数 (WBC)``, if all parts agree.
    Every word must be accounted for: there is no similarity, and so no guess.

    The unit must measure what the code measures (mg/dL a mass concentration, mmol/L a substance concentration …),
    otherwise the answer is ``None``, also when a code is given that contradicts the unit. Without a unit the answer is
    the code for results in words (presence in urine …) if the indicator has one and the result is no number
    (``is_number``), else its only code; an indicator with several codes and no unit is ``None``, because a bare number
    does not say what was measured. Raises nothing.
    """
    candidates = concepts_named(indicator)
    if unit is not None:
        return _measured_in(unit, candidates)
    if len(joined(words_of(indicator))) <= _SHORT and indicator.isascii():
        candidates = [concept for concept in candidates if _is_bare(concept)]
    in_words = [concept for concept in candidates if not concept.code_unit]
    if is_number:
        return None if in_words else _only(candidates)
    return _only(in_words) or _only(candidates)


def unit_in_name(indicator: str) -> str | None:
    """The UCUM unit in the brackets at the end of a name, as in ``Glucose (mg/dL)``; ``None`` when there is none.

    Only where the name is known without it: the a of ``Lp(a)`` is no unit.
    """
    name, inside = without_last_bracket(indicator) if len(indicator) <= MAX_LENGTH else ("", "")
    unit = ucum_unit(inside) if inside else None
    return unit if unit and kind_of(unit) and concepts_named(name) else None


@lru_cache(maxsize=NAMES_REMEMBERED)
def concepts_named(indicator: str) -> Sequence[Concept]:
    """All codes a written indicator may stand for, one for each unit class; empty when it is not in the index."""
    if len(indicator) > MAX_LENGTH:
        return ()
    code = indicator.strip()
    if code in _index().by_code:
        return (_index().by_code[code],)
    if code.casefold() in _NO_NAMES:
        return ()
    return _named(indicator) or _named_twice(indicator) or _named_with_unit(indicator)


def concepts() -> Sequence[Concept]:
    """Every concept of the index."""
    return _index().concepts


def concepts_matching(text: str) -> list[Concept]:
    """Concepts for a search: an exact name or code first, then names with a word that starts like ``text``.

    Chinese text matches anywhere in a name. Empty text matches nothing.
    """
    words = words_of(text)
    if not words or len(text) > MAX_LENGTH:
        return []
    found = dict.fromkeys(concepts_named(text))
    code, together = text.strip(), joined(words)
    holds = _starts_a_word if words.isascii() else _is_part
    for concept, forms in _index().search_forms:
        if concept.code.startswith(code) or any(holds(form, words, together) for form in forms):
            found[concept] = None
    return list(found)


def to_canonical(number: Decimal, unit: str, analyte: str) -> Decimal | None:
    """A number in a UCUM unit, in the canonical unit of its analyte; ``None`` when it does not convert."""
    known = _index().analytes.get(analyte)
    return convert(number, unit, known) if known else None


def accepted_units(concept: Concept) -> frozenset[str]:
    """The UCUM units of what a code measures: all of the kind of its own. Empty for results that are words."""
    return units_of_kind(concept.code_unit)


def _only(candidates: Sequence[Concept]) -> Concept | None:
    return candidates[0] if len(candidates) == 1 else None


def _measures(concept: Concept, unit: str) -> bool:
    kind = kind_of(unit)
    if kind is None:
        return False
    code_kind = kind_of(concept.code_unit) if concept.code_unit else None
    if kind == "equivalent concentration":
        return code_kind == "substance concentration" and bool(_index().analytes[concept.analyte].valence)
    return kind == code_kind


def _named(text: str) -> Sequence[Concept]:
    words = words_of(text)
    whole = _index().by_name.get(joined(words))
    if whole:
        return whole
    return next((found for form in forms_of(words) if (found := _of_form(form))), ())


def _of_form(form: Form) -> Sequence[Concept]:
    """The concepts with a name of this form, or of it without the words for their own specimen."""
    by_form = _index().by_form
    found = by_form.get(form, ())
    if found:
        return found
    specimens = form.marks & _OWN_SPECIMENS.keys()
    if not specimens or specimens >= {"serum", "blood"}:
        return ()
    allowed = frozenset.intersection(*(_OWN_SPECIMENS[mark] for mark in specimens))
    bare = by_form.get(Form(form.core, form.marks - specimens), ())
    return tuple(concept for concept in bare if concept.specimen in allowed)


def _named_twice(text: str) -> Sequence[Concept]:
    """What all parts of ``name (abbreviation)`` may stand for; empty when a part is unknown or two disagree."""
    return _agreed(bracketed_parts(text)) or _agreed(parts_by_script(text))


def _agreed(parts: Sequence[str]) -> Sequence[Concept]:
    if len(parts) < 2:  # noqa: PLR2004
        return ()
    first, *others = [part for part in parts if not is_remark(part)] or [""]
    found = _named(first) or _agreed(parts_by_script(first))
    for part in others:
        # An abbreviation leaves out the specimen that the name before it gave: 尿糖(GLU).
        same = [*_named(part), *_of_specimen(part, first)]
        found = [concept for concept in found if concept in same]
    return tuple(found)


def _of_specimen(part: str, name: str) -> Sequence[Concept]:
    marks = next((form.marks for form in forms_of(words_of(name))), frozenset()) & _OWN_SPECIMENS.keys()
    if not marks:
        return ()
    forms = (Form(form.core, form.marks | marks) for form in forms_of(words_of(part)))
    return next((found for form in forms if (found := _of_form(form))), ())


def _named_with_unit(text: str) -> Sequence[Concept]:
    name, inside = without_last_bracket(text)
    return _named(name) or _named_twice(name) if inside and ucum_unit(inside) else ()


def _measured_in(unit: str, candidates: Sequence[Concept]) -> Concept | None:
    """The one that is measured in the unit; of several that are, the one whose own unit is near it."""
    fitting = [concept for concept in candidates if _measures(concept, unit)]
    near = [concept for concept in fitting if _is_near(unit, concept.code_unit)]
    return _only(fitting) or _only(near)


def _is_near(unit: str, code_unit: str) -> bool:
    scale = convert(Decimal(1), unit, Analyte("", code_unit))
    return scale is not None and 1 / _FAR < scale < _FAR


def _is_bare(concept: Concept) -> bool:
    """Whether results are written without a unit."""
    return not concept.code_unit or concept.unit in {"1", "[pH]"} or concept.unit.startswith("{")


def _starts_a_word(form: _SearchForm, words: str, together: str) -> bool:
    return f" {words}" in form.spaced or form.joined.startswith(together)


def _is_part(form: _SearchForm, _words: str, together: str) -> bool:
    return together in form.joined


def _search_form(name: str) -> _SearchForm:
    words = words_of(name)
    return _SearchForm(f" {words}", joined(words))


def _index() -> _Index:
    # Threads that need it first at the same moment load it once.
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> _Index:
    analyte_rows = {row["analyte"]: row for row in _rows("analytes.csv")}
    found = tuple(_concept(row, analyte_rows[row["analyte"]]) for row in _rows("codes.csv"))
    return _Index(
        concepts=found,
        analytes={key: _analyte(row) for key, row in analyte_rows.items()},
        by_code={concept.code: concept for concept in found},
        by_name=_by_name(found),
        by_form=_by_form(found),
        search_forms=tuple((concept, tuple(map(_search_form, concept.names))) for concept in found),
    )


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _concept(row: dict[str, str], analyte: dict[str, str]) -> Concept:
    listed = [name for column in ("english", "chinese", "abbreviations") for name in analyte[column].split("|") if name]
    listed += [name for name in row["names"].split("|") if name]
    return Concept(
        code=row["loinc"],
        name=analyte["name"],
        analyte=analyte["analyte"],
        unit=analyte["unit"],
        names=tuple(dict.fromkeys([analyte["name"], *listed])),
        long_name=row["long_name"],
        property=row["property"],
        code_unit=row["unit"],
        specimen=analyte["specimen"],
        category=analyte["category"],
        least=float(analyte["least"]) if analyte["least"] else None,
        most=float(analyte["most"]) if analyte["most"] else None,
    )


def _analyte(row: dict[str, str]) -> Analyte:
    return Analyte(
        key=row["analyte"],
        unit=row["unit"],
        molar_mass=Decimal(row["molar_mass"]) if row["molar_mass"] else None,
        valence=int(row["valence"]) if row["valence"] else None,
    )


def _by_name(found: Sequence[Concept]) -> dict[str, tuple[Concept, ...]]:
    by_name: dict[str, dict[Concept, None]] = {}
    for concept in found:
        for name in concept.names:
            by_name.setdefault(joined(words_of(name)), {})[concept] = None
    for concept in found:
        by_name.setdefault(joined(words_of(concept.long_name)), {concept: None})
    return {name: tuple(owners) for name, owners in by_name.items()}


def _by_form(found: Sequence[Concept]) -> dict[Form, tuple[Concept, ...]]:
    by_form: dict[Form, dict[Concept, None]] = {}
    for concept in found:
        for form in _forms(concept):
            by_form.setdefault(form, {})[concept] = None
    return {form: tuple(owners) for form, owners in by_form.items()}


def _forms(concept: Concept) -> Iterator[Form]:
    for name in concept.names:
        yield from forms_of(words_of(name))
