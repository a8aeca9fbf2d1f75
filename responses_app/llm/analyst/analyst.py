"""The built-in analyst: one inference from the conversation so far to text and tool calls.

It decides what comes next. How questions are read, calls planned and answers worded is told in the modules beside it.
"""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from responses_app.engine.ports import (
    CallMade,
    ModelCall,
    ModelEvent,
    NamedTool,
    ReasoningDelta,
    Stopped,
    TextDelta,
    ToolDefinition,
)
from responses_app.engine.tokens import first_tokens
from responses_app.llm.analyst import replies
from responses_app.llm.analyst.answer import answer_ask, failure_line
from responses_app.llm.analyst.arguments import Filled, Material, asked_names, fill
from responses_app.llm.analyst.clinical_records import (
    CLINICAL_TOOL,
    clinical_call,
    kinds_named,
    no_clinical_tool,
    tell_clinical,
)
from responses_app.llm.analyst.facts import Answer, read_answer, read_members
from responses_app.llm.analyst.measures import Measure, singles_out_weekdays
from responses_app.llm.analyst.people import also_named, members_matching
from responses_app.llm.analyst.plan import Part, Plan, Subject, is_clear, key, make_plan, newest_of
from responses_app.llm.analyst.question import Ask, Question, Request, read_question
from responses_app.llm.analyst.small_talk import Kind
from responses_app.llm.analyst.studies import advance, asks_why_of_own, find_study, is_no_person
from responses_app.llm.analyst.study import CLINICAL, Steps
from responses_app.llm.analyst.text import quoted
from responses_app.llm.analyst.turn import Done, Turn, read_turn
from responses_app.llm.analyst.unit_choice import unit_lookups, with_units
from responses_app.llm.analyst.verdicts import Verdict, judge
from responses_app.llm.analyst.wording import Wording
from responses_app.llm.transcripts import digest

QUERY_TOOL = "query_health_data"
FAMILY_TOOL = "list_family_members"
_BATCH = 48
_MOST_OUTPUTS = 64
_MOST_PEOPLE = 4
_FAILED_OUTPUT = re.compile(
    r"\W*(?:cancell?ed|error|failed|failure|declined|denied|rejected|timed? ?out|aborted|已?取消|失败|错误|拒绝"
    r"|超时)\b",
    re.IGNORECASE,
)
_FAILED_OUTPUT_ZH = re.compile(r"\W*(?:已?取消|失败|错误|已?拒绝|超时)")


class Analyst:
    """A ``ModelBackend`` without a language model: deterministic, and it states only figures that a tool returned."""

    def stream(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        """Yields the events of one inference in small batches; exactly one ``Stopped`` comes last."""
        if call.summarizes:
            yield [TextDelta(digest(call.entries)), Stopped("stop")]
            return
        yield from _Inference(call).events()


class _Inference:
    """One inference: what is known of the turn so far, and what is made of it."""

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self.today = date.fromisoformat(call.today[:10])
        self.turn: Turn = read_turn(call.entries)
        self.clients = [t for t in call.tools if not t.server]
        self.servers = {t.name for t in call.tools if t.server}
        self.question = self._question()
        self.say = Wording(zh=self.question.chinese)
        self.text: list[str] = []
        self.reasoning = ""
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def events(self) -> Iterator[list[ModelEvent]]:
        """The inference as events."""
        self._decide()
        if not any(self.text) and not self.calls:
            self.text.append(replies.not_understood(self.say))
        if self.reasoning:
            yield [ReasoningDelta(self.reasoning)]
        whole = "\n\n".join(part for part in self.text if part)
        most = self.call.sampling.max_output_tokens
        text = whole if most is None else first_tokens(whole, most)
        for begin in range(0, len(text), _BATCH):
            yield [TextDelta(text[begin : begin + _BATCH])]
        if text != whole:
            yield [Stopped("length")]
            return
        made: list[ModelEvent] = [
            CallMade(f"call_{len(self.call.entries)}_{i}", name, json.dumps(arguments, ensure_ascii=False))
            for i, (name, arguments) in enumerate(self.calls)
        ]
        yield [*made, Stopped("tool_calls" if made else "stop")]

    def _question(self) -> Question:
        turn = self.turn
        question = read_question(turn.question, self.today, self.clients, turn.earlier)
        if question.requests or not turn.earlier or turn.client_calls_before:
            return question
        return self._completed(question) or question

    def _completed(self, question: Question) -> Question | None:
        """The request before with the detail that was asked for, if this question is that detail."""
        if question.kind is not None or any(
            m.known for a in read_question(question.text, self.today).asks for m in a.mentions
        ):
            return None
        before = self.turn.earlier[-1]
        asked = read_question(before, self.today, self.clients)
        tools = [(r, r.action.tool) for r in asked.requests if r.action.tool is not None]
        if not any(fill(tool.parameters, self._material(asked, request, "")).missing for request, tool in tools):
            return None
        return read_question(f"{before[:2000].rstrip('.。!！')}, {question.text}", self.today, self.clients)

    def _decide(self) -> None:
        if self.turn.client_calls and not self.turn.done[-1].server:
            self.text += self._outputs()
        if self.turn.client_calls and not self._is_open_after_transfer():
            self._after_client_tools()
        elif (tool := self._chosen_tool()) is not None:
            self._call_chosen(tool)
        elif not self.turn.question.strip():
            self.text.append(replies.no_text(self.say))
        elif (study := self._study()) is not None:
            self._carry_on(study)
        elif self.question.kind is not None and self.question.kind is not Kind.MEMBERS:
            self.text.append(replies.small_talk(self.question.kind, self.say))
        elif self.question.impossible is not None:
            self.text.append(replies.impossible_period(self.question.impossible.text, self.say))
        elif self.question.unsupported:
            self.text.append(replies.cannot_compute(self.question.unsupported, self.say))
        else:
            self._work()

    def _study(self) -> Steps | None:
        """The study for a question about the asker's own data that asks for nothing to be done."""
        q = self.question
        if q.requests or q.conditions or q.impossible or not self.servers >= {QUERY_TOOL, CLINICAL}:
            return None
        if q.person is not None and not is_no_person(q.person.written):
            return None
        if q.kind is not None and not (q.kind is Kind.KNOWLEDGE and asks_why_of_own(q.text)):
            return None
        return find_study(self.turn.question, self.today)

    def _carry_on(self, study: Steps) -> None:
        step = advance(study, [d for d in self.turn.done if d.server], failure_line(Answer(failure=""), self.say))
        if isinstance(step, str):
            self.text.append(step)
            return
        self.reasoning = self.say.pick("I look up what is needed for that.", "查询所需的数据。")
        self.calls += step

    def _chosen_tool(self) -> ToolDefinition | None:
        """The tool that the caller named as the choice, unless it was called already; of any it may be, the one asked
        for, or the first."""
        choice = self.call.tool_choice
        if choice == "required":
            return next((r.action.tool for r in self.question.requests if r.action.tool), self.clients[0])
        if not isinstance(choice, NamedTool) or any(d.name == choice.name for d in self.turn.done):
            return None
        return next((t for t in self.clients if t.name == choice.name), None)

    def _call_chosen(self, tool: ToolDefinition) -> None:
        request = next((r for r in self.question.requests if r.action.tool == tool), None)
        text = request.text if request else self.question.text
        purpose = request.action.purpose if request else _purpose_of(tool)
        self._call_client(tool, self._material(self.question, request, "", text, purpose))

    def _work(self) -> None:
        """Looks up what is needed, then answers and does what is asked."""
        if self.question.kind is Kind.MEMBERS and not self.question.asks:
            self._list_members()
            return
        if self.question.clinical:
            self._clinical_records()
            return
        if not self._needs_data():
            self._do_requests([], "")
            return
        if QUERY_TOOL not in self.servers and not self.turn.server_calls(QUERY_TOOL):
            self._without_data()
            return
        subjects = self._subjects()
        if subjects is None:
            return
        plan = self._plan(subjects)
        step = self._next_lookups(plan)
        if step:
            self._look_up(step)
        else:
            self._answer(plan)

    def _plan(self, subjects: Sequence[Subject]) -> Plan:
        """The calls to make, with the units that were looked up for limits written without one."""
        question = self._asking(subjects)
        done = {key(d.arguments): _read(d) for d in self.turn.server_calls(QUERY_TOOL)}
        settled = with_units(question, lambda mentions: done.get(key(newest_of(mentions, subjects[0]))))
        return replace(make_plan(settled, subjects, self.today), units=tuple(unit_lookups(question, subjects[0])))

    def _next_lookups(self, plan: Plan) -> list[dict[str, Any]]:
        """Units first where they are in doubt, then all the rest at once."""
        made = {key(d.arguments) for d in self.turn.server_calls(QUERY_TOOL)}
        if not made:
            return list(plan.units) or plan.calls
        only_units = made <= set(map(key, plan.units))
        return [arguments for arguments in plan.calls if key(arguments) not in made] if only_units else []

    def _needs_data(self) -> bool:
        q = self.question
        return bool(q.asks or q.conditions or q.person)

    def _without_data(self) -> None:
        self.text.append(replies.no_tools(self.say))
        if self.question.requests and not self.question.conditions:
            self._do_requests([], "")

    def _clinical_records(self) -> None:
        kinds = self.question.clinical
        done = self.turn.server_calls(CLINICAL_TOOL)
        if CLINICAL_TOOL not in self.servers and not done:
            self.text.append(no_clinical_tool(kinds, self.say))
            return
        subjects = self._subjects()
        if subjects is None:
            return
        period = next(iter(self.question.loose.periods), None)
        if not done:
            what = kinds_named(kinds, self.say)
            self.reasoning = self.say.pick(f"I look up {what}.", f"查询{what}。")
            self.calls += [(CLINICAL_TOOL, clinical_call(kinds, subject, period)) for subject in subjects]
            return
        for subject, call in zip(subjects, done, strict=False):
            self.text.append(tell_clinical(call.output or "", call.failed, kinds, subject, period, self.say))

    def _list_members(self) -> None:
        listed = self._members()
        if listed is not None:
            self.text.append(replies.members([_name(m) for m in listed], self.say))

    def _members(self) -> list[dict[str, Any]] | None:
        """Who shares data; ``None`` when that has to be asked first or cannot be told, which is then said."""
        done = self.turn.server_calls(FAMILY_TOOL)
        if done:
            listed = read_members(done[-1].output or "", done[-1].failed)
            if listed is None:
                self.text.append(replies.members_failed(self.say))
            return listed
        if FAMILY_TOOL not in self.servers:
            self.text.append(replies.no_family_tool(self.say))
            return None
        self.reasoning = self.say.pick("I look up who shares data first.", "先查询谁与您共享数据。")
        self.calls.append((FAMILY_TOOL, {}))
        return None

    def _subjects(self) -> list[Subject] | None:
        """Whose data to look at; ``None`` when that is not settled yet, which is then said or asked of the tool."""
        person = self.question.person
        if person is None:
            return [Subject()]
        listed = self._members()
        if listed is None:
            return None
        found = members_matching(person, listed)
        if len(found) != 1:
            names = [_name(m) for m in found or listed]
            unknown = replies.no_such_person if person.relation else replies.no_such_name
            say_so = replies.which_person if found else unknown
            self.text.append(say_so(person.written, names, self.say))
            return None
        told = [found[0], *also_named(self.question.text, person, [m for m in listed if m is not found[0]])]
        others = [Subject(str(m["member"]), _name(m)) for m in told[:_MOST_PEOPLE]]
        return [Subject(), *others] if self.question.both else others

    def _asking(self, subjects: Sequence[Subject]) -> Question:
        """Someone is asked about and nothing in particular: what there is."""
        q = self.question
        if q.asks or q.conditions or q.requests or not subjects:
            return q
        return replace(q, asks=(Ask((Measure.OVERVIEW,)),))

    def _answer(self, plan: Plan) -> None:
        answers = self._answers(plan)
        verdicts = [judge(condition, parts, answers, self.say) for condition, parts in plan.conditions]
        asked = [_told_of(parts, answers) for parts in plan.asks if parts]
        told = [answer_ask(parts, [answers[key(p.arguments)] for p in parts], self.say) for parts in asked]
        told += [
            replies.night_before(str(p.arguments["end"]), self.say) for parts in asked for p in parts if p.fallback
        ]
        if any(not is_clear(ask) for ask in self.question.asks):
            told.append(replies.which_indicator(self.say))
        if singles_out_weekdays(self.question.text):
            told.append(replies.all_weekdays(self.say))
        if self.question.hours:
            told.append(replies.whole_day(self.say))
        told += [
            replies.one_limit(self.say.limit(ask.limit), self.say)
            for ask in self.question.asks
            if ask.limits > 1 and ask.limit is not None
        ]
        self._conclude(plan, verdicts, told, answers)

    def _look_up(self, calls: Sequence[dict[str, Any]]) -> None:
        names = self.say.listed(
            list(dict.fromkeys(self.say.indicator(n) for arguments in calls for n in arguments.get("indicators", ())))
        )
        what = names or self.say.pick("what data there is", "现有数据")
        self.reasoning = self.say.pick(f"I look up {what}.", f"查询{what}。")
        if self.question.conditions and self.question.requests:
            self.reasoning += self.say.pick(
                " The condition is checked on the result before anything is done.",
                "先根据结果判断条件，再决定是否操作。",
            )
        self.calls += [(QUERY_TOOL, arguments) for arguments in calls]

    def _answers(self, plan: Plan) -> dict[str, Answer]:
        """This turn's outputs by the arguments that asked for them; by order where a call's arguments were changed."""
        units = set(map(key, plan.units)) - set(map(key, plan.calls))
        done = [d for d in self.turn.server_calls(QUERY_TOOL) if key(d.arguments) not in units]
        by_arguments = {key(d.arguments): d for d in done}
        in_order = done if len(done) == len(plan.calls) else []
        found: dict[str, Answer] = {}
        for i, arguments in enumerate(plan.calls):
            call = by_arguments.get(key(arguments)) or (in_order[i] if in_order else None)
            found[key(arguments)] = _read(call)
        wanted = [p.arguments for parts in plan.asks for p in parts]
        return {key(a): found.get(key(a), Answer(failure="")) for a in wanted} | found

    def _conclude(self, plan: Plan, verdicts: list[Verdict], told: list[str], answers: dict[str, Answer]) -> None:
        because = [sentence for v in verdicts for sentence in v.because]
        holds = _all_hold(verdicts)
        acting = [r for r in self.question.requests if self._is_due(r, holds)]
        finding = _plain(" ".join(because) or "\n".join(told))
        if not (acting and any(r.action.tool for r in acting)):
            self._say_findings(verdicts, told, because)
            self._do_requests(verdicts, finding, answers)
            return
        self.text.append(" ".join(because) if because else _without_charts("\n".join(told)))
        self.text += [_without_charts(t) for t in told if because and not _repeats(t, because)]
        self._say_outcomes(verdicts)
        self._do_requests(verdicts, finding, answers)

    def _say_findings(self, verdicts: list[Verdict], told: list[str], because: list[str]) -> None:
        self.text += told
        missing = [s for s in because if not any(s in t for t in told)]
        self.text.append(" ".join(missing))
        self._say_outcomes(verdicts)

    def _say_outcomes(self, verdicts: list[Verdict]) -> None:
        outcomes = zip(self.question.conditions, verdicts, strict=False)
        self.text.append(" ".join(replies.condition_outcome(c.text, v.holds, self.say) for c, v in outcomes))

    def _is_due(self, request: Request, holds: bool | None) -> bool:
        return holds is not None and holds != request.otherwise

    def _do_requests(self, verdicts: list[Verdict], finding: str, answers: dict[str, Answer] | None = None) -> None:
        """Calls the tools of all requests whose condition holds; says why not of the others."""
        holds = _all_hold(verdicts)
        if not self.question.requests and not self.text:
            self.text.append(replies.not_understood(self.say))
        called = {d.name for d in self.turn.client_calls}
        for request in self.question.requests:
            tool = request.action.tool
            if tool is None:
                if self._is_due(request, holds):
                    self.text.append(replies.no_tool_for(request.text, self.say))
            elif not self._is_due(request, holds):
                self.text.append("" if request.otherwise else replies.not_done(tool.name, self.say))
            elif tool.name not in called:
                called.add(tool.name)
                self._call_client(tool, self._material(self.question, request, finding, answers=answers))

    def _material(
        self,
        question: Question,
        request: Request | None,
        finding: str,
        text: str = "",
        purpose: str = "",
        answers: dict[str, Answer] | None = None,
    ) -> Material:
        value, unit = _figure(answers or {})
        mentions = [m for a in question.asks for m in a.mentions]
        return Material(
            question=question.text,
            request=text or (request.text if request else question.text),
            purpose=purpose or (request.action.purpose if request else ""),
            today=self.today,
            finding=finding,
            value=value,
            unit=unit,
            indicators=tuple(dict.fromkeys(n for m in mentions for n in m.names)),
        )

    def _call_client(self, tool: ToolDefinition, material: Material) -> None:
        filled: Filled = fill(tool.parameters, material)
        if filled.missing:
            self.text.append(replies.needs(tool.name, asked_names(filled.missing), self.say))
            return
        self.text.append(replies.calling(tool.name, filled.day, filled.proposed, self.say))
        self.calls.append((tool.name, filled.arguments))

    def _is_open_after_transfer(self) -> bool:
        """After a transfer the question itself is still to be answered."""
        only_transfers = all(d.name.startswith(("transfer", "handoff")) for d in self.turn.client_calls)
        return only_transfers and bool(self.question.asks) and QUERY_TOOL in self.servers

    def _outputs(self) -> list[str]:
        lines = [_output(d, self.say) for d in self.turn.client_calls[:_MOST_OUTPUTS]]
        return [lines[0]] if len(lines) == 1 else ["\n".join(f"- {line}" for line in lines)]

    def _after_client_tools(self) -> None:
        """What the data showed, and what is left to do."""
        verdicts: list[Verdict] = []
        finding, answers = "", {}
        if self.turn.server_calls(QUERY_TOOL) and (subjects := self._known_subjects()) is not None:
            plan = self._plan(subjects)
            answers = self._answers(plan)
            verdicts = [judge(condition, parts, answers, self.say) for condition, parts in plan.conditions]
            told = [
                answer_ask(parts, [answers[key(p.arguments)] for p in parts], self.say) for parts in plan.asks if parts
            ]
            because = [sentence for v in verdicts for sentence in v.because]
            self.text += told
            self.text.append(" ".join(s for s in because if not any(s in t for t in told)))
            finding = _plain(" ".join(because) or "\n".join(told))
        self._do_what_is_left(verdicts, finding, answers)

    def _known_subjects(self) -> list[Subject] | None:
        if self.question.person is not None and not self.turn.server_calls(FAMILY_TOOL):
            return None
        return self._subjects()

    def _do_what_is_left(self, verdicts: list[Verdict], finding: str, answers: dict[str, Answer]) -> None:
        """Requests that no call was made for yet: a caller may take one call at a time."""
        called = {d.name for d in self.turn.client_calls}
        holds = _all_hold(verdicts)
        for request in self.question.requests:
            tool = request.action.tool
            if tool is not None and tool.name not in called and self._is_due(request, holds):
                called.add(tool.name)
                self._call_client(tool, self._material(self.question, request, finding, answers=answers))


def _read(done: Done | None) -> Answer:
    if done is None or done.output is None:
        return Answer(failure="")
    return read_answer(done.output, done.failed)


def _told_of(parts: Sequence[Part], answers: Mapping[str, Answer]) -> list[Part]:
    """The parts without fallbacks that are not needed, or that found nothing either."""
    told: list[Part] = []
    for i, part in enumerate(parts):
        here, before = answers[key(part.arguments)], answers[key(parts[i - 1].arguments)]
        if not part.fallback or (here.results and not before.results and before.failure is None):
            told.append(part)
    return told


def _output(done: Done, say: Wording) -> str:
    output = done.output or ""
    failed = done.failed or bool(_FAILED_OUTPUT.match(output) or _FAILED_OUTPUT_ZH.match(output))
    return replies.tool_said(quoted(done.name, 64), quoted(output), failed, say)


def _all_hold(verdicts: Sequence[Verdict]) -> bool | None:
    """Whether all conditions hold; no condition always holds."""
    if any(v.holds is False for v in verdicts):
        return False
    return None if any(v.holds is None for v in verdicts) else True


def _figure(answers: dict[str, Answer]) -> tuple[float | None, str]:
    """The newest figure the data gave, for arguments that take a value."""
    for answer in answers.values():
        for result in answer.results:
            point = next(iter(result.readings), None) or result.last
            if point is not None and point.value is not None:
                return point.value, result.unit
    return None, ""


def _name(member: Mapping[str, Any]) -> str:
    return str(member.get("display_name") or member["member"])


def _purpose_of(tool: ToolDefinition) -> str:
    return "book" if re.search(r"book|appoint|schedul|reserv|预约|挂号", tool.name, re.IGNORECASE) else ""


def _without_charts(text: str) -> str:
    return re.sub(r"\n*```vis-chart\n.*?\n```\n*", "", text, flags=re.DOTALL)


def _plain(text: str) -> str:
    """An answer as plain text, for a tool's argument."""
    return " ".join(_without_charts(text).replace("**", "").split())


def _repeats(told: str, because: Sequence[str]) -> bool:
    return any(sentence in told for sentence in because)
