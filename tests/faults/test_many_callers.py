"""Many callers at once, and many that hang up at once: nobody is refused, and nothing is left of them.

On the server in this process, so on SQLite as well as on Postgres.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from responses_app.models import Response
from responses_app.models.response import RUNNING
from responses_app.services import following
from tests.faults.installation import hold_open
from tests.support.grammar import check_stream
from tests.support.server import Account
from tests.support.waiting import wait_until

CALLERS = 30
HUNG_UP = 100
SPARE_THREADS = 4
RECORD = {"indicator": "weight", "value": 70, "unit": "kg", "time": "2026-03-01T08:00:00+08:00"}


def test_writers_wait_for_each_other(api: httpx.Client) -> None:
    """Answers, streams and records of many Subjects, and of one session after the other."""

    def ask(number: int) -> None:
        user = f"u-{number % 4}"
        body = {"input": "Hi", "user": user, "session_id": f"s-{number}", "stream": number % 2 == 0}
        answer = api.post("/v1/responses", json=body)
        assert answer.is_success, answer.text
        if body["stream"]:
            assert check_stream(answer.content).response["status"] == "completed"
        records = {"user": user, "retention": "permanent", "records": [RECORD | {"value": 40 + number}]}
        assert api.post("/v1/data", json=records).json()["ingested"] == 1

    with ThreadPoolExecutor(CALLERS) as callers:
        for done in [callers.submit(ask, number) for number in range(CALLERS)]:
            done.result()


def test_nothing_is_left_of_callers_who_hang_up_at_once(
    account: Account, api: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_ABANDONED_SECONDS", 0.0)
    monkeypatch.setattr(following, "_FORGOTTEN_SECONDS", 0.0)
    assert api.post("/v1/responses", json={"input": "Hi"}).is_success
    threads = threading.active_count()
    chance = random.Random(0)
    for number in range(HUNG_UP):
        caller = hold_open(api, {"input": "Hi " * 1000, "stream": number % 2 == 0, "store": number % 3 == 0})
        time.sleep(chance.random() * 0.02)
        caller.close()
    # Whoever comes later is served.
    assert api.post("/v1/responses", json={"input": "Hi"}).is_success
    wait_until(lambda: not Response.objects.filter(account_id=account.id, status__in=RUNNING).exists())
    wait_until(lambda: not following._background)
    wait_until(lambda: threading.active_count() <= threads + following_threads())


def following_threads() -> int:
    """How many more threads may be there: those that run turns stay for the next ones."""
    return SPARE_THREADS + sum(thread.name.startswith(("turn", "asyncio")) for thread in threading.enumerate())
