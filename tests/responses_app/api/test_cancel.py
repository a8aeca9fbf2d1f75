"""``POST /v1/responses/{id}/cancel`` (wire contract, section 3): a running one ends ``cancelled``, whoever waits."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from responses_app.api import views
from responses_app.models import PendingCall, Response, Session
from responses_app.services.turns import run_turn
from responses_app.streaming.backends import event_log
from tests.conversations.racing import at_once
from tests.responses_app.api.conftest import (
    LOOKUP,
    PATIENCE_SECONDS,
    HeldTurns,
    Json,
    Script,
    calls_of,
    create,
    create_stream,
    follow,
    ok,
    output_for,
    retrieve,
    wait_until,
)
from tests.support.envelope import assert_error
from tests.support.grammar import check_stream
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Cut, Step, Upstream
from tools_app.contract import ToolResult
from tools_app.registry import TOOLS

PHONE = Call("phone_lookup", {"name": "Dr Li"})
CALLERS = 16

pytestmark = pytest.mark.usefixtures("event_logs")
each_state = pytest.mark.parametrize("held", [True, False], ids=["queued", "running"])
each_kind = pytest.mark.parametrize("background", [True, False], ids=["background", "ordinary"])


def path(response_id: str) -> str:
    return f"/v1/responses/{response_id}/cancel"


def cancel(api: httpx.Client, response_id: str, **params: str) -> Json:
    """The checked response that a cancel answers with."""
    return ok(api.post(path(response_id), params=params))


def silent() -> Step:
    """A model that begins to speak and then says nothing more."""
    return Step(text=["So far", threading.Event()])


@each_kind
@each_state
def test_a_running_response_ends_cancelled(
    api: httpx.Client, script: Script, upstream: Upstream, held_turns: HeldTurns, held: bool, background: bool
) -> None:
    mark = script(silent())
    with open_stream(api, {"input": f"Hi {mark}", "background": background}) as live:
        wait_until(lambda: held_turns.ids)
        (response_id,) = held_turns.ids
        if not held:
            held_turns.let_go()
            live.until("response.output_text.delta")
        cancelled = cancel(api, response_id)
        told = live.check()
    assert (cancelled["status"], cancelled["output_text"]) == ("cancelled", "" if held else "So far")
    assert (told.types[-1], told.response) == ("response.incomplete", cancelled)
    assert retrieve(api, response_id) == cancel(api, response_id) == cancelled
    assert check_stream(follow(api, response_id)).events == told.events
    if held:
        run_turn(response_id, store=True)
        assert upstream.requests(mark) == []
        assert retrieve(api, response_id) == cancelled
    else:
        assert upstream.requests(mark)[0].gone.wait(10)


@each_state
def test_a_waiting_json_caller_is_given_the_cancelled_response(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream, held_turns: HeldTurns, held: bool
) -> None:
    mark = script(silent())

    def waiting() -> Json:
        return create(api, input=f"Hi {mark}")

    def cancelling() -> Json:
        wait_until(lambda: held_turns.ids)
        if not held:
            held_turns.let_go()
            wait_until(lambda: upstream.requests(mark))
        with account.client() as another:
            return cancel(another, held_turns.ids[0])

    waited, cancelled = at_once([waiting, cancelling])
    assert waited == cancelled == retrieve(api, waited["id"])
    assert waited["status"] == "cancelled"


def test_a_rebuilt_stream_of_a_cancelled_response(api: httpx.Client, script: Script) -> None:
    with open_stream(api, {"input": f"Hi {script(silent())}", "background": True}) as live:
        live.until("response.output_text.delta")
        cancelled = cancel(api, Response.objects.latest("created_at").pk)
        live.check()
    event_log().discard(cancelled["id"])
    assert check_stream(follow(api, cancelled["id"])).response == cancelled


ENDED = {
    "completed": Step(text=["Hello."]),
    "handoff": Step(calls=[PHONE]),
    "incomplete": Step(text=["So far"], finish="length"),
    "failed": Step(text=["So far", Cut()]),
}


@pytest.mark.parametrize("step", ENDED.values(), ids=ENDED.keys())
def test_a_response_that_has_ended_cannot_be_cancelled(api: httpx.Client, script: Script, step: Step) -> None:
    response = create_stream(api, input=f"Hi {script(step)}", tools=[LOOKUP]).response
    assert_error(api.post(path(response["id"])), 400, "response_not_cancellable")
    assert retrieve(api, response["id"]) == response


def test_what_is_not_there_cannot_be_cancelled(
    api: httpx.Client, other_account: Account, held_turns: HeldTurns
) -> None:
    running = create(api, input="Hi", user="alice", background=True)["id"]
    with other_account.client() as stranger:
        assert_error(stranger.post(path(running)), 404, "not_found")
    for named in ({"params": {"user": "bob"}}, {"headers": {"X-Mirobody-User": "bob"}}, {"json": {"user": "bob"}}):
        assert_error(api.post(path(running), **named), 404, "not_found")
    for unknown in ("resp_0", "resp_" + "0" * 32, "%00", "x" * 300):
        assert_error(api.post(path(unknown)), 404, "not_found")
    assert retrieve(api, running)["status"] == "queued"
    Response.objects.filter(pk=running).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert_error(api.post(path(running)), 404, "not_found")


@pytest.mark.parametrize(
    "named",
    [{}, {"params": {"user": "alice"}}, {"headers": {"X-Mirobody-User": "alice"}}, {"json": {"user": "alice"}}],
    ids=["nobody", "query", "header", "body"],
)
def test_its_subject_may_be_named(api: httpx.Client, held_turns: HeldTurns, named: Any) -> None:
    running = create(api, input="Hi", user="alice", background=True)["id"]
    assert ok(api.post(path(running), **named))["status"] == "cancelled"


def test_a_body_that_is_no_object_is_refused(api: httpx.Client, held_turns: HeldTurns) -> None:
    running = create(api, input="Hi", background=True)["id"]
    assert_error(api.post(path(running), content=b"[]"), 400, "invalid_json")
    assert_error(api.get(path(running)), 405, "method_not_allowed")
    assert ok(api.post(path(running) + "/", json={}))["status"] == "cancelled"


def test_a_turn_that_leaves_no_row_cannot_be_cancelled(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    body = {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", "store": False}
    with open_stream(api, body) as live:
        response_id = live.next()["response"]["id"]
        assert_error(api.post(path(response_id)), 404, "not_found")
        gate.set()
        assert live.check().text == "Hello."


def test_a_deleted_response_cannot_be_cancelled(api: httpx.Client, held_turns: HeldTurns) -> None:
    response_id = create(api, input="Hi", background=True)["id"]
    assert api.delete(f"/v1/responses/{response_id}").status_code == 200
    assert_error(api.post(path(response_id)), 404, "not_found")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("store", [True, False])
def test_a_cancelled_response_cannot_be_continued(
    api: httpx.Client, held_turns: HeldTurns, stream: bool, store: bool
) -> None:
    cancelled = cancel(api, create(api, input="Hi", background=True)["id"])
    body = {"input": "And?", "previous_response_id": cancelled["id"], "stream": stream, "store": store}
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_value", "previous_response_id")


@each_state
def test_a_session_goes_on_without_a_cancelled_turn(
    api: httpx.Client, script: Script, held_turns: HeldTurns, held: bool
) -> None:
    first = create(api, input="Hi", session_id="s", background=True)["id"]
    cancel(api, first)
    second = create(api, input=f"Hi {script(silent())}", session_id="s", background=True)["id"]
    if not held:
        held_turns.let_go()
        wait_until(lambda: retrieve(api, second)["status"] == "in_progress")
    cancel(api, second)
    assert Session.objects.get(conversation__responses=second).locked_by == ""
    held_turns.let_go()
    third = create(api, input="And?", session_id="s")
    assert (third["status"], third["previous_response_id"]) == ("completed", None)
    assert api.get("/v1/sessions/s").json()["responses"] == [first, second, third["id"]]


@each_state
@pytest.mark.parametrize("background", [True, False])
def test_a_cancelled_resume_gives_its_handoff_back(
    api: httpx.Client, script: Script, held_turns: HeldTurns, held: bool, background: bool
) -> None:
    held_turns.let_go()
    mark = script(Step(calls=[PHONE]), Step(text=["Look", gate := threading.Event(), "ing."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    resume = {"input": [output_for(calls_of(paused)[0])], "previous_response_id": paused["id"]}
    if held:
        held_turns.hold()
    with open_stream(api, resume | {"background": background}) as live:
        wait_until(lambda: len(held_turns.ids) == 2)
        if not held:
            live.until("response.output_text.delta")
        answer = api.post("/v1/responses", json=resume)
        assert_error(answer, 400, "invalid_value", "input")
        assert cancel(api, held_turns.ids[1])["status"] == "cancelled"
        live.check()
    assert PendingCall.objects.get(response_id=paused["id"]).claimed_by == ""
    gate.set()
    held_turns.let_go()
    assert create(api, **resume)["output_text"] == "Looking."


def test_a_turn_that_waits_for_a_tool_is_cancelled(
    api: httpx.Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    name = "list_family_members"

    def waits(*_: Any) -> ToolResult:
        gate.wait(PATIENCE_SECONDS)
        return ToolResult({})

    monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], run=waits))
    with open_stream(api, {"input": f"Who? {script(Step(calls=[Call(name)]), Step(text=['So.']))}"}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.mirobody_tool_call")
        cancelled = cancel(api, response_id)
        assert not gate.is_set()
        assert live.check().response == cancelled
    gate.set()
    assert (cancelled["status"], cancelled["tool_steps"][0]["status"]) == ("cancelled", "failed")


def test_a_turn_that_does_not_stop_in_time_is_shown_as_it_is(
    api: httpx.Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_STOP_SECONDS", 0.01)
    stops = threading.Event()
    monkeypatch.setattr("responses_app.services.turns._Publisher.stop_requested", lambda _: stops.is_set())
    with open_stream(api, {"input": f"Hi {script(silent())}", "background": True}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        assert cancel(api, response_id)["status"] == "in_progress"
        stops.set()
        assert live.check().response == cancel(api, response_id) == retrieve(api, response_id)


def test_a_turn_whose_log_is_gone_is_cancelled_all_the_same(
    api: httpx.Client, script: Script, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Hel", gate, "lo."]))
    response_id = create(api, input=f"Hi {mark}", background=True)["id"]
    wait_until(lambda: upstream.requests(mark))
    event_log().discard(response_id)
    cancelled = cancel(api, response_id)
    assert (cancelled["status"], cancelled["output"]) == ("cancelled", [])
    gate.set()
    wait_until(lambda: "turn cancelled" in caplog.text)
    assert retrieve(api, response_id) == cancelled
    assert check_stream(follow(api, response_id)).response == cancelled


def racing(account: Account, works: list[Callable[[httpx.Client], Any]]) -> list[Any]:
    """Does all of it at the same moment, each over a connection of its own."""

    def over_its_own(work: Callable[[httpx.Client], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with account.client() as api:
                return work(api)

        return run

    return at_once([over_its_own(work) for work in works])


def posting(response_id: str) -> Callable[[httpx.Client], httpx.Response]:
    return lambda api: api.post(path(response_id))


@each_state
def test_many_cancel_at_once(
    api: httpx.Client, account: Account, script: Script, held_turns: HeldTurns, held: bool
) -> None:
    with open_stream(api, {"input": f"Hi {script(silent())}", "background": True}) as live:
        response_id = live.next()["response"]["id"]
        if not held:
            held_turns.let_go()
            live.until("response.output_text.delta")
        answers = racing(account, [posting(response_id)] * CALLERS)
        told = live.check().response
    assert [ok(answer) for answer in answers] == [told] * CALLERS
    assert told["status"] == "cancelled"


@pytest.mark.parametrize("turn_of", range(2))
def test_cancelled_while_it_begins_or_finishes(
    api: httpx.Client, account: Account, script: Script, held_turns: HeldTurns, turn_of: int
) -> None:
    ids = [create(api, input=f"Hi {script(Step(text=['Hello.']))}", background=True)["id"] for _ in range(8)]
    begin: list[Callable[[httpx.Client], Any]] = [lambda _: held_turns.let_go()]
    answers = racing(account, begin + [posting(response_id) for response_id in ids])[1:]
    for response_id, answer in zip(ids, answers, strict=True):
        if answer.status_code == 200:
            assert retrieve(api, response_id) == ok(answer)
            assert ok(answer)["status"] == "cancelled"
        else:
            assert_error(answer, 400, "response_not_cancellable")
            assert retrieve(api, response_id)["output_text"] == "Hello."
        assert check_stream(follow(api, response_id)).response == retrieve(api, response_id)


@each_state
def test_cancelled_while_it_is_deleted(
    api: httpx.Client, account: Account, script: Script, held_turns: HeldTurns, held: bool
) -> None:
    with open_stream(api, {"input": f"Hi {script(silent())}", "background": True}) as live:
        response_id = live.next()["response"]["id"]
        if not held:
            held_turns.let_go()
            live.until("response.output_text.delta")
        deleting: list[Callable[[httpx.Client], Any]] = [lambda api: api.delete(f"/v1/responses/{response_id}")]
        answers = racing(account, deleting + [posting(response_id)] * 7)
        told = live.check().response
    assert answers[0].status_code == 200
    assert Counter(answer.status_code for answer in answers).keys() <= {200, 404}
    assert told["status"] == "cancelled"
    assert_error(api.get(f"/v1/responses/{response_id}"), 404, "not_found")
    assert not Response.objects.filter(pk=response_id).exists()


@pytest.mark.parametrize("turn_of", range(2))
def test_a_resume_cancelled_by_many_is_resumed_once(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream, turn_of: int
) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Look", gate := threading.Event(), "ing."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
    resume = {"input": [output_for(calls_of(paused)[0])], "previous_response_id": paused["id"]}
    with open_stream(api, resume) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        assert {answer.status_code for answer in racing(account, [posting(response_id)] * 4)} == {200}
        live.check()
    gate.set()
    again: list[Callable[[httpx.Client], Any]] = [lambda api: api.post("/v1/responses", json=resume)] * 8
    assert Counter(answer.status_code for answer in racing(account, again)) == {200: 1, 400: 7}


@each_state
def test_the_next_turn_of_a_session_races_a_cancel(
    api: httpx.Client, account: Account, script: Script, held_turns: HeldTurns, held: bool
) -> None:
    first = create(api, input=f"Hi {script(silent())}", session_id="s", background=True)["id"]
    if not held:
        held_turns.let_go()
        wait_until(lambda: retrieve(api, first)["status"] == "in_progress")
    body = {"input": "And?", "session_id": "s", "background": True}
    asking: list[Callable[[httpx.Client], Any]] = [lambda api: api.post("/v1/responses", json=body)] * 6
    cancelled, *asked = racing(account, [posting(first), *asking])
    assert ok(cancelled)["status"] == "cancelled"
    assert Counter(answer.status_code for answer in asked).keys() <= {200, 409}
    held_turns.let_go()
    for response in (ok(answer) for answer in asked if answer.status_code == 200):
        wait_until(lambda response=response: retrieve(api, response["id"])["status"] == "completed")
    assert create(api, input="Last?", session_id="s")["status"] == "completed"
