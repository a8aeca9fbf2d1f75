"""How written names of measurements are folded and taken apart. What they name is the business of concepts.py."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from opencc import OpenCC

_GREEK = str.maketrans({"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "λ": "lambda"})
_WORDS = re.compile(r"[^\W_]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
# British and American spelling, and the plural, are no difference.
_SPELLINGS = tuple(
    (re.compile(british), american)
    for british, american in (
        ("haem", "hem"), ("oestr", "estr"), ("leuco", "leuko"), ("tumour", "tumor"), ("faec", "fec"), ("foet", "fet"),
        ("caerul", "cerul"), ("sulph", "sulf"), ("colour", "color"), ("ionis", "ioniz"), ("normalis", "normaliz"),
        ("luteinis", "luteiniz"),
    )
)  # fmt: skip
_PLURAL = re.compile(r"(?<=[a-z]{3}[^suia])s$")
_SAME_WORD = {"ab": "antibody", "abs": "antibody", "ag": "antigen"}

# What a part of a name says about specimen, state or method, apart from what is measured.
_MARKS = tuple(
    (mark, re.compile(pattern))
    for mark, pattern in (
        ("24h", r"\b24 ?h(?:ou)?r?\b|24小时|24h(?![a-z])"),
        ("whole blood", r"\b(?:in )?whole blood\b|全血"),
        ("arterial", r"\b(?:in )?arterial(?: blood)?\b|动脉血?"),
        ("venous", r"\b(?:in )?venous(?: blood)?\b|静脉血?(?!糖)"),
        ("capillary", r"\b(?:in )?capillary(?: blood)?\b|毛细血管血?"),
        ("stool", r"\b(?:in |of )?(?:stool|fecal|feces)\b|粪便|大便"),
        # 尿酸, 尿素 and 尿胆原 are what is measured.
        ("urine", r"\b(?:in |of )?(?:urine|urinary)\b|尿液|尿(?!酸|素|胆原)"),
        ("serum", r"\b(?:in )?(?:serum or plasma|serum|plasma)\b|血清|血浆"),
        ("blood", r"\b(?:in )?blood\b|血液|^血(?!红|小|沉|色|酮|压|糖|氧|细|管|脂|型|栓|气|球|浆|清|尿)"),
        ("fasting", r"\bfasting\b|空腹"),
        ("high sensitivity", r"\bhigh sensitiv(?:ity|e)\b|\bultrasensitive\b|\bhs\b|超敏|高敏感?度?(?!感)|高灵敏度?"),
        ("free", r"\bfree\b|游离"),
        ("calculated", r"\bcalculat(?:ed|ion)\b|\bcalc\b|计算"),
        ("igg", r"\bigg\b|igg(?![a-z0-9])"),
        ("igm", r"\bigm\b|igm(?![a-z0-9])"),
        ("iga", r"\biga\b|iga(?![a-z0-9])"),
        ("ige", r"\bige\b|ige(?![a-z0-9])"),
    )
)  # fmt: skip
# Words that say nothing about what is measured.
_NOISE = re.compile(
    r"\b(?:levels?|concentrations?|tests?|assay|measurement|measured|result|value|reading|quantitative|quantitation"
    r"|automated|auto|determination|in|of|the|by)\b"
)
_NOISE_ENDING = re.compile(r"(?:水平|浓度|含量|测定|检测|检查|化验|测量|定量|结果|数值|值)+$")
# In "name (…)" these may stand beside a name: a method, the kind of result, the family of a marker.
_REMARK = re.compile(
    r".*法|测定|检测|定量|定性|血清|血浆|静脉血|末梢血|糖类抗原|糖链抗原|癌抗原|肿瘤标志物|免疫|化学发光|电泳"
    r"|elisa|clia|ecl|eclia|hplc|ise|immunoassay|quantitative|qualitative|automated|s|p"
)
_BRACKETS = re.compile(r"[()\[\]{}<>〔〕【】《》,;:、|·]+")
_SCRIPT_CHANGE = re.compile(
    r"(?<=[\u4e00-\u9fff])\s*(?=[A-Za-zα-ω0-9*#%])|(?<=[A-Za-z0-9%#+])\s*(?=[\u4e00-\u9fff])|\s+-+\s+"
)
_RATIO = re.compile(r"[/:÷]|\bratio\b|比")


@dataclass(frozen=True, slots=True)
class Form:
    """A name taken apart: ``core`` is what is measured, ``marks`` what else its words say."""

    core: str
    marks: frozenset[str]


def words_of(text: str) -> str:
    """The words of a name, folded: width, case, punctuation, script, spelling and plural make no difference."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    if not plain.isascii():
        plain = _simplified(plain).translate(_GREEK)
    kept = plain.replace("#", " count ").replace("%", " percent ")
    words = [_folded(word) for word in _WORDS.findall(kept)]
    return " ".join(_SAME_WORD.get(word, word) for word in words) if len(words) > 1 else "".join(words)


def joined(words: str) -> str:
    """Folded words without spaces, in which a name is compared as a whole."""
    return words.replace(" ", "")


def forms_of(words: str) -> Iterator[Form]:
    """A folded name taken apart, its words in the order written and then in any order."""
    marks, rest = _without_marks(words)
    core = _NOISE_ENDING.sub("", joined(_NOISE.sub(" ", rest)))
    if not core:
        return
    yield Form(core, marks)
    in_any_order = " ".join(sorted(_NOISE_ENDING.sub("", _NOISE.sub(" ", rest)).split()))
    if " " in in_any_order and not _RATIO.search(words):
        yield Form(in_any_order, marks)


def parts_of(text: str) -> list[str]:
    """The parts of a name that says itself twice, such as ``白细胞计数(WBC)``; one part or none when it does not."""
    pieces = [part for piece in _BRACKETS.split(_plain(text)) for part in _SCRIPT_CHANGE.split(piece)]
    return [piece.strip() for piece in pieces if _WORDS.search(piece)]


def is_remark(part: str) -> bool:
    """Whether a part only says how something was measured."""
    return bool(_REMARK.fullmatch(_plain(part).casefold().strip()))


def is_ratio(text: str) -> bool:
    """Whether a name divides one thing by another, so that the order of its words matters."""
    return bool(_RATIO.search(_plain(text).casefold()))


def _without_marks(words: str) -> tuple[frozenset[str], str]:
    found = set()
    for mark, pattern in _MARKS:
        rest, count = pattern.subn(" ", words, count=1)
        if count and rest.strip():
            found.add(mark)
            words = rest
    return frozenset(found), words


def _folded(word: str) -> str:
    if not word.isascii() or word.isdigit():
        return word
    for british, american in _SPELLINGS:
        word = british.sub(american, word)
    return _PLURAL.sub("", word)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _simplified(text: str) -> str:
    return _converter().convert(text) if _CHINESE.search(text) else text


@cache
def _converter() -> OpenCC:
    return OpenCC("t2s")
