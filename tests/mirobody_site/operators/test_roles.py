"""Who may see what: each page of the admin for each role, and what the audit says of it."""

import json

import httpx
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from mirobody_site.operators.models import AuditEntry
from mirobody_site.operators.roles import GROUPS
from mirobody_site.tenancy.models import ApiKey, Subject
from responses_app.models import Response
from tests.conversations.marked import handoff, rich_turn, write_records
from tests.mirobody_site.operators.conftest import ROLES, Script, SignIn
from tests.support.leftovers import Markers, all_rows
from tests.support.server import Account
from tools_app.records.models import HealthRecord

NAMES = {"user", "display name"}


@pytest.fixture
def markers() -> Markers:
    return Markers()


@pytest.fixture
def subject(api: httpx.Client, account: Account, script: Script, markers: Markers) -> Subject:
    """A Subject with marked records, a marked conversation and a marked handoff in a marked session."""
    name = markers["user"]
    write_records(api, markers, name)
    api.patch(f"/v1/subjects/{name}", json={"time_zone": "UTC", "display_name": markers["display name"]})
    rich_turn(api, script, markers, user=name)
    handoff(api, script, markers, user=name, session_id=markers["session"])
    return Subject.objects.get(account_id=account.id, user_key=name)


def pages_of(subject: Subject) -> dict[str, str]:
    """A page of each kind about the Subject, by what it is."""
    response = Response.objects.filter(subject=subject).latest("created_at")
    record = HealthRecord.objects.filter(subject=subject).first()
    key = ApiKey.objects.get(account_id=subject.account_id)
    assert record is not None
    return {
        "index": reverse("admin:index"),
        "responses": reverse("admin:responses_app_response_changelist"),
        "response": reverse("admin:responses_app_response_change", args=[quote(response.pk)]),
        "sessions": reverse("admin:responses_app_session_changelist"),
        "handoffs": reverse("admin:responses_app_pendingcall_changelist"),
        "subjects": reverse("admin:tenancy_subject_changelist"),
        "subject": reverse("admin:tenancy_subject_change", args=[subject.pk]),
        "keys": reverse("admin:tenancy_apikey_changelist"),
        "key": reverse("admin:tenancy_apikey_change", args=[key.pk]),
        "records": reverse("admin:tools_app_healthrecord_changelist"),
        "record": reverse("admin:tools_app_healthrecord_change", args=[record.pk]),
        "record's history": reverse("admin:tools_app_healthrecord_history", args=[record.pk]),
        "clinical records": reverse("admin:tools_app_clinicalrecord_changelist"),
        "shares": reverse("admin:tools_app_share_changelist"),
        "audit": reverse("admin:operators_auditentry_changelist"),
        "accounts": reverse("admin:auth_user_changelist"),
        "groups": reverse("admin:auth_group_changelist"),
    }


METADATA = {"index", "responses", "response", "sessions", "handoffs", "subjects", "subject", "keys", "key"}
CONTENT = {"records", "record", "record's history", "clinical records", "shares"}
MANAGEMENT = {"audit", "accounts", "groups"}
ALLOWED = {
    "caller": set(),
    "support": METADATA,
    "operator": METADATA | CONTENT,
    "administrator": METADATA | CONTENT | MANAGEMENT,
    "superuser": METADATA | CONTENT | MANAGEMENT,
}


@pytest.mark.parametrize("role", ALLOWED)
def test_a_role_sees_its_pages_and_a_403_elsewhere(signed_in: SignIn, subject: Subject, role: str) -> None:
    client = signed_in(role)
    pages = pages_of(subject)
    answered = {name: client.get(path).status_code for name, path in pages.items()}
    assert answered == {name: 200 if name in ALLOWED[role] else 403 for name in pages}
    refused = AuditEntry.objects.filter(actor_name=client.name, action="refused")
    assert refused.count() == len(set(pages) - ALLOWED[role])


def test_support_is_shown_no_content_and_no_name(signed_in: SignIn, subject: Subject, markers: Markers) -> None:
    client = signed_in("support")
    for name, path in pages_of(subject).items():
        for address in (path, f"{path}?q={subject.pk}", f"{path}?q=nonsense&o=1"):
            assert markers.in_text(client.get(address, follow=True).text) == set(), name


def test_support_cannot_guess_content_by_filtering(signed_in: SignIn, subject: Subject, markers: Markers) -> None:
    client = signed_in("support")
    response = Response.objects.filter(subject=subject).latest("created_at")
    guesses = {
        "responses_app_response": [f"input__contains={markers['user text']}", "body__contains=a"],
        "responses_app_session": ["name__startswith=m", "subject__user_key__startswith=m"],
        "tenancy_subject": [f"user_key__exact={markers['user']}", "display_name__contains=m"],
        "tenancy_apikey": ["secret_hash__startswith=a"],
    }
    for model, queries in guesses.items():
        path = reverse(f"admin:{model}_changelist")
        for query in queries:
            answer = client.get(f"{path}?{query}")
            assert answer.status_code == 400, query
            assert response.pk not in answer.text


def test_support_cannot_find_a_subject_by_its_name(signed_in: SignIn, subject: Subject, markers: Markers) -> None:
    path = reverse("admin:tenancy_subject_changelist")
    link = reverse("admin:tenancy_subject_change", args=[subject.pk])
    by_name, by_hash = f"{path}?q={markers['user']}", f"{path}?q={subject.key_hash}"
    found = {role: [link in signed_in(role).get(query).text for query in (by_name, by_hash)] for role in ROLES}
    assert found == {"support": [False, True], "operator": [True, True], "administrator": [True, True]}


def test_whoever_reads_content_is_in_the_audit_and_no_content_is(
    signed_in: SignIn, subject: Subject, markers: Markers
) -> None:
    client = signed_in("operator")
    record = HealthRecord.objects.filter(subject=subject, indicator=markers["indicator"]).get()
    path = reverse("admin:tools_app_healthrecord_change", args=[record.pk])
    shown = client.get(path, headers={"user-agent": "x"}, REMOTE_ADDR="203.0.113.7").text
    assert {"indicator", "value", "source"} <= markers.in_text(shown)
    entry = AuditEntry.objects.get(actor_name=client.name)
    assert (entry.action, entry.object_type, entry.object_id) == ("viewed", "health record", str(record.pk))
    assert entry.address == "203.0.113.7"
    client.get(reverse("admin:tools_app_healthrecord_changelist"))
    client.get(reverse("admin:tenancy_subject_changelist") + f"?q={markers['user']}")
    kinds = AuditEntry.objects.filter(actor_name=client.name).values_list("object_type", flat=True)
    assert set(kinds) == {"health record", "list of health records", "list of subjects"}
    written = "\n".join(row for table, row in all_rows() if table == AuditEntry._meta.db_table)
    assert markers.in_text(written) == set()
    assert markers.in_text("\n".join(map(str, LogEntry.objects.values_list()))) == set()


def test_lists_of_metadata_write_no_entry(signed_in: SignIn, subject: Subject) -> None:
    client = signed_in("support")
    for name in METADATA:
        client.get(pages_of(subject)[name])
    assert not AuditEntry.objects.filter(actor_name=client.name).exists()


def test_nobody_changes_the_audit_or_what_was_said(signed_in: SignIn, subject: Subject) -> None:
    client = signed_in("superuser")
    client.get(reverse("admin:tools_app_healthrecord_changelist"))
    entry = AuditEntry.objects.get(actor_name=client.name)
    rows: dict[str, object] = {
        "operators_auditentry": entry.pk,
        "responses_app_response": Response.objects.filter(subject=subject).latest("created_at").pk,
        "tools_app_healthrecord": HealthRecord.objects.filter(subject=subject).latest("pk").pk,
        "tenancy_subject": subject.pk,
    }
    for model, pk in rows.items():
        change = reverse(f"admin:{model}_change", args=[quote(pk)])
        assert client.get(change).status_code == 200
        refused = [
            client.post(change, {"actor_name": "nobody"}),
            client.post(reverse(f"admin:{model}_delete", args=[quote(pk)]), {"post": "yes"}),
            client.get(reverse(f"admin:{model}_add")),
        ]
        assert [answer.status_code for answer in refused] == [403, 403, 403], model
    assert AuditEntry.objects.get(pk=entry.pk).actor_name == client.name


@pytest.mark.parametrize("column", ["actor_name", "object_id", "request_id"])
def test_the_audit_is_searched_by_whole_values(signed_in: SignIn, subject: Subject, column: str) -> None:
    reader = signed_in("operator")
    record = HealthRecord.objects.filter(subject=subject).latest("pk")
    reader.get(reverse("admin:tools_app_healthrecord_change", args=[record.pk]))
    entry = AuditEntry.objects.get(actor_name=reader.name)
    AuditEntry.objects.filter(pk=entry.pk).update(request_id=f"req_{entry.pk}_x")
    entry.refresh_from_db()
    administrator = signed_in("administrator")
    page = reverse("admin:operators_auditentry_changelist")
    link = reverse("admin:operators_auditentry_change", args=[entry.pk])
    assert link in administrator.get(f"{page}?q={getattr(entry, column)}").text
    assert link not in administrator.get(f"{page}?q={getattr(entry, column)}0").text


def test_migrating_brings_the_groups_back(database: None) -> None:
    support = Group.objects.get(name="support")
    support.permissions.clear()
    call_command("migrate", verbosity=0)
    held = {f"{one.content_type.app_label}.{one.codename}" for one in support.permissions.all()}
    assert held == set(GROUPS["support"])


def test_signing_in_is_audited_and_a_typed_secret_is_not(database: None) -> None:
    user = User.objects.create_user("door", password="right-horse", is_staff=True)
    login = reverse("admin:login")
    try:
        for name, password in (("door", "wrong"), ("hunter2-as-a-name", "x"), ("door", "right-horse")):
            Client().post(login, {"username": name, "password": password})
        entries = AuditEntry.objects.filter(action__in=["signed in", "sign-in failed"]).order_by("-pk")[:3]
        told = [(entry.action, entry.actor_name) for entry in entries]
        assert told == [("signed in", "door"), ("sign-in failed", ""), ("sign-in failed", "door")]
        assert "hunter2" not in json.dumps([row for _, row in all_rows() if "hunter2" in row])
    finally:
        user.delete()


def test_an_administrator_makes_operators_but_no_superuser(signed_in: SignIn) -> None:
    administrator = signed_in("administrator")
    name = f"{administrator.name}-new"
    form = {
        "username": name,
        "usable_password": "true",
        "password1": "a-Long-0ne-here!",
        "password2": "a-Long-0ne-here!",
    }
    administrator.post(reverse("admin:auth_user_add"), form)
    made = User.objects.get(username=name)
    change = reverse("admin:auth_user_change", args=[made.pk])
    group = Group.objects.get(name="support")
    form = {"username": name, "is_active": "on", "is_staff": "on", "is_superuser": "on", "groups": [group.pk]}
    assert administrator.post(change, form).status_code == 302
    made.refresh_from_db()
    assert (made.is_staff, made.is_superuser, list(made.groups.all())) == (True, False, [group])
    changed = AuditEntry.objects.filter(actor_name=administrator.name, action="changed", object_id=str(made.pk))
    assert changed.count() == 2
    root = User.objects.create_superuser(f"{name}-root")
    assert administrator.post(reverse("admin:auth_user_change", args=[root.pk]), form).status_code == 403
    password = {"usable_password": "true", "password1": "taken-0ver!", "password2": "taken-0ver!"}
    assert administrator.post(f"/admin/auth/user/{root.pk}/password/", password).status_code == 403
    assert administrator.post(reverse("admin:auth_user_delete", args=[made.pk]), {"post": "yes"}).status_code == 403


def test_pages_forbid_inline_scripts_and_other_hosts(signed_in: SignIn) -> None:
    answer = signed_in("support").get(reverse("admin:index"))
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["script-src"] == "'self' 'unsafe-eval'"
    assert policy["frame-ancestors"] == "'none'"
    assert "no-store" in answer.headers["cache-control"]
