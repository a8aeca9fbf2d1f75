"""A caller whose turn loses its event log: every answer is whole or says that it is not, and none hangs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from responses_app.models import Response
from responses_app.services import following
from responses_app.streaming.backends import event_log
from tests.responses_app.api.conftest import Script, create, retrieve, wait_until
from tests.support.envelope import assert_error
from tests.support.grammar import DONE, parse_frames
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Raw, Step, Upstream


@pytest.mark.parametrize("store", [True, False])
def test_a_stream_in_mid_flight_ends_with_the_fault_and_a_terminal_event(
    api: httpx.Client, script: Script, store: bool
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Hel", gate, "lo."]))
    with open_stream(api, {"input": f"Hi {mark}", "store": store}) as live:
        events = live.until("response.output_text.delta")
        response_id = events[0]["response"]["id"]
        event_log().discard(response_id)
        gate.set()
        events += list(live)
        assert live.raw.endswith(DONE)
    last = events[-2:]
    assert [event["type"] for event in last] == ["error", "response.completed" if store else "response.failed"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    if store:
        assert last[1]["response"] == retrieve(api, response_id)
        assert last[1]["response"]["output_text"] == "Hello."
    else:
        assert last[1]["response"]["error"]["code"] == last[0]["code"] == "server_error"


def test_a_waiting_json_caller_is_given_the_stored_answer(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Hel", gate, "lo."]))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(create, api, input=f"Hi {mark}")
        wait_until(lambda: upstream.requests(mark))
        row = Response.objects.get(account_id=account.id)
        event_log().discard(row.pk)
        gate.set()
        assert answer.result()["output_text"] == "Hello."
    assert answer.result() == retrieve(api, row.pk)


@pytest.mark.parametrize(("status", "told", "code"), [(400, 400, "invalid_value"), (429, 429, "rate_limit_exceeded")])
def test_a_waiting_json_caller_of_a_bare_model_is_given_the_providers_fault(
    api: httpx.Client, account: Account, script: Script, upstream: Upstream, status: int, told: int, code: str
) -> None:
    gate = threading.Event()
    fault = b'data: {"error": {"message": "Not so.", "code": %d}}\n\n' % status
    mark = script(Step(text=[gate, Raw(fault)], finish=None, done=False))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(api.post, "/v1/responses", json={"mode": "model", "input": f"Hi {mark}"})
        wait_until(lambda: upstream.requests(mark))
        event_log().discard(Response.objects.get(account_id=account.id).pk)
        gate.set()
        assert_error(answer.result(), told, code)


def test_a_waiting_json_caller_of_a_turn_without_a_row_is_told(
    api: httpx.Client, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    log = event_log()
    begin = log.begin
    monkeypatch.setattr(log, "begin", lambda response_id: (opened.append(response_id), begin(response_id)))
    gate = threading.Event()
    mark = script(Step(text=["Hel", gate, "lo."]))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(api.post, "/v1/responses", json={"input": f"Hi {mark}", "store": False})
        wait_until(lambda: upstream.requests(mark))
        log.discard(opened[-1])
        gate.set()
        assert_error(answer.result(), 500, "server_error")


def test_a_follower_who_comes_after_the_loss_waits_for_the_end(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Hel", gate, "lo."]))
    response_id = create(api, input=f"Hi {mark}", background=True)["id"]
    wait_until(lambda: retrieve(api, response_id)["status"] == "in_progress")
    event_log().discard(response_id)
    with ThreadPoolExecutor(1) as threads:
        followed = threads.submit(api.get, f"/v1/responses/{response_id}", params={"stream": "true"})
        gate.set()
        events = parse_frames(followed.result().content.removesuffix(DONE))
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"] == retrieve(api, response_id)


def test_a_follower_in_mid_stream_is_told_whatever_became_of_the_response(
    api: httpx.Client, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "IDLE_SECONDS", 0.02)
    for deleted in (False, True):
        gate = threading.Event()
        mark = script(Step(text=["Hel", gate, "lo."]))
        response_id = create(api, input=f"Hi {mark}", background=True)["id"]
        wait_until(lambda mark=mark: upstream.requests(mark))
        with api.stream("GET", f"/v1/responses/{response_id}?stream=true&starting_after=30") as answer:
            received = answer.iter_raw()
            raw = next(received)
            assert raw.startswith(b":")
            if deleted:
                assert api.delete(f"/v1/responses/{response_id}").status_code == 200
            event_log().discard(response_id)
            gate.set()
            raw += b"".join(received)
        events = parse_frames(raw.removesuffix(DONE))
        assert raw.endswith(DONE)
        assert [event["sequence_number"] for event in events] == [31, 32]
        assert [event["type"] for event in events] == ["error", f"response.{'failed' if deleted else 'completed'}"]
