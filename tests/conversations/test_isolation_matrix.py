"""Isolation: what is not the caller's answers exactly like something that does not exist, and nothing happens to it.

Every door that takes an id × every reason why the id is not the caller's. The answer is compared, to the byte, with the
answer to an id of the same form that nobody has. Calls under /v1/responses/{id} are scoped by account, and by Subject
only when they name one; all others are scoped by Subject.
Source: the wire contract, sections 1, 3, 5, 6 and 11.
"""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from django.db.models import Model, QuerySet
from django.test import override_settings
from django.utils import timezone

from mirobody_site.tenancy.models import Subject
from responses_app.models import Conversation, PendingCall, RecordSource, Response, Session
from tests.responses_app.api.conftest import (
    LOOKUP,
    Script,
    calls_of,
    create,
    message,
    output_for,
    retrieve,
    write_record,
)
from tests.support.envelope import assert_error
from tests.support.server import make_account
from tests.support.upstream import Call, Step, Upstream
from tools_app.records.models import HealthRecord, RecordRemoval

Json = dict[str, Any]

# What is left of the key is its caller's alone, and less with every request.
NAMELESS_HEADERS = {"x-request-id", "date", "content-length", "x-ratelimit-remaining", "x-ratelimit-reset"}
ATTACK = "isolation-attack"
"""Stands in every message of an attack, so that the model's part in it can be seen."""


@dataclass(frozen=True)
class Caller:
    """Who calls: an account's client and the Subject it names."""

    api: httpx.Client
    user: str | None

    @property
    def named(self) -> dict[str, str]:
        return {"user": self.user} if self.user else {}

    def post(self, **body: Any) -> httpx.Response:
        return self.api.post("/v1/responses", json={"user": self.user, **body})


@dataclass(frozen=True)
class Things:
    """One of everything that has an id, all of one Subject."""

    response: str
    message: str
    input_item: str
    function_call: str
    reasoning: str
    call: str
    record: str
    indicator: str
    session: str


@dataclass(frozen=True)
class World:
    """Callers, and what is not theirs by the reason why it is not."""

    ann: Caller
    cases: dict[str, tuple[Caller, Things]]
    accounts: tuple[int, ...]

    def state(self) -> dict[str, list[Json]]:
        """Every row of these accounts, by model."""
        return {rows.model.__name__: list(rows.order_by("pk").values()) for rows in self._rows()}

    def _rows(self) -> Iterator[QuerySet[Model]]:
        subjects = Subject.objects.filter(account_id__in=self.accounts)
        responses = Response.objects.filter(account_id__in=self.accounts)
        yield from (subjects, responses)  # type: ignore[misc]
        for model in (Conversation, Session, HealthRecord):
            yield model.objects.filter(subject__in=subjects)
        for model in (PendingCall, RecordSource):
            yield model.objects.filter(response__in=responses)
        yield RecordRemoval.objects.filter(owner_id__in=subjects.values("pk"))


@pytest.fixture(scope="module")
def world(server: str, upstream: Upstream) -> Iterator[World]:
    """Made once: a refusal changes nothing, as each test checks."""
    here, elsewhere = make_account(server), make_account(server)
    with ExitStack() as stack:
        stack.enter_context(override_settings(LLM_BASE_URL=upstream.url))
        api, strange = stack.enter_context(here.client()), stack.enter_context(elsewhere.client())
        step = Step(reasoning=["Hm."], text=["Let me see."], calls=[Call("phone_lookup", {"name": "x"})])
        upstream.script("isolation-world", step, Step(text=["Done."]))
        ann, bob, default, eve = (Caller(api, user) for user in ("ann", "bob", None, "eve"))
        namesake = Caller(strange, "ann")
        anns, bobs, defaults, namesakes = map(things_of, (ann, bob, default, namesake))
        yield World(
            ann=ann,
            cases={
                "another account's": (ann, namesakes),
                "another account's namesake's": (namesake, anns),
                "another Subject's": (ann, bobs),
                "the default Subject's": (ann, defaults),
                "a named Subject's": (default, anns),
                "expired": (ann, expired(things_of(ann))),
                "expired and continued": (ann, expired(continued(ann, things_of(ann)))),
                "deleted": (ann, deleted(ann, things_of(ann))),
                "deleted and continued": (ann, deleted(ann, continued(ann, things_of(ann)))),
                "an erased Subject's": (ann, erased(eve)),
                "the erased Subject's own": (eve, erased(eve)),
                "never stored": (ann, unstored(ann)),
            },
            accounts=(here.id, elsewhere.id),
        )


def things_of(owner: Caller) -> Things:
    paused = owner.post(input=[message("Hi [[isolation-world]]")], tools=[LOOKUP]).json()
    items = {item["type"]: item for item in paused["output"]}
    listed = owner.api.get(f"/v1/responses/{paused['id']}/input_items").json()["data"]
    session, indicator = f"session-{secrets.token_hex(8)}", f"indicator {secrets.token_hex(8)}"
    assert owner.post(input="Hi", session_id=session).status_code == 200
    write_record(owner.api, indicator, "5.4", user=owner.user)
    [record] = owner.api.get("/v1/data", params={**owner.named, "indicator": indicator}).json()["data"]
    return Things(
        response=paused["id"],
        message=items["message"]["id"],
        input_item=listed[0]["id"],
        function_call=items["function_call"]["id"],
        reasoning=items["reasoning"]["id"],
        call=items["function_call"]["call_id"],
        record=record["id"],
        indicator=indicator,
        session=session,
    )


def continued(owner: Caller, things: Things) -> Things:
    output = {"type": "function_call_output", "call_id": things.call, "output": "done"}
    assert owner.post(input=[output], previous_response_id=things.response).status_code == 200
    return things


def expired(things: Things) -> Things:
    """What the clock would do; nothing has been swept yet. A session does not expire."""
    past = timezone.now() - timedelta(seconds=1)
    assert Response.objects.filter(pk=things.response).update(expires_at=past)
    assert HealthRecord.objects.filter(public_id=things.record).update(expires_at=past)
    return replace(things, session=f"session-{secrets.token_hex(8)}")


def deleted(owner: Caller, things: Things) -> Things:
    for path, params in (
        (f"/v1/responses/{things.response}", {}),
        (f"/v1/sessions/{things.session}", {"responses": "true"}),
        ("/v1/data", {"id": things.record}),
    ):
        assert owner.api.delete(path, params={**owner.named, **params}).status_code == 200
    return things


def erased(owner: Caller) -> Things:
    things = things_of(owner)
    assert owner.api.delete(f"/v1/subjects/{owner.user}").status_code == 200
    return things


def unstored(owner: Caller) -> Things:
    """The ids that a response with ``store: false`` has shown; of the rest what nobody has."""
    seen = owner.post(input="Hi [[isolation-world]]", tools=[LOOKUP], store=False).json()
    items = {item["type"]: item for item in seen["output"]}
    return Things(
        response=seen["id"],
        message=items["message"]["id"],
        input_item=f"msg_{seen['id'].removeprefix('resp_')}_in0",
        function_call=items["function_call"]["id"],
        reasoning=items["reasoning"]["id"],
        call=items["function_call"]["call_id"],
        record=f"rec_{secrets.token_hex(16)}",
        indicator=f"indicator {secrets.token_hex(8)}",
        session=f"session-{secrets.token_hex(8)}",
    )


def made_up_like(name: str) -> str:
    """An id of the same form that nobody has."""
    return re.sub("[0-9a-f]{16,}", lambda found: secrets.token_hex(len(found[0]) // 2), name)


def told(answer: httpx.Response, name: str) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers, without the id asked for and what differs with every request."""
    headers = {key: value for key, value in answer.headers.items() if key not in NAMELESS_HEADERS}
    return answer.status_code, answer.content.replace(name.encode(), b"<id>"), headers


Door = Callable[[Caller, str], httpx.Response]


Cases = Mapping[str, tuple[Caller, Things]]


def refused(
    world: World, upstream: Upstream, door: Door, kind: str, cases: Cases | None = None
) -> list[httpx.Response]:
    """The door's answers, each as if the id did not exist; nothing is written, and the model hears nothing."""
    before = world.state()
    answers, nothing = [], {}
    for why, (caller, things) in (world.cases if cases is None else cases).items():
        name = getattr(things, kind)
        if caller not in nothing:
            nobodys = made_up_like(name)
            assert nobodys != name
            nothing[caller] = told(door(caller, nobodys), nobodys)
        answers.append(door(caller, name))
        assert told(answers[-1], name) == nothing[caller], why
    assert world.state() == before
    assert upstream.requests(ATTACK) == []
    return answers


def response_path(name: str, rest: str = "") -> str:
    return f"/v1/responses/{quote(name, safe='')}{rest}"


def as_query(caller: Caller) -> Json:
    return {"params": caller.named}


def as_header(caller: Caller) -> Json:
    return {"headers": {"X-Mirobody-User": caller.user or ""}}


def unnamed(caller: Caller) -> Json:
    return {}


def with_query(kwargs: Json, **params: str) -> Json:
    return {**kwargs, "params": {**kwargs.get("params", {}), **params}}


AccountDoor = Callable[[Caller, str, Json], httpx.Response]
NAMINGS = {"in the query": as_query, "in a header": as_header, "nowhere": unnamed}
ACCOUNT_DOORS: dict[str, AccountDoor] = {
    "get": lambda caller, name, kwargs: caller.api.get(response_path(name), **kwargs),
    "slash": lambda caller, name, kwargs: caller.api.get(response_path(name, "/"), **kwargs),
    "head": lambda caller, name, kwargs: caller.api.head(response_path(name), **kwargs),
    "stream": lambda caller, name, kwargs: caller.api.get(response_path(name), **with_query(kwargs, stream="true")),
    "stream after": lambda caller, name, kwargs: caller.api.get(
        response_path(name), **with_query(kwargs, stream="true", starting_after="3")
    ),
    "input items": lambda caller, name, kwargs: caller.api.get(response_path(name, "/input_items"), **kwargs),
    "delete": lambda caller, name, kwargs: caller.api.delete(response_path(name), **kwargs),
    "cancel": lambda caller, name, kwargs: caller.api.post(response_path(name, "/cancel"), **kwargs),
}
OF_THE_ACCOUNT = ("another Subject's", "the default Subject's", "a named Subject's")
"""What a call that names no Subject may read: it is the account's."""


@pytest.mark.parametrize("door", ACCOUNT_DOORS.values(), ids=ACCOUNT_DOORS.keys())
@pytest.mark.parametrize("naming", NAMINGS.values(), ids=NAMINGS.keys())
def test_a_response_by_its_id(
    world: World, upstream: Upstream, naming: Callable[[Caller], Json], door: AccountDoor
) -> None:
    def named_door(caller: Caller, name: str) -> httpx.Response:
        return door(caller, name, naming(caller))

    cases = {
        why: (caller, things)
        for why, (caller, things) in world.cases.items()
        if why not in OF_THE_ACCOUNT or (caller.user and naming is not unnamed)
    }
    answers = refused(world, upstream, named_door, "response", cases)
    assert {answer.status_code for answer in answers} == {404}


@pytest.mark.parametrize("why", OF_THE_ACCOUNT)
def test_a_response_by_its_id_without_naming_its_subject(world: World, why: str) -> None:
    caller, things = world.cases[why]
    assert retrieve(caller.api, things.response)["id"] == things.response


CREATING: dict[str, Json] = {
    "json": {},
    "stream": {"stream": True},
    "unstored": {"store": False},
    "background": {"background": True},
    "in a session": {"session_id": "a-new-session"},
}
creating = pytest.mark.parametrize("options", CREATING.values(), ids=CREATING.keys())


@creating
def test_continuing_a_response(world: World, upstream: Upstream, options: Json) -> None:
    def door(caller: Caller, name: str) -> httpx.Response:
        return caller.post(input=ATTACK, previous_response_id=name, **options)

    for answer in refused(world, upstream, door, "response"):
        assert_error(answer, 404, "previous_response_not_found", "previous_response_id")


@creating
def test_answering_a_handoff(world: World, upstream: Upstream, options: Json) -> None:
    calls = {things.response: things.call for _, things in world.cases.values()}

    def door(caller: Caller, name: str) -> httpx.Response:
        return caller.post(input=[output(calls.get(name, "call_0"))], previous_response_id=name, **options)

    for answer in refused(world, upstream, door, "response"):
        assert_error(answer, 404, "previous_response_not_found", "previous_response_id")


def output(call_id: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": ATTACK}


def test_answering_calls_in_a_handoff_of_ones_own(world: World, upstream: Upstream, script: Script) -> None:
    mark = script(Step(calls=[Call("phone_lookup")]))
    own = {
        caller: create(caller.api, input=mark, tools=[LOOKUP], user=caller.user)["id"]
        for caller in {caller for caller, _ in world.cases.values()}
    }

    def door(caller: Caller, name: str) -> httpx.Response:
        return caller.post(input=[output(name)], previous_response_id=own[caller])

    for answer in refused(world, upstream, door, "call"):
        assert_error(answer, 400, "invalid_value", "input")
        assert answer.json()["error"]["message"].startswith('unknown call_id(s): ["')


def test_answering_calls_out_of_nowhere(world: World, upstream: Upstream) -> None:
    def door(caller: Caller, name: str) -> httpx.Response:
        return caller.post(input=[output(name)])

    for answer in refused(world, upstream, door, "call"):
        assert_error(answer, 400, "invalid_value", "input")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, {}) for kind in ("input_item", "function_call", "reasoning")),
        *(("message", o) for o in CREATING.values()),
    ],
)
def test_referring_to_an_item(world: World, upstream: Upstream, kind: str, options: Json) -> None:
    def door(caller: Caller, name: str) -> httpx.Response:
        return caller.post(input=[message(ATTACK), {"type": "item_reference", "id": name}], **options)

    for answer in refused(world, upstream, door, kind):
        assert_error(answer, 404, "not_found", "input[1]")


def session_path(name: str) -> str:
    return f"/v1/sessions/{quote(name, safe='')}"


SESSION_DOORS: dict[str, Door] = {
    "get": lambda caller, name: caller.api.get(session_path(name), params=caller.named),
    "get by header": lambda caller, name: caller.api.get(session_path(name), **as_header(caller)),
    "delete": lambda caller, name: caller.api.delete(session_path(name), params=caller.named),
    "delete responses": lambda caller, name: caller.api.delete(
        session_path(name), params={**caller.named, "responses": "true"}
    ),
}


@pytest.mark.parametrize("door", SESSION_DOORS.values(), ids=SESSION_DOORS.keys())
def test_a_session(world: World, upstream: Upstream, door: Door) -> None:
    for answer in refused(world, upstream, door, "session"):
        assert_error(answer, 404, "not_found")


def test_a_turn_in_a_session_of_the_same_name_is_another_conversation(
    world: World, upstream: Upstream, script: Script
) -> None:
    mark = script(Step(text=["Fine."]))
    for caller, things in world.cases.values():
        before = world.state()
        response = create(caller.api, input=f"Hi {mark}", session_id=things.session, user=caller.user)
        assert response["previous_response_id"] is None
        assert len(upstream.requests(mark)[-1].messages) == 2
        ended = caller.api.delete(session_path(things.session), params={**caller.named, "responses": "true"})
        assert ended.json()["deleted"] == 1
        assert without(world.state(), "Subject") == without(before, "Subject")


def without(state: dict[str, list[Json]], model: str) -> dict[str, list[Json]]:
    return {name: rows for name, rows in state.items() if name != model}


RECORD_DOORS: dict[str, tuple[str, Door]] = {
    "get by indicator": (
        "indicator",
        lambda caller, name: caller.api.get("/v1/data", params={**caller.named, "indicator": name}),
    ),
    "delete by indicator": (
        "indicator",
        lambda caller, name: caller.api.delete("/v1/data", params={**caller.named, "indicator": name}),
    ),
    "delete by id": (
        "record",
        lambda caller, name: caller.api.delete("/v1/data", params={**caller.named, "id": name}),
    ),
    "delete by id, Subject in the header": (
        "record",
        lambda caller, name: caller.api.delete("/v1/data", params={"id": name}, **as_header(caller)),
    ),
}


@pytest.mark.parametrize("named", RECORD_DOORS)
def test_a_record(world: World, upstream: Upstream, named: str) -> None:
    kind, door = RECORD_DOORS[named]
    # A deletion takes along what has expired, though it does not count it.
    swept = {why for why in world.cases if why.startswith("expired") and "delete" in named}
    cases = {why: case for why, case in world.cases.items() if why not in swept}
    for answer in refused(world, upstream, door, kind, cases):
        assert answer.json().get("data", []) == []
        assert answer.json().get("deleted", 0) == 0
    for why in swept:
        caller, things = world.cases[why]
        assert door(caller, getattr(things, kind)).json()["deleted"] == 0


def test_a_record_written_under_the_session_of_another(world: World) -> None:
    for caller, things in world.cases.values():
        before = world.state()
        write_record(caller.api, "weight", "70 kg", user=caller.user, session_id=things.session)
        assert caller.api.delete(session_path(things.session), params=caller.named).json()["deleted"] == 1
        unnoted = without(without(world.state(), "RecordRemoval"), "Subject")
        assert unnoted == without(without(before, "RecordRemoval"), "Subject")


def test_erasing_a_subject(world: World, upstream: Upstream) -> None:
    def door(caller: Caller, name: str) -> httpx.Response:
        return caller.api.delete(f"/v1/subjects/{quote(name, safe='')}")

    elsewhere, _ = world.cases["another account's namesake's"]
    strangers = f"user-{secrets.token_hex(8)}"
    create(world.ann.api, input="Hi", user=strangers)
    before = world.state()
    assert_error(door(elsewhere, strangers), 404, "not_found")
    assert told(door(elsewhere, strangers), "-") == told(door(elsewhere, made_up_like(strangers)), "-")
    assert world.state() == before
    assert door(world.ann, strangers).status_code == 200
    unseen = door(world.ann, made_up_like(strangers)).content
    assert door(world.ann, strangers).content == unseen
    for name in ("Ann", "ANN", "ann ", " ann", "ann\u200b", "an", "ann%", "%", "erased-", "ann\x00", "@Default"):
        assert door(world.ann, name).content == unseen
    # The namesake's account has no default Subject.
    assert door(elsewhere, "@default").content == unseen


@pytest.mark.parametrize("character", ["\x00", "\n", "\x85"])
def test_a_sessions_name_holds_no_control_characters(world: World, character: str) -> None:
    answer = world.ann.post(input=ATTACK, session_id=f"a{character}b")
    assert_error(answer, 400, "invalid_value", "session_id")


NEAR_MISSES: list[Callable[[str], str]] = [
    str.upper,
    lambda name: name.replace("resp_", "RESP_"),
    lambda name: name[:-1],
    lambda name: f"{name}0",
    lambda name: f"{name} ",
    lambda name: f" {name}",
    lambda name: f"{name}\n",
    lambda name: f"{name}\x00",
    lambda name: name.removeprefix("resp_"),
    lambda name: name.replace("resp_", "run_"),
    lambda name: f"{name[:-1]}%",
    lambda name: f"{name[:-1]}_",
    lambda name: f"{name}' OR '1'='1",
    lambda name: "résumé",
    lambda name: "%",
    lambda name: "x" * 256,
]


@pytest.mark.parametrize("near", NEAR_MISSES, ids=range(len(NEAR_MISSES)))
def test_malformed_ids_of_a_live_response(world: World, upstream: Upstream, near: Callable[[str], str]) -> None:
    """Whoever owns the response gets nothing by an id that is not quite its own."""
    _, things = world.cases["another account's namesake's"]
    name, nobodys = near(things.response), made_up_like(things.response)
    before = world.state()
    for door in ("get", "stream", "input items", "delete", "cancel"):
        answer, expected = (ACCOUNT_DOORS[door](world.ann, each, {}) for each in (name, nobodys))
        assert answer.status_code == 404
        assert answer.json()["error"] == expected.json()["error"] | {"message": answer.json()["error"]["message"]}
    answer, expected = (world.ann.post(input=ATTACK, previous_response_id=each) for each in (name, nobodys))
    assert told_json(answer, name) == told_json(expected, nobodys)
    reference = [{"type": "item_reference", "id": name}]
    assert_error(world.ann.post(input=[message(ATTACK), *reference]), 404, "not_found", "input[1]")
    assert_error(world.ann.api.get(session_path(name), params=world.ann.named), 404, "not_found")
    assert_error(world.ann.api.delete(session_path(name), params=world.ann.named), 404, "not_found")
    removed = world.ann.api.delete("/v1/data", params={**world.ann.named, "id": name.replace("resp_", "rec_")})
    assert removed.status_code in (200, 400)
    assert removed.json().get("deleted", 0) == 0
    assert world.state() == before
    assert upstream.requests(ATTACK) == []


def told_json(answer: httpx.Response, name: str) -> tuple[int, Json]:
    error = answer.json()["error"]
    return answer.status_code, error | {"message": error["message"].replace(name, "<id>")}


SESSION_NEAR_MISSES: list[Callable[[str], str]] = [
    str.upper,
    lambda name: f"{name} ",
    lambda name: f"{name}/",
    lambda name: f"{name}\u200b",
    lambda name: f"{name}\x00",
    lambda name: name[:-1],
    lambda name: f"{name[:-1]}%",
    lambda name: f"{name[:-1]}_",
]


@pytest.mark.parametrize("near", SESSION_NEAR_MISSES, ids=range(len(SESSION_NEAR_MISSES)))
def test_near_misses_of_a_sessions_name(world: World, near: Callable[[str], str]) -> None:
    _, things = world.cases["another account's namesake's"]
    before = world.state()
    for door in (SESSION_DOORS["get"], SESSION_DOORS["delete responses"]):
        assert_error(door(world.ann, near(things.session)), 404, "not_found")
    assert world.state() == before


@pytest.mark.parametrize("user", ["Ann", "ann ", "ann\u200b", "@default", "an", "%", "ａｎｎ"])
def test_near_misses_of_a_subjects_name(world: World, upstream: Upstream, user: str) -> None:
    _, things = world.cases["another account's namesake's"]
    caller = replace(world.ann, user=user)
    before = world.state()
    for door in (ACCOUNT_DOORS["get"], ACCOUNT_DOORS["delete"]):
        assert door(caller, things.response, as_query(caller)).status_code == 404
    continuing = caller.post(input=ATTACK, previous_response_id=things.response)
    assert_error(continuing, 404, "previous_response_not_found", "previous_response_id")
    assert caller.api.get("/v1/data", params=caller.named).json()["data"] == []
    assert caller.api.delete("/v1/data", params={**caller.named, "all": "true"}).json()["deleted"] == 0
    assert_error(caller.api.get(session_path(things.session), params=caller.named), 404, "not_found")
    assert world.state() == before
    assert upstream.requests(ATTACK) == []


def test_the_owner_still_has_everything(world: World, script: Script, upstream: Upstream) -> None:
    """The things that all attacks are after are there for their owner."""
    own = things_of(world.ann)
    api = world.ann.api
    assert retrieve(api, own.response, user="ann")["status"] == "completed"
    assert api.get(session_path(own.session), params=world.ann.named).status_code == 200
    mark = script(Step(text=["Fine."]))
    references = [{"type": "item_reference", "id": name} for name in (own.message, own.input_item)]
    create(api, input=[message(f"Again {mark}"), *references], user="ann")
    assert "Let me see." in str(upstream.requests(mark)) or "Let me see." in str(upstream.requests("Hi"))
    paused = retrieve(api, own.response)
    assert create(api, input=[output_for(calls_of(paused)[0])], previous_response_id=own.response, user="ann")
