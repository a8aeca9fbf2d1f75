"""``manage.py export_subject``: all that is kept of one person, of nobody else, in a whole file or none."""

import json
import stat
from io import StringIO
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from mirobody_site.tenancy.models import Subject
from responses_app.services import export
from responses_app.services.erasure import erase_subject
from tests.conversations.marked import Json, handoff, plain_turn, resume, rich_turn, write_records
from tests.responses_app.api.conftest import Script, calls_of, create, retrieve, write_record
from tests.support.commands import manage
from tests.support.leftovers import Markers
from tests.support.server import Account
from tests.support.upstream import Call, Step
from tests.tools_app.fhir_bundles import Patient, bundle
from tests.tools_app.records import rows, write
from tools_app.fhir.parsing import check_valid
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import Share


@pytest.fixture
def owner(account: Account) -> str:
    """The account's name."""
    return User.objects.get(pk=account.id).username


def exported(owner: str, user: str, path: Path, *flags: str) -> Json:
    assert manage("export_subject", "--account", owner, "--user", user, *flags, str(path)) == 0
    whole: Json = json.loads(path.read_text())
    return whole


def without_ids(record: ClinicalRecord) -> tuple[object, ...]:
    return (record.kind, record.display, record.codes, record.status, record.time, record.end_time, record.local_date)


def test_everything_that_is_kept_of_a_person_is_in_the_file(
    api: httpx.Client, owner: str, script: Script, markers: Markers, tmp_path: Path
) -> None:
    user = markers["user"]
    write_records(api, markers, user)
    rich = rich_turn(api, script, markers, user=user, session_id=markers["session"])
    resumed = resume(api, markers, handoff(api, script, markers, user=user), user=user)
    note = script(Step(calls=[Call("write_file", {"file_path": "/n", "content": markers["note"]})]), Step(text=["Ok"]))
    create(api, input=f"Note {note}", user=user)
    path = tmp_path / "export.json"
    whole = exported(owner, user, path)
    assert markers.in_text(path.read_text()) == markers.in_rows() == set(markers)
    assert whole["subject"]["user"] == user
    assert sorted(row["id"] for row in whole["health_records"]) == sorted(row["id"] for row in rows(api, user=user))
    turns = {turn["response"]["id"]: turn for turn in whole["responses"]}
    assert len(turns) == 4
    assert turns[rich["id"]]["response"] == retrieve(api, rich["id"])
    assert turns[rich["id"]]["session_id"] == markers["session"]
    listed = api.get(f"/v1/responses/{resumed['id']}/input_items", params={"order": "asc"}).json()["data"]
    assert turns[resumed["id"]]["input"] == listed
    assert [turn["files"] for turn in turns.values() if turn["files"]] == [{"/n": markers["note"]}]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_of_anybody_else_and_nothing_that_is_gone(
    api: httpx.Client, owner: str, script: Script, markers: Markers, tmp_path: Path
) -> None:
    write_record(api, markers["other's"], "1", user="ann")
    plain_turn(api, script, markers, "other's", user="ann")
    write_record(api, markers["own"], "2", user="bob")
    assert write(api, {"indicator": markers["deleted"], "value": 3}, user="bob").status_code == 200
    gone = plain_turn(api, script, markers, "deleted", user="bob")
    assert api.delete(f"/v1/responses/{gone['id']}").status_code == 200
    (record,) = rows(api, user="bob", indicator=markers["deleted"])
    assert api.delete("/v1/data", params={"user": "bob", "id": record["id"]}).status_code == 200
    whole = exported(owner, "bob", tmp_path / "bob.json")
    assert markers.in_text(json.dumps(whole)) == {"own"}


def test_shares_are_named_as_the_api_names_them(api: httpx.Client, owner: str, tmp_path: Path) -> None:
    for body in ({"user": "bob", "with": "ann", "scope": "all"}, {"user": "cyd", "with": "bob", "scope": "readings"}):
        assert api.post("/v1/shares", json=body).status_code == 200
    assert exported(owner, "bob", tmp_path / "bob")["shares"] == api.get("/v1/shares?user=bob").json()["data"]
    assert Share.objects.filter(subject__account__username=owner).count() == 2


def test_values_of_a_relative_go_from_the_file_with_their_share(
    api: httpx.Client, owner: str, script: Script, markers: Markers, tmp_path: Path
) -> None:
    write_record(api, "weight", "71 kg", user="eve", source=markers["tag"])
    assert api.post("/v1/shares", json={"user": "eve", "with": "ann", "scope": "all"}).status_code == 200
    look = script(Step(calls=[Call("query_health_data", {"member": "eve"})]), Step(text=["Seen."]))
    create(api, input=look, user="ann")
    assert markers.in_text(json.dumps(exported(owner, "ann", tmp_path / "before"))) == {"tag"}
    assert api.delete("/v1/shares?user=eve&with=ann").status_code == 200
    assert markers.in_text(json.dumps(exported(owner, "ann", tmp_path / "after"))) == set()


def test_the_bundle_is_valid_and_read_again_as_the_same_records(
    api: httpx.Client, owner: str, account: Account, tmp_path: Path
) -> None:
    pat = Patient()
    odd = [
        pat.condition(onsetDateTime="2019", abatementDateTime="2020-03", clinicalStatus=None),
        pat.about("Immunization", status="completed", occurrenceString="as a child",
                  vaccineCode={"text": "Measles vaccine"}),
        pat.about("MedicationRequest", status="cancelled", intent="order",
                  medicationCodeableConcept={"text": "Ibuprofen"}),
        pat.about("Procedure", status="completed", code={"text": "<b>Suture</b> & more"}, performedString="twice"),
        pat.about("DocumentReference", status="superseded", type={"text": "Letter"},
                  content=[{"attachment": {"title": "Letter"}}]),
    ]  # fmt: skip
    source = tmp_path / "source.json"
    source.write_text(json.dumps(bundle(*pat.history(visits=2), *odd)))
    assert manage("import_fhir", str(source), "--account", owner, "--user", "pat") == 0
    assert write(api, {"indicator": "血压", "value": "128/82", "unit": "mmHg"}, user="pat").status_code == 200
    assert api.patch("/v1/subjects/pat", json={"display_name": "Pat"}).status_code == 200

    path = tmp_path / "bundle.json"
    whole = exported(owner, "pat", path, "--format", "fhir")
    resources = [entry["resource"] for entry in whole["entry"]]
    for resource in resources:
        check_valid(resource)
    patient, *others = resources
    assert (patient["resourceType"], patient["name"]) == ("Patient", [{"text": "Pat"}])
    about = {"reference": whole["entry"][0]["fullUrl"]}
    assert all(about in (one.get("subject"), one.get("patient")) for one in others)

    assert manage("import_fhir", str(path), "--account", owner, "--user", "again") == 0
    people = {one.user_key: one for one in Subject.objects.filter(account_id=account.id)}
    first, again = (ClinicalRecord.objects.filter(subject=people[name]).order_by("pk") for name in ("pat", "again"))
    # A cancelled prescription becomes a statement, which has no such status.
    assert [without_ids(one) for one in again] == [
        tuple("unknown" if part == "cancelled" else part for part in without_ids(one)) for one in first
    ]
    kept = ("loinc_code", "parsed_value", "parsed_unit", "time", "reference_low", "reference_high", "abnormal")
    before, after = (
        sorted(str([row[name] for name in kept]) for row in rows(api, user=name, limit=100))
        for name in ("pat", "again")
    )
    assert len(before) == 2 * 7 + 2
    assert after == before


def test_whom_it_does_not_know_and_where_it_cannot_write(
    api: httpx.Client, owner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(api, "weight", "71 kg", user="eve")
    path = tmp_path / "there"
    for account, user in ((owner, "nobody"), ("nobody", "eve")):
        assert manage("export_subject", "--account", account, "--user", user, str(path)) == 1
    assert not path.exists()
    path.write_text("mine")
    for target in (path, tmp_path / "no folder" / "file"):
        assert manage("export_subject", "--account", owner, "--user", "eve", str(target)) == 1
        assert "Nothing was exported." in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
    assert manage("export_subject", "--account", owner, "--user", "eve") == 2


def test_an_erasure_meanwhile_leaves_no_half_of_a_file(
    api: httpx.Client, owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_record(api, "weight", "71 kg", user="eve")
    subject = Subject.objects.get(account__username=owner, user_key="eve")
    asked = export.shares_of

    def erased_first(whose: Subject) -> object:
        erase_subject(subject)
        return asked(whose)

    monkeypatch.setattr(export, "shares_of", erased_first)
    assert manage("export_subject", "--account", owner, "--user", "eve", str(tmp_path / "file")) == 1
    assert list(tmp_path.iterdir()) == []


def test_to_standard_output(api: httpx.Client, owner: str) -> None:
    create(api, input="Hello")
    out = StringIO()
    call_command("export_subject", "-", "--account", owner, "--default", stdout=out)
    (turn,) = json.loads(out.getvalue())["responses"]
    assert turn["response"]["status"] == "completed"
    assert calls_of(turn["response"]) == []
