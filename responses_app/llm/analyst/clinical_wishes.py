"""Reads which kinds of clinical records (allergies, medications, diagnoses and so on) a question asks for.

Readings of indicators are not here.
"""

import re
from dataclasses import dataclass

_SHORT_WORDS, _SHORT_HAN = 4, 12

# English and Chinese.
_KINDS: dict[str, tuple[str, str]] = {
    "allergy": (
        r"allerg(?:y|ies|ic|ens?)",
        r"(?:对(?:什么|哪些|啥)(?:东西|药物?|食物)?)?过敏(?:史|原)?",
    ),
    "medication": (
        r"medications?|medicines?|meds|drugs?|prescriptions?|prescribed|pills",
        r"(?:吃|用|服用?)(?:的|着|了)?(?:什么|哪些|哪几种|啥)?药物?|服用什么|药物|药品|处方|(?:什么|哪些)药",
    ),
    "condition": (
        r"conditions|(?:medical|health|chronic) (?:conditions?|problems?)|diagnos(?:is|es|ed)|diseases?|illness(?:es)?",
        r"疾病|病史|诊断|确诊|(?:得了?|有|患了?)?(?:什么|哪些|啥)病|慢性病|基础病",
    ),
    "immunization": (
        r"immuni[sz]ations?|immuni[sz]ed|vaccin(?:es?|ations?|ated)|(?:flu |booster )?shots|jabs",
        r"(?:打|接种)(?:过|了)?(?:什么|哪些)?疫苗|疫苗|接种",
    ),
    "procedure": (
        r"(?:medical )?procedures?|operations?|surger(?:y|ies)|operated",
        r"(?:做过?|动过?)?(?:什么|哪些)?手术",
    ),
    "encounter": (
        r"encounters?|(?:hospital|clinic|doctor'?s?|medical) (?:visits?|stays?)|visits|hospitali[sz](?:ed|ations?)"
        r"|admissions?|admitted",
        r"就诊|就医|住院|看病|看诊",
    ),
    "report": (
        r"(?:medical|diagnostic|imaging|radiology|pathology) reports?|reports",
        r"(?:诊断|影像|病理|检查|检验|医学)报告|(?:哪些|什么)报告",
    ),
    "document": (
        r"documents?|clinical notes?|discharge (?:letters?|summar(?:y|ies))|medical (?:letters?|files?)",
        r"文档|文书|病历|出院小结",
    ),
}
_PATTERNS = {
    kind: re.compile(rf"(?<![A-Za-z])(?:{en})(?![A-Za-z])|{zh}", re.IGNORECASE) for kind, (en, zh) in _KINDS.items()
}
_ADVICE = re.compile(
    r"\b(?:can|could|may|should|must) (?:i|we|he|she) (?:take|stop|eat|drink|skip|mix|combine|start|change|use|get)\b"
    r"|\b(?:side effects?|interact\w*|dangerous|safe|cause[sd]?|cure|treat)\b"
    r"|能(?:不能)?(?:吃|用|打)|可以(?:吃|用|打)|该|副作用",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:my|i|me|mine|i['’]m|i['’]ve)\b|我|\b(?:list|show|which|any)\b|哪些|什么|列出", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A kind of clinical record that a question names, and where."""

    kind: str
    begin: int
    stop: int


def find_clinical(text: str) -> list[Wanted]:
    """The kinds of clinical records a question asks for, in order. Recognised indicators in ``text`` are masked."""
    if _ADVICE.search(text):
        return []
    found = [Wanted(kind, m.start(), m.end()) for kind, pattern in _PATTERNS.items() for m in pattern.finditer(text)]
    kept: list[Wanted] = []
    for one in sorted(found, key=lambda w: w.begin - w.stop):
        if all(one.stop <= other.begin or one.begin >= other.stop for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda w: w.begin)


def asks_of_someone(text: str) -> bool:
    """Whether a question is about someone's records rather than about medicine: it says so, or is a bare phrase."""
    short = len(text.split()) <= _SHORT_WORDS and len(text) <= _SHORT_HAN * 3
    return short or _OWN.search(text) is not None
