"""Small helpers over text: cleaning what comes in, telling the language, making quoted text safe to show."""

import re
import unicodedata

QUESTION_LIMIT = 3000
"""Characters of a question that are read; what follows is ignored."""

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\ufeff\ud800-\udfff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_FILLER = "\ue000"


def normalised(text: str) -> str:
    """Full-width letters and digits as plain ones, no control characters, single spaces, cut to ``QUESTION_LIMIT``."""
    cut = text[:QUESTION_LIMIT]
    plain = _CONTROL.sub(" ", unicodedata.normalize("NFKC", _CONTROL.sub(" ", cut))).replace(_FILLER, " ")
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", plain))


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese rather than English; a Chinese sentence may hold English words."""
    han = len(_HAN.findall(text))
    return han > 0 and han >= len(_LATIN_WORD.findall(text))


def has_han(text: str) -> bool:
    """Whether there is any Chinese character."""
    return _HAN.search(text) is not None


def masked(text: str, begin: int, stop: int) -> str:
    """``text`` with the characters from ``begin`` to ``stop`` replaced by a filler that no pattern matches."""
    return text[:begin] + _FILLER * (stop - begin) + text[stop:]


def shown(value: object, limit: int = 80) -> str:
    """A value from outside as one short line of plain text that cannot break the Markdown around it."""
    line = " ".join(_CONTROL.sub(" ", str(value)).replace("`", "'").replace("|", "/").split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def quoted(text: str, limit: int = 4000) -> str:
    """Text from outside without control characters, cut to ``limit``; several lines become a block quote."""
    clean = _CONTROL.sub(" ", text).strip()
    clean = clean if len(clean) <= limit else clean[: limit - 1] + "…"
    if "\n" not in clean:
        return clean
    return "\n" + "\n".join(f"> {line}" for line in clean.splitlines())


def word_set(text: str) -> frozenset[str]:
    """A list of words written as one text."""
    return frozenset(text.split())
