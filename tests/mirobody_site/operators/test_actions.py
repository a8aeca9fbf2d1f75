"""What operators do: each action says why, does what a caller's own call does, and is in the audit."""

import json
import re

import httpx
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from mirobody_site.operators import downloads
from mirobody_site.operators.models import AuditEntry
from mirobody_site.tenancy.models import ApiKey, Subject
from responses_app.models import Response
from tests.conversations.marked import handoff, rich_turn, write_records
from tests.mirobody_site.operators.conftest import Script, SignIn
from tests.responses_app.api.conftest import create
from tests.support.envelope import assert_error
from tests.support.leftovers import Markers, all_rows
from tests.support.server import Account, http_client
from tests.support.upstream import Gate, Step

WHY = {"reason": "person", "ticket": "HELP-12"}


@pytest.fixture
def markers() -> Markers:
    return Markers()


@pytest.fixture
def eve(api: httpx.Client, account: Account, script: Script, markers: Markers) -> Subject:
    """A Subject with records, a rich turn and a handoff."""
    write_records(api, markers, markers["user"])
    rich_turn(api, script, markers, user=markers["user"])
    handoff(api, script, markers, user=markers["user"])
    return Subject.objects.get(account_id=account.id, user_key=markers["user"])


def of_response(name: str, response_id: str) -> str:
    return reverse(f"admin:responses_app_response_{name}", args=[response_id])


def of_subject(name: str, subject: Subject) -> str:
    return reverse(f"admin:tenancy_subject_{name}", args=[subject.pk])


def last_entry(client: Client) -> AuditEntry:
    return AuditEntry.objects.filter(actor_name=client.name).latest("pk")


def test_a_running_turn_is_cancelled(api: httpx.Client, account: Account, script: Script, signed_in: SignIn) -> None:
    gate = Gate()
    mark = script(Step(text=["Slow", gate, "ly"]))
    running = create(api, input=f"Go {mark}", background=True)
    try:
        operator = signed_in("operator")
        address = of_response("cancel", running["id"])
        assert "What its turn has said so far stays." in operator.get(address).text
        assert operator.post(address, WHY).status_code == 302
    finally:
        gate.set()
    assert api.post(f"/v1/responses/{running['id']}/cancel").json()["status"] == "cancelled"
    entry = last_entry(operator)
    assert (entry.action, entry.object_id, entry.reason, entry.ticket) == (
        "cancelled",
        running["id"],
        "person",
        "HELP-12",
    )


def test_a_response_is_deleted(api: httpx.Client, account: Account, script: Script, signed_in: SignIn) -> None:
    turn = create(api, input=script(Step(text=["Gone soon."])))
    operator = signed_in("operator")
    address = of_response("remove", turn["id"])
    assert operator.post(address, {"reason": "because", "ticket": ""}).status_code == 200
    assert api.get(f"/v1/responses/{turn['id']}").status_code == 200
    assert operator.post(address, WHY).status_code == 302
    assert_error(api.get(f"/v1/responses/{turn['id']}"), 404, "not_found")
    assert last_entry(operator).action == "deleted"


def test_an_erasure_says_what_goes_and_wants_the_name(
    api: httpx.Client, account: Account, eve: Subject, markers: Markers, signed_in: SignIn
) -> None:
    administrator = signed_in("administrator")
    address = of_subject("erase", eve)
    asked = administrator.get(address).text
    assert "2 records and 2 conversations will be erased for good." in asked
    assert f"Type {markers['user']} to confirm" in asked
    for typed in ("", "yes", markers["user"].upper(), f"{markers['user']} "):
        assert administrator.post(address, {**WHY, "typed": typed}).status_code == 200
    assert Subject.objects.filter(pk=eve.pk).exists()
    receipt = administrator.post(address, {**WHY, "typed": markers["user"]}).text
    assert eve.key_hash in receipt
    assert markers.in_rows() == set()
    assert_error(api.delete(f"/v1/subjects/{markers['user']}"), 404, "not_found")
    entry = last_entry(administrator)
    assert (entry.action, entry.subject_hash) == ("erased", eve.key_hash)
    assert json.loads(entry.figures) == {"records": 2, "conversations": 2}
    assert administrator.get(address).status_code == 404


def test_the_receipt_is_the_one_of_purge_subject(
    account: Account, eve: Subject, markers: Markers, signed_in: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    whom = ["--account", eve.account.get_username(), "--user", markers["user"]]
    call_command("purge_subject", *whom, "--dry-run", "--json")
    announced = json.loads(capsys.readouterr().out)
    shown = signed_in("superuser").post(of_subject("erase", eve), {**WHY, "typed": markers["user"]}).text
    for name in announced:
        assert f"<dt>{name}</dt>" in shown
    for name in ("records", "conversations", "subject_hash"):
        assert f"<code>{announced[name]}</code>" in shown


def downloaded(client: Client, api: httpx.Client, address: str) -> str:
    """What a browser with the client's session is sent by the running server."""
    token = "t" * 32
    cookies = {name: morsel.value for name, morsel in client.cookies.items()} | {"csrftoken": token}
    with http_client(str(api.base_url), {"X-CSRFToken": token}) as browser:
        browser.cookies.update(cookies)
        answer = browser.post(address, data=WHY)
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment; ")
    return answer.text


def test_an_export_holds_everything_and_only_theirs(
    api: httpx.Client,
    account: Account,
    eve: Subject,
    markers: Markers,
    signed_in: SignIn,
    monkeypatch: pytest.MonkeyPatch,
    recwarn: pytest.WarningsRecorder,
) -> None:
    monkeypatch.setattr(downloads, "CHUNK", 1000)
    other = Markers()
    write_records(api, other, other["user"])
    operator = signed_in("operator")
    address = of_subject("export", eve)
    text = downloaded(operator, api, f"{address}?form=json")
    exported = json.loads(text)
    assert (len(exported["health_records"]), len(exported["responses"])) == (2, 2)
    assert markers.in_text(text) >= {"user", "indicator", "value", "answer", "user text", "handoff arguments"}
    assert other.in_text(text) == set()
    bundle = json.loads(downloaded(operator, api, f"{address}?form=fhir"))
    kinds = [entry["resource"]["resourceType"] for entry in bundle["entry"]]
    assert sorted(kinds) == ["Observation", "Observation", "Patient"]
    assert (last_entry(operator).action, last_entry(operator).subject_hash) == ("exported", eve.key_hash)
    written = "\n".join(row for table, row in all_rows() if table == AuditEntry._meta.db_table)
    assert markers.in_text(written) == set()
    # Django says so when it has to keep a stream whole.
    assert [one for one in recwarn if "StreamingHttpResponse" in str(one.message)] == []


def test_a_sweep(api: httpx.Client, account: Account, signed_in: SignIn) -> None:
    operator = signed_in("operator")
    assert "<dt>responses</dt>" in operator.post(reverse("admin:responses_app_response_sweep"), WHY).text
    assert last_entry(operator).action == "swept"


@pytest.mark.parametrize("ticket", ["a name here", "<b>", "x" * 65, "名"])
def test_no_free_text_goes_into_the_audit(api: httpx.Client, account: Account, signed_in: SignIn, ticket: str) -> None:
    operator = signed_in("operator")
    page = operator.post(reverse("admin:responses_app_response_sweep"), {"reason": "person", "ticket": ticket})
    assert "Letters, digits and" in page.text
    assert not AuditEntry.objects.filter(actor_name=operator.name).exists()


@pytest.mark.parametrize("role", ["support", "operator"])
def test_without_the_right_every_action_is_refused_and_audited(
    api: httpx.Client, account: Account, eve: Subject, markers: Markers, signed_in: SignIn, role: str
) -> None:
    client = signed_in(role)
    row = Response.objects.filter(subject=eve).latest("created_at")
    key = ApiKey.objects.get(account_id=account.id)
    administrators = [of_subject("erase", eve), reverse("admin:tenancy_apikey_add")]
    operators = [
        *(of_response(name, row.pk) for name in ("cancel", "remove", "object")),
        of_subject("export", eve),
        reverse("admin:responses_app_response_sweep"),
    ]
    refused = administrators if role == "operator" else administrators + operators
    for address in refused:
        for answer in (client.get(address), client.post(address, {**WHY, "typed": markers["user"], "account": "x"})):
            assert answer.status_code == 403, address
            assert markers.in_text(answer.text) == set()
    assert AuditEntry.objects.filter(actor_name=client.name, action="refused").count() == 2 * len(refused)
    client.post(reverse("admin:tenancy_apikey_changelist"), {"action": "revoke", "_selected_action": [key.pk]})
    key.refresh_from_db()
    assert key.revoked_at is None
    assert Subject.objects.filter(pk=eve.pk, erased_at=None).exists()


def test_a_key_is_made_shown_once_limited_and_revoked(server: str, account: Account, signed_in: SignIn) -> None:
    administrator = signed_in("administrator")
    add = reverse("admin:tenancy_apikey_add")
    assert "shown once" in administrator.get(add).text
    made = administrator.post(add, {"account": f"made-{administrator.name}", "name": "web", "requests_a_minute": "7"})
    assert "no-store" in made.headers["cache-control"]
    key = ApiKey.objects.get(account__username=f"made-{administrator.name}")
    secret = re.search(r"mb_live_[\w-]{43}", made.text)[0]  # type: ignore[index]  # there is one
    headers = {"Authorization": f"Bearer {secret}"}
    assert httpx.get(f"{server}/v1/data", headers=headers, trust_env=False).headers["x-ratelimit-limit"] == "7"
    pages = [reverse("admin:tenancy_apikey_changelist"), reverse("admin:tenancy_apikey_change", args=[key.pk])]
    assert all(secret not in administrator.get(page).text for page in pages)
    assert secret not in "\n".join(row for _, row in all_rows())
    change = reverse("admin:tenancy_apikey_change", args=[key.pk])
    assert administrator.post(change, {"rate_limit_rpm": "9"}).status_code == 302
    assert httpx.get(f"{server}/v1/data", headers=headers, trust_env=False).headers["x-ratelimit-limit"] == "9"
    administrator.post(pages[0], {"action": "revoke", "_selected_action": [key.pk]})
    assert httpx.get(f"{server}/v1/data", headers=headers, trust_env=False).status_code == 401
    done = AuditEntry.objects.filter(actor_name=administrator.name, object_type="API key").order_by("pk")
    assert [entry.action for entry in done] == ["key created", "changed", "key revoked"]


def test_an_account_that_cannot_be_is_refused(database: None, signed_in: SignIn) -> None:
    page = signed_in("administrator").post(
        reverse("admin:tenancy_apikey_add"), {"account": "no spaces here", "name": ""}
    )
    assert page.status_code == 200
    assert "valid username" in page.text


def test_actions_need_the_forms_token(api: httpx.Client, account: Account, eve: Subject, signed_in: SignIn) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in("administrator").cookies
    for address in (of_subject("erase", eve), reverse("admin:tenancy_apikey_add")):
        assert strict.post(address, WHY).status_code == 403
