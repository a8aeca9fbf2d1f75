"""``GET /v1/responses/{id}?stream=true`` (wire contract, section 4): any number of readers, at any time of the turn."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
import pytest

from responses_app.api import views
from responses_app.models import Response
from responses_app.streaming.backends import event_log
from tests.conversations.racing import at_once
from tests.responses_app.api.conftest import (
    HeldTurns,
    Json,
    Script,
    create,
    follow,
    retrieve,
    wait_until,
)
from tests.support.envelope import assert_error
from tests.support.grammar import DONE, check_stream, parse_frames
from tests.support.server import Account
from tests.support.sse import LiveStream, open_stream
from tests.support.upstream import Call, Cut, Step

MEMBERS = Call("list_family_members", {})
READERS = 16

pytestmark = pytest.mark.usefixtures("event_logs")


@contextmanager
def following(api: httpx.Client, response_id: str, **params: str) -> Iterator[LiveStream]:
    """The live stream of a ``GET``."""
    with api.stream("GET", f"/v1/responses/{response_id}", params={"stream": "true", **params}) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream"
        yield LiveStream(answer)


def read(account: Account, response_id: str, **params: str) -> bytes:
    """The same to its end, over a connection of its own."""
    with account.client() as api:
        return follow(api, response_id, **params)


def slow(script: Script, gate: threading.Event) -> str:
    """A turn with every kind of event, that stops in the middle of its answer."""
    return script(
        Step(reasoning=["Let ", "me think."], text=["Let ", "me look."], calls=[MEMBERS]),
        Step(text=["No", gate, "body."]),
    )


@pytest.mark.parametrize("background", [True, False])
def test_from_before_the_turn_begins(
    api: httpx.Client, account: Account, held_turns: HeldTurns, background: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("responses_app.services.following.IDLE_SECONDS", 0.05)
    with open_stream(api, {"input": "Hi", "background": background}) as live:
        wait_until(lambda: held_turns.ids)
        with account.client() as second, following(second, held_turns.ids[0]) as late:
            if background:
                assert [late.next()["type"], late.next()["type"]] == ["response.created", "response.queued"]
            held_turns.let_go()
            assert late.check().events == live.check().events


def test_signs_of_life_while_nothing_happens(
    api: httpx.Client, held_turns: HeldTurns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("responses_app.services.following.IDLE_SECONDS", 0.01)
    response_id = create(api, input="Hi", background=True)["id"]
    raw = b""
    with api.stream("GET", f"/v1/responses/{response_id}?stream=true") as answer:
        for chunk in answer.iter_raw():
            raw += chunk
            if raw.count(b"\n\n: ") > 2:
                held_turns.let_go()
    assert check_stream(raw).response == retrieve(api, response_id)


@pytest.mark.parametrize("background", [True, False])
def test_many_readers_from_every_event_on(
    api: httpx.Client, account: Account, script: Script, background: bool
) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Who? {slow(script, gate)}", "background": background}) as live:
        response_id = live.next()["response"]["id"]
        while not any(event.get("delta") == "\n\nNo" for event in [live.next()]):
            pass
        starts = [None, *range(READERS - 1)]

        def reader(start: int | None) -> bytes:
            return read(account, response_id, **({} if start is None else {"starting_after": str(start)}))

        def opens_the_gate() -> bytes:
            gate.set()
            return b""

        *told, _ = at_once([*(partial(reader, start) for start in starts), opens_the_gate])
        events = live.check().events
    for start, raw in zip(starts, told, strict=True):
        assert raw.endswith(DONE)
        assert parse_frames(raw.removesuffix(DONE)) == events[0 if start is None else start + 1 :]


def test_a_reader_may_ask_for_what_is_not_said_yet(api: httpx.Client, account: Account, script: Script) -> None:
    gate = threading.Event()
    response_id = create(api, input=f"Who? {slow(script, gate)}", background=True)["id"]

    def opens_the_gate() -> bytes:
        wait_until(lambda: retrieve(api, response_id)["status"] == "in_progress")
        gate.set()
        return b""

    far, _ = at_once([partial(read, account, response_id, starting_after="15"), opens_the_gate])
    assert parse_frames(far.removesuffix(DONE)) == check_stream(follow(api, response_id)).events[16:]


def test_a_reader_who_leaves_changes_nothing_for_the_others(
    api: httpx.Client, account: Account, script: Script
) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"Who? {slow(script, gate)}"}) as live:
        response_id = live.next()["response"]["id"]
        with account.client() as second, following(second, response_id) as leaving:
            leaving.until("response.output_text.delta")
        gate.set()
        events = live.check().events
    assert check_stream(follow(api, response_id)).events == events


ENDINGS = {
    "completed": Step(text=["Hello."]),
    "failed": Step(text=["So far", Cut()]),
    "incomplete": Step(text=["So far"], finish="length"),
    "cancelled": Step(text=["So far", threading.Event()]),
}


@pytest.mark.parametrize(("status", "step"), ENDINGS.items())
def test_after_its_events_are_gone_the_stream_is_rebuilt(
    api: httpx.Client, script: Script, status: str, step: Step
) -> None:
    with open_stream(api, {"input": f"Hi {script(step)}", "background": True}) as live:
        response_id = live.next()["response"]["id"]
        if status == "cancelled":
            live.until("response.output_text.delta")
            assert api.post(f"/v1/responses/{response_id}/cancel").status_code == 200
        told = live.check()
    assert told.response["status"] == status
    event_log().discard(response_id)
    rebuilt = check_stream(follow(api, response_id))
    assert rebuilt.response == told.response == retrieve(api, response_id)
    assert (rebuilt.text, rebuilt.types[:3]) == (told.text, told.types[:3])
    answer = api.get(f"/v1/responses/{response_id}", params={"stream": "true", "starting_after": "1"})
    assert_error(answer, 400, "invalid_value", "starting_after")


def test_what_ends_while_its_events_go_is_rebuilt(
    api: httpx.Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who found the response running, but its events gone, looks again."""
    gate = threading.Event()
    response_id = create(api, input=f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", background=True)["id"]
    wait_until(lambda: retrieve(api, response_id)["status"] == "in_progress")
    may_follow = views.may_follow

    def ends_meanwhile(row: Response) -> bool:
        gate.set()
        wait_until(lambda: Response.objects.get(pk=response_id).status == "completed")
        event_log().discard(response_id)
        return may_follow(row)

    monkeypatch.setattr(views, "may_follow", ends_meanwhile)
    assert check_stream(follow(api, response_id)).text == "Hello."


def test_a_response_that_runs_without_its_events_is_followed_to_its_end(
    api: httpx.Client, account: Account, script: Script
) -> None:
    gate = threading.Event()
    response_id = create(api, input=f"Hi {script(Step(text=['Hel', gate, 'lo.']))}", background=True)["id"]
    event_log().discard(response_id)

    def opens_the_gate() -> bytes:
        gate.set()
        return b""

    raw, _ = at_once([partial(read, account, response_id), opens_the_gate])
    assert check_stream(raw).text == "Hello."


@pytest.mark.parametrize("options", [{}, {"stream_options": {"mirobody_events": False}}], ids=["all", "standard"])
def test_every_reader_is_given_the_events_that_the_creator_chose(
    api: httpx.Client, script: Script, options: Json
) -> None:
    gate = threading.Event()
    gate.set()
    body: dict[str, Any] = {"input": f"Who? {slow(script, gate)}", "background": True, **options}
    response_id = create(api, **body)["id"]
    followed = check_stream(follow(api, response_id))
    assert len(followed.tool_steps) == (0 if options else 2)
    event_log().discard(response_id)
    assert len(check_stream(follow(api, response_id)).tool_steps) == (0 if options else 2)
