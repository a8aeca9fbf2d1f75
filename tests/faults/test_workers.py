"""Nothing is lost and nothing runs twice when a worker is killed, told to stop, or a message is lost or comes again.

One installation for all: the scenarios that take long begin together, and tests wait for their ends.
"""

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx
import psycopg
import pytest
from celery import Celery
from django.db import connection

from tests.faults.installation import Installation, hold_open, installation, tell_to_stop
from tests.support.deployment import empty_database
from tests.support.envelope import assert_error
from tests.support.grammar import Stream, check_cut_stream, check_stream
from tests.support.upstream import Call, Gate, Hang, Step, Upstream
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="workers run on Postgres: make test-postgres"),
]

Json = dict[str, Any]
Answering = Future[httpx.Response]

POOL_SIZE = 2
STREAMS = 200
MANY_THREADS = str(STREAMS + 50)
FEW = 3
DELIVERIES = 16
MESSAGES = 64
LOST = "The server stopped while it ran this response."
STOPPED = "The server was stopped while it ran this response."
TOOL = {"type": "function", "name": "book", "parameters": {"type": "object", "properties": {}}}
QUEUE = "celery"
WITHOUT_END = -1
"""Redis' time to live of a key that stays for ever."""


class Drip:
    """Text that never ends, a word at a time."""

    def __iter__(self) -> Iterator[str]:
        while True:
            time.sleep(0.5)
            yield "drip "


@pytest.fixture(scope="module")
def site(upstream: Upstream) -> Iterator[Installation]:
    """Redis, web, beat and, to begin with, a small worker."""
    settings = {
        "LLM_BASE_URL": upstream.url,
        "LLM_TIMEOUT_SECONDS": "10",
        "TURN_DEADLINE_SECONDS": "25",
        "WORKER_GRACE_SECONDS": "6",
        "DATABASE_POOL_SIZE": str(POOL_SIZE),
    }
    with empty_database() as database_url, installation(database_url, **settings) as site:
        site.start_worker("small", WORKER_THREADS=str(FEW))
        site.wait_for_worker("small")
        yield site


@dataclass
class Resume:
    """The resume of a handoff, and what it takes to send it again."""

    handoff: Json
    body: Json
    answering: Answering


def handoff_of(site: Installation, upstream: Upstream, name: str, *resumed: Step, **fields: Any) -> Json:
    """A stored handoff, and the body that resumes it; each resume is answered by the next of ``resumed``."""
    mark = upstream.script(name, Step(calls=[Call("book")]), *resumed)
    handoff = site.client.post("/v1/responses", json={"input": mark, "tools": [TOOL]}).raise_for_status().json()
    output = {"type": "function_call_output", "call_id": handoff["output"][-1]["call_id"], "output": "done"}
    return {"input": [output], "previous_response_id": handoff["id"], **fields}


def seen(upstream: Upstream, mark: str, requests: int = 1) -> None:
    """Waits until the provider was asked so often."""
    wait_until(lambda: len(upstream.requests(mark)) >= requests)


@dataclass
class Stop:
    """A worker that was told to stop, and what its callers were told."""

    exit_status: int = 0
    answers: dict[str, Answering] = field(default_factory=dict)
    given_back: Json = field(default_factory=dict)


@pytest.fixture(scope="module")
def stopped(site: Installation, upstream: Upstream) -> Stop:
    """The small worker, full of turns and with messages it cannot begin, is told to stop while another one starts."""
    stop, go_on = Stop(), Gate()
    resume = handoff_of(site, upstream, "stop-resume", Step(text=["For ever", Hang()]))
    ends = upstream.script("stop-ends", Step(text=["Until ", go_on, "the end."]))
    streams = upstream.script("stop-streams", Step(text=["For ever", Hang()]))
    stop.given_back = resume
    stop.answers = {
        "ends": site.ask(ends),
        "stream": site.ask(streams, stream=True),
        "resume": site.post(resume),
    }
    for mark, requests in ((ends, 1), (streams, 1), ("[[stop-resume]]", 2)):
        seen(upstream, mark, requests)
    # The worker is full: these wait in it, not in the queue.
    stop.answers["fetched"] = site.ask(upstream.script("stop-fetched", Step(text=["Elsewhere."])))
    stop.answers["fetched, not stored"] = site.ask("[[stop-fetched]] again", store=False)
    with site.redis() as client:
        wait_until(lambda: site.count("SELECT count(*) FROM responses_app_response") == 5)
        wait_until(lambda: client.llen(QUEUE) == 0)
    worker = site.parts["small"]
    tell_to_stop(worker)
    site.start_worker("first", WORKER_THREADS=MANY_THREADS)
    go_on.set()
    stop.exit_status = worker.running.wait(60)
    site.wait_for_worker("first")
    return stop


@dataclass
class Killing:
    """A worker that was killed, and what becomes of what it ran, of messages that were lost, and of the faults of a
    provider meanwhile."""

    answers: dict[str, Answering] = field(default_factory=dict)
    resumes: dict[str, Json] = field(default_factory=dict)
    background: str = ""
    not_stored: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def killed(site: Installation, upstream: Upstream, stopped: Stop) -> Killing:
    """The worker dies in the middle of turns; messages are lost before the next one starts."""
    found = Killing()
    hang = Step(text=["For ever", Hang()])
    for name, fields in {"resume": {}, "resume, not stored": {"store": False}}.items():
        script = f"kill-{name.replace(', ', '-').replace(' ', '-')}"
        found.resumes[name] = handoff_of(site, upstream, script, hang, **fields)
        found.answers[name] = site.post(found.resumes[name])
        seen(upstream, f"[[{script}]]", 2)
        upstream.script(script, Step(calls=[Call("book")]), Step(text=["Booked."]))
    asked: dict[str, Json] = {
        "json": {},
        "stream": {"stream": True},
        "not stored": {"store": False},
        "stream, not stored": {"store": False, "stream": True},
        "session": {"session_id": "a session", "user": "u"},
        "background": {"background": True},
    }
    for name, fields in asked.items():
        mark = upstream.script(f"kill-{name.replace(', ', '-').replace(' ', '-')}", hang)
        found.answers[name] = site.ask(mark, **fields)
        seen(upstream, mark)
    found.background = found.answers["background"].result().json()["id"]
    found.not_stored = ids_in_redis(site) - ids_in_rows(site)
    site.parts["first"].kill()
    _lose_messages(site, upstream, found)
    site.start_worker("second", WORKER_THREADS=MANY_THREADS)
    site.wait_for_worker("second")
    return found


def _lose_messages(site: Installation, upstream: Upstream, found: Killing) -> None:
    mark = upstream.script("lost-message", Step(text=["Sent again."]))
    found.answers["lost message"] = site.ask(mark)
    found.answers["lost message, not stored"] = site.ask(f"{mark} not stored", store=False)
    with site.redis() as client:
        wait_until(lambda: client.llen(QUEUE) >= 2)
        client.delete(QUEUE)


@pytest.fixture(scope="module")
def provider_faults(site: Installation, upstream: Upstream, killed: Killing) -> dict[str, Answering]:
    """Callers of a provider that hangs in every way."""
    steps = {
        "silent": Step(text=[Hang()]),
        "silent in mid-stream": Step(text=["And then", Hang()]),
        "drips": Step(text=Drip()),
    }
    return {
        f"{name}, {form}": site.ask(
            upstream.script(f"hang-{name.replace(' ', '-')}-{form}", step), stream=form == "stream"
        )
        for name, step in steps.items()
        for form in ("json", "stream")
    }


def streamed(answering: Answering) -> Stream:
    return check_stream(answering.result().content)


def cut(answering: Answering) -> Stream:
    """The stream of a turn whose events nobody goes on writing."""
    return check_cut_stream(answering.result().content)


def refused(answering: Answering, message: str) -> None:
    """The JSON caller's 500."""
    answer = answering.result()
    assert_error(answer, HTTPStatus.INTERNAL_SERVER_ERROR, "server_error")
    assert answer.json()["error"]["message"] == message


class TestStop:
    def test_a_turn_that_ends_in_time_is_completed(self, stopped: Stop) -> None:
        assert stopped.answers["ends"].result().json()["output_text"] == "Until the end."

    def test_a_longer_one_fails_with_a_clear_message(self, stopped: Stop) -> None:
        stream = streamed(stopped.answers["stream"])
        assert stream.error
        assert stream.error["message"] == STOPPED
        assert stream.response["status"] == "failed"
        refused(stopped.answers["resume"], STOPPED)

    def test_what_it_had_fetched_and_not_begun_is_run_by_another(self, stopped: Stop, upstream: Upstream) -> None:
        for name in ("fetched", "fetched, not stored"):
            assert stopped.answers[name].result().json()["output_text"] == "Elsewhere."
        assert len(upstream.requests("[[stop-fetched]]")) == 2

    def test_it_exits_by_itself(self, stopped: Stop) -> None:
        assert stopped.exit_status == 0

    def test_its_handoff_can_be_resumed_again(self, site: Installation, stopped: Stop, upstream: Upstream) -> None:
        upstream.script("stop-resume", Step(), Step(text=["Booked."]))
        assert site.client.post("/v1/responses", json=stopped.given_back).json()["output_text"] == "Booked."


@pytest.mark.usefixtures("killed", "provider_faults")
class TestAnotherDelivery:
    def test_a_turn_runs_once(self, site: Installation, upstream: Upstream) -> None:
        go_on = Gate()
        mark = upstream.script("delivered", Step(text=["Once", go_on, "."]))
        response_id = site.ask(mark, background=True).result().json()["id"]
        with Celery(broker=site.redis_url) as sender:
            self._deliver(site, sender, response_id)
            seen(upstream, mark)
            self._deliver(site, sender, response_id)
            go_on.set()
            wait_until(lambda: site.response(response_id)["status"] == "completed")
            self._deliver(site, sender, response_id)
        # Messages are begun in their order.
        assert site.ask("Hello").result().is_success
        assert len(upstream.requests(mark)) == 1
        assert site.response(response_id)["output_text"] == "Once."

    @staticmethod
    def _deliver(site: Installation, sender: Celery, response_id: str) -> None:
        message = ("responses_app.run_turn", (response_id, True))
        for sent in [site.callers.submit(sender.send_task, *message, ignore_result=True) for _ in range(DELIVERIES)]:
            sent.result()


@pytest.mark.usefixtures("killed", "provider_faults")
def test_every_message_finds_its_row(site: Installation, upstream: Upstream) -> None:
    """A message that came before its transaction was over would find nothing, and be sent again much later."""
    mark = upstream.script("found", Step(text=["Found."]))
    accepted = [site.ask(mark, background=True) for _ in range(MESSAGES)]
    ids = [answer.result().json()["id"] for answer in accepted]
    wait_until(lambda: all(site.response(response_id)["status"] == "completed" for response_id in ids))
    late = "started_at > created_at + interval '15 seconds' AND id = ANY(%s)"
    with psycopg.connect(site.database_url) as database:
        assert database.execute(f"SELECT id FROM responses_app_response WHERE {late}", [ids]).fetchall() == []


@pytest.mark.usefixtures("killed", "provider_faults")
class TestHangingUp:
    def test_a_stored_turn_goes_on(self, site: Installation, upstream: Upstream) -> None:
        go_on = Gate()
        mark = upstream.script("left-stored", Step(text=["To ", go_on, "the end."]))
        with site.client.stream("POST", "/v1/responses", json={"input": mark, "stream": True}) as stream:
            first = next(line for line in stream.iter_lines() if line.startswith("data: "))
            seen(upstream, mark)
        go_on.set()
        response_id = json.loads(first.removeprefix("data: "))["response"]["id"]
        wait_until(lambda: site.response(response_id)["status"] == "completed")
        assert site.response(response_id)["output_text"] == "To the end."

    def test_one_that_leaves_no_row_ends(self, site: Installation, upstream: Upstream) -> None:
        mark = upstream.script("left", Step(text=["For ever", Hang()]))
        left = [hold_open(site.client, {"input": mark, "store": False, "stream": stream}) for stream in (False, True)]
        seen(upstream, mark, len(left))
        for caller in left:
            caller.close()
        assert all(request.gone.wait(PATIENCE_SECONDS) for request in upstream.requests(mark))
        # By itself the turn would have ended as a fault of the silent provider.
        wait_until(lambda: site.parts["second"].output.count("turn cancelled") >= len(left))


@pytest.mark.usefixtures("killed", "provider_faults")
def test_open_streams_hold_no_connections(site: Installation, upstream: Upstream) -> None:
    mark = upstream.script("many", Step(text=["Wait", Hang()]))
    streams = [hold_open(site.client, {"input": mark, "stream": True, "store": False}) for _ in range(STREAMS)]
    seen(upstream, mark, STREAMS)
    assert site.client.get("/v1/responses/resp_unknown").status_code == HTTPStatus.NOT_FOUND
    assert site.client.post("/v1/data", json={"user": "u", "retention": "1h", "records": [RECORD]}).is_success
    assert site.ask("Hello").result().is_success
    used = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    # Web, the worker, beat.
    assert site.count(used) <= 3 * POOL_SIZE
    with site.redis() as client:
        kept = [key for key in client.scan_iter("mirobody:*") if client.pttl(key) == WITHOUT_END]
    assert not kept
    for stream in streams:
        stream.close()


RECORD = {"indicator": "weight", "value": 70, "unit": "kg", "time": "2026-03-01T08:00:00+08:00"}


class TestLostMessage:
    @pytest.mark.parametrize("name", ["lost message", "lost message, not stored"])
    def test_the_turn_is_sent_again(self, killed: Killing, name: str) -> None:
        assert killed.answers[name].result().json()["output_text"] == "Sent again."


class TestHangingProvider:
    @pytest.mark.parametrize("name", ["silent", "silent in mid-stream"])
    def test_the_turn_ends_as_its_fault(self, provider_faults: dict[str, Answering], name: str) -> None:
        assert_error(provider_faults[f"{name}, json"].result(), HTTPStatus.BAD_GATEWAY, "upstream_error")
        stream = streamed(provider_faults[f"{name}, stream"])
        assert stream.error
        assert stream.error["code"] == "upstream_error"
        assert stream.response["status"] == "failed"

    def test_one_that_drips_is_cut_at_the_deadline(self, provider_faults: dict[str, Answering]) -> None:
        stream = streamed(provider_faults["drips, stream"])
        for response in (provider_faults["drips, json"].result().json(), stream.response):
            assert response["status"] == "incomplete"
            assert response["incomplete_details"] == {"reason": "max_duration"}
            assert response["output_text"].startswith("drip drip ")


class TestKill:
    def test_who_waits_is_told(self, killed: Killing) -> None:
        refused(killed.answers["json"], LOST)
        refused(killed.answers["resume"], LOST)
        stream = streamed(killed.answers["stream"])
        assert stream.error
        assert stream.error["message"] == LOST
        assert stream.response["status"] == "failed"
        assert stream.response["error"]["code"] == "server_error"

    def test_what_it_said_is_kept(self, site: Installation, killed: Killing) -> None:
        response = streamed(killed.answers["stream"]).response
        assert response["output_text"] == "For ever"
        assert response["output"][-1]["status"] == "incomplete"
        assert site.response(response["id"]) == response

    def test_who_waits_for_what_is_not_stored_is_told(self, killed: Killing) -> None:
        for name in ("not stored", "resume, not stored"):
            assert_error(killed.answers[name].result(), HTTPStatus.INTERNAL_SERVER_ERROR, "server_error")
        stream = cut(killed.answers["stream, not stored"])
        assert stream.error
        assert stream.error["code"] == "server_error"
        assert stream.response["status"] == "failed"

    def test_who_looks_later_finds_it_failed(self, site: Installation, killed: Killing) -> None:
        wait_until(lambda: site.response(killed.background)["status"] == "failed")
        assert site.response(killed.background)["error"]["code"] == "server_error"

    @pytest.mark.parametrize("name", ["resume", "resume, not stored"])
    def test_its_handoff_can_be_resumed_again(self, site: Installation, killed: Killing, name: str) -> None:
        killed.answers[name].result()
        answer = site.client.post("/v1/responses", json=killed.resumes[name])
        assert answer.json()["output_text"] == "Booked."

    def test_its_session_takes_the_next_turn(self, site: Installation, killed: Killing) -> None:
        refused(killed.answers["session"], LOST)
        body = {"input": "Hello", "session_id": "a session", "user": "u"}
        assert site.client.post("/v1/responses", json=body).is_success

    def test_nothing_is_left(self, site: Installation, killed: Killing) -> None:
        running = "SELECT count(*) FROM responses_app_response WHERE status IN ('queued', 'in_progress')"
        claims = "SELECT count(*) FROM responses_app_pendingcall WHERE claimed_until IS NOT NULL"
        wait_until(lambda: site.count(running) == site.count(claims) == 0)
        assert killed.not_stored
        wait_until(lambda: not killed.not_stored & ids_in_redis(site))


def ids_in_redis(site: Installation) -> set[str]:
    """The ids of responses that any key names."""
    with site.redis() as client:
        return {key.split(":")[2] for key in client.keys("mirobody:*:resp_*")}


def ids_in_rows(site: Installation) -> set[str]:
    with psycopg.connect(site.database_url) as database:
        return {row[0] for row in database.execute("SELECT id FROM responses_app_response")}
