"""How written names of measurements are folded and taken apart. What they name is the business of concepts.py."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from opencc import OpenCC

_GREEK = str.maketrans({"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "λ": "lambda"})
_WORDS = re.compile(r"[^\W_]+|/")
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
_DIVIDED = re.compile(r"(?<=\w)\s*[:÷]\s*(?=\w)")
_PLURAL_Y = re.compile(r"(?<=[a-z]{3})ies$")
_PLURAL = re.compile(r"(?<=[a-z]{3}[^suia])s$")
_SAME_WORD = {"ab": "antibody", "abs": "antibody", "ag": "antigen", "vit": "vitamin"}
# Spellings of hours and grams, and words of Chinese that differ by region or habit.
_SAME_TEXT = tuple(
    (re.compile(written), same)
    for written, same in (
        (r"(?<=[两二])小时", "h"), (r"[两二](?=h)", "2"), (r"(?<=\d)\s*小时", "h"), (r"(?<=\d)[ -]?h(?:ou)?rs?\b", "h"),
        (r"(?<=\d)\s*(?:克|g\b)", "g"), ("潜血", "隐血"), ("黏", "粘"), ("螺旋杆菌", "螺杆菌"), ("大便", "粪便"),
    )
)  # fmt: skip

# What a part of a name says about specimen, state or method, apart from what is measured.
_MARKS = tuple(
    (mark, re.compile(pattern))
    for mark, pattern in (
        ("24h", r"\b24h\b|24h(?![a-z])"),
        ("whole blood", r"\b(?:in )?whole blood\b|全血"),
        ("arterial", r"\b(?:in )?arterial(?: blood(?: gas)?)?\b|\babg\b|动脉血?气?"),
        ("venous", r"\b(?:in )?venous(?: blood)?\b|静脉血?(?!糖)"),
        ("capillary", r"\b(?:in )?capillary(?: blood)?\b|毛细血管血?"),
        ("stool", r"\b(?:in |of )?(?:stool|fecal|fece)\b|粪便"),
        # 尿酸, 尿素 and 尿胆原 are what is measured.
        ("urine", r"\b(?:in |of )?(?:urine|urinary)\b|^ua? (?!/)|尿液|尿(?!酸|素|胆原)"),
        ("csf", r"\b(?:in )?(?:csf|cerebro ?spinal fluid)\b|脑脊液"),
        ("serum", r"\b(?:in )?(?:serum or plasma|serum / plasma|serum|plasma|ser|s / p)\b|血清|血浆"),
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
    r"|automated|auto|determination|absolute|relative|sediment|in|of|the|by)\b"
)
_NOISE_ENDING = re.compile(r"(?:水平|血药浓度|浓度|含量|测定|检测|检查|化验|测量|定量|结果|数值|估计值|估算值|值)+$")
# In "name (…)" these may stand beside a name: a method, the kind of result, the family of a marker.
_REMARK = re.compile(
    r".*法|测定|检测|定量|定性|血清|血浆|静脉血|末梢血|糖类抗原|糖链抗原|癌抗原|肿瘤标志物|免疫|化学发光|电泳"
    r"|elisa|clia|ecl|eclia|hplc|ise|immunoassay|quantitative|qualitative|automated|s|p|ngsp|ifcc|dcct|friedewald"
    r"|\d(?:st|nd|rd|th) gen(?:eration)?|apple (?:watch|health)|fitbit|garmin"
    r"|oura(?: ring)?|withings|whoop|(?:smart )?scale"
    r"|huawei(?: health)?|xiaomi|wearable|(?:smart ?)?watch|手环|手表|智能手表|体重秤|华为|小米"
)
_BRACKETS = re.compile(r"[()\[\]{}<>〔〕【】《》,;、|·]+")
_SCRIPT_CHANGE = re.compile(
    r"(?<=[\u4e00-\u9fff])\s*(?=[A-Za-zα-ω0-9*#%])|(?<=[A-Za-z0-9%#+])\s*(?=[\u4e00-\u9fff])|\s+-+\s+"
)
_LAST_BRACKET = re.compile(r"(?P<name>.*\S)\s*(?:[(\[](?P<inside>[^()\[\]]+)[)\]]|(?P<percent>%))\s*")
# In a name that divides one thing by another the order of the words matters.
_RATIO = re.compile(r"/|\bratio\b|比")


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
    for written, same in _SAME_TEXT:
        plain = written.sub(same, plain)
    kept = _DIVIDED.sub("/", plain).replace("#", " count ").replace("%", " percent ")
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


def bracketed_parts(text: str) -> list[str]:
    """The parts of a name that says itself twice, such as ``白细胞计数(WBC)``: what brackets and commas part."""
    return [piece.strip() for piece in _BRACKETS.split(_plain(text)) if _WORDS.search(piece)]


def parts_by_script(text: str) -> list[str]:
    """The parts of a name that says itself in two scripts, such as ``白细胞 WBC``."""
    return [piece.strip() for piece in _SCRIPT_CHANGE.split(_plain(text)) if _WORDS.search(piece)]


def without_last_bracket(text: str) -> tuple[str, str]:
    """A name without what stands in brackets or as a percent sign at its end, and that; the second is often blank."""
    match = _LAST_BRACKET.fullmatch(_plain(text))
    return (match["name"], match["inside"] or match["percent"]) if match else (text, "")


def is_remark(part: str) -> bool:
    """Whether a part only says how something was measured."""
    return bool(_REMARK.fullmatch(_plain(part).casefold().strip()))


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
    return _PLURAL.sub("", _PLURAL_Y.sub("y", word))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _simplified(text: str) -> str:
    return _converter().convert(text) if _CHINESE.search(text) else text


@cache
def _converter() -> OpenCC:
    return OpenCC("t2s")
