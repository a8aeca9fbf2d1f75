"""A retry never runs a turn twice: what becomes of requests that clients send again, in all the ways they do.

The upstream's log tells how many turns ran. Source: the wire contract, section 1.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from tests.responses_app.api.conftest import (
    LOOKUP,
    Json,
    Script,
    calls_of,
    create,
    create_stream,
    output_for,
    redis_server,
    retrieve,
    shared_redis_server,
    wait_until,
)
from tests.support.envelope import assert_error
from tests.support.lost_callers import caller, followed_requests, forget_lost_requests, lost_requests
from tests.support.server import Account, make_account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Upstream

__all__ = ["redis_server", "shared_redis_server"]

AGAIN = {"X-Stainless-Retry-Count": "1"}
Marks = pytest.mark.parametrize("marked", [{}, AGAIN], ids=["unmarked", "marked"])
Stored = pytest.mark.parametrize("store", [True, False], ids=["stored", "not stored"])

pytestmark = pytest.mark.usefixtures("event_logs")


@pytest.fixture(autouse=True)
def nobody_lost(event_logs: Any) -> None:
    """No caller of another test is waited for here."""
    forget_lost_requests()


@pytest.fixture
def side() -> Iterator[ThreadPoolExecutor]:
    """For callers who wait beside the test."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


def gated(script: Script) -> tuple[str, threading.Event]:
    gate = threading.Event()
    return script(Step(text=["Well", gate, " done."])), gate


def later(side: ThreadPoolExecutor, work: Callable[..., Json], *args: Any, **kwargs: Any) -> "Future[Json]":
    return side.submit(work, *args, **kwargs)


def turns(upstream: Upstream, mark: str) -> int:
    return len(upstream.requests(mark))


@Marks
@Stored
def test_a_caller_lost_before_any_answer(
    api: httpx.Client, script: Script, upstream: Upstream, side: ThreadPoolExecutor, store: bool, marked: dict[str, str]
) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "store": store}
    with caller(api, body):
        wait_until(lambda: turns(upstream, mark) == 1)
    answer = later(side, create, api, headers=marked, **body)
    wait_until(lambda: lost_requests() == [])
    gate.set()
    assert answer.result()["output_text"] == "Well done."
    assert turns(upstream, mark) == 1


@Marks
@Stored
def test_a_caller_lost_in_mid_stream(
    api: httpx.Client, script: Script, upstream: Upstream, side: ThreadPoolExecutor, store: bool, marked: dict[str, str]
) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "store": store}
    with open_stream(api, body) as live:
        first = live.next()["response"]["id"]
        live.until("response.output_text.delta")
    wait_until(lambda: lost_requests() == [first])
    stream = side.submit(create_stream, api, headers=marked, **body)
    wait_until(lambda: lost_requests() == [])
    gate.set()
    assert stream.result().text == "Well done."
    assert stream.result().response["id"] == first
    assert turns(upstream, mark) == 1


@Stored
def test_a_marked_retry_follows_while_the_first_caller_still_waits(
    api: httpx.Client, script: Script, upstream: Upstream, side: ThreadPoolExecutor, store: bool
) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "store": store}
    first = later(side, create, api, **body)
    wait_until(lambda: turns(upstream, mark) == 1)
    with open_stream(api, {**body, "stream": True}, **AGAIN):
        # Another body: a stream is another request.
        wait_until(lambda: turns(upstream, mark) == 2)
    again = later(side, create, api, headers=AGAIN, **body)
    wait_until(lambda: followed_requests() != [])
    assert not first.done()
    gate.set()
    assert again.result()["id"] == first.result()["id"]
    assert turns(upstream, mark) == 2


@Marks
@Stored
def test_the_answer_is_given_after_it_completed(
    api: httpx.Client, script: Script, upstream: Upstream, store: bool, marked: dict[str, str]
) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "store": store}
    with open_stream(api, body) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
    wait_until(lambda: lost_requests() == [response_id])
    gate.set()
    if store:
        wait_until(lambda: retrieve(api, response_id)["status"] == "completed")
    stream = create_stream(api, headers=marked, **body)
    assert (stream.response["id"], stream.text) == (response_id, "Well done.")
    assert turns(upstream, mark) == 1


def test_a_marked_retry_of_an_answered_request_gets_the_answer_for_a_minute(
    api: httpx.Client, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = script(Step(text=["Fine."]))
    first = create(api, input=f"Hi {mark}")
    assert create(api, headers=AGAIN, input=f"Hi {mark}") == first
    assert turns(upstream, mark) == 1
    monkeypatch.setattr("responses_app.services.retries.KEPT_EVENTS_SECONDS", -10)
    assert create(api, headers=AGAIN, input=f"Hi {mark}")["id"] != first["id"]


@pytest.mark.parametrize("store", [True, False], ids=["stored", "not stored"])
def test_a_failed_turn_is_not_followed(api: httpx.Client, script: Script, upstream: Upstream, store: bool) -> None:
    mark = script(Step(text=["Fine."], status=400, heals_after=1))
    body = {"input": f"Hi {mark}", "store": store}
    assert api.post("/v1/responses", json=body).status_code == 502
    assert create(api, headers=AGAIN, **body)["output_text"] == "Fine."
    assert turns(upstream, mark) == 2


def test_a_cancelled_turn_is_not_followed(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark, gate = gated(script)
    with open_stream(api, {"input": f"Hi {mark}"}) as live:
        first = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        assert api.post(f"/v1/responses/{first}/cancel").json()["status"] == "cancelled"
    gate.set()
    stream = create_stream(api, headers=AGAIN, input=f"Hi {mark}")
    assert stream.response["id"] != first
    assert stream.text == "Well done."


def test_a_deleted_turn_is_not_followed(api: httpx.Client, script: Script) -> None:
    body = {"input": f"Hi {script(Step(text=['Fine.']))}"}
    first = create(api, **body)
    create(api, input="More", previous_response_id=first["id"])
    assert api.delete(f"/v1/responses/{first['id']}").status_code == 200
    assert create(api, headers=AGAIN, **body)["id"] != first["id"]


def test_a_refused_request_is_not_followed(api: httpx.Client) -> None:
    body = {"input": "Hi", "previous_response_id": "resp_" + "0" * 32}
    for headers in ({}, AGAIN, AGAIN):
        refused = api.post("/v1/responses", json=body, headers=headers)
        assert_error(refused, 404, "previous_response_not_found", "previous_response_id")


@Stored
def test_equal_requests_without_a_lost_connection_all_run(
    api: httpx.Client, script: Script, upstream: Upstream, side: ThreadPoolExecutor, store: bool
) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "store": store}
    answers = [later(side, create, api, **body) for _ in range(3)]
    wait_until(lambda: turns(upstream, mark) == 3)
    gate.set()
    assert len({answer.result()["id"] for answer in answers}) == 3
    for _ in range(2):
        create_stream(api, **body)
    assert turns(upstream, mark) == 5


def test_a_client_that_leaves_with_the_last_event_was_served(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(text=["Fine."]))
    for _ in range(5):
        with open_stream(api, {"input": f"Hi {mark}"}) as live:
            live.until("response.completed")
    assert turns(upstream, mark) == 5


def test_a_count_without_a_twin_is_an_ordinary_request(api: httpx.Client, account: Account, script: Script) -> None:
    body = {"input": f"Hi {script(Step(text=['Fine.']))}"}
    first = create(api, headers=AGAIN, user="ann", **body)
    ids = {first["id"], create(api, headers=AGAIN, user="bob", **body)["id"]}
    ids.add(create(api, headers=AGAIN, user="ann", metadata={"a": "b"}, **body)["id"])
    ids.add(create(api, headers={**AGAIN, "X-Mirobody-Events": "standard"}, user="ann", **body)["id"])
    with make_account(account.base_url).client() as other:
        ids.add(create(other, headers=AGAIN, user="ann", **body)["id"])
    assert len(ids) == 5
    assert create(api, headers=AGAIN | {"X-Mirobody-User": "ann"}, **body) == first
    assert create(api, headers={"X-Stainless-Retry-Count": "0"}, user="ann", **body)["id"] not in ids


def test_a_resume_that_is_sent_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    gate = threading.Event()
    mark = script(Step(calls=[Call(LOOKUP["name"], {"name": "Ann"})]), Step(text=["Well", gate, " done."]))
    paused = create(api, input=f"Hi {mark}", tools=[LOOKUP])
    body = {"input": [output_for(calls_of(paused)[0])], "previous_response_id": paused["id"]}
    with caller(api, body):
        wait_until(lambda: turns(upstream, mark) == 2)
    gate.set()
    resumed = create(api, **body)
    assert resumed["output_text"] == "Well done."
    assert create(api, headers=AGAIN, **body) == resumed
    assert turns(upstream, mark) == 2


def test_a_turn_of_a_session_that_is_sent_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "session_id": "s"}
    with caller(api, body):
        wait_until(lambda: turns(upstream, mark) == 1)
        assert_error(api.post("/v1/responses", json={**body, "input": "Hi"}), 409, "conversation_locked", "session_id")
    gate.set()
    assert create(api, **body)["output_text"] == "Well done."
    assert turns(upstream, mark) == 1


def test_a_background_response_that_is_asked_for_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "background": True}
    first = api.post("/v1/responses", json=body).json()
    again = api.post("/v1/responses", json=body, headers=AGAIN).json()
    assert again == first
    gate.set()
    wait_until(lambda: retrieve(api, first["id"])["status"] == "completed")
    assert turns(upstream, mark) == 1


def test_completions_that_are_sent_again(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark, gate = gated(script)
    body = {"model": "mirobody-flash", "messages": [{"role": "user", "content": f"Hi {mark}"}]}
    with caller(api, body, "/v1/chat/completions"):
        wait_until(lambda: turns(upstream, mark) == 1)
    gate.set()
    answer = api.post("/v1/chat/completions", json=body)
    assert answer.json()["choices"][0]["message"]["content"] == "Well done."
    assert turns(upstream, mark) == 1


def test_a_lost_caller_who_does_not_come_again_ends_a_turn_that_is_not_stored(
    api: httpx.Client, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("responses_app.services.following._ABANDONED_SECONDS", 0.2)
    mark, gate = gated(script)
    body = {"input": f"Hi {mark}", "store": False}
    with open_stream(api, body) as live:
        live.until("response.output_text.delta")
    wait_until(lambda: upstream.requests(mark)[0].gone.is_set())
    gate.set()
    assert create_stream(api, headers=AGAIN, **body).text == "Well done."
    assert turns(upstream, mark) == 2


def test_the_official_client_after_a_time_out(
    account: Account, script: Script, upstream: Upstream, side: ThreadPoolExecutor
) -> None:
    mark, gate = gated(script)
    client = openai.OpenAI(base_url=f"{account.base_url}/v1", api_key=account.key, timeout=2, max_retries=2)
    with client:
        answer = side.submit(client.responses.create, model="mirobody-flash", input=f"Hi {mark}")
        wait_until(lambda: lost_requests() != [])
        gate.set()
        assert answer.result().output_text == "Well done."
    assert turns(upstream, mark) == 1
