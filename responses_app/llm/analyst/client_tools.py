"""Finds what a question asks to be done, and which of the caller's tools serves that purpose.

How a tool's arguments are filled is told in arguments.py; whether it may be called yet in analyst.py.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from responses_app.engine.ports import ToolDefinition
from responses_app.llm.analyst.text import word_set

_PURPOSES: dict[str, tuple[str, str]] = {
    "book": (
        r"book|schedule|reserve|arrange|set up|(?:make|get)(?: me)? an? (?:[\w-]+ )?(?:appointment|booking|reservation)"
        r"|plan an? (?:[\w-]+ )?(?:appointment|visit|follow[ -]?up)",
        r"预约|挂号|挂个号|挂一?个|预定|预订|约(?=一|个|下|医生|门诊|复诊|复查|时间)|安排",
    ),
    "remind": (
        r"remind|(?:set|create|add|make)(?: me)?(?: up)?(?: an?| the| my)? (?:[\w-]+ )?(?:reminder|alarm)s?|wake me",
        r"提醒|闹钟|闹铃",
    ),
    "email": (r"e-?mail", r"邮件|邮箱"),
    "sms": (r"text(?= (?:my|him|her|them|dr\b|doctor|the|mom|dad|me\b))|sms", r"短信"),
    "phone": (r"(?:call|phone|ring)(?= (?:my|him|her|them|dr\b|doctor|the|an?|mom|dad|911|120))", r"打电话|拨打|致电"),
    "message": (
        r"send|message|notify|inform|alert|forward|tell(?! me| us)|let (?!me|us)(?:[\w.]+ ){1,4}know|ping",
        r"发送|发(?=消息|信息|给|一|个|份|条|到)|通知|告知|告诉(?!我)|转告|转发",
    ),
    "order": (r"(?<!in )order|buy|purchase|refill|renew", r"订购|购买|下单|配药|续方|买"),
    "log": (
        r"log|record(?= (?:my|a|an|the|that|this|it)\b)|save|note(?: down)?(?= (?:my|a|an|the|that|this|it)\b)"
        r"|write down",
        r"记下|记一下|记录(?=一下|下|这|我)|保存|录入|登记",
    ),
    "cancel": (r"cancel", r"取消"),
    "export": (r"export|share|download|print|upload", r"导出|分享|下载|打印|上传"),
    "transfer": (
        r"transfer|hand (?:me |this |it )?(?:over|off)|connect me|put me through|(?:talk|speak|switch) (?:to|with)"
        r"|escalate",
        r"转接|转到|转给|转人工|人工客服|接通",
    ),
    "calendar": (
        r"(?:add|put)(?: \S+){0,6} (?:in|to|on|into) (?:my |the )?calendar",
        r"(?:加入|添加到|写进|放进)\S{0,4}日历",
    ),
}

_TOOL_WORDS: dict[str, str] = {
    "book": "book", "appointment": "book", "appointments": "book", "schedule": "book", "booking": "book",
    "reserve": "book", "reservation": "book", "arrange": "book", "visit": "book",
    "remind": "remind", "reminder": "remind", "reminders": "remind", "alarm": "remind",
    "email": "email", "mail": "email", "sms": "sms", "text": "sms", "phone": "phone", "dial": "phone", "call": "phone",
    "send": "message", "message": "message", "notify": "message", "notification": "message", "alert": "message",
    "inform": "message", "tell": "message", "contact": "message",
    "order": "order", "buy": "order", "purchase": "order", "refill": "order", "prescription": "order", "renew": "order",
    "log": "log", "record": "log", "save": "log", "note": "log", "store": "log",
    "cancel": "cancel", "export": "export", "share": "export", "download": "export", "print": "export",
    "transfer": "transfer", "handoff": "transfer", "escalate": "transfer", "calendar": "calendar", "event": "calendar",
}  # fmt: skip
_FALLBACKS = {
    "email": ("message",),
    "sms": ("message",),
    "message": ("email", "sms"),
    "calendar": ("remind",),
    "export": ("message",),
}
READING = frozenset({"message", "email", "sms", "log", "export"})
"""Purposes that pass a value on: an indicator in such a request is to be looked up."""

_READ_VERBS = word_set("get fetch lookup look find search check show list read query retrieve view describe")
_GENERIC = _READ_VERBS | word_set(
    "create make set add update do run submit start new use the a an for of to in on by and or with from user users "
    "patient"
    " end health data info information tool function current my your this that it is time date client item value values"
    " app api service me given returns return agent handle request requests"
)
_ZH_WORDS = {
    "weather": "天气", "clinic": "诊所", "clinics": "诊所", "doctor": "医生", "doctors": "医生", "hospital": "医院",
    "pharmacy": "药店", "medication": "药", "medicine": "药", "recipe": "食谱", "diet": "饮食", "meal": "餐",
    "exercise": "运动", "plan": "计划", "translate": "翻译", "calculate": "计算", "restaurant": "餐厅", "news": "新闻",
    "insurance": "保险", "map": "地图", "route": "路线", "music": "音乐", "slots": "空位", "availability": "空位",
}  # fmt: skip

_NOT_ASKED = re.compile(
    r"(?:\b(?:should|did|does|have|has|had|was|were|why|never|don['’]?t|do not|didn['’]?t|not|without|no need to"
    r"|instead of"
    r"|how (?:do|can|would|should|could|to)|what happens if|when (?:do|did|should|is|was)|do (?:i|we) (?:need|have)"
    r"|unable to"
    r"|cannot|can['’]?t)\s+(?:[\w'’]+\s+){0,3}"
    r"|(?:不要|不用|别|无需|不需要|不必|怎么|如何|怎样|是否应该|要不要|应不应该|该不该|已经|何时|没有|为什么"
    r"|不)[^,。;!?\s]{0,4})$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Action:
    """Something a question asks to be done: where it says so, its purpose, and the caller's tool for it, if any."""

    begin: int
    stop: int
    purpose: str
    written: str
    tool: ToolDefinition | None


def find_actions(text: str, clause_bounds: Sequence[tuple[int, int]], tools: Sequence[ToolDefinition]) -> list[Action]:
    """What a question asks to be done, at most one thing a clause. Dates and indicators in ``text`` must be masked."""
    found = [_action_in(text, begin, stop, tools) for begin, stop in clause_bounds]
    return [action for action in found if action is not None]


def _action_in(text: str, begin: int, stop: int, tools: Sequence[ToolDefinition]) -> Action | None:
    clause = text[begin:stop]
    named = _named_tool(clause, begin, tools)
    if named is not None:
        return named
    verbs = [(m, purpose) for purpose, m in _verbs(clause) if not _NOT_ASKED.search(clause[: m.start()])]
    if not verbs:
        return _by_own_words(clause, begin, tools)
    scored = [(score, -m.start(), m, p, tool) for m, p in verbs for tool in tools if (score := _score(tool, p, clause))]
    if not scored:
        own = _by_own_words(clause, begin, tools)
        m, purpose = min(verbs, key=lambda v: v[0].start())
        return own or Action(begin + m.start(), begin + m.end(), purpose, m[0], None)
    _, _, m, purpose, tool = max(scored, key=lambda s: s[:2])
    first = min(v[0].start() for v in verbs)
    return Action(begin + first, begin + m.end(), purpose, m[0], tool)


def _named_tool(clause: str, begin: int, tools: Sequence[ToolDefinition]) -> Action | None:
    for tool in tools:
        at = clause.find(tool.name) if "_" in tool.name else -1
        if at >= 0 and not _NOT_ASKED.search(clause[:at]):
            return Action(begin + at, begin + at + len(tool.name), "named", tool.name, tool)
    return None


def _verbs(clause: str) -> Iterable[tuple[str, re.Match[str]]]:
    for purpose in _PURPOSES:
        for m in _pattern(purpose).finditer(clause):
            yield purpose, m


@lru_cache(maxsize=32)
def _pattern(purpose: str) -> re.Pattern[str]:
    en, zh = _PURPOSES[purpose]
    return re.compile(rf"(?<![\w-])(?:{en})(?![\w-])|{zh}", re.IGNORECASE)


def _score(tool: ToolDefinition, purpose: str, clause: str) -> int:
    """How well a tool serves a purpose; 0: not at all. Words shared with the clause break ties."""
    purposes = _purposes(tool.name, tool.description or "")
    wanted = (purpose, *_FALLBACKS.get(purpose, ()))
    base = next((weight for weight, p in zip((30, 20, 20), wanted, strict=False) if p in purposes[:1]), 0)
    base = base or next((weight for weight, p in zip((15, 10, 10), wanted, strict=False) if p in purposes), 0)
    if not base or (purpose == "transfer" and not _shares_words(tool, clause)):
        return 0
    return (
        base
        + len(_own_words(tool.name) & _words(clause))
        + min(len(_words(tool.description or "") & _words(clause)), 5)
    )


def _shares_words(tool: ToolDefinition, clause: str) -> bool:
    """A transfer goes to the one it names, or to whoever there is when it names none."""
    target = {w for w in _own_words(tool.name) if w not in {"transfer", "handoff"}}
    return (
        not target or bool(target & _words(clause)) or bool(re.search(r"转|人工|\b(?:human|agent|someone)\b", clause))
    )


@lru_cache(maxsize=256)
def _purposes(name: str, description: str) -> tuple[str, ...]:
    """What a tool is for, the strongest first: by its name's words, else by its description's."""
    words = _split(name)
    if words and words[0] in _READ_VERBS:
        return ()
    by_name = [_TOOL_WORDS[w] for w in words if w in _TOOL_WORDS]
    by_name += [p for p in _PURPOSES if re.search(_PURPOSES[p][1], name)]
    found = by_name or [_TOOL_WORDS[w] for w in _split(description[:500]) if w in _TOOL_WORDS]
    found += [p for p in _PURPOSES if re.search(_PURPOSES[p][1], description[:500])] if not by_name else []
    return tuple(dict.fromkeys(found))


def _by_own_words(clause: str, begin: int, tools: Sequence[ToolDefinition]) -> Action | None:
    """A tool of no common purpose, asked for by at least half of the words of its own name ("weather")."""
    for tool in tools:
        own = _own_words(tool.name)
        if not own or _purposes(tool.name, tool.description or ""):
            continue
        hits = [at for word in own if (at := _find_word(clause, word)) >= 0]
        if hits and 2 * len(hits) >= len(own) and not _NOT_ASKED.search(clause[: min(hits)]):
            return Action(begin + min(hits), begin + max(hits) + 1, "own", tool.name, tool)
    return None


def _find_word(clause: str, word: str) -> int:
    stem = re.escape(word.removesuffix("s"))
    m = re.search(rf"(?<![A-Za-z]){stem}(?:s|es|ing|ed)?(?![A-Za-z])", clause, re.IGNORECASE)
    if m:
        return m.start()
    return clause.find(_ZH_WORDS[word]) if word in _ZH_WORDS else -1


def _own_words(name: str) -> frozenset[str]:
    return frozenset(w for w in _split(name) if w not in _GENERIC and len(w) > 2)  # noqa: PLR2004 - shorter words say nothing


def _words(text: str) -> set[str]:
    return {w for w in _split(text[:1000]) if w not in _GENERIC}


def _split(name: str) -> list[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [w.lower() for w in re.findall(r"[A-Za-z]+", spaced)]


def first_verb(text: str) -> int | None:
    """Where a text first says that something is to be done."""
    return min((m.start() for _, m in _verbs(text)), default=None)
