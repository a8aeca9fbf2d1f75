"""``store: false`` to the byte: whatever becomes of the turn, nothing of it is left, nor ever written to the database.

Searched: every row, the bytes of the SQLite files as they are (no sweep, no checkpoint), and Redis where it carries the
event logs. Source: the wire contract, section 5.
"""

import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from responses_app.services.lost_turns import fail_turns_of_a_dead_process
from responses_app.streaming.backends import request_slots
from tests.conversations.marked import RECORD, Json, handoff, rich_body, rich_input, tool, write_records
from tests.conversations.stores import Stores
from tests.responses_app.api.conftest import Script, calls_of, create, create_stream, output_for, wait_until
from tests.support.envelope import assert_error
from tests.support.leftovers import Markers
from tests.support.lost_callers import caller
from tests.support.process import server_process
from tests.support.server import http_client
from tests.support.sse import open_stream
from tests.support.upstream import Call, Cut, Gate, Step, Upstream

STEPS_BEFORE_THE_LAST = 2
CALLERS: dict[str, Callable[..., Json]] = {
    "json": create,
    "stream": lambda api, **body: create_stream(api, **body).response,
}
each_caller = pytest.mark.parametrize("ask_once", CALLERS.values(), ids=CALLERS.keys())


def answer(markers: Markers) -> Step:
    return Step(reasoning=[markers["late reasoning"]], text=[markers["answer"]])


def call(markers: Markers) -> Step:
    """Ends in a handoff."""
    return Step(text=[markers["answer"]], calls=[Call(tool(markers)["name"], {"x": markers["arguments"]})])


@each_caller
@pytest.mark.parametrize("last", [answer, call])
def test_a_turn_that_ends_well(
    api: httpx.Client,
    script: Script,
    stores: Stores,
    markers: Markers,
    ask_once: Callable[..., Json],
    last: Callable[[Markers], Step],
) -> None:
    write_records(api, markers, None)
    response = ask_once(api, **rich_body(script, markers, last(markers)), store=False)
    assert response["output_text"] == markers["answer"]
    assert markers["value"] in str(response["tool_steps"])
    assert stores.left_to_the_byte() == RECORD
    assert request_slots().take(response["id"]) is None


@each_caller
def test_a_bare_inference(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, ask_once: Callable[..., Json]
) -> None:
    text = f'{{"{markers["format key"]}": "{markers["answer"]}"}}'
    mark = script(Step(text=[markers["wrong answer"]]), Step(reasoning=[markers["late reasoning"]], text=[text]))
    schema = {
        "type": "object",
        "description": markers["format description"],
        "properties": {markers["format key"]: {"type": "string"}},
    }
    body = rich_body(script, markers) | {"input": rich_input(markers, mark), "mode": "model", "store": False}
    asked = {"format": {"type": "json_schema", "name": markers["format name"], "schema": schema}}
    assert ask_once(api, **body, text=asked, user=markers["user"])["output_text"] == text
    assert stores.left_to_the_byte() == set()


@each_caller
def test_a_turn_under_an_idempotency_key(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, ask_once: Callable[..., Json]
) -> None:
    body = {**rich_body(script, markers, answer(markers)), "store": False, "user": markers["user"]}
    key = {"Idempotency-Key": markers["key"]}
    response = ask_once(api, headers=key, **body)
    assert ask_once(api, headers=key, **body) == response
    assert markers.in_rows() == markers.in_database_files() == set()
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == set()
    assert_error(api.post("/v1/responses", json=body, headers=key), 409, "idempotency_conflict", "Idempotency-Key")


@each_caller
def test_a_turn_that_a_retry_took_up(
    api: httpx.Client,
    script: Script,
    upstream: Upstream,
    stores: Stores,
    markers: Markers,
    ask_once: Callable[..., Json],
) -> None:
    gate = Gate()
    body = {**rich_body(script, markers, Step(text=[markers["answer"], gate])), "store": False, "user": markers["user"]}
    body["stream"] = ask_once is not create
    with caller(api, body):
        wait_until(lambda: len(upstream.requests(markers["user part"])) == STEPS_BEFORE_THE_LAST + 1)
    gate.set()
    assert ask_once(api, **body)["output_text"] == markers["answer"]
    assert len(upstream.requests(markers["user part"])) == STEPS_BEFORE_THE_LAST + 1
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == set()


def test_a_subject_never_seen_stays_so(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    create(api, **rich_body(script, markers, answer(markers)), store=False, user=markers["user"])
    assert stores.left_to_the_byte() == set()


@each_caller
def test_resuming_a_stored_handoff(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, ask_once: Callable[..., Json]
) -> None:
    paused = handoff(api, script, markers)
    kept = set(markers) - {"resume answer"}
    body = resumption(paused, markers)
    resumed = ask_once(api, **body, store=False)
    assert resumed["output_text"] == markers["resume answer"]
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == kept
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_value", "input")
    assert stores.left_to_the_byte() == kept


FAILURES = {
    "provider breaks off": [Step(text=["Well", Cut()])],
    "provider refuses": [Step(status=400)],
    "model calls what is not there": [
        Step(calls=[Call("no_such_tool", {"a": "b"})]),
        Step(calls=[Call("no_such_tool")]),
    ],
}


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("steps", FAILURES.values(), ids=FAILURES.keys())
def test_a_turn_that_fails(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, stream: bool, steps: list[Step]
) -> None:
    body = {**rich_body(script, markers, *steps), "store": False, "user": markers["user"]}
    if stream:
        with open_stream(api, body) as live:
            assert live.check().response["status"] == "failed"
    else:
        assert api.post("/v1/responses", json=body).status_code == 502
    wait_until(lambda: stores.left_to_the_byte() == set())


def test_a_refused_request(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    body = {**rich_body(script, markers, answer(markers)), "store": False, "user": markers["user"]}
    unknown = {"previous_response_id": "resp_" + "0" * 32}
    assert_error(
        api.post("/v1/responses", json={**body, **unknown}),
        404,
        "previous_response_not_found",
        "previous_response_id",
    )
    assert stores.left_to_the_byte() == set()


def test_a_turn_while_it_runs_and_when_its_caller_has_gone(
    api: httpx.Client,
    script: Script,
    upstream: Upstream,
    stores: Stores,
    markers: Markers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("responses_app.services.following._ABANDONED_SECONDS", 0.0)
    last = Step(text=[markers["answer"], Gate(), markers["never said"]])
    body = {**rich_body(script, markers, last), "store": False, "user": markers["user"]}
    with open_stream(api, body) as live:
        live.until("response.output_text.delta")
        assert markers.in_rows() == markers.in_database_files() == set()
    wait_until(lambda: upstream.requests(markers["user part"])[-1].gone.is_set())
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == set()


def test_a_json_caller_who_has_gone(
    api: httpx.Client,
    script: Script,
    upstream: Upstream,
    stores: Stores,
    markers: Markers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("responses_app.services.following._ABANDONED_SECONDS", 0.0)
    last = Step(text=[markers["answer"], Gate(), markers["never said"]])
    body = {**rich_body(script, markers, last), "store": False, "user": markers["user"]}
    request = api.build_request("POST", "/v1/responses", json=body)
    with socket.create_connection((request.url.host, request.url.port)) as connection:
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        connection.sendall(f"POST /v1/responses HTTP/1.1\r\n{head}\r\n".encode() + request.content)
        wait_until(lambda: len(upstream.requests(markers["user part"])) == STEPS_BEFORE_THE_LAST + 1)
    wait_until(lambda: upstream.requests(markers["user part"])[-1].gone.is_set())
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == set()


def test_a_server_killed_in_the_middle_of_turns(upstream: Upstream, script: Script, markers: Markers) -> None:
    stored, gate = Markers(), Gate()
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {"LLM_BASE_URL": upstream.url, "LLM_API_KEY": "any", "TMPDIR": str(temporary)}
        server = stack.enter_context(server_process(settings, seeded=False))
        api = stack.enter_context(http_client(server.base_url, {"Authorization": f"Bearer {server.key}"}))
        paused = handoff(api, script, stored, gate, user=stored["user"])
        unstored = {**rich_body(script, markers, Step(text=[markers["answer"], gate])), "user": markers["user"]}
        kept = {"input": f"{stored['asked']} {script(Step(text=['Well', gate]))}", "user": stored["user"]}
        resuming = {**resumption(paused, markers), "user": stored["user"]}
        for body in ({**unstored, "store": False}, {**resuming, "store": False}, kept):
            stack.enter_context(open_stream(api, body)).until("response.output_text.delta")
        server.kill()
        files = [path for folder in (server.data, temporary) for path in folder.rglob("*") if path.is_file()]
        assert markers.in_files(files) == set()
        assert stored.in_files(files) == set(stored) - {"resume answer"}


def test_a_resume_that_died_with_its_server_gives_the_handoff_back(
    api: httpx.Client, script: Script, markers: Markers
) -> None:
    gate = Gate()
    paused = handoff(api, script, markers, gate)
    with open_stream(api, {**resumption(paused, markers), "store": False}) as live:
        live.until("response.output_text.delta")
        # What the server does at its start, after the end of the one that ran the turn.
        fail_turns_of_a_dead_process()
        gate.set()
    resumed = create(api, **resumption(paused, markers))
    assert resumed["output_text"] == markers["resume answer"]


def resumption(paused: Json, markers: Markers) -> Json:
    outputs = [output_for(calls_of(paused)[0], markers["resume output"])]
    metadata = {markers["resume metadata key"]: markers["resume metadata"]}
    instructions = markers["resume instructions"]
    previous = paused["id"]
    return {"input": outputs, "previous_response_id": previous, "metadata": metadata, "instructions": instructions}
