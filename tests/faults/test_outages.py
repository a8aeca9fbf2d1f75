"""Redis and Postgres go away in the middle of turns and come back: callers are told, ends are kept, and everything
works again without a restart.

Postgres is a cluster of the tests' own where its programs are installed.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from http import HTTPStatus
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db import connection

from tests.faults.installation import Installation, installation
from tests.support.envelope import assert_error
from tests.support.grammar import GrammarError, Stream, check_cut_stream, check_stream
from tests.support.postgres_server import PostgresServer, is_installed, running_postgres_server
from tests.support.upstream import Call, Gate, Step, Upstream
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="workers run on Postgres: make test-postgres"),
    pytest.mark.skipif(not is_installed(), reason="Postgres' programs (initdb) are not installed on this machine"),
]

TEXT = ["Before, ", "during ", "and after."]
SPARE_THREADS = 4
POOL_SIZE = 4


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def site(upstream: Upstream, postgres: PostgresServer) -> Iterator[Installation]:
    settings = {"LLM_BASE_URL": upstream.url, "DATABASE_POOL_SIZE": str(POOL_SIZE), "WORKER_THREADS": "8"}
    with installation(postgres.url, **settings) as site:
        site.start_worker("worker")
        site.wait_for_worker("worker")
        yield site


def step(go_on: Gate, end: Gate) -> Step:
    return Step(text=[TEXT[0], go_on, TEXT[1], end, TEXT[2]])


def told(answering: "Future[httpx.Response]") -> bool:
    """Whether a JSON caller has the whole answer; else a clear fault."""
    answer = answering.result()
    if answer.is_success:
        assert answer.json()["output_text"] == "".join(TEXT)
        return True
    assert_error(answer, HTTPStatus.INTERNAL_SERVER_ERROR, "server_error")
    return False


def streamed(answering: "Future[httpx.Response]") -> Stream:
    """What a reader was given: the whole answer, or all that came before an ``error`` event."""
    raw = answering.result().content
    try:
        stream = check_stream(raw)
    except GrammarError:
        stream = check_cut_stream(raw)
    if stream.error is None:
        assert stream.text == "".join(TEXT)
    assert "".join(TEXT).startswith(stream.text)
    return stream


def works(site: Installation) -> bool:
    """Whether a turn is run."""
    answer = site.client.post("/v1/responses", json={"input": "Hello"})
    if not answer.is_success:
        assert_error(answer, HTTPStatus.INTERNAL_SERVER_ERROR, "server_error")
    return answer.is_success


def threads(site: Installation, name: str) -> int:
    return len(list(Path(f"/proc/{site.parts[name].running.pid}/task").iterdir()))


def connections(site: Installation) -> int:
    with site.redis() as client:
        return len(client.client_list())


def fill(site: Installation) -> None:
    """Has pools opened, and threads started, by as many turns at once as there will be."""
    for answer in [site.ask("Hello") for _ in range(8)]:
        assert answer.result().is_success


class TestRedis:
    def test_its_restart(self, site: Installation, upstream: Upstream) -> None:
        fill(site)
        before = {name: threads(site, name) for name in ("web", "worker")}
        open_before = connections(site)
        go_on, end = Gate(), Gate()
        mark = upstream.script("redis", step(go_on, end))
        asked = {"json": {}, "stream": {"stream": True}, "not stored": {"stream": True, "store": False}}
        answers = {name: site.ask(f"{mark} {name}", **fields) for name, fields in asked.items()}
        wait_until(lambda: len(upstream.requests(mark)) == len(asked))

        site.parts["redis"].kill()
        go_on.set()
        for body in ({"input": "Hello"}, {"input": "Hello", "store": False}, {"input": "Hello", "stream": True}):
            answer = httpx.post(
                f"{site.base_url}/v1/responses", json=body, headers=site.client.headers, timeout=10, trust_env=False
            )
            assert_error(answer, HTTPStatus.INTERNAL_SERVER_ERROR, "server_error")
        site.start_redis()
        end.set()

        told(answers["json"])
        streamed(answers["stream"])
        streamed(answers["not stored"])
        wait_until(lambda: works(site))
        fill(site)
        for name, number in before.items():
            wait_until(lambda name=name, number=number: threads(site, name) <= number + SPARE_THREADS)
        wait_until(lambda: connections(site) <= open_before + SPARE_THREADS)


class TestPostgres:
    def test_its_restart(self, site: Installation, upstream: Upstream, postgres: PostgresServer) -> None:
        fill(site)
        go_on, end = Gate(), Gate()
        mark = upstream.script("postgres", step(go_on, end))
        handoff_mark = upstream.script("postgres-handoff", Step(calls=[Call("book")]), step(go_on, end))
        tool = {"type": "function", "name": "book", "parameters": {"type": "object", "properties": {}}}
        handoff = site.client.post("/v1/responses", json={"input": handoff_mark, "tools": [tool]}).json()
        output = {"type": "function_call_output", "call_id": handoff["output"][-1]["call_id"], "output": "done"}
        resume = {"input": [output], "previous_response_id": handoff["id"]}
        session = {"session_id": "s", "user": "u"}
        answers = {
            "json": site.ask(mark, **session),
            "stream": site.ask(mark, stream=True),
            "resume": site.post(resume),
            "not stored": site.ask(mark, store=False),
        }
        wait_until(lambda: len(upstream.requests(mark)) == 3 and len(upstream.requests(handoff_mark)) == 2)

        postgres.stop()
        go_on.set()
        end.set()
        for method, path, body in (
            ("POST", "/v1/responses", {"input": "Hello"}),
            ("GET", f"/v1/responses/{handoff['id']}", None),
            ("GET", "/v1/data?user=u", None),
        ):
            answer = httpx.request(
                method, site.base_url + path, json=body, headers=site.client.headers, timeout=10, trust_env=False
            )
            assert_error(answer, HTTPStatus.INTERNAL_SERVER_ERROR, "server_error")
        wait_until(lambda: "it is tried again" in site.parts["worker"].output)
        postgres.start()

        # The turns' ends were waiting for the database, and their leases held.
        for name in ("json", "resume", "not stored"):
            assert told(answers[name]), answers[name].result().text
        stream = streamed(answers["stream"])
        assert stream.error is None
        assert site.response(stream.response["id"]) == stream.response
        assert site.response(answers["json"].result().json()["id"])["status"] == "completed"
        again = site.client.post("/v1/responses", json=resume)
        assert again.json()["error"]["message"] == "previous response has no pending function calls"
        assert site.client.post("/v1/responses", json={"input": "Hello", **session}).is_success
        fill(site)

    def test_broken_connections_are_passed_over(self, site: Installation, postgres: PostgresServer) -> None:
        """All that the pools keep are broken at once; whoever is next notices nothing."""
        fill(site)
        with psycopg.connect(postgres.url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        for answer in [site.ask("Hello") for _ in range(8)]:
            assert answer.result().is_success, answer.result().text
