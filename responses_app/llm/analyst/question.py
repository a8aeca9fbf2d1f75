"""Reads a question into what is asked, under which condition, and what is to be done.

Only the question is known here: no tool result, no wording of answers.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from responses_app.engine.ports import ToolDefinition
from responses_app.llm.analyst.client_tools import READING, Action, find_actions
from responses_app.llm.analyst.clinical_wishes import Wanted, asks_of_someone, find_clinical
from responses_app.llm.analyst.conditions import Condition, find_conditions, read_condition
from responses_app.llm.analyst.dates import Period, find_periods, nights_of_sleep
from responses_app.llm.analyst.indicators import Mention, find_mentions, unknown_mention
from responses_app.llm.analyst.limits import Limit, find_limits
from responses_app.llm.analyst.measures import (
    HELD_AGAINST_LIMITS,
    GroupBy,
    Measure,
    asks_about_many,
    asks_how_much,
    asks_when,
    find_measures,
    group_by,
    last_n,
    names_results,
    ranks,
    singles_out_hours,
    singles_out_readings,
    which_period,
    with_the_previous,
)
from responses_app.llm.analyst.people import Person, find_person, has_pronoun, speaks_of_both, zh_owner
from responses_app.llm.analyst.relative_periods import with_relative_periods
from responses_app.llm.analyst.small_talk import Kind, kind_of, stop_words_removed
from responses_app.llm.analyst.text import is_chinese, masked, normalised
from responses_app.llm.analyst.unclear_owners import compared_with, unclear_owner
from responses_app.llm.analyst.unread_times import unread_times
from responses_app.llm.analyst.unsupported import unsupported_wish

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing asked of the data: measures of some indicators over some periods.

    ``best``: which of the calendar periods ``group`` is looked for. ``ranks``: whether one side is to be named as the
    greater or the smaller. ``everything``: results of whatever kind are wanted. ``unit``: the unit an answer is
    wanted in. ``limits``: how many limits were named; only ``limit`` is held against. ``limit_apart``: the readings are
    to be held against it, the figures are a wish of their own.
    """

    measures: tuple[Measure, ...]
    mentions: tuple[Mention, ...] = ()
    periods: tuple[Period, ...] = ()
    limit: Limit | None = None
    count: int | None = None
    group: GroupBy | None = None
    when: bool = False
    about_many: bool = False
    singles_out_readings: bool = False
    how_much: bool = False
    with_previous: bool = False
    best: bool = False
    ranks: bool = False
    everything: bool = False
    unit: str = ""
    limits: int = 0
    limit_apart: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """Something to be done. ``text`` is the part of the question that says so; ``otherwise`` if the condition fails."""

    action: Action
    text: str
    otherwise: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was understood.

    ``impossible`` is a date that does not exist, a period that ends before it begins, or a time that cannot be looked
    up. ``clinical`` are the kinds of clinical records asked for. ``unsupported`` is a wish for a figure that no tool
    computes, as written. ``hours``: only some hours of the days are asked about. ``loose`` is everything its data
    clauses say, taken together, whether it makes a whole question or not: a follow-up may need just that.
    """

    text: str
    chinese: bool
    asks: tuple[Ask, ...] = ()
    conditions: tuple[Condition, ...] = ()
    requests: tuple[Request, ...] = ()
    person: Person | None = None
    both: bool = False
    impossible: Period | None = None
    unsupported: str = ""
    hours: bool = False
    kind: Kind | None = None
    clinical: tuple[str, ...] = ()
    loose: Ask = field(default_factory=lambda: Ask(()))

    @property
    def named(self) -> tuple[Mention, ...]:
        """The indicators that a condition which names none is about."""
        return next((a.mentions for a in self.asks if a.mentions), self.loose.mentions)

    @property
    def understood(self) -> bool:
        """Whether anything in it can be acted on."""
        return bool(self.asks or self.requests or self.conditions or self.person or self.kind or self.clinical)


@dataclass(slots=True)
class Draft:
    """A question with what was recognised masked out, so that no word is read twice."""

    text: str
    mask: str
    periods: list[Period] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)

    def take(self, found: Sequence[Period] | Sequence[Limit] | Sequence[Mention]) -> None:
        for item in found:
            self.mask = masked(self.mask, item.begin, item.stop)


_QUOTED = re.compile(
    r"\"([^\"]{1,1000})\"|“([^”]{1,1000})”|「([^」]{1,1000})」|『([^』]{1,1000})』|《([^》]{1,1000})》"
)
_COMPARING = re.compile(
    r"\b(?:compar\w*|versus|vs|differ\w*|than)\b|比较|对比|相比|差别|差异|相差|比(?!例|如|率|重)", re.IGNORECASE
)
_SEPARATOR = re.compile(
    r"[;。！？；\n]+|(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bvs)[.!?]+(?=\s|$)|[,，、]+"
    r"|(?<![A-Za-z])(?:and then|and also|and|then|also|plus|as well as|but|or else)(?![A-Za-z])"
    r"|以及|还有|并且|并(?!发|且)|同时|然后|(?<!总)和(?!谐)|与|跟|另外|而且|再(?!见|次)",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(r"\b(?:otherwise|or else|else|if not)\b|否则|不然|要不然", re.IGNORECASE)
_FOLLOW_UP = re.compile(
    r"^\s*(?:and|what about|how about|what if|ok(?:ay)? and|same (?:for|with)|then|so|also|now)\b|^\s*(?:那|那么"
    r"|还有|再看|换成|同样|呢)|呢\s*[?？]?\s*$",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"total|总", re.IGNORECASE)
_MAX_MENTIONS = 20


def read_question(
    text: str, today: date, tools: Sequence[ToolDefinition] = (), earlier: Sequence[str] = ()
) -> Question:
    """What ``text`` asks. ``earlier`` are the questions before it, oldest first.

    A follow-up takes what it leaves out from the last of them.
    """
    question = _read(normalised(text), today, tools)
    if not earlier or question.kind is not None:
        return question
    before = read_question(earlier[-1], today, tools, earlier[:-1][-2:])
    return _followed_up(question, before)


def drafted(text: str, today: date) -> Draft:
    """A question with its indicators, times and limits recognised."""
    return _draft(normalised(text), today)


def _read(text: str, today: date, tools: Sequence[ToolDefinition]) -> Question:
    draft = _draft(text, today)
    conditions = find_conditions(draft.mask)
    clauses = _clauses(draft.mask, conditions)
    actions = find_actions(_without_conditions(draft.mask, conditions), clauses, tools)
    data, requests = _sorted(draft, clauses, actions)
    asks = _asks(draft, data)
    person = _person(draft, clauses, [*data, *conditions], bool(asks), requests)
    asks = _with_unknown(draft, data, asks, person, bool(requests))
    question = Question(
        text=text,
        chinese=is_chinese(text),
        asks=asks,
        conditions=tuple(_condition(draft, span, asks) for span in conditions),
        requests=requests,
        person=person,
        both=person is not None and speaks_of_both(draft.mask, person),
        impossible=_impossible(draft, [*data, *conditions]),
        unsupported=_first_of(unsupported_wish(draft.mask[begin:stop]) for begin, stop in [*data, *conditions]),
        hours=any(_singles_out_hours(draft, span) for span in [*data, *conditions]),
        loose=_all_together([_ask(draft, span) for span in data]),
    )
    kind = kind_of(text, draft.mask, asks=bool(question.asks), acts=bool(requests), today=today, periods=draft.periods)
    return _of_clinical_records(replace(question, kind=kind), draft, clauses)


def _of_clinical_records(question: Question, draft: Draft, clauses: Sequence[Span]) -> Question:
    """The question as one about clinical records, if it names some and no indicator and wants nothing done."""
    wanted = find_clinical(draft.mask)
    named = [m for m in draft.mentions if not any(draft.mask[m.stop : w.begin].isspace() for w in wanted)]
    if not wanted or named or draft.limits or question.requests or question.conditions or question.kind is not None:
        return question
    standing = Draft(draft.text, draft.mask, draft.periods, [], [_as_mention(draft.text, w) for w in wanted])
    standing.take(standing.mentions)
    person = _person(standing, clauses, clauses, True, ())
    if person is not None and _WHAT_FOR.search(draft.text[: person.begin]) and draft.text[person.begin].islower():
        person = None
    if person is None and not asks_of_someone(draft.text):
        return question
    both = person is not None and speaks_of_both(standing.mask, person)
    kinds = tuple(dict.fromkeys(w.kind for w in wanted))
    return replace(question, clinical=kinds, asks=(), person=person, both=both, unsupported="", hours=False)


_WHAT_FOR = re.compile(r"\b(?:for|against|to|on|in)\s+(?:my\s+|the\s+)?$", re.IGNORECASE)


def _as_mention(text: str, wanted: Wanted) -> Mention:
    return Mention((wanted.kind,), text[wanted.begin : wanted.stop], wanted.begin, wanted.stop)


def _condition(draft: Draft, span: Span, asks: Sequence[Ask]) -> Condition:
    """The condition at a place; where nothing names an indicator, a word that may be one stands for it."""
    condition = read_condition(draft.text, span, draft.periods, draft.limits, draft.mentions)
    named = any(ask.mentions for ask in asks) or any(test.mentions for test in condition.tests)
    word = None if named else _unknown_word(draft, [span], None)
    if word is None or any(test.kind in {"unclear", "same"} for test in condition.tests):
        return condition
    return replace(condition, tests=tuple(replace(test, mentions=(word,)) for test in condition.tests))


def _draft(text: str, today: date) -> Draft:
    draft = Draft(text, text)
    for m in _QUOTED.finditer(text):
        draft.mask = masked(draft.mask, m.start(), m.end())
    draft.limits = find_limits(draft.mask)
    found = find_periods(draft.mask, today, join=not _COMPARING.search(draft.mask))
    found = with_relative_periods(draft.mask, found)
    draft.periods = [p for p in found if all(p.stop <= x.begin or p.begin >= x.stop for x in draft.limits)]
    draft.take(draft.limits)
    draft.take(draft.periods)
    draft.mentions = find_mentions(draft.mask)[:_MAX_MENTIONS]
    if draft.mentions and all("sleep" in name.lower() for m in draft.mentions for name in m.names):
        draft.periods = nights_of_sleep(draft.periods, text, today)
    draft.take(draft.mentions)
    unread = unread_times(draft.mask, draft.periods)
    draft.periods = sorted([*draft.periods, *unread], key=lambda p: p.begin)
    draft.take(unread)
    return draft


def _first_of(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")


def _singles_out_hours(draft: Draft, span: Span) -> bool:
    """How one sleeps is asked of the night anyway."""
    begin, stop = span
    asleep = any(m.begin < stop and m.names[0].startswith("Sleep") for m in draft.mentions)
    return not asleep and singles_out_hours(draft.mask[begin:stop])


def _clauses(mask: str, conditions: Sequence[Span]) -> list[Span]:
    """The parts of a question between its separators, without its conditions."""
    plain = _without_conditions(mask, conditions)
    spans: list[Span] = []
    begin = 0
    for m in _SEPARATOR.finditer(plain):
        spans.append((begin, m.start()))
        begin = m.end()
    spans.append((begin, len(plain)))
    return [(b, s) for b, s in spans if plain[b:s].strip(" \ue001")]


def _without_conditions(mask: str, conditions: Sequence[Span]) -> str:
    for begin, stop in conditions:
        mask = mask[:begin] + "\ue001" * (stop - begin) + mask[stop:]
    return mask


def _sorted(draft: Draft, clauses: list[Span], actions: list[Action]) -> tuple[list[Span], tuple[Request, ...]]:
    """Clauses that ask for data, and requests. A clause that is neither belongs to the request next to it."""
    data: list[Span] = []
    grouped: list[tuple[Action, int, int]] = []
    waiting: Span | None = None
    for begin, stop in clauses:
        action = next((a for a in actions if begin <= a.begin < stop), None)
        if action is not None:
            start = waiting[0] if waiting else begin
            waiting = None
            grouped.append((action, start, stop))
            if _reads_data(draft, action, begin, stop):
                data.append((begin, stop))
        elif _asks_for_data(draft, begin, stop):
            data += [waiting] if waiting else []
            waiting = None
            data.append((begin, stop))
        elif grouped and not data_after(data, grouped[-1][2]):
            grouped[-1] = (grouped[-1][0], grouped[-1][1], stop)
        else:
            data += [waiting] if waiting else []
            waiting = (begin, stop)
    data += [waiting] if waiting else []
    requests = [Request(a, draft.text[b:s].strip(), _is_otherwise(draft.mask, b, a.begin)) for a, b, s in grouped]
    return data, tuple(_merged(requests))


def data_after(data: Sequence[Span], place: int) -> bool:
    """Whether data was asked for after a place in the question."""
    return any(begin >= place for begin, _ in data)


def _merged(requests: list[Request]) -> list[Request]:
    """Requests for the same tool, one right after the other, are one ("book a visit and schedule it for Monday")."""
    kept: list[Request] = []
    for request in requests:
        if kept and kept[-1].action.tool == request.action.tool and kept[-1].otherwise == request.otherwise:
            kept[-1] = replace(kept[-1], text=f"{kept[-1].text} {request.text}")
        else:
            kept.append(request)
    return kept


def _is_otherwise(mask: str, begin: int, stop: int) -> bool:
    return _OTHERWISE.search(mask[max(begin - 12, 0) : stop]) is not None


def _reads_data(draft: Draft, action: Action, begin: int, stop: int) -> bool:
    """Whether a request is to pass on a value, so that it has to be looked up."""
    given = action.purpose == "log" and re.search(r"\d", draft.mask[begin:stop])
    passes_on = (action.purpose in READING or action.purpose == "own") and not given
    return passes_on and any(begin <= m.begin < stop for m in draft.mentions)


def _asks_for_data(draft: Draft, begin: int, stop: int) -> bool:
    here = draft.mask[begin:stop]
    named = any(begin <= m.begin < stop for m in draft.mentions) or any(begin <= x.begin < stop for x in draft.limits)
    return named or any(measure is not Measure.LATEST for _, measure in find_measures(here))


def _asks(draft: Draft, data: list[Span]) -> tuple[Ask, ...]:
    """One ask for each clause that has both an indicator and a measure of its own; the others lend theirs."""
    drafts = [_ask(draft, span) for span in data]
    merged: list[Ask] = []
    for ask in drafts:
        if merged and not _stands_alone(merged[-1], ask):
            merged[-1] = _together(merged[-1], ask)
        else:
            merged.append(ask)
    shared = tuple(p for p in draft.periods if any(b <= p.begin < s for b, s in data))
    return tuple(_finished(draft, ask, shared) for ask in merged if _is_substantial(ask))


def _ask(draft: Draft, span: Span) -> Ask:
    begin, stop = span
    here = draft.mask[begin:stop]
    mentions = tuple(m for m in draft.mentions if begin <= m.begin < stop)
    limits = [x for x in draft.limits if begin <= x.begin < stop]
    measures = [measure for _, measure in find_measures(here)]
    measures = [m for m in measures if m is not Measure.SUM] if Measure.COUNT in measures else measures
    measures += [Measure.SUM] if any(m.additive and _TOTAL.match(m.written) for m in mentions) else []
    return Ask(
        measures=tuple(dict.fromkeys(measures)),
        mentions=mentions,
        periods=tuple(p for p in draft.periods if begin <= p.begin < stop and p.possible),
        limit=next(iter(limits), None),
        limits=len(limits),
        count=last_n(here),
        group=which_period(here) or group_by(here),
        best=which_period(here) is not None,
        ranks=ranks(here),
        everything=not mentions and names_results(here) and not stop_words_removed(here),
        unit=_unit_wanted(here),
        when=asks_when(here),
        about_many=asks_about_many(here),
        singles_out_readings=singles_out_readings(here),
        how_much=asks_how_much(here),
        with_previous=with_the_previous(here),
    )


_UNIT_WANTED = re.compile(
    r"\b(?:in|as|converted to)\s+(?:units? of\s+)?([A-Za-z%µμ]{1,10}/[A-Za-z0-9]{1,6}|kilometers?|kilometres?|km"
    r"|miles?|met(?:er|re)s?|feet|foot"
    r"|inch(?:es)?|cm|kg|kilograms?|kilos|pounds?|lbs?|stones?|grams?|ounces?|lit(?:er|re)s?|gallons?|celsius"
    r"|fahrenheit|kelvin|mmhg|kpa"
    r"|dollars?|euros?|bananas?|hours?|minutes?|seconds?|percent|bpm|volts?|watts?|decibels?|calories|joules?)\b"
    r"|(?:用|以|换算成|折合|按)\s*([A-Za-z%µμ]{1,10}/[A-Za-z]{1,6}|公里|千米|米|厘米|英里|公斤|千克|斤|磅|升|毫升"
    r"|摄氏度|华氏度|美元|人民币|小时|分钟)(?:表示|计算|来说|为单位|是多少)?",
    re.IGNORECASE,
)


def _unit_wanted(text: str) -> str:
    m = _UNIT_WANTED.search(text)
    return (m[1] or m[2]) if m else ""


def _stands_alone(before: Ask, ask: Ask) -> bool:
    if Measure.COMPARE in before.measures or Measure.COMPARE in ask.measures:
        return False
    complete = bool(before.mentions and ask.mentions)
    return (
        complete
        and bool(ask.measures or ask.limit or ask.periods)
        and bool(before.measures or before.limit or before.periods)
    )


def _together(first: Ask, second: Ask) -> Ask:
    return Ask(
        measures=tuple(dict.fromkeys(first.measures + second.measures)),
        mentions=first.mentions + second.mentions,
        periods=first.periods + second.periods,
        limit=first.limit or second.limit,
        limits=first.limits + second.limits,
        limit_apart=first.limit_apart or second.limit_apart or _limit_is_apart(first, second),
        count=first.count or second.count,
        group=first.group or second.group,
        when=first.when or second.when,
        about_many=first.about_many or second.about_many,
        singles_out_readings=first.singles_out_readings or second.singles_out_readings,
        how_much=first.how_much or second.how_much,
        with_previous=first.with_previous or second.with_previous,
        best=first.best or second.best,
        ranks=first.ranks or second.ranks,
        everything=first.everything or second.everything,
        unit=first.unit or second.unit,
    )


def _limit_is_apart(first: Ask, second: Ask) -> bool:
    """Whether of two parts one holds readings against a limit and the other wants a figure, each for itself.

    "The average, and is it above 7?" is about the average; "was it ever above 7" is about the readings.
    """
    if first.limit and not second.limit:
        return not _wants_figure(first) and _wants_figure(second)
    if not second.limit or first.limit or not _wants_figure(first) or _wants_figure(second):
        return False
    return bool(second.mentions) or second.singles_out_readings


def _wants_figure(ask: Ask) -> bool:
    return bool(HELD_AGAINST_LIMITS & set(ask.measures))


def _is_substantial(ask: Ask) -> bool:
    wants = [m for m in ask.measures if m not in {Measure.LATEST, Measure.TREND, Measure.COMPARE, Measure.SUM}]
    newest = ask.everything and Measure.LATEST in ask.measures
    return bool(ask.mentions or wants or newest or ask.limit or (ask.measures and ask.periods))


def _finished(draft: Draft, ask: Ask, shared: tuple[Period, ...]) -> Ask:
    """The ask with repeated indicators dropped and, when it names no period, the question's only one.

    "More in May or in June?" is a comparison of its periods. "How much have I lost in total" wants no total of weights.
    """
    mentions = tuple({m.names: m for m in ask.mentions}.values())
    usable = tuple(p for p in shared if p.possible)
    latest_of_all = Measure.LATEST in ask.measures and len(shared) > len(ask.periods)
    periods = ask.periods or (usable if len(usable) == 1 and not latest_of_all else ())
    compares = ask.ranks and len(periods) > 1 and Measure.COMPARE not in ask.measures
    measures = (*ask.measures, Measure.COMPARE) if compares else ask.measures
    if len(measures) > 1 and mentions and not any(m.additive for m in mentions):
        measures = tuple(m for m in measures if m is not Measure.SUM)
    return replace(ask, measures=measures, mentions=mentions, periods=periods)


def _impossible(draft: Draft, data: list[Span]) -> Period | None:
    return next((p for p in draft.periods if not p.possible and any(b <= p.begin < s for b, s in data)), None)


def _person(
    draft: Draft, clauses: Sequence[Span], data: Sequence[Span], asks: bool, requests: Sequence[Request]
) -> Person | None:
    """Whose data is asked for, other than the asker's. Whom a request goes to is no such person."""
    mask = draft.mask
    for begin, stop in clauses:
        if (begin, stop) not in data and requests:
            mask = masked(mask, begin, stop)
    if requests:
        for m in _RECIPIENT.finditer(mask):
            mask = masked(mask, m.start(), m.end())
    found = find_person(mask) or zh_owner(mask, _ZH_OWNER_STOP) or _other_owner(mask) or _unclear(draft, mask, data)
    return found if found and (asks or found.relation or not requests) else None


def _unclear(draft: Draft, mask: str, spans: Sequence[Span]) -> Person | None:
    found = (
        unclear_owner(mask, (b, s), [m.begin for m in draft.mentions if b <= m.begin < s], _ZH_OWNER_STOP)
        for b, s in spans
    )
    return next((person for person in found if person), None) or compared_with(mask)


_RECIPIENT = re.compile(
    r"\b(?:to|e-?mail|text|tell|notify|inform|message|call|alert|send)\s+(?:my\s+|the\s+)?[A-Za-z]+(?!['’A-Za-z])"
    r"|(?:给|向|通知|告诉)我?(?:的)?[\u4e00-\u9fff]{1,3}(?!的)",
    re.IGNORECASE,
)
_ZH_OWNER_STOP = re.compile(
    r"白天|清晨|凌晨|傍晚"
    r"|如果|要是|假如|一旦|若是|若|当|我们?|自己|今天|昨天|现在|目前|最近|最新|当前|上+次|上一次|倒数|第[一二三四五六七八九十]|上一?回|这回|那回|之前|以前|平时|平均"
    r"|最高|最低|最大|最小|总|所有|全部|历史|近期|这次|本次|空腹|餐后|一下|查|看|帮|请|和|与|跟|告诉|显示|列出|比较"
    r"|对比|知道"
    r"|那|期间|时候|时|里|中|内|早上|晚上|上午|下午|静息|日常|每天|每日|每周|每月|多少|什么|哪|有|是|在|从|到|一次"
    r"|几|次|天|周|月|年|给|把|超过|高于|低于|想|要|能|可以|下|的|得|过去|异常|正常|血液|身体|尿液|体检|化验|检查"
    r"|报告|医院|门诊|诊所|餐|饭|早|晚|午|夜|晨|运动|锻炼|睡前|起床|手环|手表|设备|仪器?|家里|家庭|单位|年度|季度"
    r"|结果|数据|记录|指标|服药|吃药|治疗|用药|休息|安静|抽血|静脉|指尖|真实|具体|对应|相关|各|这|每|个|月份|前|后"
    r"|测|量|抽|验|做|初|底|末|来|过程|春天|夏天|秋天|冬天|春节|国庆|过年"
)
_OWNER_EN = re.compile(
    r"\ue000\s*(?:levels?\s+|values?\s+|readings?\s+)?(?:of\s+(?:my\s+|the\s+|an?\s+|our\s+)?|(?:in|on"
    r"|for)\s+(?:my\s+|the\s+|an?\s+|our\s+|(?=[A-Z])))"
    r"([A-Za-z][A-Za-z-]{2,})(?:\s+([A-Za-z][A-Za-z-]{2,}))?"
)


def _other_owner(mask: str) -> Person | None:
    """Something else an English question gives an indicator to ("the temperature on Mars")."""
    m = _OWNER_EN.search(mask)
    if not m:
        return None
    left = "" if singles_out_hours(m[0]) else stop_words_removed(" ".join(word for word in m.groups() if word))
    return Person(left, "", m.start(1), m.end()) if left else None


def _with_unknown(
    draft: Draft, data: list[Span], asks: tuple[Ask, ...], person: Person | None, acts: bool
) -> tuple[Ask, ...]:
    """Lets a word that may be an indicator stand for one where a question about one's own data names none."""
    if any(a.mentions or Measure.OVERVIEW in a.measures for a in asks) or acts:
        return asks
    wanted = _all_together([_ask(draft, span) for span in data])
    if not (_own_data(draft.mask) or person or wanted.measures):
        return tuple(a for a in asks if _makes_sense_without_indicator(a))
    word = _unknown_word(draft, data, person)
    if word is None:
        return tuple(a for a in asks if _makes_sense_without_indicator(a))
    return (replace(wanted, mentions=(word,)),)


def _all_together(asks: Sequence[Ask]) -> Ask:
    combined = Ask(())
    for ask in asks:
        combined = _together(combined, ask)
    return combined


def _makes_sense_without_indicator(ask: Ask) -> bool:
    return bool({Measure.OVERVIEW, Measure.STATUS, Measure.READINGS, Measure.LATEST} & set(ask.measures))


_OWN = re.compile(r"\b(?:my|i|mine|about me|do i have)\b|我", re.IGNORECASE)


def _own_data(mask: str) -> bool:
    return _OWN.search(mask) is not None


def _unknown_word(draft: Draft, data: list[Span], person: Person | None) -> Mention | None:
    for begin, stop in data:
        here = draft.mask[begin:stop]
        if person is not None and begin <= person.begin < stop:
            here = masked(draft.mask, person.begin, person.stop)[begin:stop]
        left = stop_words_removed(here)
        if left:
            return unknown_mention(left, begin)
    return None


def _followed_up(question: Question, before: Question) -> Question:
    """A question that leaves out its indicator (or what is wanted of it) takes it from the one before."""
    if question.requests:
        return question
    points_back = _FOLLOW_UP.search(question.text) is not None or has_pronoun(question.text)
    if question.clinical:
        return replace(question, person=question.person or (before.person if has_pronoun(question.text) else None))
    named = any(m.known for a in question.asks for m in a.mentions)
    if before.clinical and not named and (points_back or question.person):
        return replace(question, clinical=before.clinical, asks=(), person=question.person or before.person)
    named = any(a.mentions for a in question.asks)
    if named:
        return _with_earlier_measure(question, before) if points_back else question
    if not before.asks:
        return question
    mine = question.loose
    if not (points_back or mine.measures or mine.periods or mine.limit):
        return question
    asks = tuple(_updated(ask, mine) for ask in before.asks)
    return replace(question, asks=asks, person=question.person or before.person, kind=None)


def _with_earlier_measure(question: Question, before: Question) -> Question:
    if not before.asks or any(a.measures or a.limit for a in question.asks):
        return replace(question, person=question.person or (before.person if has_pronoun(question.text) else None))
    last = before.asks[-1]
    asks = tuple(replace(last, mentions=a.mentions, periods=a.periods or last.periods) for a in question.asks)
    return replace(question, asks=asks, person=question.person or before.person)


def _updated(ask: Ask, new: Ask) -> Ask:
    """The earlier ask with whatever the follow-up says itself."""
    return replace(
        ask,
        measures=new.measures or ask.measures,
        periods=new.periods or ask.periods,
        limit=new.limit or ask.limit,
        limits=new.limits or ask.limits,
        count=new.count or ask.count,
        group=new.group or ask.group,
        when=new.when or (ask.when and not new.measures),
        about_many=new.about_many or ask.about_many,
        limit_apart=ask.limit_apart or _limit_is_apart(ask, new),
    )
