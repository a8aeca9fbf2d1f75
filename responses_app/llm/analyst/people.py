"""Reads whose data a question is about, and finds that person among those who share.

The list of family members comes from the tool; nothing here decides who may see what.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from responses_app.llm.analyst.small_talk import stop_words_removed

_RELATIONS: dict[str, tuple[str, str]] = {
    "father": (r"father|dad|daddy|papa", r"父亲|爸爸|老爸|爸"),
    "mother": (r"mother|mom|mum|mommy|mama", r"母亲|妈妈|老妈|妈"),
    "husband": (r"husband", r"丈夫|老公"),
    "wife": (r"wife", r"妻子|老婆|太太"),
    "partner": (r"partner|spouse|girlfriend|boyfriend", r"伴侣|爱人|配偶|女朋友|男朋友"),
    "son": (r"son", r"儿子"),
    "daughter": (r"daughter", r"女儿"),
    "child": (r"child|kid|baby", r"孩子|小孩|宝宝"),
    "brother": (r"brother", r"哥哥|弟弟|兄弟|哥"),
    "sister": (r"sister", r"姐姐|妹妹|姐妹|姐"),
    "grandfather": (r"grandfather|grandpa|granddad", r"爷爷|外公|祖父|姥爷"),
    "grandmother": (r"grandmother|grandma|granny", r"奶奶|外婆|祖母|姥姥"),
    "uncle": (r"uncle", r"叔叔|伯伯|舅舅|叔父"),
    "aunt": (r"aunt|auntie", r"阿姨|姑姑|姨妈|姑妈"),
    "relative": (r"relative|family member", r"家人|亲戚|家属"),
}
_EN_RELATION = "|".join(en for en, _ in _RELATIONS.values())
_ZH_RELATION = "|".join(sorted((w for _, zh in _RELATIONS.values() for w in zh.split("|")), key=len, reverse=True))

_RELATIVE = re.compile(
    rf"\b(?:my\s+|our\s+)?(?P<en>{_EN_RELATION})\b(?:['’]s?)?|我?(?:的)?(?P<zh>{_ZH_RELATION})(?:的)?", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"\b(?:(?:my|our|the|his|her)\s+)?([A-Z][\w-]*\s[A-Z][\w-]*|[A-Za-z][\w-]*)['’]s\b")
_ZH_NUMERAL = r"[\d〇零一二三四五六七八九十百千两俩仨]"
# How many or which: "三次", "头两个月", "第十二天".
_ZH_QUANTITY = (
    rf"(?:第|头|最?近|上|末)?(?<!{_ZH_NUMERAL}){_ZH_NUMERAL}+\s*多?"
    r"(?:个?(?:半月|月份?|星期|礼拜|季度|小时|钟头)|[次个天日号周年晚夜条笔回组项份遍趟轮期种]|分钟)"
)
_ZH_POSSESSIVE = re.compile(
    rf"(?:我的|我家的|我)?(?P<who>[A-Za-z][A-Za-z'’-]*|[\u4e00-\u9fffA-Za-z]{{1,6}}(?:{_ZH_QUANTITY})?|{_ZH_QUANTITY})"
    r"的\s*(?=\ue000)"
)
_NOT_A_PERSON = re.compile(
    r"(?:what|it|that|let|here|there|how|who|where|when|he|she|this|today|yesterday|tonight|tomorrow|day|week|month"
    r"|year"
    r"|quarter|morning|night|doctor|last|past|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|\w+day|one|everyone|life|crohn|hashimoto|user|spring|summer|autumn|fall|winter)$",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:my|i|me|mine|i'm|i've)\b|[\u4e00-\u9fff]", re.IGNORECASE)
_CAPITALISED = re.compile(r"(?<![A-Za-z-])[A-Z][a-z]{2,}(?![A-Za-z-])")
_PRONOUN = re.compile(r"\b(?:his|her|their|him|he|she)\b|他的?|她的?", re.IGNORECASE)
_MYSELF = re.compile(
    r"\b(?:my own|mine|myself|me and|and me|and i|and mine)\b|我自己|我和|和我(?!的?爸|的?妈)|跟我", re.IGNORECASE
)
_MY_OWN = re.compile(
    r"\b(?:my|our)\s+(?:[\w-]+\s+){0,2}\ue000|\b(?:than|vs\.?|versus|or|with) (?:me|i|my|mine)\b"
    r"|\b(?:me|i|mine|my) (?:or|and|vs\.?|versus)\b"
    r"|我的?\s*\ue000.*(?:和|与|跟|比|还是|谁|\ue001)|(?:和|与|跟|比|还是|或)我|我(?:和|与|跟|还是|或)",
    re.IGNORECASE,
)
# Names that are words of a question too when written small.
_WORDLIKE_NAMES = {"max", "min", "rose", "will", "long", "see"}


@dataclass(frozen=True, slots=True)
class Person:
    """Someone other than the Subject. ``relation`` is a key of the relations, or ``""`` for a name."""

    written: str
    relation: str
    begin: int
    stop: int


def find_person(text: str) -> Person | None:
    """The other person a question is about, if any. Recognised indicators in ``text`` must be masked."""
    m = _RELATIVE.search(text)
    if m:
        word = m["en"] or m["zh"]
        return Person(word, _relation(word), m.start(), m.end())
    for m in _POSSESSIVE.finditer(text):
        wordlike = m[1][0].isupper() and m[1].lower() in _WORDLIKE_NAMES
        name = m[1] if wordlike else stop_words_removed(m[1])
        if name and not _NOT_A_PERSON.match(name):
            return Person(name, "", m.start(), m.end())
    return None if _FIRST_PERSON.search(text) else _named(text)


def _named(text: str) -> Person | None:
    """A capitalised word that is none of the usual ones, in a question that does not speak of the asker."""
    for m in _CAPITALISED.finditer(text.strip(), 1):
        name = stop_words_removed(m[0])
        if name and not _NOT_A_PERSON.match(name):
            return Person(name, "", m.start(), m.end())
    return None


def zh_owner(text: str, stop_words: re.Pattern[str]) -> Person | None:
    """Who a Chinese question gives an indicator to ("马丁的血糖"), when it is not the asker.

    Numerals are no names: "最近三次的血压" is the asker's.
    """
    for m in _ZH_POSSESSIVE.finditer(text):
        word = stop_words.sub("", re.sub(_ZH_QUANTITY, "", m["who"]))
        if word and not re.fullmatch(rf"{_ZH_NUMERAL}+", word):
            return Person(word, "", m.start(), m.end())
    return None


def speaks_of_both(text: str, other: Person) -> bool:
    """Whether a question about someone else is about the asker too ("compare mine and my father's")."""
    if _MYSELF.search(text):
        return True
    rest = text[: other.begin] + "\ue001" * (other.stop - other.begin) + text[other.stop :]
    return _MY_OWN.search(rest) is not None


def has_pronoun(text: str) -> bool:
    """Whether a question points back at a person named before."""
    return _PRONOUN.search(text) is not None


def members_matching(person: Person, members: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of ``members`` (objects with ``member`` and ``display_name``) that a question may mean."""
    words = _words(person)
    return [m for m in members if words.search(f"{m.get('display_name') or ''} {m.get('member') or ''}")]


def also_named(text: str, person: Person, members: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of ``members`` whose name, or its first word, a question holds beside ``person``."""
    rest = text.replace(person.written, " ")
    return [m for m in members if any(_stands_in(name, rest) for name in _short_names(m))]


def _short_names(member: Mapping[str, Any]) -> list[str]:
    whole = str(member.get("display_name") or "").strip()
    names = (whole, whole.split(" ")[0])
    return [n for n in names if len(n) > 1 and stop_words_removed(n) == n and not _NOT_A_PERSON.match(n)]


def _stands_in(name: str, text: str) -> bool:
    return _words(Person(name, "", 0, 0)).search(text) is not None


def _words(person: Person) -> re.Pattern[str]:
    if not person.relation:
        return re.compile(rf"(?<![A-Za-z0-9]){re.escape(person.written)}(?![A-Za-z0-9])", re.IGNORECASE)
    en, zh = _RELATIONS[person.relation]
    return re.compile(rf"(?<![A-Za-z])(?:{en})(?![A-Za-z])|{zh}", re.IGNORECASE)


def _relation(word: str) -> str:
    found = (k for k, (en, zh) in _RELATIONS.items() if re.fullmatch(f"{en}|{zh}", word, re.IGNORECASE))
    return next(found, "relative")
