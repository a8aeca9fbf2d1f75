"""Finds the indicators a question names, by the curated index's names and by everyday words.

What a person has data of is not known here; names go on to the tool, which says what it has.
"""

import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from responses_app.llm.analyst.text import has_han
from tools_app.standardization import Concept, concepts, concepts_named

_SHORT = 2
_BUILDING = threading.RLock()
# Abbreviations that are English words too when written small.
_WORDLIKE = frozenset(
    word
    for line in (
        "ace aha ana and ant arc aso band bands bas blasts cat cer cor cot cre dat dia dias did dig eos fer fib",
        "fit fix fol fra gas gin got gran ins kap lac lact lead lim lip man map mis mon mono monos myo neu ost pap",
        "pat per pros ram ran rem resp ret retic sac scan sed seg segs set six sys syst tar temp test tests tex",
        "tip tot trigs us van vent",
    )
    for word in line.split()
)
_ONE_CHARACTER = "钠钾钙镁铁氯磷锌"
_ADDITIVE_UNITS = {"{steps}", "h", "min", "kcal", "km"}
_STATISTIC = re.compile(r"(?:mean|average)\s+|平均", re.IGNORECASE)
_EN_WORD = r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])"

_FAMILIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (r"blood[\s-]?pressures?|bp", r"血压", ("systolic blood pressure", "diastolic blood pressure")),
    (r"blood[\s-]?sugars?|blood[\s-]?glucose|glucose|sugar levels?|sugars?|glycemia", r"血糖|葡萄糖", ("glucose",)),
    (r"heart[\s-]?rates?|pulse(?: rate)?|heart ?beats?", r"心率|心跳|脉搏", ("heart rate",)),
    (r"lipids?(?: panel| profile)?|blood fats?", r"血脂", ("total cholesterol", "LDL", "HDL", "triglycerides")),
    (r"liver (?:function|panel|enzymes?|values?|tests?)|transaminases?", r"肝功能?", ("ALT", "AST")),
    (r"kidney (?:function|panel|values?|tests?)|renal (?:function|panel)", r"肾功能?", ("creatinine", "urea", "eGFR")),
    (r"blood count|cbc|complete blood count", r"血常规", ("WBC", "hemoglobin", "platelets")),
    (r"electrolytes?", r"电解质", ("sodium", "potassium", "chloride")),
    (r"thyroid(?: function| panel| values?)?", r"甲状腺功能|甲功", ("TSH",)),
    (r"iron stores?", r"铁储备", ("ferritin",)),
)  # fmt: skip

_EVERYDAY: tuple[tuple[str, str, str], ...] = (
    (r"steps?|step counts?|footsteps", r"步数|(?<![进同初一地])步(?!骤|入)", "steps"),
    (r"sleep(?:ing)?|slept|asleep", r"睡眠|睡了|睡觉|睡", "sleep duration"),
    (r"weigh(?:ed|ing|t)?|body ?weight", r"体重|多重", "body weight"),
    (r"how tall|body ?height|height", r"身高|多高", "body height"),
    (r"fever|body ?temp(?:erature)?", r"体温|发烧", "body temperature"),
    (r"oxygen|oxygen levels?|spo2|sats", r"血氧|氧饱和度", "oxygen saturation"),
    (r"sugar hemoglobin|a1c|hba1c|hb a1c", r"糖化", "HbA1c"),
    (r"bad cholesterol", r"坏胆固醇", "LDL cholesterol"),
    (r"good cholesterol", r"好胆固醇", "HDL cholesterol"),
    (r"white (?:blood )?cells?(?: counts?)?", r"白细胞", "WBC"),
    (r"haemoglobin|hemoglobin", r"血红蛋白|血色素", "hemoglobin"),
)  # fmt: skip
_WALKING = (r"walk(?:ed|ing)?", r"走路|走了|走得|(?<![好快慢变])走(?!势|向|高|低)", "steps")
# Words that say what is wanted and of what at once, so they stay to be read as measures.
_IMPLIED = (
    (
        r"heav(?:y|ier|iest)|light(?:er|est)|fatt?(?:er|est)?|thinn?(?:er|est)?|slimm?(?:er|est)?"
        r"|(?:gain(?:s|ed|ing)?|los(?:e|es|ing|t)|put(?:ting)? on) (?:any |some |much )?(?:kilos?|kilograms?|kg|pounds?"
        r"|lbs?|fat)",
        r"胖|瘦|最重|最轻|变重|变轻|重了|轻了",
        "body weight",
    ),
    (r"tall(?:er|est)|(?:did|have|am) i (?:still )?gr(?:ow|own|owing)", r"长高|高了几厘米|变高", "body height"),
)


@dataclass(frozen=True, slots=True)
class Mention:
    """An indicator as it stands in a question. ``names`` go to the tool.

    ``family`` says that one word stands for several indicators, not all of which need to be there; ``additive`` that
    a total over days makes sense. ``known`` is false for a word that is no indicator of the index.
    """

    names: tuple[str, ...]
    written: str
    begin: int
    stop: int
    family: bool = False
    additive: bool = False
    known: bool = True

    @property
    def is_blood_pressure(self) -> bool:
        """Whether it is blood pressure as a whole."""
        return len(self.names) > 1 and self.names[0].lower().startswith("systolic")


def find_mentions(text: str) -> list[Mention]:
    """The indicators a question names, in order; where names overlap the longest wins."""
    kept: list[Mention] = []
    for mention in sorted(_all_mentions(text), key=lambda m: (m.begin - m.stop, not m.family)):
        if all(mention.stop <= other.begin or mention.begin >= other.stop for other in kept):
            kept.append(mention)
    return sorted(kept or _walking(text) or _implied(text), key=lambda m: m.begin)


def unknown_mention(written: str, begin: int) -> Mention:
    """A word that may be an indicator: the tool will say whether there is any data of it."""
    return Mention((written,), written, begin, begin + len(written), known=False)


@lru_cache(maxsize=512)
def chinese_name(indicator: str) -> str:
    """The Chinese name of a canonical indicator name, or the name itself."""
    named = concepts_named(indicator)
    return next((name for concept in named[:1] for name in concept.names if has_han(name)), indicator)


def _all_mentions(text: str) -> Iterator[Mention]:
    yield from _index_mentions(text)
    for latin, han, names in _FAMILIES:
        for m in _pattern(latin, han).finditer(text):
            yield _mention(m, tuple(_canonical(n) for n in names), family=True)
    for latin, han, name in _EVERYDAY:
        for m in _pattern(latin, han).finditer(text):
            yield _mention(m, (_canonical(name),))


def _walking(text: str) -> list[Mention]:
    latin, han, name = _WALKING
    return [_mention(m, (_canonical(name),)) for m in _pattern(latin, han).finditer(text)][:1]


def _implied(text: str) -> list[Mention]:
    """Indicators that only a word such as "heavier" tells; these take no place in the question."""
    found = ((m, name) for latin, han, name in _IMPLIED for m in _pattern(latin, han).finditer(text))
    return [replace(_mention(m, (_canonical(name),)), stop=m.start()) for m, name in found][:1]


def _mention(m: re.Match[str], names: tuple[str, ...], *, family: bool = False) -> Mention:
    return Mention(names, m[0], m.start(), m.end(), family and len(names) > 1, _is_additive(names[0]))


@lru_cache(maxsize=64)
def _pattern(latin: str, han: str) -> re.Pattern[str]:
    return re.compile(f"{_EN_WORD.format(latin)}|{han}", re.IGNORECASE)


@lru_cache(maxsize=512)
def _canonical(name: str) -> str:
    return next((concept.name for concept in concepts_named(name)), name)


@lru_cache(maxsize=512)
def _is_additive(name: str) -> bool:
    return any(concept.unit in _ADDITIVE_UNITS for concept in concepts_named(name))


def _index_mentions(text: str) -> Iterator[Mention]:
    by_name, pattern, short_pattern = _index()
    for m in [*pattern.finditer(text), *short_pattern.finditer(text)]:
        concept = by_name.get(_key(m[0])) or by_name.get(_key(m[0]).removesuffix("s"))
        if concept is not None:
            yield _mention(m, (concept.name,))


def _index() -> tuple[dict[str, Concept], re.Pattern[str], re.Pattern[str]]:
    # Threads that need it first at the same moment build it once.
    with _BUILDING:
        return _built()


@lru_cache(maxsize=1)
def _built() -> tuple[dict[str, Concept], re.Pattern[str], re.Pattern[str]]:
    """Concepts by written name, the pattern of all names, and the one of names whose case counts."""
    by_name: dict[str, Concept] = {}
    for concept in concepts():
        for name in (concept.name, *concept.names):
            by_name.setdefault(_key(name), concept)
    names = sorted({n for c in concepts() for n in (c.name, *c.names) if _is_told(n, by_name)}, key=len, reverse=True)
    short_names = [n for n in names if _case_counts(n)]
    long_names = [n for n in names if n not in short_names]
    return by_name, _any_of(long_names, re.IGNORECASE), _any_of(short_names, re.NOFLAG)


def _is_told(name: str, by_name: Mapping[str, Concept]) -> bool:
    """Whether the name alone tells what is asked about; "average blood pressure" asks for a statistic of another."""
    statistic = _STATISTIC.match(name)
    if statistic and _key(name[statistic.end() :]) in by_name:
        return False
    return len(name) > 1 or name in _ONE_CHARACTER


def _case_counts(name: str) -> bool:
    return not has_han(name) and (len(name) <= _SHORT or name.lower() in _WORDLIKE)


def _key(name: str) -> str:
    return re.sub(r"[\s-]+", " ", name).casefold()


def _any_of(names: list[str], flags: re.RegexFlag) -> re.Pattern[str]:
    latin = "|".join(_spelled(n) + "s?" for n in names if not has_han(n))
    han = "|".join(re.escape(n) for n in names if has_han(n))
    parts = [_EN_WORD.format(latin)] if latin else []
    return re.compile("|".join([*parts, *([han] if han else [])]) or r"(?!)", flags)


def _spelled(name: str) -> str:
    return r"[\s-]+".join(re.escape(part) for part in re.split(r"[\s-]+", name) if part)
