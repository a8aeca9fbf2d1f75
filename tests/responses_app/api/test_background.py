"""``background: true`` (wire contract, sections 2 and 5): answered at once, then polled, followed or cancelled."""

import threading
from typing import Any

import httpx
import pytest

from responses_app.models import Response
from responses_app.services.turns import run_turn
from tests.responses_app.api.both_ways import refused
from tests.responses_app.api.conftest import (
    LOOKUP,
    HeldTurns,
    Json,
    Script,
    calls_of,
    create,
    follow,
    output_for,
    retrieve,
    wait_until,
)
from tests.support.envelope import assert_error
from tests.support.grammar import check_response, check_stream
from tests.support.sse import open_stream
from tests.support.upstream import Call, Cut, Step, Upstream

PHONE = Call("phone_lookup", {"name": "Dr Li"})
ENDS = ("completed", "failed", "incomplete", "cancelled")


def ended(api: httpx.Client, response_id: str) -> Json:
    """The response once polling finds that its turn has ended."""
    wait_until(lambda: retrieve(api, response_id)["status"] in ENDS)
    return retrieve(api, response_id)


def without(response: Json, *names: str) -> Json:
    return {name: value for name, value in response.items() if name not in names}


def test_it_is_answered_at_once_and_polled(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Hel", gate, "lo."]))
    body = {"instructions": "Be short.", "metadata": {"a": "b"}, "user": "alice"}
    queued = create(api, input=f"Hi {mark}", background=True, **body)
    assert (queued["status"], queued["background"], queued["usage"], queued["output"]) == ("queued", True, None, [])
    assert (queued["instructions"], queued["metadata"], queued["user"]) == ("Be short.", {"a": "b"}, "alice")
    wait_until(lambda: upstream.requests(mark))
    running = retrieve(api, queued["id"])
    assert running == queued | {"status": "in_progress"}
    gate.set()
    done = ended(api, queued["id"])
    assert (done["status"], done["output_text"], done["background"]) == ("completed", "Hello.", True)
    changed = ("status", "completed_at", "output", "output_text", "usage", "grounding")
    assert without(done, *changed) == without(queued, *changed)


def test_it_is_queued_until_its_turn_begins(api: httpx.Client, script: Script, held_turns: HeldTurns) -> None:
    queued = create(api, input=f"Hi {script(Step(text=['Hello.']))}", background=True)
    assert retrieve(api, queued["id"]) == queued
    held_turns.let_go()
    assert ended(api, queued["id"])["output_text"] == "Hello."


def test_a_response_that_is_not_in_the_background_is_never_queued(
    api: httpx.Client, script: Script, held_turns: HeldTurns
) -> None:
    with open_stream(api, {"input": "Hi"}) as live:
        wait_until(lambda: held_turns.ids)
        assert retrieve(api, held_turns.ids[0])["status"] == "in_progress"
        held_turns.let_go()
        assert live.check().types[:2] == ["response.created", "response.in_progress"]


def test_its_stream_begins_before_its_turn(api: httpx.Client, held_turns: HeldTurns) -> None:
    with open_stream(api, {"input": "Hi", "background": True}) as live:
        created, queued = live.next(), live.next()
        assert (created["type"], queued["type"]) == ("response.created", "response.queued")
        assert created["response"] == queued["response"] == retrieve(api, created["response"]["id"])
        held_turns.let_go()
        stream = live.check()
    assert stream.types[2] == "response.in_progress"
    assert retrieve(api, stream.response["id"]) == stream.response


def test_a_caller_who_leaves_its_stream_does_not_end_it(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    body = {"input": f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", "background": True}
    with open_stream(api, body) as live:
        response_id = live.next()["response"]["id"]
        seen = live.until("response.output_text.delta")
    gate.set()
    whole = check_stream(follow(api, response_id))
    assert whole.text == "Hello."
    rest = follow(api, response_id, starting_after=str(seen[-1]["sequence_number"]))
    assert check_stream(bytes(live.raw) + rest).events == whole.events
    assert retrieve(api, response_id) == whole.response


def test_it_needs_a_store(api: httpx.Client) -> None:
    refused(api, {"input": "Hi", "background": True, "store": False}, "invalid_value", "background")


@pytest.mark.parametrize("value", [None, False])
def test_it_is_off_unless_asked_for(api: httpx.Client, value: Any) -> None:
    response = create(api, input="Hi", background=value, store=False)
    assert (response["status"], response["background"]) == ("completed", False)


@pytest.mark.parametrize("held", [True, False], ids=["queued", "running"])
@pytest.mark.parametrize("store", [True, False])
def test_it_cannot_be_continued_while_it_runs(
    api: httpx.Client, script: Script, held_turns: HeldTurns, held: bool, store: bool
) -> None:
    gate = threading.Event()
    first = create(api, input=f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", background=True)
    if not held:
        held_turns.let_go()
    body = {"input": "And?", "previous_response_id": first["id"], "store": store}
    answer = api.post("/v1/responses", json=body)
    assert_error(answer, 409, "conversation_locked", "previous_response_id")
    assert int(answer.headers["Retry-After"]) > 0
    gate.set()
    held_turns.let_go()
    ended(api, first["id"])
    assert create(api, **body)["status"] == "completed"


def test_a_failed_one_is_read_as_failed(api: httpx.Client, script: Script) -> None:
    failed = ended(api, create(api, input=f"Go {script(Step(text=['So far', Cut()]))}", background=True)["id"])
    assert (failed["status"], failed["error"]["code"], failed["output_text"]) == ("failed", "upstream_error", "So far")
    answer = api.post("/v1/responses", json={"input": "Go on", "previous_response_id": failed["id"]})
    assert_error(answer, 400, "invalid_value", "previous_response_id")


def test_handed_off_and_resumed_in_the_background(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Booked."]))
    paused = ended(api, create(api, input=f"Call {mark}", tools=[LOOKUP], background=True)["id"])
    assert paused["status"] == "completed"
    answered = [output_for(call) for call in calls_of(paused)]
    resumed = create(api, input=answered, previous_response_id=paused["id"], background=True)
    assert resumed["status"] == "queued"
    assert ended(api, resumed["id"])["output_text"] == "Booked."


def test_a_resume_is_in_the_background_only_if_it_says_so(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Booked."]))
    paused = ended(api, create(api, input=f"Call {mark}", tools=[LOOKUP], background=True)["id"])
    resumed = create(api, input=[output_for(calls_of(paused)[0])], previous_response_id=paused["id"])
    assert (resumed["status"], resumed["background"]) == ("completed", False)


def test_a_session_waits_for_it(api: httpx.Client, script: Script, held_turns: HeldTurns) -> None:
    first = create(api, input="Hi", session_id="s", background=True)
    assert first["session_id"] == "s"
    assert_error(
        api.post("/v1/responses", json={"input": "And?", "session_id": "s"}), 409, "conversation_locked", "session_id"
    )
    assert api.get("/v1/sessions/s").json()["responses"] == [first["id"]]
    held_turns.let_go()
    ended(api, first["id"])
    assert create(api, input="And?", session_id="s")["previous_response_id"] == first["id"]


@pytest.mark.parametrize("held", [True, False], ids=["queued", "running"])
def test_deleting_it_cancels_it_first(
    api: httpx.Client, script: Script, upstream: Upstream, held_turns: HeldTurns, held: bool
) -> None:
    mark = script(Step(text=["Hel", threading.Event()]))
    with open_stream(api, {"input": f"Hi {mark}", "background": True}) as live:
        response_id = live.next()["response"]["id"]
        if not held:
            held_turns.let_go()
            live.until("response.output_text.delta")
        assert api.delete(f"/v1/responses/{response_id}").status_code == 200
        assert_error(api.get(f"/v1/responses/{response_id}"), 404, "not_found")
        told = live.check()
    assert (told.types[-1], told.response["status"]) == ("response.incomplete", "cancelled")
    run_turn(response_id, store=True)
    assert len(upstream.requests(mark)) == (0 if held else 1)
    assert not Response.objects.filter(pk=response_id).exists()


def test_its_input_items_are_listed_while_it_waits(api: httpx.Client, held_turns: HeldTurns) -> None:
    queued = check_response(create(api, input="Hi there", background=True))
    (item,) = api.get(f"/v1/responses/{queued['id']}/input_items").json()["data"]
    assert item["content"][0]["text"] == "Hi there"
