"""Reads the condition of a request ("if it is trending up", "如果高于7"). Whether it holds: verdicts.py."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from responses_app.llm.analyst.client_tools import first_verb
from responses_app.llm.analyst.dates import Period
from responses_app.llm.analyst.indicators import Mention
from responses_app.llm.analyst.limits import Limit
from responses_app.llm.analyst.measures import Measure, find_measures

TestKind = Literal[
    "rising", "falling", "stable", "limit", "high", "low", "abnormal", "normal", "present", "absent", "same", "unclear"
]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Test:
    """One thing a condition asks of a figure. ``measure``: of which figure, the latest when ``None``."""

    kind: TestKind
    negated: bool = False
    limit: Limit | None = None
    measure: Measure | None = None
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as written and its tests: all must hold, or any with ``any_of``; ``negated`` turns it round."""

    text: str
    tests: tuple[Test, ...]
    any_of: bool = False
    negated: bool = False
    periods: tuple[Period, ...] = ()


_MARKER = re.compile(
    r"\b(?:only if|if|in case|provided(?: that)?|assuming|as long as|unless|should it|when(?:ever)?(?= (?:it|my|the"
    r"|they|this|that)\b)|once(?= (?:it|my|the)\b))"
    r"|(?:如果|若是|若(?!干)|要是|假如|假设|一旦|万一|倘若|只有|除非|当(?![前天时月年日地然]))",
    re.IGNORECASE,
)
_TEMPORAL = re.compile(r"when|once|当", re.IGNORECASE)
_ASKING_WHETHER = re.compile(
    r"(?:tell me|let me know|check|see|know|find out|wonder(?:ing)?|determine|verify|ask(?:ing)?|say|what|even|as)\s*$",
    re.IGNORECASE,
)
_END = re.compile(
    r"[,，;；。！？!?\n、]|(?<!\bdr)\.(?=\s|$)|(?<![A-Za-z])(?:then|please|otherwise|else)(?![A-Za-z])|的话"
    r"|(?<!成)就|则|那么|请|帮|否则|不然",
    re.IGNORECASE,
)
_RISING = re.compile(
    r"\b(?:ris(?:e|es|ing|en)|rose|(?:trend|go|goes|head|edg|creep|climb|mov)(?:ing|ed|s)?\s*(?:up|upwards?|higher)"
    r"|went up|gone up|upwards?|trend(?:s|ing)? up|increas\w*|climb\w*|getting (?:higher|worse|bigger)|worsen\w*"
    r"|worse|going up)\b"
    r"|上升|升高|上涨|走高|变高|增高|增加|恶化|在涨|涨",
    re.IGNORECASE,
)
_FALLING = re.compile(
    r"\b(?:fall(?:s|ing|en)?|fell|drop(?:s|ped|ping)?|(?:trend|go|goes|head|edg|mov)(?:ing|ed|s)?\s*(?:down"
    r"|downwards?|lower)|went down|gone down|downwards?|decreas\w*|declin\w*|getting (?:lower|better|smaller)"
    r"|improv\w*|better)\b"
    r"|下降|降低|下跌|走低|变低|减少|好转|改善|在降|跌",
    re.IGNORECASE,
)
_STABLE = re.compile(r"\b(?:stable|steady|unchanged|flat|constant)\b|稳定|平稳|不变|持平", re.IGNORECASE)
_ABNORMAL = re.compile(
    r"\b(?:abnormal|out of (?:the )?(?:normal |reference )?range|outside (?:the )?(?:normal |reference )?range"
    r"|off)\b|异常|不正常|超出(?:参考|正常)?范围|超标",
    re.IGNORECASE,
)
_NORMAL = re.compile(
    r"\b(?:normal|in (?:the )?(?:normal |reference )?range|ok|okay|fine|healthy)\b|正常|达标", re.IGNORECASE
)
_HIGH = re.compile(r"\b(?:too high|high|elevated)\b|偏高|过高|太高|很高", re.IGNORECASE)
_LOW = re.compile(r"\b(?:too low|low)\b|偏低|过低|太低|很低", re.IGNORECASE)
_ABSENT = re.compile(
    r"\bthere(?:'s| is| are) no\b|\b(?:have|has) no\b|\bhaven'?t\b|\bno (?:data|readings?|results?|records?)\b"
    r"|没有(?:数据|记录|测)|还没测",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\bthere(?:'s| is| are) (?:any|an?|some)\b|\bi have (?:any|some)\b|有(?:数据|记录)", re.IGNORECASE
)
_SAME = re.compile(
    r"^\W*(?:so|yes|it is|it does|that'?s (?:so|the case|true)|that is (?:so|the case|true)|true|they are|是|是的"
    r"|是这样|这样|有)\W*$",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|isn'?t|aren'?t|doesn'?t|hasn'?t|wasn'?t|no longer|never)\b|没有?(?!数据|记录|测)|不(?!正常|变|到|足"
    r"|低于|高于|超过|少于|多于|大于|小于)|未",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"\b(and|or)\b|(并且|而且|且|或者|或)", re.IGNORECASE)
_KINDS: tuple[tuple[TestKind, re.Pattern[str]], ...] = (
    ("absent", _ABSENT),
    ("rising", _RISING),
    ("falling", _FALLING),
    ("stable", _STABLE),
    ("abnormal", _ABNORMAL),
    ("normal", _NORMAL),
    ("high", _HIGH),
    ("low", _LOW),
    ("present", _PRESENT),
)
_FIGURES = (Measure.AVERAGE, Measure.MAXIMUM, Measure.MINIMUM, Measure.SUM)
_SELF_NEGATING = {"absent"}


def find_conditions(mask: str) -> list[Span]:
    """Where the conditions of a question stand. "Tell me if …" is a question, not a condition."""
    spans: list[Span] = []
    for m in _MARKER.finditer(mask):
        if spans and m.start() < spans[-1][1]:
            continue
        if _ASKING_WHETHER.search(mask[: m.start()]) or _is_a_question_of_time(mask, m):
            continue
        spans.append((m.start(), _end_of(mask, m.end())))
    return spans


def _is_a_question_of_time(mask: str, m: re.Match[str]) -> bool:
    """ "When it …" is a condition only after something to be done."""
    return _TEMPORAL.match(m[0]) is not None and first_verb(mask[: m.start()]) is None


def _end_of(mask: str, begin: int) -> int:
    m = _END.search(mask, begin + 1)
    end = m.start() if m else len(mask)
    if m and m[0] == "的话":
        end = m.end()
    verb = first_verb(mask[begin:end])
    return end if verb is None else begin + len(mask[begin : begin + verb].rstrip())


def read_condition(
    text: str, span: Span, periods: Sequence[Period], limits: Sequence[Limit], mentions: Sequence[Mention]
) -> Condition:
    """The condition at ``span`` of the question, with what was recognised in the question."""
    written = text[span[0] : span[1]].strip()
    marker = _MARKER.match(text, span[0])
    body_begin = marker.end() if marker else span[0]
    pieces, any_of = _pieces(text, body_begin, span[1], limits)
    tests = tuple(_test(text, piece, limits, mentions) for piece in pieces)
    told = tuple(t for t in tests if t.kind != "unclear") or tests[:1]
    negated = bool(re.match(r"unless|除非", written, re.IGNORECASE))
    inside = tuple(p for p in periods if span[0] <= p.begin < span[1] and p.possible)
    return Condition(written, _with_mentions(told), any_of, negated, inside)


def tests_of(text: str, mentions: Sequence[Mention], limits: Sequence[Limit]) -> tuple[Test, ...]:
    """What a whole question would mean as a condition: for "check whether it is rising, and if so …"."""
    return tuple(t for t in (_test(text, (0, len(text)), limits, mentions),) if t.kind not in {"unclear", "same"})


def _pieces(text: str, begin: int, end: int, limits: Sequence[Limit]) -> tuple[list[Span], bool]:
    pieces, start, any_of = [], begin, False
    for m in _SPLIT.finditer(text, begin, end):
        if any(x.begin <= m.start() < x.stop for x in limits):
            continue
        any_of = any_of or (m[1] or m[2]).lower() in {"or", "或", "或者"}
        pieces.append((start, m.start()))
        start = m.end()
    return [*pieces, (start, end)], any_of


def _with_mentions(tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """A test that names no indicator is about the one named before it ("if LDL is rising or above 4")."""
    result: list[Test] = []
    for test in tests:
        earlier = result[-1].mentions if result else ()
        result.append(test if test.mentions else Test(test.kind, test.negated, test.limit, test.measure, earlier))
    return tuple(result)


def _test(text: str, span: Span, limits: Sequence[Limit], mentions: Sequence[Mention]) -> Test:
    piece = text[span[0] : span[1]]
    inside = tuple(m for m in mentions if span[0] <= m.begin < span[1])
    limit = next((x for x in limits if span[0] <= x.begin < span[1]), None)
    plain = _blank(piece, span[0], (*inside, *((limit,) if limit else ())))
    measure = next((m for _, m in find_measures(plain) if m in _FIGURES), None)
    negated = _NOT.search(piece) is not None
    if limit is not None:
        return Test("limit", negated, limit, measure, inside)
    if _SAME.match(piece):
        return Test("same", mentions=inside)
    kind: TestKind = next((kind for kind, pattern in _KINDS if pattern.search(piece)), "unclear")
    return Test(kind, negated and kind not in _SELF_NEGATING, None, measure, inside)


def _blank(piece: str, offset: int, recognised: Sequence[Mention | Limit]) -> str:
    for m in recognised:
        piece = piece[: m.begin - offset] + " " * (m.stop - m.begin) + piece[m.stop - offset :]
    return piece
