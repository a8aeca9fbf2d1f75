"""Fills a client tool's arguments from a question, by its JSON Schema. What the question does not say is not made up.

The one exception is the day of a follow-up that the question leaves open: it is proposed, and the answer names it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from responses_app.llm.analyst.dates import Period, find_periods, working_day_after
from responses_app.llm.analyst.text import normalised, shown, word_set

FOLLOW_UP_DAYS = 7
_PROPOSED_TIME = "09:00"
_PLANNING = {"book", "remind", "calendar"}
_MOST_PROPERTIES = 60
_DEEPEST = 4
_TEXT_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Material:
    """What arguments may be filled from. ``request`` is the part of the question that asks for the tool.

    ``finding`` is what the health data showed, in a sentence; ``value`` and ``unit`` its figure, if there is one.
    """

    question: str
    request: str
    purpose: str
    today: date
    finding: str = ""
    value: float | None = None
    unit: str = ""
    indicators: tuple[str, ...] = ()


@dataclass(slots=True)
class Filled:
    """``missing`` are required arguments that the question does not give.

    ``day`` is the day that went in, if any; ``proposed`` the same when the question left it open.
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    day: str = ""
    proposed: str = ""


def fill(schema: Any, material: Material) -> Filled:
    """Arguments for a tool with the JSON Schema ``schema``."""
    filler = _Filler(schema if isinstance(schema, dict) else {}, material)
    filled = Filled()
    filled.arguments = filler.object(filler.root, "", filled, 0)
    return filled


_NONE = object()


class _Filler:
    """One filling: the schema's definitions and what to fill from."""

    def __init__(self, root: Mapping[str, Any], material: Material) -> None:
        self.root = root
        self.material = material
        self.text = normalised(material.request)
        self.periods = self._days_ahead()
        self.used_numbers: set[int] = set()

    def object(self, schema: Mapping[str, Any], path: str, filled: Filled, depth: int) -> dict[str, Any]:
        """The properties of an object that the question gives, required ones missed going into ``filled``."""
        properties = schema.get("properties")
        required = schema.get("required")
        needed = {n for n in required if isinstance(n, str)} if isinstance(required, list) else set()
        values: dict[str, Any] = {}
        for name, raw in list(properties.items())[:_MOST_PROPERTIES] if isinstance(properties, dict) else ():
            value = self.value(str(name), self.resolved(raw), str(name) in needed, filled, depth)
            if value is not _NONE:
                values[str(name)] = value
            elif str(name) in needed:
                filled.missing.append(f"{path}{name}")
        declared = properties if isinstance(properties, dict) else {}
        filled.missing += [f"{path}{n}" for n in sorted(needed) if n not in declared]
        return values

    def value(self, name: str, schema: Mapping[str, Any], required: bool, filled: Filled, depth: int) -> Any:
        """The value of one property, or ``_NONE``."""
        if "const" in schema:
            return schema["const"] if required else _NONE
        options = schema.get("enum")
        if isinstance(options, list):
            return self.option(options, name, required)
        kind = _kind(schema)
        if kind == "object":
            return self.nested(name, schema, required, filled, depth)
        if kind == "array":
            return self.array(name, schema, depth, filled)
        if kind == "boolean":
            return self.boolean(name, schema)
        if kind in {"integer", "number"}:
            return self.number(name, schema, kind)
        value = self.string(name, schema, required, filled) if kind in {"string", ""} else _NONE
        return value if value is _NONE or _fits(value, schema) else _NONE

    def resolved(self, raw: Any) -> Mapping[str, Any]:
        """A property's schema, local references followed and the first non-null alternative taken."""
        schema = raw if isinstance(raw, dict) else {}
        for _ in range(_DEEPEST):
            if isinstance(schema.get("$ref"), str):
                schema = self.referenced(schema["$ref"])
                continue
            choices = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
            if not isinstance(choices, list):
                break
            kept = [c for c in choices if isinstance(c, dict) and c.get("type") != "null"]
            rest = {k: v for k, v in schema.items() if k not in {"anyOf", "oneOf", "allOf"}}
            schema = rest | (kept[0] if kept else {})
        return schema

    def referenced(self, reference: str) -> dict[str, Any]:
        """The definition a local reference names; an empty schema for any other."""
        node: Any = self.root
        for step in reference.removeprefix("#/").split("/") if reference.startswith("#/") else ["\0"]:
            node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        return node if isinstance(node, dict) else {}

    def nested(self, name: str, schema: Mapping[str, Any], required: bool, filled: Filled, depth: int) -> Any:
        """An object inside an object; left out when it is optional and incomplete."""
        if depth >= _DEEPEST:
            return _NONE
        inner = Filled()
        values = self.object(schema, f"{name}.", inner, depth + 1)
        if not required and (inner.missing or not values):
            return _NONE
        filled.missing += inner.missing
        filled.day = filled.day or inner.day
        filled.proposed = filled.proposed or inner.proposed
        return values if values or inner.missing or required else _NONE

    def array(self, name: str, schema: Mapping[str, Any], depth: int, filled: Filled) -> Any:
        """Options named in the question, indicators, addresses or quoted texts."""
        items = self.resolved(schema.get("items"))
        options = items.get("enum")
        if isinstance(options, list):
            return [o for o in options if isinstance(o, str) and _names_option(self.text, o)] or _NONE
        if _kind(items) in {"integer", "number"}:
            return [self.as_kind(n, _kind(items)) for _, n in self.numbers()] or _NONE
        words = _words(name)
        if words & _INDICATOR_WORDS:
            return list(self.material.indicators) or _NONE
        if words & _EMAIL_WORDS or items.get("format") == "email":
            return _EMAIL.findall(self.text) or _NONE
        if words & _PERSON_WORDS and (person := _first(_PERSON, self.text)):
            return [person]
        return _quotes(self.text) or _NONE

    def boolean(self, name: str, schema: Mapping[str, Any]) -> Any:
        """True or false when the question uses the property's own words."""
        words = {w for w in _words(name) if w not in {"is", "has", "should", "send", "with", "enable", "use"}}
        found = next(
            (m for w in words if (m := re.search(rf"(?<![A-Za-z]){re.escape(w)}", self.text, re.IGNORECASE))), None
        )
        if found is None:
            return _NONE
        return not re.search(
            r"(?:\bno|\bnot|\bwithout|n't|不|别|无需)\W*(?:\w+\W+)?$", self.text[: found.start()], re.IGNORECASE
        )

    def option(self, options: Sequence[Any], name: str, required: bool) -> Any:
        """The one of an enumeration that the question names; the only one there is, if it is required."""
        texts = [o for o in options if isinstance(o, str) and _names_option(self.text, o)]
        if texts:
            return max(texts, key=len)
        by_number = [
            o
            for o in options
            if isinstance(o, int | float) and not isinstance(o, bool) and any(o == n for _, n in self.numbers())
        ]
        if by_number:
            return by_number[0]
        offered = [o for o in options if o is not None]
        return offered[0] if required and len(offered) == 1 else _NONE

    def number(self, name: str, schema: Mapping[str, Any], kind: str) -> Any:
        """The number next to the property's words or unit, the finding's figure, or the only number there is."""
        candidates = [(at, n) for at, n in self.numbers() if at not in self.used_numbers and _fits(n, schema)]
        words = _words(name) | _words(str(schema.get("description") or "")[:200])
        if _words(name) & _VALUE_WORDS and not candidates and self.material.value is not None:
            return self.as_kind(self.material.value, kind) if _fits(self.material.value, schema) else _NONE
        near = next(((at, n) for at, n in candidates if self.is_near(at, words)), None)
        found = near or (
            candidates[0] if len(candidates) == 1 and not self.has_unit_of_other(candidates[0][0], words) else None
        )
        if found is None or (kind == "integer" and found[1] != int(found[1])):
            return _NONE
        self.used_numbers.add(found[0])
        return self.as_kind(found[1], kind)

    @staticmethod
    def as_kind(number: float, kind: str) -> int | float:
        """Whole numbers as integers."""
        return int(number) if kind == "integer" or number == int(number) else number

    def numbers(self) -> list[tuple[int, float]]:
        """The numbers of the request that belong to no date or time of day, with their places."""
        taken = [(p.begin, p.stop) for p in self.periods] + [m.span() for m in _TIME.finditer(self.text)]
        return [
            (m.start(), float(m[0]))
            for m in re.finditer(r"(?<![\w.])\d{1,12}(?:\.\d{1,6})?(?![\d.]*[-/]\d)", self.text)
            if all(m.start() >= stop or m.end() <= begin for begin, stop in taken)
        ]

    def is_near(self, at: int, words: set[str]) -> bool:
        """Whether a number stands next to one of the words: "for 30 minutes", "quantity 2"."""
        around = self.text[max(at - 20, 0) : at] + " " + re.sub(r"^[\d.]+", "", self.text[at : at + 30])
        told = {_UNIT_WORDS.get(w, w) for w in _split(around)}
        told |= {unit for han, unit in _ZH_UNIT_WORDS.items() if han in around}
        return bool(told & {_UNIT_WORDS.get(w, w) for w in words if len(w) > 2})  # noqa: PLR2004 - shorter words say nothing

    def has_unit_of_other(self, at: int, words: set[str]) -> bool:
        """Whether a number has a unit of time that the property does not speak of."""
        following = re.match(r"[\d.]+\s*([A-Za-z]+|[\u4e00-\u9fff]{1,2})", self.text[at : at + 40])
        unit = _UNIT_WORDS.get(following[1].lower()) or _ZH_UNIT_WORDS.get(following[1]) if following else None
        return unit is not None and unit not in {_UNIT_WORDS.get(w, w) for w in words}

    def string(self, name: str, schema: Mapping[str, Any], required: bool, filled: Filled) -> Any:
        """A text property, by its format, its name, its description."""
        words = _words(name)
        reader = self.readers().get(_format(words, schema))
        if reader is not None:
            return reader(required, filled)
        if words & _INDICATOR_WORDS:
            return next(iter(self.material.indicators), _NONE)
        if words & _VALUE_WORDS and self.material.value is not None:
            return f"{self.as_kind(self.material.value, 'number')} {self.material.unit}".strip()
        if words & _UNIT_NAMES:
            return self.material.unit or _NONE
        return self.prose(words) or self.named(words, required) or _NONE

    def prose(self, words: set[str]) -> str:
        """A reason or a text to send, if the property is for one."""
        if words & _REASON_WORDS:
            return self.reason()
        return self.body() if words & _BODY_WORDS else ""

    def named(self, words: set[str], required: bool) -> str:
        """A person, a place, or what stands after the property's own name."""
        if words & (_REASON_WORDS | _BODY_WORDS):
            return ""
        if words & _PERSON_WORDS:
            return _first(_PERSON, self.text) or self.labelled(words)
        if words & _PLACE_WORDS:
            return _first(_PLACE, self.text) or _first(_ZH_PLACE, self.text) or self.labelled(words)
        return self.labelled(words) or ("".join(_quotes(self.text)[:1]) if required else "")

    def readers(self) -> dict[str, Callable[[bool, Filled], Any]]:
        """The readers of texts that have a form."""
        return {
            "date": self.day,
            "date-time": self.day_and_time,
            "time": lambda _required, _filled: self.time_of_day() or _NONE,
            "email": lambda _required, _filled: _first(_EMAIL, self.text) or _NONE,
            "uri": lambda _required, _filled: _first(_URI, self.text) or _NONE,
            "phone": lambda _required, _filled: _first(_PHONE, self.text) or _NONE,
        }

    def day(self, required: bool, filled: Filled) -> Any:
        """The day the request names; for a booking that leaves it open, the proposed one."""
        plans = self.material.purpose in _PLANNING
        named = next((p for p in self.periods if p.is_day or plans), None)
        if named is not None and named.is_day and named.start is not None:
            filled.day = named.start.isoformat()
            return filled.day
        if self.material.purpose != "book" or not (required or named):
            return _NONE
        filled.day = filled.proposed = self.proposal(named).isoformat()
        return filled.day

    def proposal(self, within: Period | None) -> date:
        """The first working day ahead in the time the request names, or at least a week ahead."""
        if within is None or within.start is None:
            return working_day_after(self.material.today, FOLLOW_UP_DAYS)
        return working_day_after(max(within.start, self.material.today + timedelta(days=1)), 0)

    def day_and_time(self, required: bool, filled: Filled) -> Any:
        """Day and time of day; a proposed day comes with a proposed time."""
        time = self.time_of_day()
        day = self.day(required, filled)
        if day is _NONE or not (time or filled.proposed):
            return _NONE
        moment = f"{day}T{time or _PROPOSED_TIME}:00"
        filled.proposed = filled.proposed and f"{day} {time or _PROPOSED_TIME}"
        return moment

    def time_of_day(self) -> str:
        """A time as "08:00"; empty when none is named."""
        return next((t for m in _TIME.finditer(self.text) if (t := _read_time(m))), "")

    def reason(self) -> str:
        """Why: the finding, else quoted text, else what follows "for" or "because"."""
        quoted = "".join(_quotes(self.text)[:1])
        told = _first(_BECAUSE, self.text) or _first(_ZH_BECAUSE, self.text)
        return (self.material.finding or quoted or told)[:_TEXT_LIMIT]

    def body(self) -> str:
        """What to say: quoted text, else the finding, else what follows "saying"; in a reminder, what to do."""
        quoted = _quotes(self.text)
        if quoted:
            return quoted[0]
        if self.material.purpose in {"remind", "calendar"}:
            told = self.without_times(_first(_TO_DO, self.text) or _first(_ZH_TO_DO, self.text))
            return (told or self.material.finding)[:_TEXT_LIMIT]
        told = _first(_SAYING, self.text) or _first(_ZH_SAYING, self.text)
        return (self.material.finding or told)[:_TEXT_LIMIT]

    def without_times(self, told: str) -> str:
        """ "drink water at 8" without its time."""
        for p in sorted(self.periods, key=lambda p: -len(p.text)):
            told = re.sub(rf"\s*(?:\bon\s+|\bby\s+)?{re.escape(p.text)}", " ", told)
        return " ".join(_TIME.sub(" ", told).split()).strip(" ,.，。在")

    def labelled(self, words: set[str]) -> str:
        """A value written after the property's own name: "city: Paris", "title is Check-up"."""
        for word in sorted(words, key=len, reverse=True):
            m = re.search(
                rf"(?<![A-Za-z]){re.escape(word)}(?:\s+is|\s*[:=]|\s+of)\s*\"?([^\",.;，。；\n]{{1,200}})",
                self.text,
                re.IGNORECASE,
            )
            if m:
                return m[1].strip()
        return ""

    def _days_ahead(self) -> list[Period]:
        return [
            p for p in find_periods(self.text, self.material.today, ahead=True) if p.possible and p.start is not None
        ]


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if isinstance(k, str) and k != "null"), "")
    if isinstance(kind, str):
        return kind
    return "object" if isinstance(schema.get("properties"), dict) else ""


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value keeps to the bounds a schema sets."""
    if isinstance(value, str):
        most, least = schema.get("maxLength"), schema.get("minLength")
        return not (isinstance(most, int) and len(value) > most) and not (isinstance(least, int) and len(value) < least)
    low, high = schema.get("minimum"), schema.get("maximum")
    over = isinstance(high, int | float) and value > high
    return not over and not (isinstance(low, int | float) and value < low)


_INDICATOR_WORDS = word_set("indicator indicators metric metrics biomarker biomarkers analyte analytes measure")
_VALUE_WORDS = word_set("value reading result measurement level")
_UNIT_NAMES = frozenset({"unit", "units"})
_REASON_WORDS = word_set(
    "reason reasons note notes purpose comment comments remark remarks description details summary symptoms context"
    " 原因 备注 理由 说明"
)
_BODY_WORDS = word_set(
    "message text body content title subject task name label what reminder topic query question 内容 标题 消息 事项"
)
_PERSON_WORDS = word_set(
    "recipient recipients to doctor physician provider clinician person contact attendee attendees specialist who"
    " 医生 收件人 联系人"
)
_PLACE_WORDS = word_set("location city place clinic hospital address venue where town country 地点 城市 医院 诊所")
_EMAIL_WORDS = frozenset({"email", "emails", "mail"})
_UNIT_WORDS = {
    "minute": "minute", "minutes": "minute", "min": "minute", "mins": "minute", "hour": "hour", "hours": "hour",
    "hr": "hour",
    "hrs": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week", "month": "month", "months": "month",
    "times": "time", "count": "count", "quantity": "count", "amount": "count", "number": "count", "qty": "count",
}  # fmt: skip
_ZH_UNIT_WORDS = {
    "分钟": "minute",
    "小时": "hour",
    "天": "day",
    "周": "week",
    "个月": "month",
    "次": "count",
    "个": "count",
}

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)
_URI = re.compile(r"https?://[^\s\"'<>，。]{1,500}")
_PHONE = re.compile(r"\+?\d[\d\s()-]{5,18}\d")
_PERSON = re.compile(
    r"\b(Dr\.?\s+[A-Z][\w-]+(?:\s[A-Z][\w-]+)?)"
    r"|\b(?:to|with|for|tell|notify|inform|email|e-mail|text|call|message|alert|ask)\s+(?:my\s+|the\s+)?"
    r"((?:(?:Dr\.?\s+)?[A-Z][\w-]+(?:\s[A-Z][\w-]+)?)|(?:family |primary care )?(?:doctor|physician|nurse|dietitian"
    r"|nutritionist|cardiologist|coach|caregiver|mom|mother|dad|father|wife|husband|son|daughter|sister|brother"
    r"|gp)s?)\b"
    r"|(?:给|向|和|跟|通知|告诉|找|约)(?:我的?)?([\u4e00-\u9fff]{0,3}(?:医生|大夫|护士|营养师|教练|爸爸|妈妈|父亲"
    r"|母亲|家人|老婆|老公|妻子|丈夫))"
)
_PLACE = re.compile(r"\b(?:in|at|near|from|for)\s+(?:the\s+)?([A-Z][\w'-]+(?:\s(?:[A-Z][\w'-]+|of|de))*)")
_ZH_PLACE = re.compile(
    r"(?:在|去|到)([\u4e00-\u9fff]{2,12}?)(?=的|挂|预约|看|就诊|复查|做|,|，|。|$)|([\u4e00-\u9fff]{2,4})(?:今天"
    r"|明天|的)?(?:的)?天气"
)
_BECAUSE = re.compile(
    r"\b(?:because(?: of)?|due to|regarding|about|for (?=a |an |my |the )?)\s*((?!\d)[^.;!?\n]{2,200})", re.IGNORECASE
)
_ZH_BECAUSE = re.compile(r"(?:因为|由于|关于)([^,，。;；\n]{2,200})")
_SAYING = re.compile(
    r"\b(?:saying(?: that)?|that says|telling \w+ that|with the (?:message|text)|that|to say"
    r"|know that)\s+([^\n]{1,500}?)[.!]?\s*$",
    re.IGNORECASE,
)
_ZH_SAYING = re.compile(r"(?:内容(?:是|为)|说|告诉(?:他|她|医生)?|:)\s*([^\n]{1,500}?)[。.!！]?\s*$")
_TO_DO = re.compile(
    r"\b(?:remind me|reminder|alarm)\b(?:\s+(?:at|on|every|in|tomorrow|today|next)\b[^,]{0,40}?)?\s*,?\s*(?:to"
    r"|about|for|that)\s+([^\n]{1,300}?)[.!?]?\s*$",
    re.IGNORECASE,
)
_ZH_TO_DO = re.compile(r"提醒我?(?:要|去)?\s*([^\n]{1,300}?)[。.!！?？]?\s*$")
_TIME = re.compile(
    r"(?<![\d:.-])(?:\b(?P<at>at|by|around)\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>a\.?m\.?"
    r"|p\.?m\.?)?(?:\s*o'clock)?(?![\d:.]*\d)(?!\s*(?:%|[a-z]{1,4}/|mg|mmol|minutes?|hours?|days?|weeks?|months?|st"
    r"|nd|rd|th|[年月日号天周个分小次粒片]))"
    r"|(?P<part>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上)?\s*(?P<zh>\d{1,2}"
    r"|[一二两三四五六七八九十]{1,3})\s*[点时](?P<zhhalf>半|(?:\d{1,2})(?=分?))?"
    r"|\b(?P<word>noon|midnight)\b|(?P<colon>\d{1,2}:\d{2})",
    re.IGNORECASE,
)
_NOON, _HOURS, _MINUTES = 12, 24, 60
_ZH_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九十")} | {"两": 2}


def _read_time(m: re.Match[str]) -> str:
    if m["word"]:
        return "12:00" if m["word"].lower() == "noon" else "00:00"
    if m["zh"]:
        return _zh_time(m)
    if m["colon"] or not (m["at"] or m["minute"] or m["half"]):
        return ""
    hour, minute = int(m["hour"]), int(m["minute"] or 0)
    half = (m["half"] or "").lower()[:1]
    if half and hour <= _NOON:
        hour = hour % _NOON + (_NOON if half == "p" else 0)
    return f"{hour:02}:{minute:02}" if hour < _HOURS and minute < _MINUTES else ""


def _zh_time(m: re.Match[str]) -> str:
    word = m["zh"]
    tens, ten, ones = word.rpartition("十")
    hour = int(word) if word.isdecimal() else (_ZH_DIGITS.get(tens, 1) * 10 if ten else 0) + _ZH_DIGITS.get(ones, 0)
    if m["part"] in {"下午", "傍晚", "晚上"} and hour < _NOON:
        hour += _NOON
    minute = 30 if m["zhhalf"] == "半" else int(m["zhhalf"] or 0)
    return f"{hour:02}:{minute:02}" if hour < _HOURS and minute < _MINUTES else ""


def _format(words: set[str], schema: Mapping[str, Any]) -> str:
    """The form of a text property: by ``format``, else by its name and description."""
    stated = schema.get("format")
    if stated in {"date", "date-time", "time", "email"}:
        return str(stated)
    if stated in {"uri", "url"}:
        return "uri"
    described = str(schema.get("description") or "")[:300].lower()
    if (
        words & {"datetime", "timestamp"}
        or ({"date", "time"} <= words)
        or re.search(r"date[- ]?time|iso 8601 (?:date ?time|timestamp)", described)
    ):
        return "date-time"
    if words & {"date", "day", "日期"} or re.search(r"\b(?:iso date|yyyy-mm-dd|date)\b|日期", described):
        return "date"
    if words & {"time", "hour", "时间"}:
        return "time"
    if words & _EMAIL_WORDS:
        return "email"
    if words & {"url", "uri", "link"}:
        return "uri"
    return "phone" if words & {"phone", "mobile", "tel", "telephone", "电话", "手机"} else ""


def _names_option(text: str, option: str) -> bool:
    spoken = re.sub(r"[_-]+", " ", option).strip()
    if not spoken:
        return False
    words = [re.escape(w) for w in spoken.split()]
    if re.search(rf"(?<![A-Za-z0-9]){'[ _-]?'.join(words)}(?:s|ly)?(?![A-Za-z0-9])", text, re.IGNORECASE):
        return True
    return any(han in text for han in _ZH_OPTIONS.get(spoken.lower(), ()))


_ZH_OPTIONS = {
    "morning": ("上午", "早上"), "afternoon": ("下午",), "evening": ("晚上", "傍晚"), "urgent": ("紧急", "尽快", "急"),
    "high": ("高",), "low": ("低",), "normal": ("普通", "正常"), "daily": ("每天", "每日"), "weekly": ("每周",),
    "monthly": ("每月",), "email": ("邮件",), "sms": ("短信",), "phone": ("电话",), "video": ("视频",),
    "online": ("线上", "在线"),
    "in person": ("现场", "线下"), "endocrinology": ("内分泌",), "cardiology": ("心内", "心脏"), "nutrition": ("营养",),
    "follow up": ("复诊", "随访"), "checkup": ("体检",), "routine": ("常规",),
}  # fmt: skip


def _quotes(text: str) -> list[str]:
    found = re.findall(r"\"([^\"]{1,1000})\"|“([^”]{1,1000})”|「([^」]{1,1000})」|(?<!\w)'([^']{2,1000})'(?!\w)", text)
    return [next(part for part in parts if part) for parts in found]


def _first(pattern: re.Pattern[str], text: str) -> str:
    m = pattern.search(text)
    if not m:
        return ""
    return next((g for g in m.groups() if g), m[0]).strip()


def _words(name: str) -> set[str]:
    return {w.lower() for w in _split(name)} | {
        w for w in (_BODY_WORDS | _REASON_WORDS | _PERSON_WORDS | _PLACE_WORDS) if not w.isascii() and w in name
    }


def _split(name: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[A-Za-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))]


def asked_names(missing: Sequence[str]) -> str:
    """The names of missing arguments as people read them."""
    return ", ".join(shown(re.sub(r"[_-]+", " ", name), 40) for name in dict.fromkeys(missing))
