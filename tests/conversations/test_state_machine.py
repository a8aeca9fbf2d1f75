"""Conversations driven at random, and every answer compared with what the contract promises (promises.py).

Each step is a call over HTTP or what time does to the store. After every turn, what the model was given is compared
with what was said, word by word: nothing missing, nothing of anybody else.
A run is the same every time. STATE_MACHINE_EXAMPLES and STATE_MACHINE_STEPS set how many runs of how many steps;
STATE_MACHINE_RANDOM=1 starts each from another seed; STATE_MACHINE_SHRINK=1 looks for the shortest run that fails,
which takes minutes. The number of steps, turns and refusals is printed at the end (pytest -s).
"""

import json
import os
import sys
import threading
from collections import Counter
from datetime import datetime, timedelta

import httpx
from django.utils import timezone
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from pytest_django import Settings

from responses_app.models import Conversation as ConversationRow
from responses_app.models import PendingCall, RecordSource, Response, Session
from responses_app.services.sweeping import sweep_expired
from tests.conversations.attempts import Attempt, body_of, marker, number
from tests.conversations.promises import (
    NONE_PENDING,
    Ask,
    Json,
    Line,
    Person,
    Place,
    Reading,
    Record,
    Refusal,
    Turn,
    World,
)
from tests.responses_app.api.conftest import create, create_stream, message, ok, wait_until
from tests.support.envelope import assert_error
from tests.support.server import make_account
from tests.support.sse import open_stream
from tests.support.upstream import Upstream
from tools_app.records.models import HealthRecord

EXAMPLES = int(os.environ.get("STATE_MACHINE_EXAMPLES", "12"))
STEPS = int(os.environ.get("STATE_MACHINE_STEPS", "30"))
RANDOM = os.environ.get("STATE_MACHINE_RANDOM") == "1"
SHRINK = os.environ.get("STATE_MACHINE_SHRINK") == "1"

TALLY: Counter[str] = Counter()
"""How often each thing happened."""

ANN = Person(0, "ann")
PEOPLE = [ANN, Person(0, None), Person(0, "bob"), Person(1, "ann")]
SESSIONS = ["s", "t"]

data = st.data()
# Mostly one person and one session, so that things happen to each other.
people = st.sampled_from([ANN, ANN, ANN, *PEOPLE])
names = st.sampled_from(["s", "s", "s", *SESSIONS])
rarely = st.sampled_from([False] * 5 + [True])
plans = st.sampled_from(["answer", "answer", "incomplete", "failed", "failed", "failed late", "members", "records"])
plans |= st.sampled_from(["one call", "two calls", "mixed calls"])
outputs = st.sampled_from(["all"] * 4 + ["reversed", "partial", "twice", "unknown", "foreign", "mixed", "none"])


def test_the_server_keeps_its_promises(server: str, settings: Settings) -> None:
    class Here(Conversations):
        def __init__(self) -> None:
            super().__init__(server, settings)

    run_state_machine_as_test(
        Here,
        settings=hypothesis_settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=not RANDOM,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if SHRINK else [])],
        ),
    )
    sys.stdout.write(json.dumps(TALLY, indent=1))


class Conversations(RuleBasedStateMachine):
    """Two accounts, four people, and the world as it should be."""

    def __init__(self, server: str, settings: Settings) -> None:
        super().__init__()
        self.upstream = Upstream()
        self.upstream.start()
        settings.LLM_BASE_URL = self.upstream.url
        self.world = World()
        self.accounts = [make_account(server), make_account(server)]
        self.clients = [account.client() for account in self.accounts]
        sweep_expired()

    def teardown(self) -> None:
        for client in self.clients:
            client.close()
        self.upstream.stop()

    # What callers do

    @rule(data=data, person=people, plan=plans, store=st.sampled_from([True] * 7 + [False]), stream=st.booleans())
    def begin(self, data: st.DataObject, person: Person, plan: str, store: bool, stream: bool) -> None:
        """A new conversation, perhaps one that resumes what it does not have."""
        items, lines = self.some_outputs(data, None) if data.draw(rarely) else self.some_words()
        self.take(data, Ask(person, items, lines, store=store), plan, stream)

    @rule(data=data, person=people, name=names, plan=plans, stream=st.booleans())
    def go_on_with_a_session(self, data: st.DataObject, person: Person, name: str, plan: str, stream: bool) -> None:
        conversation = self.world.session(person, name)
        items, lines = self.some_input(data, conversation.newest if conversation else None)
        store = not data.draw(rarely)
        self.take(data, Ask(person, items, lines, session=name, store=store), plan, stream)

    @precondition(lambda self: self.world.turns)
    @rule(data=data, plan=plans, stream=st.booleans())
    def go_on(self, data: st.DataObject, plan: str, stream: bool) -> None:
        """From any response: the newest or an older one (a branch), now and then one that is not to be had."""
        previous = self.some_turn(data)
        person = data.draw(people) if data.draw(rarely) else previous.person
        items, lines = self.some_input(data, previous)
        session = data.draw(names) if data.draw(rarely) else None
        store = session is not None or not data.draw(rarely)
        self.take(data, Ask(person, items, lines, previous, session, store), plan, stream)

    @precondition(lambda self: any(turn.live for turn in self.world.turns))
    @rule(data=data, person=people, store=st.booleans())
    def trespass(self, data: st.DataObject, person: Person, store: bool) -> None:
        """Goes on from anybody's live response."""
        previous = data.draw(st.sampled_from([turn for turn in self.world.turns if turn.live]))
        items, lines = self.some_outputs(data, previous, "all") if previous.pending else self.some_words()
        self.take(data, Ask(person, items, lines, previous, store=store), "answer", stream=False)

    @precondition(lambda self: self.waiting())
    @rule(data=data, plan=plans, stream=st.booleans(), by_session=st.booleans())
    def resume(self, data: st.DataObject, plan: str, stream: bool, by_session: bool) -> None:
        previous = data.draw(st.sampled_from(self.waiting()))
        items, lines = self.some_outputs(data, previous)
        name = previous.conversation.session if by_session else None
        store = bool(name) or not data.draw(rarely)
        self.take(data, Ask(previous.person, items, lines, None if name else previous, name, store), plan, stream)

    @precondition(lambda self: self.world.turns)
    @rule(data=data, plan=plans, stream=st.booleans())
    def refer(self, data: st.DataObject, plan: str, stream: bool) -> None:
        """Items by their ids: a message of one side, or a call with its output."""
        source = self.some_turn(data)
        person = data.draw(people) if data.draw(rarely) else source.person
        references, said = self.some_references(data, source)
        items, lines = self.some_words()
        missing = 0 if references and (not source.live or source.person != person) else None
        items = [*({"type": "item_reference", "id": item_id} for item_id in references), *items]
        self.take(data, Ask(person, items, said + lines, missing=missing), plan, stream)

    @rule(person=people, session=st.sampled_from([None, *SESSIONS]))
    def write_record(self, person: Person, session: str | None) -> None:
        record = Record(person, f"{number()}.25 ng/mL", session)
        body = {
            "user": person.user,
            "retention": "session" if session else "1h",
            "session_id": session,
            "records": [{"indicator": "ferritin", "value": record.value}],
        }
        answer = self.client(person).post("/v1/data", json=body)
        assert (answer.status_code, answer.json()["ingested"]) == (200, 1)
        self.world.records.append(record)
        self.world.seen.add(person)

    @precondition(lambda self: self.world.turns)
    @rule(data=data, stranger=rarely, names_user=st.booleans())
    def delete_response(self, data: st.DataObject, stranger: bool, names_user: bool) -> None:
        turn = self.some_turn(data)
        caller = data.draw(people) if stranger else turn.person
        answer = self.client(caller).delete(f"/v1/responses/{turn.id}", params=_user(caller) if names_user else {})
        if not turn.live or not _may_see(caller, turn, names_user):
            assert_error(answer, 404, "not_found")
            return
        assert answer.json() == {"id": turn.id, "object": "response.deleted", "deleted": True}
        self.world.forget([turn])

    @rule(person=people, name=names, responses=st.booleans())
    def end_session(self, person: Person, name: str, responses: bool) -> None:
        self.check_end_of_session(person, name, responses)

    @rule(person=people, seldom=rarely)
    def erase(self, person: Person, seldom: bool) -> None:
        if seldom or person not in self.world.seen:
            self.check_erasure(person)

    @rule(data=data, person=people, plan=st.sampled_from(["answer", "members", "one call"]))
    def meddle(self, data: st.DataObject, person: Person, plan: str) -> None:
        """A turn, and what happens to its conversation while it runs."""
        known = [turn for turn in self.world.turns if turn.live and turn.person == person]
        previous = data.draw(st.sampled_from([None, *known]))
        name = data.draw(st.sampled_from([None, *SESSIONS])) if previous is None else None
        conversation = self.world.session(person, name) if name else None
        before = previous or (conversation.newest if conversation else None)
        items, lines = self.some_outputs(data, before, "all") if before and before.pending else self.some_words()
        ask = Ask(person, items, lines, previous, name)
        place = self.world.judge(ask)
        if isinstance(place, Place):
            end = data.draw(st.sampled_from(["finish", "finish", "delete", "delete previous", "end session", "erase"]))
            self.run_and_meddle(ask, place, plan, end)

    # What is worth doing more often than the rest
    go_on_again = go_on_once_more = go_on
    resume_again = resume_once_more = resume
    go_on_with_a_session_again = go_on_with_a_session

    # What time does

    @precondition(lambda self: self.passing())
    @rule(data=data)
    def expire(self, data: st.DataObject) -> None:
        """Thirty days pass for one response."""
        turn = data.draw(st.sampled_from(self.passing()))
        assert Response.objects.filter(pk=turn.id).update(expires_at=_just_now())
        turn.expired = True

    @precondition(lambda self: any(not record.gone and record.session is None for record in self.world.records))
    @rule(data=data)
    def expire_record(self, data: st.DataObject) -> None:
        """An hour passes for one record, and for the results that note when it goes."""
        timed = [record for record in self.world.records if not record.gone and record.session is None]
        record = data.draw(st.sampled_from(timed))
        listed = self.client(record.person).get("/v1/data", params=_user(record.person)).json()["data"]
        (record_id,) = [row["id"] for row in listed if row["value"] == record.value]
        HealthRecord.objects.filter(public_id=record_id).update(expires_at=_just_now())
        RecordSource.objects.filter(record_ids__contains=record_id).update(expires_at=_just_now())
        record.gone = True

    @rule()
    def sweep(self) -> None:
        """Nothing that can be seen changes; what nobody needs is not there any more."""
        expired = [turn for turn in self.world.turns if turn.expired and not turn.deleted]
        assert sweep_expired().responses <= len(expired)
        self.world.forget(expired)
        assert self.rows() == self.world.kept()
        mine = {"subject__account_id__in": [account.id for account in self.accounts]}
        living = [conversation for conversation in self.world.conversations if conversation.live]
        assert ConversationRow.objects.filter(**mine).count() == len(living)
        assert Session.objects.filter(**mine).count() == sum(bool(c.session) for c in living)
        calls = PendingCall.objects.filter(response_id__in=self.rows()).values_list("call_id", flat=True)
        assert Counter(calls) == Counter(call.call_id for c in living for turn in c.live for call in turn.calls)

    # What can be seen

    @precondition(lambda self: self.world.turns)
    @rule(data=data, stranger=rarely, names_user=st.booleans())
    def look(self, data: st.DataObject, stranger: bool, names_user: bool) -> None:
        turn = self.some_turn(data)
        caller = data.draw(people) if stranger else turn.person
        seen = self.client(caller).get(f"/v1/responses/{turn.id}", params=_user(caller) if names_user else {})
        items = self.client(caller).get(f"/v1/responses/{turn.id}/input_items", params={"order": "asc"})
        if not turn.live or not _may_see(caller, turn, names_user):
            assert_error(seen, 404, "not_found")
        else:
            assert ok(seen) == _shown(turn)
        if not turn.live or caller.account != turn.person.account:
            assert_error(items, 404, "not_found")
            return
        assert items.json()["data"] == turn.items
        if len(turn.items) > 1:
            params = {"order": "desc", "limit": "1", "after": turn.items[1]["id"]}
            page = self.client(caller).get(f"/v1/responses/{turn.id}/input_items", params=params).json()
            assert (page["data"], page["has_more"]) == ([turn.items[0]], False)

    @rule(person=people, name=names)
    def look_around(self, person: Person, name: str) -> None:
        """The person's session and records."""
        client = self.client(person)
        answer = client.get(f"/v1/sessions/{name}", params=_user(person))
        conversation = self.world.session(person, name)
        if conversation is None:
            assert_error(answer, 404, "not_found")
        else:
            assert answer.json()["responses"] == [turn.id for turn in conversation.live]
        listed = client.get("/v1/data", params=_user(person)).json()["data"]
        assert {row["value"] for row in listed} == {record.value for record in self.world.records_of(person)}

    @invariant()
    def nothing_is_kept_that_nobody_needs(self) -> None:
        TALLY["steps"] += 1
        assert self.world.kept() <= self.rows() <= self.world.kept() | self.world.unswept()

    # Drawing

    def waiting(self) -> list[Turn]:
        return [turn for turn in self.world.turns if turn.live and turn.pending]

    def passing(self) -> list[Turn]:
        return [turn for turn in self.world.turns if turn.live and not turn.keeps]

    def some_turn(self, data: st.DataObject) -> Turn:
        """Mostly a live one."""
        live = [turn for turn in self.world.turns if turn.live]
        turns = self.world.turns if not live or data.draw(rarely) else live
        return data.draw(st.sampled_from(turns))

    def some_input(self, data: st.DataObject, previous: Turn | None) -> tuple[list[Json], list[Line]]:
        """Outputs for a response that waits for them, words for another; now and then the other way round."""
        waits = previous is not None and bool(previous.pending)
        if waits != data.draw(rarely):
            return self.some_outputs(data, previous)
        return self.some_words()

    def some_words(self) -> tuple[list[Json], list[Line]]:
        turn = number()
        text = f"u{turn} [[state-{turn}]]"
        return [message(text)], [Line("user", text)]

    def some_outputs(
        self, data: st.DataObject, previous: Turn | None, kind: str | None = None
    ) -> tuple[list[Json], list[Line]]:
        called = [call.call_id for call in previous.calls] if previous else []
        kind = kind or data.draw(outputs)
        foreign = [call.call_id for turn in self.world.turns if turn is not previous for call in turn.calls]
        extra = [data.draw(st.sampled_from(foreign))] if kind == "foreign" and foreign else ["call_unknown"]
        ids = {
            "reversed": called[::-1],
            "partial": called[:-1],
            "twice": [*called, *called[:1]],
            "unknown": [*called, "call_unknown"],
            "foreign": [*called, *extra],
        }.get(kind, called)
        if kind == "none" or not ids:
            return self.some_words() if kind == "none" else self.outputs_for(["call_unknown"])
        items, lines = self.outputs_for(ids)
        if kind == "mixed":
            words, said = self.some_words()
            return items + words, lines + said
        return items, lines

    def outputs_for(self, call_ids: list[str]) -> tuple[list[Json], list[Line]]:
        lines = [Line("output", f"o{number()}", call_id=call_id) for call_id in call_ids]
        items = [{"type": "function_call_output", "call_id": line.call_id, "output": line.text} for line in lines]
        return items, lines

    def some_references(self, data: st.DataObject, source: Turn) -> tuple[list[str], list[Line]]:
        """The ids of items and what they say."""
        messages = [item for item in [*source.items, *source.body["output"]] if item["type"] == "message"]
        choices = [([item["id"]], [Line(item["role"], item["content"][0]["text"])]) for item in messages]
        if source.live and source.previous and source.previous.live and source.given[0].role == "output":
            choices.append(self.calls_and_outputs(source))
        return data.draw(st.sampled_from(choices)) if choices else ([], [])

    def calls_and_outputs(self, resumed: Turn) -> tuple[list[str], list[Line]]:
        assert resumed.previous is not None
        calls = [item["id"] for item in resumed.previous.body["output"] if item["type"] == "function_call"]
        said = Line("assistant", "", tuple(resumed.previous.calls))
        return [*calls, *(item["id"] for item in resumed.items)], [said, *resumed.given]

    # Turns

    def take(self, data: st.DataObject, ask: Ask, plan: str, stream: bool) -> None:
        """Asks, and checks the refusal or the whole turn."""
        verdict = self.world.judge(ask)
        if isinstance(verdict, Refusal):
            answer = self.client(ask.person).post("/v1/responses", json={**body_of(ask), "stream": stream})
            _assert_refused(answer, verdict)
            TALLY[f"refused: {verdict.code} {(verdict.message or '')[:24]}"] += 1
            return
        TALLY[f"turns: {plan}"] += 1
        attempt = Attempt(self.upstream, self.world, ask, verdict, plan, elaborate=data.draw(st.booleans()))
        client = self.client(ask.person)
        if attempt.failing and not ask.store and not stream:
            assert_error(client.post("/v1/responses", json=attempt.body), 502, "upstream_error")
        elif stream or attempt.failing:
            attempt.finish(create_stream(client, **attempt.body).response)
        else:
            attempt.finish(create(client, **attempt.body))
        attempt.check_heard()
        if ask.store:
            self.check_stored(attempt)

    def check_stored(self, attempt: "Attempt") -> None:
        turn = attempt.turn
        assert turn is not None
        assert ok(self.client(turn.person).get(f"/v1/responses/{turn.id}")) == turn.body
        row = Response.objects.get(pk=turn.id)
        assert row.expires_at == (None if turn.keeps else row.created_at + timedelta(days=30))
        items = self.client(turn.person).get(f"/v1/responses/{turn.id}/input_items", params={"order": "asc"})
        turn.items = items.json()["data"]
        assert [_said_by(item) for item in turn.items] == [said for line in turn.given for said in _said_in(line)]

    def run_and_meddle(self, ask: Ask, place: Place, plan: str, end: str) -> None:
        gate = threading.Event()
        attempt = Attempt(self.upstream, self.world, ask, place, plan, gate=gate)
        client = self.client(ask.person)
        with open_stream(client, attempt.body) as live:
            turn_id = live.next()["response"]["id"]
            turn = self.world.begin(ask, place, turn_id, attempt.instructions, attempt.tools)
            attempt.turn = turn
            live.until("response.output_text.delta")
            self.check_locked(ask, attempt, turn)
            self.meddle_with(turn, end)
            gate.set()
            final = live.check().response
        if turn.live:
            attempt.finish(final)
            attempt.check_heard()
            self.check_stored(attempt)
            return
        assert final["status"] == "cancelled"
        wait_until(lambda: turn.id not in self.rows())
        turn.status, turn.body = "cancelled", final

    def check_locked(self, ask: Ask, attempt: "Attempt", turn: Turn) -> None:
        """What others are told while the turn runs."""
        client = self.client(ask.person)
        seen = ok(client.get(f"/v1/responses/{turn.id}"))
        assert (seen["status"], seen["session_id"]) == ("in_progress", turn.conversation.session)
        words, _ = self.some_words()
        body = {"user": ask.person.user, "input": words}
        continued = client.post("/v1/responses", json={**body, "previous_response_id": turn.id})
        _assert_locked(continued, "previous_response_id")
        name = turn.conversation.session
        if name:
            listed = client.get(f"/v1/sessions/{name}", params=_user(ask.person)).json()["responses"]
            assert listed == [other.id for other in turn.conversation.live]
            _assert_locked(client.post("/v1/responses", json={**body, "session_id": name}), "session_id")
        if ask.outputs:
            _assert_refused(client.post("/v1/responses", json=attempt.body), NONE_PENDING)

    def meddle_with(self, turn: Turn, end: str) -> None:
        client = self.client(turn.person)
        match end:
            case "delete":
                assert client.delete(f"/v1/responses/{turn.id}").status_code == 200
                self.world.forget([turn])
            case "delete previous" if turn.previous and turn.previous.live:
                assert client.delete(f"/v1/responses/{turn.previous.id}").status_code == 200
                self.world.forget([turn.previous])
            case "end session" if turn.conversation.session:
                self.check_end_of_session(turn.person, turn.conversation.session, True)
            case "erase":
                self.check_erasure(turn.person)

    def check_end_of_session(self, person: Person, name: str, responses: bool) -> None:
        conversation = self.world.session(person, name)
        records = self.world.records_of(person, name)
        turns = conversation.live if conversation and responses else []
        params = {**_user(person), "responses": str(responses).lower()}
        answer = self.client(person).delete(f"/v1/sessions/{name}", params=params)
        if conversation is None and not records:
            assert_error(answer, 404, "not_found")
            return
        deleted = len(records) + len(turns)
        assert answer.json() == {"status": "ok", "session_id": name, "deleted": deleted, "subject": person.user}
        self.world.forget(turns)
        for record in records:
            record.gone = True

    def check_erasure(self, person: Person) -> None:
        answer = self.client(person).delete(f"/v1/subjects/{person.user or '@default'}")
        if person not in self.world.seen:
            assert_error(answer, 404, "not_found")
            return
        records, conversations = self.world.erase(person)
        deleted = {"records": records, "files": 0, "conversations": conversations}
        assert answer.json() == {"status": "ok", "subject": person.user, "deleted": deleted}

    # The server

    def client(self, person: Person) -> httpx.Client:
        return self.clients[person.account]

    def rows(self) -> set[str]:
        """What is stored of the two accounts, whoever may see it."""
        mine = Response.objects.filter(account_id__in=[account.id for account in self.accounts])
        return set(mine.values_list("pk", flat=True))


def _shown(turn: Turn) -> Json:
    """The response as it was first given, without the results whose records are gone."""
    body: Json = json.loads(json.dumps(turn.body))
    for step, result in zip(body["tool_steps"], turn.results, strict=True):
        if isinstance(result, Reading) and result.gone:
            for item in body["health_records"]:
                if item["data"] == step["result"]:
                    item["data"] = marker(result)
            step["result"] = marker(result)
    return body


def _said_in(line: Line) -> list[tuple[str, str]]:
    """What an input line is listed as."""
    if line.calls:
        return [("call", call.call_id) for call in line.calls]
    return [(line.role, line.text)]


def _said_by(item: Json) -> tuple[str, str]:
    match item["type"]:
        case "message":
            return item["role"], item["content"][0]["text"]
        case "function_call":
            return "call", item["call_id"]
        case _:
            return "output", item["output"]


def _user(person: Person) -> dict[str, str]:
    return {"user": person.user} if person.user else {}


def _may_see(caller: Person, turn: Turn, names_user: bool) -> bool:
    """Ids of responses belong to accounts; who names a Subject must name the response's own."""
    if caller.account != turn.person.account:
        return False
    return not names_user or caller.user in (None, turn.person.user)


def _assert_refused(answer: httpx.Response, refusal: Refusal) -> None:
    assert_error(answer, refusal.status, refusal.code, refusal.param)
    assert refusal.message in (None, answer.json()["error"]["message"])


def _assert_locked(answer: httpx.Response, param: str) -> None:
    assert_error(answer, 409, "conversation_locked", param)
    assert int(answer.headers["Retry-After"]) > 0


def _just_now() -> datetime:
    return timezone.now() - timedelta(seconds=1)
