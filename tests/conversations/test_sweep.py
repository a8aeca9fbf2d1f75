"""The sweep: takes away what has expired, in batches, may be stopped and run twice at once; and who calls it."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import timedelta
from types import SimpleNamespace

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.utils import timezone

from mirobody_site.celery import app
from mirobody_site.tenancy.models import Subject
from responses_app import embedded
from responses_app.models import Conversation, RecordSource, Response
from responses_app.services import sweeping
from responses_app.services.erasure import erase_subject
from responses_app.services.sweeping import Swept, sweep_expired
from tests.responses_app.api.conftest import Script, create, retrieve, write_record
from tests.support.envelope import assert_error
from tests.support.interruption import interrupted_at
from tests.support.server import Account
from tests.support.upstream import Call, Step
from tools_app.records.models import HealthRecord

NOTHING = Swept(responses=0, records=0, results=0, subjects=0)
COUNT = 5
EVERYTHING = Swept(responses=COUNT + 1, records=COUNT, results=COUNT, subjects=0)
FERRITIN = Call("query_health_data", {"indicators": ["ferritin"]})


@pytest.fixture(autouse=True)
def swept(database: None) -> None:
    """What other tests have left is gone, so that the counts are a test's own."""
    sweep_expired()


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "BATCH", 2)


@pytest.fixture
def leftovers(api: httpx.Client, account: Account, script: Script) -> Account:
    """An account with expired conversations, one of two responses, expired records, and results that lost theirs."""
    write_record(api, "ferritin", "51.5 ng/mL")
    for _ in range(COUNT):
        create(api, input=script(Step(calls=[FERRITIN]), Step(text=["Seen."])))
    api.delete("/v1/data", params={"all": "true"})
    expired = [create(api, input="One", user="old") for _ in range(COUNT)]
    expired.append(create(api, input="Two", user="old", previous_response_id=expired[0]["id"]))
    records = [{"indicator": "weight", "value": f"{70 + number} kg"} for number in range(COUNT)]
    api.post("/v1/data", json={"user": "old", "retention": "1h", "records": records})
    past = timezone.now() - timedelta(seconds=1)
    Response.objects.filter(pk__in=[response["id"] for response in expired]).update(expires_at=past)
    HealthRecord.objects.filter(subject__user_key="old", subject__account_id=account.id).update(expires_at=past)
    return account


def left(account: Account) -> tuple[int, int, int]:
    """Rows that a sweep has to take away or to change: conversations, records, results."""
    return (
        Conversation.objects.filter(subject__account_id=account.id, subject__user_key="old").count(),
        HealthRecord.objects.filter(subject__account_id=account.id).count(),
        RecordSource.objects.filter(response__account_id=account.id, gone_at=None).count(),
    )


def kinds(swept: Swept) -> tuple[int, int, int]:
    return (swept.responses, swept.records, swept.results)


def test_all_that_expired_goes_and_is_counted(api: httpx.Client, leftovers: Account) -> None:
    alive = create(api, input="One", user="old")
    write_record(api, "weight", "80 kg", user="old")
    assert sweep_expired() == EVERYTHING
    assert left(leftovers) == (1, 1, 0)
    assert retrieve(api, alive["id"]) == alive
    assert sweep_expired() == NOTHING


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ('DELETE FROM "responses_app_conversation"', 0),
        ('DELETE FROM "tools_app_healthrecord"', 1),
        ('UPDATE "responses_app_recordsource"', 2),
    ],
)
def test_an_interrupted_sweep_keeps_what_it_did_and_the_next_goes_on(
    leftovers: Account, statement: str, kind: int
) -> None:
    with interrupted_at(statement, occurrence=3):
        sweep_expired()
    done = COUNT - left(leftovers)[kind]
    assert 0 < done < COUNT
    assert kinds(sweep_expired())[kind] < kinds(EVERYTHING)[kind]
    assert left(leftovers) == (0, 0, 0)


def test_two_sweeps_at_once_share_the_work(leftovers: Account) -> None:
    start = threading.Barrier(2)

    def sweep() -> Swept:
        try:
            start.wait()
            return sweep_expired()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        both = [future.result() for future in [threads.submit(sweep) for _ in range(2)]]
    counts = [asdict(swept) for swept in both]
    assert {name: sum(count[name] for count in counts) for name in counts[0]} == asdict(EVERYTHING)
    assert left(leftovers) == (0, 0, 0)


def test_a_chain_is_swept_link_by_link(api: httpx.Client) -> None:
    """Each link goes when its time comes; what a live one needs stays until that one goes."""
    chain = [create(api, input="One")]
    for _ in range(3):
        chain.append(create(api, input="More", previous_response_id=chain[-1]["id"]))
    conversation = Response.objects.get(pk=chain[0]["id"]).conversation_id
    for number, response in enumerate(chain, start=1):
        assert Response.objects.filter(conversation_id=conversation).count() == len(chain)
        Response.objects.filter(pk=response["id"]).update(expires_at=timezone.now())
        assert sweep_expired().responses == 1
        for gone in chain[:number]:
            assert_error(api.get(f"/v1/responses/{gone['id']}"), 404, "not_found")
    assert not Conversation.objects.filter(pk=conversation).exists()


def test_an_interrupted_erasure_is_finished_by_the_next_sweep(api: httpx.Client, account: Account) -> None:
    create(api, input="Hello", user="eve", session_id="s")
    write_record(api, "weight", "70 kg", user="eve")
    eve = Subject.objects.get(account_id=account.id, user_key="eve")
    with interrupted_at('DELETE FROM "tools_app_healthrecord"', occurrence=1):
        erase_subject(eve)
    assert_error(api.delete("/v1/subjects/eve"), 404, "not_found")
    assert_error(api.get("/v1/sessions/s", params={"user": "eve"}), 404, "not_found")
    assert api.get("/v1/data", params={"user": "eve"}).json()["data"] == []
    again = create(api, input="Hello", user="eve", session_id="s")
    assert again["previous_response_id"] is None
    assert sweep_expired().subjects == 1
    assert not Subject.objects.filter(pk=eve.pk).exists()
    assert not HealthRecord.objects.filter(subject_id=eve.pk).exists()
    assert retrieve(api, again["id"]) == again
    assert sweep_expired().subjects == 0


def test_the_command_prints_the_counts(leftovers: Account, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sweep_expired", "--json")
    assert json.loads(capsys.readouterr().out) == asdict(EVERYTHING)
    call_command("sweep_expired")
    assert capsys.readouterr().out.splitlines() == ["responses: 0", "records: 0", "results: 0", "subjects: 0"]


def test_the_beat_sweeps(leftovers: Account) -> None:
    app.loader.import_default_modules()
    (entry,) = [entry for entry in app.conf.beat_schedule.values() if "sweep" in entry["task"]]
    assert 0 < entry["schedule"] <= 3600
    app.tasks[entry["task"]].apply(throw=True)
    assert left(leftovers) == (0, 0, 0)


def test_an_operator_sweeps_in_the_admin(api: httpx.Client, leftovers: Account) -> None:
    chosen = create(api, input="Still alive")
    operator = Client()
    operator.force_login(User.objects.create_superuser(f"operator-{leftovers.id}"))
    page = operator.post("/admin/responses_app/response/sweep/", {"reason": "maintenance"})
    for name, count in (("responses", EVERYTHING.responses), ("records", COUNT), ("results", COUNT)):
        assert f"<dt>{name}</dt><dd><code>{count}</code>" in page.text
    assert left(leftovers) == (0, 0, 0)
    assert retrieve(api, chosen["id"]) == chosen


def test_a_server_without_workers_sweeps_by_itself(server: str) -> None:
    assert "sweep" in [thread.name for thread in threading.enumerate() if thread.daemon]


def test_its_thread_outlives_a_failure(leftovers: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []
    pause = threading.Event()

    def fails_first() -> None:
        attempts.append(1)
        if len(attempts) == 1:
            raise RuntimeError
        sweep_expired()
        # A pause that is cut short ends the thread.
        pause.set()

    monkeypatch.setattr(embedded, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(embedded, "sweep_expired", fails_first)
    monkeypatch.setattr(embedded, "threading", SimpleNamespace(Thread=threading.Thread, Event=lambda: pause))
    embedded.sweep_regularly()
    assert pause.wait(20)
    assert left(leftovers) == (0, 0, 0)
