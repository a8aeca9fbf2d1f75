"""Conversations under races: callers that do the same, or opposite things, at the same moment.

``RACE_ROUNDS`` (1) says how often each race is run, ``RACE_WIDTH`` (8) how many take part in it.
"""

import logging
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import cycle, islice
from typing import Any

import httpx
import pytest
from django.db.models import Model
from django.utils import timezone

from mirobody_site.tenancy.models import Subject
from responses_app.models import Conversation, PendingCall, Response, Session
from responses_app.services import dispatch
from responses_app.services.sweeping import sweep_expired
from tests.conversations.racing import Told, asking, assert_deleted_once, assert_locked, at_once, deleting, tell
from tests.responses_app.api.conftest import (
    BOOKING,
    LOOKUP,
    PATIENCE_SECONDS,
    Json,
    Script,
    calls_of,
    create,
    message,
    output_for,
    retrieve,
    wait_until,
    write_record,
)
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import Call, Request, Step, Upstream, text_of
from tools_app.records.models import HealthRecord

ROUNDS = int(os.environ.get("RACE_ROUNDS", "1"))
WIDTH = int(os.environ.get("RACE_WIDTH", "8"))

NONE_PENDING = "previous response has no pending function calls"
TOOLS = [LOOKUP, BOOKING]
HANDOFF = [Call("phone_lookup", {"name": "Dr Li"}), Call("book_appointment", {"date": "2026-03-02"})]
READ = Call("query_health_data", {"indicators": ["ferritin"]})

every_round = pytest.mark.parametrize("turn_of", range(ROUNDS))


@pytest.fixture(autouse=True)
def no_fault_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing of what callers do at once is a fault of the server, whatever it tells them."""
    yield
    faults = [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
    assert [record.getMessage() for record in faults] == []


def in_turn(*ways: Json) -> Iterator[Json]:
    """As many bodies as take part, going round the given ones."""
    return islice(cycle(ways), WIDTH)


JSON, STREAM = {"stream": False}, {"stream": True}
UNSTORED = [way | {"store": False} for way in (JSON, STREAM)]


def rows_of(account: Account, *models: type[Model]) -> dict[str, int]:
    """How many rows of these there are of the account's Subjects, those of erased ones included."""
    return {model.__name__: model._default_manager.filter(subject__account_id=account.id).count() for model in models}


def nothing_of(account: Account) -> bool:
    counts = rows_of(account, Response, Conversation, Session)
    calls = PendingCall.objects.filter(response__account_id=account.id).count()
    return not any(counts.values()) and not calls


def listed(api: httpx.Client, session: str, **params: str) -> list[str]:
    answer = api.get(f"/v1/sessions/{session}", params=params)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["responses"])


def users_words(request: Request) -> list[str]:
    return [text_of(said) for said in request.messages if said["role"] == "user"]


def settled(api: httpx.Client, session: str | None, **ways: Any) -> Json:
    """A handoff that waits for two outputs."""
    paused = create(api, tools=TOOLS, **({"session_id": session} if session else {}), **ways)
    assert len(calls_of(paused)) == 2
    return paused


@every_round
@pytest.mark.parametrize("in_session", [False, True], ids=["chain", "session"])
def test_of_many_resumes_one_runs(
    api: httpx.Client, script: Script, upstream: Upstream, turn_of: int, in_session: bool
) -> None:
    mark = script(Step(calls=HANDOFF), Step(text=["Booked."]))
    paused = settled(api, "s" if in_session else None, input=f"Book {mark}")
    outputs = [output_for(call) for call in calls_of(paused)]
    chained = [way | {"previous_response_id": paused["id"]} for way in (JSON, STREAM, *UNSTORED)]
    named = [way | {"session_id": "s"} for way in (JSON, STREAM)] if in_session else []
    told = at_once([asking(api, input=outputs, **way) for way in in_turn(*named, *chained)])
    (won,) = [one for one in told if one.status == 200]
    assert won.response
    assert (won.response["status"], won.response["output_text"]) == ("completed", "Booked.")
    assert {(one.status, one.error_message) for one in told if one is not won} == {(400, NONE_PENDING)}
    assert [request.step for request in upstream.requests(mark)] == [0, 1]
    assert tell(api, input=outputs, previous_response_id=paused["id"]).error_message == NONE_PENDING


@every_round
def test_a_resume_that_fails_gives_the_handoff_to_one_other(api: httpx.Client, script: Script, turn_of: int) -> None:
    mark = script(Step(calls=HANDOFF), Step(status=400, heals_after=1), Step(text=["Booked."]))
    paused = settled(api, None, input=f"Book {mark}")
    resume = {"input": [output_for(call) for call in calls_of(paused)], "previous_response_id": paused["id"]}
    assert tell(api, **resume).status == 502
    told = at_once([asking(api, **resume, **way) for way in in_turn(JSON, STREAM)])
    assert Counter(one.status for one in told) == {200: 1, 400: WIDTH - 1}


@every_round
@pytest.mark.parametrize("known", [True, False], ids=["known session", "new session of a new Subject"])
def test_turns_of_a_session_never_overlap(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream, turn_of: int, known: bool
) -> None:
    place = {"session_id": "s", "user": "ann"}
    began = [create(api, input="It begins.", **place)["id"]] if known else []
    marks = [script(Step(text=[f"Answer {number}."])) for number in range(WIDTH)]
    ways = in_turn(JSON, STREAM)
    told = at_once([asking(api, input=f"Say {mark}", **place, **way) for mark, way in zip(marks, ways, strict=True)])
    ran = {one.id: mark for one, mark in zip(told, marks, strict=True) if one.status == 200}
    assert ran
    for one in told:
        if one.status != 200:
            assert_locked(one)
    order = listed(api, "s", user="ann")
    assert set(order) == {*began, *ran}
    assert len(order) == len(began) + len(ran)
    # Each continues the one before, which had to be completed for it: no two ran at the same time.
    assert [retrieve(api, turn)["previous_response_id"] for turn in order] == [None, *order[:-1]]
    last = create(api, input=f"What was said? {(mark := script(Step(text=['All.'])))}", **place)
    assert last["previous_response_id"] == order[-1]
    (request,) = upstream.requests(mark)
    said = ["It begins."] * known + [f"Say {ran[turn]}" for turn in order if turn in ran]
    assert users_words(request) == [*said, f"What was said? {mark}"]
    assert rows_of(account, Session, Conversation) == {"Session": 1, "Conversation": 1}


@every_round
def test_one_turn_holds_the_session_while_it_runs(
    api: httpx.Client, script: Script, upstream: Upstream, turn_of: int
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["a", gate, "b"]))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(tell, api, input=f"Hold {mark}", session_id="s")
        wait_until(lambda: upstream.requests(mark))
        for one in at_once([asking(api, input="Hi", session_id="s", **way) for way in in_turn(JSON, STREAM)]):
            assert_locked(one)
        gate.set()
        assert listed(api, "s") == [running.result().id]


@every_round
def test_a_chain_is_adopted_by_one_name(api: httpx.Client, account: Account, turn_of: int) -> None:
    root = create(api, input="Hi")["id"]
    names = [("one", "two")[number % 2] for number in range(WIDTH)]
    told = at_once([asking(api, input="And?", previous_response_id=root, session_id=name) for name in names])
    owners = {name for one, name in zip(told, names, strict=True) if one.status == 200}
    assert len(owners) == 1
    for one, name in zip(told, names, strict=True):
        if name not in owners:
            assert_error(one.answer, 400, "invalid_session", "session_id")
        elif one.status != 200:
            assert_locked(one)
    assert set(listed(api, owners.pop())) == {root, *(one.id for one in told if one.status == 200)}
    assert rows_of(account, Session, Conversation) == {"Session": 1, "Conversation": 1}
    assert not Response.objects.filter(account_id=account.id).exclude(expires_at=None).exists()


def running_turns(
    api: httpx.Client, upstream: Upstream, pool: ThreadPoolExecutor, mark: str
) -> tuple[list[str], list[Callable[[], Told]]]:
    """Turns of Subject ann that run, one a session, half of them read as a stream: their ids, and their outcomes."""
    ways = list(in_turn(JSON, STREAM))
    futures = [
        pool.submit(tell, api, input=f"Hold {mark}", session_id=f"s{number}", user="ann", **way)
        for number, way in enumerate(ways)
    ]
    wait_until(lambda: len(upstream.requests(mark)) == len(ways))
    ids = [listed(api, f"s{number}", user="ann")[0] for number in range(len(ways))]
    return ids, [future.result for future in futures]


def delete_each_response(api: httpx.Client, ids: Sequence[str]) -> list[list[Callable[[], httpx.Response]]]:
    return [[deleting(api, f"/v1/responses/{one}")] * 2 for one in ids]


def delete_each_session(api: httpx.Client, ids: Sequence[str]) -> list[list[Callable[[], httpx.Response]]]:
    paths = [f"/v1/sessions/s{number}" for number in range(len(ids))]
    return [[deleting(api, path, user="ann", responses="true")] for path in paths]


def erase_the_subject(api: httpx.Client, ids: Sequence[str]) -> list[list[Callable[[], httpx.Response]]]:
    return [[deleting(api, "/v1/subjects/ann")] * 3]


DELETIONS = [delete_each_response, delete_each_session, erase_the_subject]


@every_round
@pytest.mark.parametrize("deletions", DELETIONS)
@pytest.mark.parametrize("late", [True, False], ids=["model answers later", "model answers meanwhile"])
def test_a_running_turn_that_is_deleted_writes_nothing(
    api: httpx.Client,
    account: Account,
    script: Script,
    upstream: Upstream,
    turn_of: int,
    deletions: Callable[..., list[list[Callable[[], httpx.Response]]]],
    late: bool,
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["a", gate, "b"], calls=[Call("phone_lookup", {"name": "x"})]))
    with ThreadPoolExecutor(WIDTH) as pool:
        ids, outcomes = running_turns(api, upstream, pool, mark)
        works = deletions(api, ids)
        flat = [work for several in works for work in several]
        answers = at_once(flat if late else [*flat, lambda: httpx.Response(200, text=str(gate.set()))])
        gate.set()
        told = [outcome() for outcome in outcomes]
    for several in works:
        assert_deleted_once(answers[: len(several)])
        del answers[: len(several)]
    statuses = {one.response["status"] for one in told if one.response}
    assert statuses == {"cancelled"} if late else statuses <= {"cancelled", "completed", "failed"}
    assert [one.status for one in told if one.response is None] == []
    for one in ids:
        assert_error(api.get(f"/v1/responses/{one}"), 404, "not_found")
    assert nothing_of(account)


@every_round
@pytest.mark.parametrize("deletions", DELETIONS)
def test_a_turn_that_is_deleted_before_it_begins(
    api: httpx.Client,
    account: Account,
    script: Script,
    upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    turn_of: int,
    deletions: Callable[..., list[list[Callable[[], httpx.Response]]]],
) -> None:
    gate, mark = threading.Event(), script(Step(text=["Never said."]))
    with ThreadPoolExecutor(1) as workers, ThreadPoolExecutor(WIDTH) as pool:
        monkeypatch.setattr(dispatch, "_threads", lambda: workers)
        workers.submit(gate.wait, PATIENCE_SECONDS)
        waiting = [
            pool.submit(tell, api, input=mark, session_id=f"s{number}", user="ann", **way)
            for number, way in enumerate(in_turn(JSON, STREAM))
        ]
        wait_until(lambda: Response.objects.filter(account_id=account.id).count() == WIDTH)
        ids = [listed(api, f"s{number}", user="ann")[0] for number in range(WIDTH)]
        at_once([several[0] for several in deletions(api, ids)])
        told = [one.result() for one in waiting]
        gate.set()
    assert {one.response["status"] for one in told if one.response} == {"cancelled"}
    assert [one.id for one in told] == ids
    assert upstream.requests(mark) == []
    assert nothing_of(account)


@every_round
def test_a_parent_deleted_while_children_are_created(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream, turn_of: int
) -> None:
    root = create(api, input="The root.")["id"]
    mark = script(Step(text=["A child."]))
    ways = list(in_turn(JSON, STREAM, UNSTORED[0]))
    creations = [asking(api, input=f"And? {mark}", previous_response_id=root, **way) for way in ways]
    deletions = [deleting(api, f"/v1/responses/{root}")] * 2
    *told, first, second = at_once([*creations, *deletions])
    assert_deleted_once([first, second])
    children = []
    for one, way in zip(told, ways, strict=True):
        if one.status != 200:
            assert_error(one.answer, 404, "previous_response_not_found", "previous_response_id")
        elif way.get("store", True):
            children.append(one.id)
    assert all(users_words(request)[0] == "The root." for request in upstream.requests(mark))
    for child in children:
        assert create(api, input="Go on.", previous_response_id=child, store=False)["status"] == "completed"
    assert bool(children) == bool(rows_of(account, Conversation)["Conversation"])
    if len(children) > 1:
        answers = at_once([deleting(api, f"/v1/responses/{child}") for child in children])
        assert {answer.status_code for answer in answers} == {200}
    elif children:
        assert api.delete(f"/v1/responses/{children[0]}").status_code == 200
    assert nothing_of(account)


@every_round
@pytest.mark.parametrize("session", [None, "s"], ids=["chain", "session"])
def test_branches_deleted_at_once_leave_nothing(
    api: httpx.Client, account: Account, script: Script, turn_of: int, session: str | None
) -> None:
    root = create(api, input="The root.", session_id=session)["id"]
    paused = script(Step(calls=HANDOFF))
    branches = [
        create(api, input=f"Branch {paused}", previous_response_id=root, tools=TOOLS)["id"] for _ in range(WIDTH - 1)
    ]
    answers = at_once([deleting(api, f"/v1/responses/{one}") for one in (root, *branches)])
    assert {answer.status_code for answer in answers} == {200}
    assert nothing_of(account)


@every_round
def test_sweeps_at_once_and_deletions(api: httpx.Client, account: Account, script: Script, turn_of: int) -> None:
    sweep_expired()
    write_record(api, "Ferritin", "51.5")
    mark = script(Step(calls=[READ]), Step(text=["Fine."]))
    ids = [create(api, input=f"How is it? {mark}")["id"] for _ in range(WIDTH)]
    children = [create(api, input="And?", previous_response_id=one)["id"] for one in ids]
    for number in range(WIDTH):
        write_timed(api, f"Marker {number}")
    past = timezone.now() - timedelta(seconds=1)
    Response.objects.filter(pk__in=ids).update(expires_at=past)
    assert HealthRecord.objects.filter(subject__account_id=account.id, retention="1h").update(expires_at=past) == WIDTH
    deleted = children[::2]
    works: list[Callable[[], Any]] = [sweep_expired] * 4
    works += [deleting(api, f"/v1/responses/{one}") for one in deleted]
    works += [partial(write_timed, api, f"Marker {number}") for number in range(WIDTH)]
    *results, _ = at_once([*works, deleting(api, "/v1/data", indicator="Ferritin")])
    assert [answer.status_code for answer in results[4 : 4 + len(deleted)]] == [200] * len(deleted)
    swept = results[:4]
    # What a deletion took along with a conversation, or a write replaced, no sweep has to count.
    assert WIDTH - len(deleted) <= sum(one.responses for one in swept) <= WIDTH
    assert sum(one.records for one in swept) <= WIDTH
    again = sweep_expired()
    assert (again.responses, again.records) == (0, 0)
    left = children[1::2]
    assert set(Response.objects.filter(account_id=account.id).live(timezone.now()).values_list("pk", flat=True)) == {
        *left
    }
    assert rows_of(account, Conversation)["Conversation"] == len(left)
    assert HealthRecord.objects.filter(subject__account_id=account.id, retention="1h").count() == WIDTH
    assert "51.5" not in str(list(Response.objects.filter(account_id=account.id).values_list("added", "body")))


def write_timed(api: httpx.Client, indicator: str) -> None:
    records = [{"indicator": indicator, "value": "1", "time": "2026-01-01"}]
    answer = api.post("/v1/data", json={"retention": "1h", "records": records})
    assert answer.status_code == 200, answer.text


@every_round
def test_a_subject_erased_while_it_is_used(api: httpx.Client, account: Account, script: Script, turn_of: int) -> None:
    user = {"user": "ann"}
    write_record(api, "Ferritin", "51.5", user="ann")
    root = create(api, input="Remember me.", session_id="s", **user)
    old = Subject.objects.get(account_id=account.id, user_key="ann").pk
    mark = script(Step(calls=[READ]), Step(text=["Fine."]))
    reference = [{"type": "item_reference", "id": root["output"][0]["id"]}, message("And?")]
    ask = f"How is it? {mark}"
    turns = [
        {"input": ask, "session_id": "s", **JSON},
        {"input": ask, "session_id": "t", **STREAM},
        {"input": ask, "previous_response_id": root["id"], **STREAM},
        {"input": ask, **UNSTORED[0]},
        {"input": reference, **JSON},
    ]
    works: list[Callable[[], Any]] = [asking(api, **turn, **user) for turn in in_turn(*turns)]
    works += [partial(api.post, "/v1/data", json=batch(f"Marker {number}") | user) for number in range(WIDTH // 2)]
    works += [deleting(api, "/v1/data", all="true", **user), deleting(api, "/v1/sessions/s", responses="true", **user)]
    erasures = [deleting(api, "/v1/subjects/ann")] * 3
    results = at_once([*works, *erasures, sweep_expired])
    for one in results[:WIDTH]:
        assert_proper(one)
    wrote, (cleared, ended), erased = (
        results[WIDTH:-6],
        results[-6:-4],
        results[-4:-1],
    )
    assert {answer.status_code for answer in (*wrote, cleared)} == {200}
    assert ended.status_code in (200, 404), ended.text
    assert {answer.status_code for answer in erased} <= {200, 404}
    assert 200 in {answer.status_code for answer in erased}
    assert not Subject.objects.filter(pk=old).exists()
    assert not Subject.objects.filter(account_id=account.id).exclude(erased_at=None).exists()
    assert api.get(f"/v1/responses/{root['id']}").status_code == 404
    assert "Remember me." not in str(list(Response.objects.filter(account_id=account.id).values_list("input", "added")))
    assert api.delete("/v1/subjects/ann").status_code in (200, 404)
    assert nothing_of(account)
    assert api.get("/v1/data", params=user).json()["data"] == []
    assert create(api, input="Who am I?", session_id="s", **user)["previous_response_id"] is None


def assert_proper(told: Told) -> None:
    """A turn ran, or was cancelled, or its session was busy, or what it names was gone."""
    if told.response:
        assert told.response["status"] in ("completed", "cancelled"), told.response["error"]
    elif told.status == 404:
        assert told.answer.json()["error"]["code"] in ("not_found", "previous_response_not_found")
    else:
        assert_locked(told)


def batch(*indicators: str) -> Json:
    records = [{"indicator": indicator, "value": "5.4 mmol/L", "time": "2026-01-01"} for indicator in indicators]
    return {"retention": "permanent", "records": records}


@every_round
def test_the_same_batch_at_once_is_kept_once(api: httpx.Client, account: Account, turn_of: int) -> None:
    body = batch(*(f"Marker {number} {secrets.token_hex(2)}" for number in range(20))) | {"user": "ann"}
    answers = at_once([partial(api.post, "/v1/data", json=body) for _ in range(WIDTH)])
    assert {answer.status_code for answer in answers} == {200}
    counts = sorted((answer.json()["ingested"], answer.json()["duplicates"]) for answer in answers)
    assert counts == [(0, 20)] * (WIDTH - 1) + [(20, 0)]
    assert len(api.get("/v1/data", params={"user": "ann"}).json()["data"]) == 20
    assert Subject.objects.filter(account_id=account.id).count() == 1
