"""The curated index of measurements (analytes.csv, codes.csv) and its look-ups: written names → LOINC concepts."""

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools_app.standardization.conversion import Analyte, convert, kind_of

MAX_LENGTH = 256

_FOLDER = Path(__file__).parent
_TRADITIONAL = "總膽醯紅細數壓體溫飽維狀葉鐵鈣鎂鈉鉀鋅銅鹼轉穀腎濾過飯後隨機運動時間長淺熱變異攝靜質類風濕黃載結極單顆絕對國際標準離遊圍係徑試驗鈷漿環類鏈癥鳥門腫極積係層總纖維細鈎鈍銨氫鹽鍛鍊臟濃網織譜麗親聲壽測補漿餘級頻脈壹貳兩個計準"  # noqa: E501
_SIMPLIFIED = "总胆酰红细数压体温饱维状叶铁钙镁钠钾锌铜碱转谷肾滤过饭后随机运动时间长浅热变异摄静质类风湿黄载结极单颗绝对国际标准离游围系径试验钴浆环类链症鸟门肿极积系层总纤维细钩钝铵氢盐锻炼脏浓网织谱丽亲声寿测补浆余级频脉一二两个计准"  # noqa: E501
_SAME_CHARACTER = str.maketrans(_TRADITIONAL, _SIMPLIFIED)

_SERUM = re.compile(r"\b(?:in )?(?:serum or plasma|serum|plasma)\b|血清|血浆")
_URINE = re.compile(r"\b(?:in |of )?(?:urine|urinary)\b|尿液|尿")
_FASTING = re.compile(r"\bfasting\b|空腹")
_LEVEL = re.compile(r" (?:levels?|concentration)$|(?:水平|浓度|含量|测定|值)$")
_LETTERS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Concept:
    """One LOINC code of the index.

    ``name`` is the canonical display name and ``analyte`` the key shared by the codes that measure the same thing in
    different units; ``unit`` is the canonical UCUM unit of that analyte ("" for results that are words) and
    ``code_unit`` the one usual with this code. ``names`` are all written names, ``property`` the LOINC property.
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
    search_forms: tuple[tuple[Concept, tuple[_SearchForm, ...]], ...]


def find_concept(indicator: str, unit: str | None) -> Concept | None:
    """The concept a written indicator names, decided by its UCUM unit where an indicator has several codes.

    ``indicator`` is a name in English or Chinese, an abbreviation, a LOINC long name or a LOINC code. Names compare
    exactly after folding width, case, punctuation, spaces and traditional characters; the words for serum and plasma
    may be left out or added, and those for urine and fasting may stand anywhere. A chemistry name without specimen
    means serum or plasma. There is no similarity search: no exact name, no concept.

    The unit must measure what the code measures (mg/dL a mass concentration, mmol/L a substance concentration …),
    otherwise the answer is ``None``, also when a code is given that contradicts the unit. Without a unit the answer is
    the code for results in words (presence in urine …) if the indicator has one, else its only code; an indicator with
    several codes and no unit is ``None``, because a bare number does not say what was measured. Raises nothing.
    """
    candidates = concepts_named(indicator)
    if unit is None:
        return _only([concept for concept in candidates if not concept.code_unit]) or _only(candidates)
    return _only([concept for concept in candidates if _measures(concept, unit)])


def concepts_named(indicator: str) -> Sequence[Concept]:
    """All codes a written indicator may stand for, one for each unit class; empty when it is not in the index."""
    if len(indicator) > MAX_LENGTH:
        return ()
    code = indicator.strip()
    if code in _index().by_code:
        return (_index().by_code[code],)
    words = _words(indicator)
    return _named(words) or _named(_LEVEL.sub("", words))


def concepts() -> Sequence[Concept]:
    """Every concept of the index."""
    return _index().concepts


def concepts_matching(text: str) -> list[Concept]:
    """Concepts for a search: an exact name or code first, then names with a word that starts like ``text``.

    Chinese text matches anywhere in a name. Empty text matches nothing.
    """
    words = _words(text)
    if not words or len(text) > MAX_LENGTH:
        return []
    found = dict.fromkeys(concepts_named(text))
    code, joined = text.strip(), _joined(words)
    holds = _starts_a_word if words.isascii() else _is_part
    for concept, forms in _index().search_forms:
        if concept.code.startswith(code) or any(holds(form, words, joined) for form in forms):
            found[concept] = None
    return list(found)


def to_canonical(number: Decimal, unit: str, analyte: str) -> Decimal | None:
    """A number in a UCUM unit, in the canonical unit of its analyte; ``None`` when it does not convert."""
    known = _index().analytes.get(analyte)
    return convert(number, unit, known) if known else None


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


def _named(words: str) -> Sequence[Concept]:
    by_name = _index().by_name
    found = by_name.get(_joined(words))
    if found:
        return found
    without_serum = _SERUM.sub(" ", words)
    from_serum = without_serum != words
    found = by_name.get(_specimen_form(without_serum), ())
    return tuple(c for c in found if c.specimen in {"serum", "plasma"}) if from_serum else found


def _specimen_form(words: str) -> str:
    """The name with the words for urine and fasting moved to its front."""
    marks = ""
    for mark, pattern in (("urine:", _URINE), ("fasting:", _FASTING)):
        rest = pattern.sub(" ", words, count=1)
        if rest != words:
            marks, words = marks + mark, rest
    return marks + _joined(words)


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_SAME_CHARACTER)
    kept = plain.replace("#", " count ").replace("%", " percent ")
    return " ".join(_LETTERS.findall(kept))


def _joined(words: str) -> str:
    return words.replace(" ", "")


def _starts_a_word(form: _SearchForm, words: str, joined: str) -> bool:
    return f" {words}" in form.spaced or form.joined.startswith(joined)


def _is_part(form: _SearchForm, _words: str, joined: str) -> bool:
    return joined in form.joined


def _search_form(name: str) -> _SearchForm:
    words = _words(name)
    return _SearchForm(f" {words}", _joined(words))


@cache
def _index() -> _Index:
    analyte_rows = {row["analyte"]: row for row in _rows("analytes.csv")}
    found = tuple(_concept(row, analyte_rows[row["analyte"]]) for row in _rows("codes.csv"))
    return _Index(
        concepts=found,
        analytes={key: _analyte(row) for key, row in analyte_rows.items()},
        by_code={concept.code: concept for concept in found},
        by_name=_by_name(found),
        search_forms=tuple((concept, tuple(map(_search_form, concept.names))) for concept in found),
    )


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _concept(row: dict[str, str], analyte: dict[str, str]) -> Concept:
    listed = [name for column in ("english", "chinese", "abbreviations") for name in analyte[column].split("|") if name]
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
        for form in _forms(concept):
            by_name.setdefault(form, {})[concept] = None
    for concept in found:
        by_name.setdefault(_joined(_words(concept.long_name)), {concept: None})
    return {form: tuple(owners) for form, owners in by_name.items()}


def _forms(concept: Concept) -> set[str]:
    words = [_words(name) for name in concept.names]
    forms = {_joined(name) for name in words}
    # Only names of urine and fasting measurements are taken apart: 尿酸 is no urine test.
    if concept.specimen == "urine" or concept.analyte.endswith("_fasting"):
        forms |= {_specimen_form(name) for name in words}
    return forms
