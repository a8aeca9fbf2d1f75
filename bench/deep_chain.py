"""What one more turn of a long conversation costs: queries, stored bytes, time, beside the transcript it has to read.

Run: python bench/deep_chain.py (SQLite), or with DATABASE_URL=postgres://… for Postgres. Makes a test database beside
the named one and takes it away again. A server on a free port answers over HTTP with a scripted model behind it; every
turn continues the one before, asks for the newest weight (one server tool call), and is answered. The turns up to the
tenth and the last ones before each mark are taken; the rows of those in between are copies of the last one's, which
reads the same and saves an hour. Web requests and turns run in this process, so that the queries of all its connections
are counted. Ends with 1 if a turn's queries or bytes grow with the depth.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
FOLDER = tempfile.TemporaryDirectory()
os.environ |= {"DATA_DIR": FOLDER.name, "ENV_FILE": os.devnull}
os.environ["MODEL_CATALOGUE"] = '{"mirobody-flash": {"context_window": 100000000}}'

import django

django.setup()

import httpx
from django.conf import settings
from django.db import connection, connections
from django.db.backends.signals import connection_created
from django.test.utils import setup_databases, teardown_databases

from responses_app.engine.tokens import count_tokens
from responses_app.models import PendingCall, RecordSource, Response
from responses_app.protocol.ids import new_response_id
from tests.support.server import make_account, running_server
from tests.support.upstream import Call, Request, Step, Upstream

MARKS = (1, 10, 100, 250, 500)
TAKEN = 10
"""This many turns before a mark are taken."""
SMOOTH = 5
"""Times are the median of this many turns up to the mark."""
TOLERATED_BYTES = 64
"""Token counts within a stored response grow by a digit now and then."""
LOOK = Call("query_health_data", {"indicators": ["weight"]})


class LastRequest(Upstream):
    """Keeps the last request alone: all of them would be the square of the chain."""

    last: Request

    def _record(self, request: Request) -> int:
        self.last = request
        return 0


class Queries:
    """Counts the statements of all connections of this process."""

    def __init__(self) -> None:
        self._numbers = count()
        self._start = 0
        connection_created.connect(self._watch)

    def restart(self) -> None:
        self._start = next(self._numbers) + 1

    def since_restart(self) -> int:
        number = next(self._numbers)
        return number - self._start

    def _watch(self, connection: Any, **_: Any) -> None:
        if self._count not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._count)

    def _count(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        next(self._numbers)
        return execute(*arguments)


@dataclass(frozen=True)
class Measured:
    """One turn."""

    queries: int
    stored_bytes: int
    seconds: float


@contextmanager
def database() -> Iterator[None]:
    """A migrated database of its own."""
    if connection.vendor == "sqlite":
        settings.DATABASES["default"]["TEST"]["NAME"] = str(Path(FOLDER.name, "bench.sqlite3"))
    previous = setup_databases(verbosity=0, interactive=False)
    try:
        yield
    finally:
        connections.close_all()
        teardown_databases(previous, verbosity=0)


def bytes_of(response_id: str) -> int:
    """The bytes of all values in all rows that the turn has written."""
    of_turn = [
        Response.objects.filter(pk=response_id),
        RecordSource.objects.filter(response_id=response_id),
        PendingCall.objects.filter(response_id=response_id),
    ]
    values = (value for rows in of_turn for row in rows.values_list() for value in row)
    return sum(len(str(value).encode()) for value in values)


def turn(api: httpx.Client, queries: Queries, number: int, previous: str | None) -> tuple[str, Measured]:
    """Takes one turn; its response's id and what it cost."""
    body = {"input": f"Question {number:04}: how much do I weigh? [[turn]]", "previous_response_id": previous}
    queries.restart()
    started = perf_counter()
    answer = api.post("/v1/responses", json=body)
    seconds = perf_counter() - started
    asked = queries.since_restart()
    answer.raise_for_status()
    response_id = answer.json()["id"]
    return response_id, Measured(asked, bytes_of(response_id), seconds)


def measure(api: httpx.Client, upstream: LastRequest, queries: Queries) -> list[Measured]:
    """Builds the chain; prints a line at each mark, and gives what each turn that was taken cost."""
    taken: list[Measured] = []
    previous: str | None = None
    number = 0
    print(f"{connection.vendor}\n\n| turn | queries | stored bytes | ms | transcript tokens |\n|---|---|---|---|---|")
    for mark in MARKS:
        if previous and mark - number > TAKEN:
            previous = add_copies(previous, mark - TAKEN - number)
            number = mark - TAKEN
        while number < mark:
            number += 1
            previous, measured = turn(api, queries, number, previous)
            taken.append(measured)
        milliseconds = round(1000 * median(each.seconds for each in taken[-SMOOTH:]))
        tokens = count_tokens(json.dumps(upstream.last.messages, ensure_ascii=False))
        line = (number, measured.queries, measured.stored_bytes, milliseconds, tokens)
        print("|", " | ".join(map(str, line)), "|", flush=True)
    return taken


def add_copies(response_id: str, number: int) -> str:
    """Continues the chain by as many copies of its last turn; the last one's id."""
    row = Response.objects.get(pk=response_id)
    sources = list(RecordSource.objects.filter(response_id=response_id))
    for _ in range(number):
        row.previous_id, row.pk = row.pk, new_response_id()
        row.save(force_insert=True)
        for source in sources:
            source.pk, source.response_id = None, row.pk
            source.save(force_insert=True)
    return row.pk


def grown(turns: list[Measured]) -> bool:
    """Whether any turn but the first, which continues nothing, costs more queries or bytes than the second."""
    return any(
        each.queries > turns[1].queries or each.stored_bytes > turns[1].stored_bytes + TOLERATED_BYTES
        for each in turns[1:]
    )


def main() -> int:
    """The exit code."""
    queries = Queries()
    upstream = LastRequest()
    upstream.start()
    settings.LLM_BASE_URL = upstream.url
    upstream.script("turn", Step(calls=[LOOK]), Step(text=["You weigh seventy kilograms, as at your last reading."]))
    with database(), running_server() as base_url, make_account(base_url).client() as api:
        records = [{"indicator": "weight", "value": "70 kg", "time": "2026-01-01"}]
        api.post("/v1/data", json={"retention": "permanent", "records": records}).raise_for_status()
        turn(api, queries, 0, None)
        turns = measure(api, upstream, queries)
    upstream.stop()
    return int(grown(turns))


if __name__ == "__main__":
    sys.exit(main())
