"""``make up``: what it refuses, and the whole of it on a real Postgres and Redis (``make test-postgres``)."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db import connection

from tests.support.deployment import STOP_SECONDS, Deployment, deployment
from tests.support.grammar import check_stream
from tests.support.process import ROOT
from tests.support.server import http_client
from tests.support.upstream import Gate, Hang, Step, Upstream
from tests.support.waiting import wait_until

NEEDED = {
    "DATABASE_URL": "postgres://nobody@127.0.0.1:9/none",
    "REDIS_URL": "redis://127.0.0.1:9/0",
    "DJANGO_SECRET_KEY": "long enough for this",
}
ON_POSTGRES = pytest.mark.skipif(
    connection.vendor != "postgresql",
    reason="what runs on many processes runs on Postgres: make test-postgres",
)
CONTENT = "peculiar-words-of-a-person"
POOL_SIZE = 2
STREAMS = 3 * POOL_SIZE + 1
READERS = 4


def started_with(data: Path, given: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "DATA_DIR": str(data), **given}
    command = [sys.executable, "-m", "mirobody_site.up", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


def test_it_names_every_setting_that_is_missing(tmp_path: Path) -> None:
    done = started_with(tmp_path, {})
    assert done.returncode == 2
    assert re.findall(r"\* (\w+) must", done.stderr) == list(NEEDED)


def test_it_knows_the_processes_by_name(tmp_path: Path) -> None:
    done = started_with(tmp_path, NEEDED, "wep")
    assert done.returncode == 2
    assert "wep" in done.stderr


@ON_POSTGRES
def test_it_serves_many_and_stops_whole(upstream: Upstream) -> None:
    given = {"LLM_BASE_URL": upstream.url, "DATABASE_POOL_SIZE": str(POOL_SIZE), "WORKER_GRACE_SECONDS": "8"}
    with deployment(**given) as running:
        key = running.make_key()
        client = http_client(running.base_url, {"Authorization": f"Bearer {key}"})
        assert client.get("/readyz").json()["checks"] == {"database": "ok", "redis": "ok", "workers": "ok"}
        _answers_and_tells_of_it(running, client, upstream)
        _holds_no_connection_for_those_who_wait(running, client, upstream)
        _cancels_what_runs_in_the_background(client, upstream)
        _tells_every_open_stream_its_end_and_stops(running, client, upstream)
        assert CONTENT not in running.output
        assert key not in running.output


def _answers_and_tells_of_it(running: Deployment, client: httpx.Client, upstream: Upstream) -> None:
    mark = upstream.script("up-plain", Step(text=["All ", "is well."]))
    answer = client.post("/v1/responses", json={"input": f"{CONTENT} {mark}", "user": CONTENT})
    assert answer.json()["output_text"] == "All is well."
    streamed = client.post("/v1/responses", json={"input": f"{CONTENT} {mark}", "stream": True})
    assert streamed.text.endswith("data: [DONE]\n\n")
    # Whichever web process is asked knows what the worker did.
    assert 'mirobody_turn_seconds_count{outcome="completed"} 2.0' in client.get("/metrics").text
    wait_until(lambda: any(line["message"].startswith("turn completed") for line in running.log_lines))
    turn = next(line for line in running.log_lines if line["message"].startswith("turn completed"))
    assert turn["request_id"] == answer.headers["x-request-id"]
    assert turn["response_id"] == answer.json()["id"]
    assert turn["task_id"]


def _holds_no_connection_for_those_who_wait(running: Deployment, client: httpx.Client, upstream: Upstream) -> None:
    """More streams than connections are open at once, and others are still served."""
    go_on = Gate()
    mark = upstream.script("up-waiting", Step(text=["Wait ", go_on, "over."]))
    body = {"input": mark, "stream": True}
    with ThreadPoolExecutor(STREAMS) as callers:
        streams = [callers.submit(client.post, "/v1/responses", json=body) for _ in range(STREAMS)]
        wait_until(lambda: len(upstream.requests(mark)) == STREAMS)
        assert client.get("/v1/responses/resp_unknown").status_code == 404
        assert f"mirobody_open_streams {STREAMS}.0" in client.get("/metrics").text
        # Two web processes, the worker, beat.
        assert _database_connections(running) <= 4 * POOL_SIZE
        go_on.set()
        assert all("over." in stream.result().text for stream in streams)


def _database_connections(running: Deployment) -> int:
    with psycopg.connect(running.environment["DATABASE_URL"]) as connection:
        counted = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert counted is not None
    return int(counted[0])


def _cancels_what_runs_in_the_background(client: httpx.Client, upstream: Upstream) -> None:
    """Web processes and the worker know of each other's doings through Redis alone."""
    mark = upstream.script("up-background", Step(text=["For ever", Hang()]))
    path = f"/v1/responses/{client.post('/v1/responses', json={'input': mark, 'background': True}).json()['id']}"
    with ThreadPoolExecutor(READERS) as callers:
        streams = [callers.submit(client.get, path, params={"stream": "true"}) for _ in range(READERS)]
        wait_until(lambda: bool(upstream.requests(mark)))
        cancelled = client.post(f"{path}/cancel").json()
        told = [check_stream(stream.result().content).response for stream in streams]
    assert (cancelled["status"], told) == ("cancelled", [client.get(path).json()] * READERS)
    assert cancelled == told[0]
    assert upstream.requests(mark)[0].gone.wait(10)


def _tells_every_open_stream_its_end_and_stops(running: Deployment, client: httpx.Client, upstream: Upstream) -> None:
    """One whose turn ends within the grace time, and one whose turn has to be broken off."""
    go_on = Gate()
    ending = upstream.script("up-ending", Step(text=["Until ", go_on, "the end."]))
    hanging = upstream.script("up-hanging", Step(text=["For ever", Hang()]))
    with ThreadPoolExecutor(2) as callers:
        streams = [
            callers.submit(client.post, "/v1/responses", json={"input": mark, "stream": True})
            for mark in (ending, hanging)
        ]
        wait_until(lambda: bool(upstream.requests(ending) and upstream.requests(hanging)))
        running.stop()
        wait_until(lambda: "Warm shutdown" in running.output and "Shutting down" in running.output)
        go_on.set()
        ended, broken_off = (stream.result().text for stream in streams)
    assert "event: response.completed" in ended
    assert "event: response.failed" in broken_off
    assert ended.endswith("data: [DONE]\n\n")
    assert broken_off.endswith("data: [DONE]\n\n")
    assert running.process.wait(STOP_SECONDS) == 143
    assert running.living_processes() == []
    assert "SIGKILL" not in running.output
