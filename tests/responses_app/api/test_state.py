"""Stored responses (wire contract, section 5): chaining, branches, running ones, expiry, deletion, whose they are."""

import asyncio
import threading
from datetime import timedelta
from itertools import product

import httpx
import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from responses_app.models import Conversation, PendingCall, Response
from responses_app.protocol.ids import new_response_id
from responses_app.selectors import conversation_turns
from responses_app.services import lost_turns
from responses_app.services.deletion import delete_responses
from responses_app.streaming.backends import event_log
from responses_app.streaming.event_log import LogGone
from tests.responses_app.api.conftest import (
    LOOKUP,
    HeldTurns,
    Json,
    Script,
    calls_of,
    create,
    create_stream,
    follow,
    message,
    output_for,
    retrieve,
)
from tests.support.envelope import assert_error
from tests.support.grammar import check_stream
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Cut, Request, Step, Upstream, text_of

PHONE = Call("phone_lookup", {"name": "Dr Li"})
MEMBERS = Call("list_family_members", {})


def spoken(request: Request) -> list[str]:
    """The texts of what user and assistant said in a request, in order."""
    return [text_of(m) for m in request.messages if m["role"] in ("user", "assistant") and text_of(m)]


def chain(api: httpx.Client, script: Script, *texts: str) -> list[Json]:
    """Responses that continue one another, one for each answer."""
    responses: list[Json] = []
    for text in texts:
        previous = responses[-1]["id"] if responses else None
        answered = create(api, input=f"Say {text} {script(Step(text=[text]))}", previous_response_id=previous)
        responses.append(answered)
    return responses


def expire(response_id: str) -> None:
    Response.objects.filter(pk=response_id).update(expires_at=timezone.now() - timedelta(seconds=1))


def delete(api: httpx.Client, response_id: str) -> None:
    answer = api.delete(f"/v1/responses/{response_id}")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"id": response_id, "object": "response.deleted", "deleted": True}


def assert_gone(api: httpx.Client, response_id: str) -> None:
    """Whatever a caller tries, the response does not exist."""
    assert_error(api.get(f"/v1/responses/{response_id}"), 404, "not_found")
    assert_error(api.get(f"/v1/responses/{response_id}?stream=true"), 404, "not_found")
    assert_error(api.delete(f"/v1/responses/{response_id}"), 404, "not_found")
    for stream, store in product((False, True), repeat=2):
        body = {"input": "Hi", "previous_response_id": response_id, "stream": stream, "store": store}
        answer = api.post("/v1/responses", json=body)
        assert_error(answer, 404, "previous_response_not_found", "previous_response_id")


def test_a_continued_response_gives_the_model_the_whole_transcript(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    first, second = chain(api, script, "One.", "Two.")
    mark = script(Step(text=["Three."]))
    third = create(api, input=f"Third {mark}", previous_response_id=second["id"])
    assert (second["previous_response_id"], third["previous_response_id"]) == (first["id"], second["id"])
    said = spoken(upstream.requests(mark)[0])
    assert [said[1], said[3]] == ["One.", "Two."]
    assert said[0].startswith("Say One.")
    assert said[4].startswith("Third")


def test_server_calls_of_earlier_turns_are_part_of_the_transcript(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    first = create(api, input=f"Who? {script(Step(calls=[MEMBERS]), Step(text=['Nobody.']))}")
    mark = script(Step(text=["As I said."]))
    create(api, input=f"Sure? {mark}", previous_response_id=first["id"])
    (request,) = upstream.requests(mark)
    roles = [m["role"] for m in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert request.messages[2]["tool_calls"][0]["function"]["name"] == "list_family_members"
    assert request.messages[2]["tool_calls"][0]["id"] == request.messages[3]["tool_call_id"]


def test_instructions_of_earlier_turns_are_not(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    first = create(api, input="Hi", instructions="Answer like a sailor.")
    mark = script(Step(text=["Hi."]))
    create(api, input=f"Hi {mark}", previous_response_id=first["id"])
    assert "sailor" not in str(upstream.requests(mark)[0].body)


def test_branches_do_not_see_each_other(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    (trunk,) = chain(api, script, "Trunk.")
    create(api, input="Left branch", previous_response_id=trunk["id"])
    mark = script(Step(text=["Right."]))
    create(api, input=f"Right branch {mark}", previous_response_id=trunk["id"])
    said = " ".join(spoken(upstream.requests(mark)[0]))
    assert "Trunk." in said
    assert "Left branch" not in said


def test_an_incomplete_response_can_be_continued(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    first = create(api, input=f"Tell {script(Step(text=['So far'], finish='length'))}")
    mark = script(Step(text=["and on."]))
    create(api, input=f"Go on {mark}", previous_response_id=first["id"])
    assert spoken(upstream.requests(mark)[0])[1] == "So far"


@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_response_cannot_be_continued(api: httpx.Client, script: Script, stream: bool) -> None:
    failed = create_stream(api, input=f"Go {script(Step(text=['So far', Cut()]))}").response
    body = {"input": "Go on", "previous_response_id": failed["id"], "stream": stream}
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_value", "previous_response_id")


@pytest.mark.parametrize("stream", [False, True])
def test_a_running_response_cannot_be_continued_yet(api: httpx.Client, script: Script, stream: bool) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}"}) as live:
        response_id = live.next()["response"]["id"]
        body = {"input": "And?", "previous_response_id": response_id, "stream": stream}
        answer = api.post("/v1/responses", json=body)
        assert_error(answer, 409, "conversation_locked", "previous_response_id")
        assert int(answer.headers["Retry-After"]) > 0
        gate.set()
        live.check()
    assert create(api, **body | {"stream": False})["status"] == "completed"


@pytest.mark.parametrize("store", [True, False])
def test_only_its_own_subject_continues_a_response(
    api: httpx.Client, account: Account, other_account: Account, store: bool
) -> None:
    response = create(api, input="Hi", user="alice")
    body = {"input": "And?", "previous_response_id": response["id"], "store": store}
    for user in (None, "bob", "Alice"):
        answer = api.post("/v1/responses", json=body | {"user": user})
        assert_error(answer, 404, "previous_response_not_found", "previous_response_id")
    with other_account.client() as stranger:
        answer = stranger.post("/v1/responses", json=body | {"user": "alice"})
    assert_error(answer, 404, "previous_response_not_found", "previous_response_id")
    assert create(api, **body, user="alice")["status"] == "completed"


def test_only_its_own_account_sees_a_response(api: httpx.Client, other_account: Account) -> None:
    response = create(api, input="Hi", user="alice")
    with other_account.client() as stranger:
        assert_gone(stranger, response["id"])
    assert retrieve(api, response["id"]) == response


def test_a_subject_that_is_named_must_be_the_responses_own(api: httpx.Client) -> None:
    response = create(api, input="Hi", user="alice")
    path = f"/v1/responses/{response['id']}"
    assert_error(api.get(path, params={"user": "bob"}), 404, "not_found")
    assert_error(api.get(path, headers={"X-Mirobody-User": "bob"}), 404, "not_found")
    assert_error(api.delete(path, params={"user": "bob"}), 404, "not_found")
    assert retrieve(api, response["id"], user="alice") == response


@pytest.mark.parametrize("response_id", ["resp_0", "resp_" + "0" * 32, "x" * 300, "%00", "msg_1", "..%2f"])
def test_an_unknown_id_does_not_exist(api: httpx.Client, response_id: str) -> None:
    assert_error(api.get(f"/v1/responses/{response_id}"), 404, "not_found")
    assert_error(api.delete(f"/v1/responses/{response_id}"), 404, "not_found")


def test_an_expired_response_is_gone_at_once(api: httpx.Client, script: Script) -> None:
    response = create(api, input="Hi")
    expire(response["id"])
    assert_gone(api, response["id"])


def test_what_continues_an_expired_response_keeps_its_transcript(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    first, second = chain(api, script, "One.", "Two.")
    expire(first["id"])
    mark = script(Step(text=["Three."]))
    create(api, input=f"Third {mark}", previous_response_id=second["id"])
    assert "One." in spoken(upstream.requests(mark)[0])


def test_a_response_is_kept_for_thirty_days(api: httpx.Client) -> None:
    row = Response.objects.get(pk=create(api, input="Hi")["id"])
    assert row.expires_at
    assert row.expires_at - row.created_at == timedelta(days=30)


def test_a_long_chain_is_read_with_one_query(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    last = chain(api, script, *(f"Answer {number}." for number in range(30)))[-1]
    with CaptureQueriesContext(connection) as queries:
        turns = list(conversation_turns(last["id"]))
    assert (len(turns), len(queries)) == (30, 1)
    mark = script(Step(text=["Last."]))
    create(api, input=f"Last {mark}", previous_response_id=last["id"])
    assert [text for text in spoken(upstream.requests(mark)[0]) if text.startswith("Answer")] == [
        f"Answer {number}." for number in range(30)
    ]


def test_a_stored_turn_holds_only_what_it_added(api: httpx.Client, script: Script) -> None:
    long = "A very long first answer. " * 400
    _, second, third = chain(api, script, long, "Two.", "Three.")
    for response in (second, third):
        row = Response.objects.get(pk=response["id"])
        assert len(row.input + row.added + row.request) < 2_000


def test_a_deleted_response_is_gone(api: httpx.Client) -> None:
    response = create_stream(api, input="Hi").response
    delete(api, response["id"])
    assert_gone(api, response["id"])


def test_what_continues_a_deleted_response_keeps_its_transcript(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    first, second = chain(api, script, "One.", "Two.")
    delete(api, first["id"])
    assert_gone(api, first["id"])
    assert retrieve(api, second["id"]) == second
    mark = script(Step(text=["Three."]))
    create(api, input=f"Third {mark}", previous_response_id=second["id"])
    assert "One." in spoken(upstream.requests(mark)[0])


def test_of_a_deleted_response_only_what_is_needed_stays(api: httpx.Client, script: Script) -> None:
    trunk, left = chain(api, script, "Trunk.", "Left.")
    right = create(api, input="Right", previous_response_id=trunk["id"])
    for response in (trunk, right):
        delete(api, response["id"])
    kept = Response.objects.get(pk=trunk["id"])
    assert (kept.body, kept.request) == ("", "{}")
    assert not Response.objects.filter(pk=right["id"]).exists()
    assert retrieve(api, left["id"]) == left


@pytest.mark.parametrize("order", [1, -1])
def test_with_its_last_live_response_the_whole_conversation_goes(api: httpx.Client, script: Script, order: int) -> None:
    first = create(api, input="Hi")
    body = {"input": f"Call {script(Step(calls=[PHONE]), Step(text=['Found.']))}", "tools": [LOOKUP]}
    paused = create(api, **body, previous_response_id=first["id"])
    resumed = create(api, input=[output_for(calls_of(paused)[0])], previous_response_id=paused["id"])
    ids = [first["id"], paused["id"], resumed["id"]]
    conversation = Response.objects.get(pk=ids[0]).conversation_id
    for response_id in ids[::order]:
        assert Conversation.objects.filter(pk=conversation).exists()
        delete(api, response_id)
    assert not Conversation.objects.filter(pk=conversation).exists()
    assert not Response.objects.filter(pk__in=ids).exists()
    assert not PendingCall.objects.filter(response_id__in=ids).exists()


def test_an_expired_response_keeps_no_conversation(api: httpx.Client, script: Script) -> None:
    first, second = chain(api, script, "One.", "Two.")
    expire(first["id"])
    delete(api, second["id"])
    assert not Response.objects.filter(pk__in=[first["id"], second["id"]]).exists()


def test_deleting_a_running_response_stops_it_and_nothing_is_written_later(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(text=["Hel", threading.Event()]))
    with open_stream(api, {"input": f"Hi {mark}"}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        delete(api, response_id)
        assert_gone(api, response_id)
        assert upstream.requests(mark)[0].gone.wait(10)
        ended = live.check()
    assert (ended.types[-1], ended.response["status"]) == ("response.incomplete", "cancelled")
    assert_gone(api, response_id)
    assert not Response.objects.filter(pk=response_id).exists()


def test_deleting_a_running_child_keeps_its_parent(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    (parent,) = chain(api, script, "One.")
    body = {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", "previous_response_id": parent["id"]}
    with open_stream(api, body) as live:
        response_id = live.next()["response"]["id"]
        delete(api, response_id)
        gate.set()
        live.check()
    assert_gone(api, response_id)
    assert retrieve(api, parent["id"]) == parent


def test_deleting_a_running_turns_parent_does_not_harm_it(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    (parent,) = chain(api, script, "One.")
    body = {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", "previous_response_id": parent["id"]}
    with open_stream(api, body) as live:
        live.until("response.output_text.delta")
        delete(api, parent["id"])
        gate.set()
        response = live.check().response
    assert retrieve(api, response["id"]) == response


@pytest.mark.parametrize("store", [True, False])
def test_a_response_deleted_while_a_request_continues_it(
    api: httpx.Client, account: Account, monkeypatch: pytest.MonkeyPatch, store: bool
) -> None:
    response = create(api, input="Hi")

    def deletes_first() -> str:
        with account.client() as another:
            delete(another, response["id"])
        return new_response_id()

    monkeypatch.setattr("responses_app.services.retries.new_response_id", deletes_first)
    body = {"input": "And?", "previous_response_id": response["id"], "store": store}
    answer = api.post("/v1/responses", json=body)
    assert_error(answer, 404, "previous_response_not_found", "previous_response_id")


def test_a_deleted_response_leaves_no_event_log(api: httpx.Client) -> None:
    response = create_stream(api, input="Hi").response
    assert check_stream(follow(api, response["id"])).response == response
    delete(api, response["id"])
    with pytest.raises(LogGone):
        asyncio.run(event_log().answer(response["id"]))


def test_a_turn_whose_server_died_fails_and_gives_its_handoff_back(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    mark = script(Step(calls=[PHONE]), Step(text=["Look", gate, "ing."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    body = {"input": [output_for(calls_of(paused)[0])], "previous_response_id": paused["id"]}
    with open_stream(api, body) as live:
        lost = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        Response.objects.filter(pk=lost).update(lease_until=timezone.now())
        PendingCall.objects.filter(claimed_by=lost).update(claimed_until=timezone.now())
        failed = retrieve(api, lost)
        gate.set()
        assert live.check().response == failed
    assert (failed["status"], failed["error"]["code"]) == ("failed", "server_error")
    assert (failed["output_text"], failed["output"][-1]["status"]) == ("Look", "incomplete")
    assert retrieve(api, lost) == failed
    assert create(api, **body)["output_text"] == "Looking."


def test_a_session_whose_turn_was_lost_takes_the_next_one(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    session = {"session_id": "s", "user": "u"}
    body = {"input": f"Hi {script(Step(text=['Look', gate, 'ing.']))}", **session}
    with open_stream(api, body) as live:
        lost = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        Response.objects.filter(pk=lost).update(lease_until=timezone.now())
        assert create(api, input="And?", **session)["status"] == "completed"
        gate.set()
        assert live.check().response == retrieve(api, lost)
    assert retrieve(api, lost)["status"] == "failed"


def test_messages_of_every_role_are_kept(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    items = [message("Be kind.", "developer"), message("Hello.", "assistant"), message("Hi.", "user")]
    first = create(api, input=items)
    mark = script(Step(text=["Yes."]))
    create(api, input=f"And? {mark}", previous_response_id=first["id"])
    request = upstream.requests(mark)[0]
    assert [(m["role"], text_of(m)) for m in request.messages[1:4]] == [
        ("system", "Be kind."),
        ("assistant", "Hello."),
        ("user", "Hi."),
    ]


@pytest.mark.parametrize("erased", [True, False], ids=["row gone", "row kept for what continues it"])
def test_a_lost_response_that_is_deleted_while_it_is_found_to_be_lost(
    api: httpx.Client, held_turns: HeldTurns, monkeypatch: pytest.MonkeyPatch, erased: bool
) -> None:
    fail = lost_turns._fail

    def fails_too_late(row: Response, unless_changed: Q) -> None:
        delete_responses([row])
        fail(row, unless_changed)

    def lost() -> str:
        monkeypatch.setattr(lost_turns, "_fail", fail)
        response_id: str = create(api, input="Hi", background=True)["id"]
        if not erased:
            row = Response.objects.get(pk=response_id)
            row.pk = new_response_id()
            row.previous_id, row.status = response_id, "completed"
            row.save(force_insert=True)
        Response.objects.filter(pk=response_id).update(lease_until=timezone.now())
        monkeypatch.setattr(lost_turns, "_fail", fails_too_late)
        return response_id

    for method, rest in (("GET", ""), ("GET", "?stream=true"), ("GET", "/input_items"), ("POST", "/cancel")):
        assert_error(api.request(method, f"/v1/responses/{lost()}{rest}"), 404, "not_found")
    assert_error(api.delete(f"/v1/responses/{lost()}"), 404, "not_found")
    for store in (True, False):
        body = {"input": "And?", "previous_response_id": lost(), "store": store}
        answer = api.post("/v1/responses", json=body)
        assert_error(answer, 404, "previous_response_not_found", "previous_response_id")
