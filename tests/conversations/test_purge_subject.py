"""``manage.py purge_subject``: asks first, erases one Subject to the byte, and leaves a receipt that says nothing."""

import io
import json
import re
from datetime import datetime

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from mirobody_site.tenancy.models import Subject
from responses_app.services import erasure
from responses_app.services.sweeping import sweep_expired
from tests.responses_app.api.conftest import Script, create, retrieve, write_record
from tests.support.commands import manage
from tests.support.envelope import assert_error
from tests.support.interruption import interrupted_at
from tests.support.leftovers import Markers, all_rows
from tests.support.server import Account
from tests.support.upstream import Call, Step
from tools_app.records.models import Share

RECORDS = 25


@pytest.fixture
def owner(account: Account) -> str:
    """The account's name."""
    return User.objects.get(pk=account.id).username


@pytest.fixture
def markers() -> Markers:
    return Markers()


@pytest.fixture
def eve(api: httpx.Client, markers: Markers) -> str:
    """A Subject's name; it has records and two conversations, one of them a session."""
    name = markers["name"]
    records = [
        {"indicator": "weight", "value": f"{60 + number} kg", "source": markers["tag"]} for number in range(RECORDS)
    ]
    assert api.post("/v1/data", json={"user": name, "retention": "permanent", "records": records}).status_code == 200
    create(api, input=markers["question"], user=name, metadata={"note": markers["note"]})
    create(api, input="Hello", user=name, session_id=markers["session"])
    return name


def answer_with(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))


def assert_untouched(api: httpx.Client, user: str) -> None:
    assert len(api.get("/v1/data", params={"user": user, "limit": "100"}).json()["data"]) == RECORDS


def test_a_dry_run_changes_nothing(owner: str, eve: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(all_rows())
    assert manage("purge_subject", "--account", owner, "--user", eve, "--dry-run", "--json") == 0
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["status"], receipt["records"], receipt["conversations"]) == ("would be erased", RECORDS, 2)
    assert list(all_rows()) == before


def test_the_typed_name_confirms(
    api: httpx.Client, owner: str, eve: str, markers: Markers, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, f"{eve}\n")
    assert manage("purge_subject", "--account", owner, "--user", eve) == 0
    assert markers.in_rows() == set()
    assert_error(api.delete(f"/v1/subjects/{eve}"), 404, "not_found")


@pytest.mark.parametrize("typed", ["", "\n", "yes\n", "@default\n"])
def test_anything_else_refuses(
    api: httpx.Client,
    owner: str,
    eve: str,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer_with(monkeypatch, typed)
    assert manage("purge_subject", "--account", owner, "--user", eve) == 3
    assert "nothing was erased" in capsys.readouterr().err
    assert_untouched(api, eve)


def test_the_default_subject(api: httpx.Client, owner: str, eve: str, monkeypatch: pytest.MonkeyPatch) -> None:
    response = create(api, input="Hello")
    answer_with(monkeypatch, "@default\n")
    assert manage("purge_subject", "--account", owner, "--default") == 0
    assert_error(api.get(f"/v1/responses/{response['id']}"), 404, "not_found")
    assert_untouched(api, eve)


def test_whom_it_does_not_know(owner: str, eve: str, capsys: pytest.CaptureFixture[str]) -> None:
    for account, whom in ((owner, ["--user", "nobody"]), ("nobody", ["--user", eve]), (owner, ["--default"])):
        assert manage("purge_subject", "--account", account, *whom, "--yes") == 1
        assert "There is no such account or Subject." in capsys.readouterr().err
    assert manage("purge_subject", "--account", owner, "--user", eve, "--yes") == 0
    assert manage("purge_subject", "--account", owner, "--user", eve, "--yes") == 1


def test_what_it_does_not_understand(api: httpx.Client, owner: str, eve: str) -> None:
    for arguments in (["--user", eve], ["--account", owner], ["--account", owner, "--user", eve, "--default"]):
        assert manage("purge_subject", *arguments, "--yes") == 2
    assert_untouched(api, eve)


def test_the_receipt_says_how_much_and_when_and_nothing_else(
    api: httpx.Client, owner: str, eve: str, markers: Markers, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(api, "weight", "70 kg", user="other")
    started = timezone.now().replace(microsecond=0)
    manage("purge_subject", "--account", owner, "--user", "other", "--dry-run", "--json")
    other = json.loads(capsys.readouterr().out)
    manage("purge_subject", "--account", owner, "--user", eve, "--dry-run", "--json")
    announced = json.loads(capsys.readouterr().out)
    assert manage("purge_subject", "--account", owner, "--user", eve, "--yes", "--json") == 0
    printed = capsys.readouterr()
    receipt = json.loads(printed.out)
    assert set(receipt) == {"status", "records", "conversations", "at", "subject_hash"}
    assert (receipt["status"], receipt["records"], receipt["conversations"]) == ("erased", RECORDS, 2)
    assert started <= datetime.fromisoformat(receipt["at"]) <= timezone.now()
    assert receipt["subject_hash"] == announced["subject_hash"] != other["subject_hash"]
    assert len(receipt["subject_hash"]) == 64
    assert markers.in_text(printed.out + printed.err) == set()


class Terminal(io.StringIO):
    """Somebody watches."""

    def isatty(self) -> bool:
        return True


def test_a_large_subject_goes_in_batches_and_progress_is_told(
    owner: str, eve: str, markers: Markers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "BATCH", 10)
    watched = Terminal()
    monkeypatch.setattr("sys.stderr", watched)
    call_command("purge_subject", "--account", owner, "--user", eve, "--yes")
    assert re.findall(r"(\d+)/27 ", watched.getvalue()) == ["0", "2", "12", "22", "27"]
    assert markers.in_rows() == set()


def test_an_interrupted_purge_is_finished_by_the_next_sweep(
    api: httpx.Client, owner: str, eve: str, markers: Markers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "BATCH", 10)
    with interrupted_at('DELETE FROM "tools_app_healthrecord"', occurrence=2):
        call_command("purge_subject", "--account", owner, "--user", eve, "--yes")
    assert manage("purge_subject", "--account", owner, "--user", eve, "--yes") == 1
    assert api.get("/v1/data", params={"user": eve}).json()["data"] == []
    assert markers.in_rows() == {"tag"}
    sweep_expired()
    assert markers.in_rows() == set()


def test_the_same_name_used_again_is_a_fresh_subject(api: httpx.Client, owner: str, eve: str, markers: Markers) -> None:
    first = Subject.objects.get(user_key=eve)
    manage("purge_subject", "--account", owner, "--user", eve, "--yes")
    assert api.get("/v1/data", params={"user": eve}).json()["data"] == []
    again = create(api, input="Hello", user=eve, session_id=markers["session"])
    assert again["previous_response_id"] is None
    assert Subject.objects.get(user_key=eve).pk != first.pk
    sweep_expired()
    assert retrieve(api, again["id"]) == again


def test_a_relatives_stored_results_lose_the_values(
    api: httpx.Client, owner: str, eve: str, markers: Markers, script: Script
) -> None:
    write_record(api, "weight", "71.5 kg", user="ann")
    people = {subject.user_key: subject for subject in Subject.objects.filter(account__username=owner)}
    Share.objects.create(subject=people[eve], with_subject=people["ann"])
    look = [Call("query_health_data", {"indicators": ["weight"], "member": eve}), Call("query_health_data")]
    told = create(api, input=script(Step(calls=look), Step(text=["Seen."])), user="ann")
    assert markers.in_text(json.dumps(told["tool_steps"])) == {"name", "tag"}
    manage("purge_subject", "--account", owner, "--user", eve, "--yes")
    assert markers.in_rows() == set()
    shown = retrieve(api, told["id"])
    assert [step["result"] == {"gone": True, "records": 1} for step in shown["tool_steps"]] == [True, False]
    assert "71.5" in json.dumps(shown["tool_steps"][1])


def test_no_byte_stays_in_an_sqlite_file_or_its_log(owner: str, eve: str, markers: Markers) -> None:
    """On a database server there are no files to look into; docs/operations.md says what its operator does."""
    manage("purge_subject", "--account", owner, "--user", eve, "--yes")
    assert markers.in_database_files() == set()
    assert markers.in_rows() == set()


def test_nor_after_an_erasure_through_the_api(api: httpx.Client, eve: str, markers: Markers) -> None:
    assert api.delete(f"/v1/subjects/{eve}").status_code == 200
    assert markers.in_database_files() == set()
    assert markers.in_rows() == set()
