"""A conversation's page: what each turn said and did, where from, and nothing that runs."""

import json
import re
from datetime import timedelta

import httpx
import lxml.etree
import lxml.html
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from mirobody_site.operators.models import AuditEntry
from mirobody_site.tenancy.models import ApiKey, Subject
from responses_app.models import Conversation, Response
from responses_app.protocol.ids import new_response_id
from responses_app.protocol.request import ResponseRequest
from responses_app.protocol.response import Identity, message_item, new_response
from tests.conversations.marked import handoff, resume, rich_turn, write_records
from tests.mirobody_site.operators.conftest import Script, SignIn
from tests.responses_app.api.conftest import create
from tests.support.leftovers import Markers
from tests.support.server import Account
from tests.support.upstream import Call, Step

CHART = '```vis-chart\n{"type": "line", "title": "Glucose", "data": [{"time": "2026-01-02", "value": 5.4}]}\n```'
HOSTILE = (
    '<img src=x onerror=alert(1)><script>alert(1)</script>{{ 7|add:7 }}" x-data="alert(1)" \'><svg onload=alert(1)>'
)


@pytest.fixture
def markers() -> Markers:
    return Markers()


def timeline(conversation_of: str, **query: str) -> str:
    conversation = Response.objects.get(pk=conversation_of).conversation_id
    address = reverse("admin:responses_app_conversation_change", args=[conversation])
    return f"{address}?{'&'.join(f'{name}={value}' for name, value in query.items())}"


def test_a_turn_shows_all_it_said_and_did(
    api: httpx.Client, account: Account, script: Script, markers: Markers, signed_in: SignIn
) -> None:
    write_records(api, markers, markers["user"])
    turn = rich_turn(api, script, markers, user=markers["user"])
    page = signed_in("operator").get(timeline(turn["id"]))
    shown = markers.in_text(page.text)
    assert shown >= {
        "user",
        "user text",
        "user part",
        "reasoning",
        "answer",
        "instructions",
        "image",
        "replayed output",
    }
    assert shown >= {"server arguments", "indicator", "value", "source", "second indicator"}
    for step in turn["tool_steps"]:
        assert f'id="{step["call_id"]}"' in page.text
    record_links = re.findall(r"/admin/tools_app/healthrecord/\d+/change/", page.text)
    assert len(record_links) >= 2
    assert f"{turn['usage']['billed_tokens']['input']} tokens in" in page.text


def test_a_handoff_says_who_answered_it_and_when(
    api: httpx.Client, account: Account, script: Script, markers: Markers, signed_in: SignIn
) -> None:
    paused = handoff(api, script, markers)
    operator = signed_in("operator")
    waiting = operator.get(timeline(paused["id"])).text
    assert "Waits for its output." in waiting
    assert {"handoff arguments", "handoff words"} <= markers.in_text(waiting)
    resumed = resume(api, markers, paused)
    answered = operator.get(timeline(paused["id"])).text
    assert f">{resumed['id']}</a> at 20" in answered
    assert {"resume output", "resume answer"} <= markers.in_text(answered)


def test_branches_and_neighbours(api: httpx.Client, account: Account, script: Script, signed_in: SignIn) -> None:
    mark = script(Step(text=["Yes."]), repeat_last=True)
    root = create(api, input=f"one {mark}")
    left = create(api, input=f"left {mark}", previous_response_id=root["id"])
    right = create(api, input=f"right {mark}", previous_response_id=root["id"])
    other = create(api, input=f"other {mark}")
    operator = signed_in("operator")
    page = operator.get(timeline(root["id"])).text
    assert "2 branches" in page
    assert f"#{left['id']}" in page
    assert f"#{right['id']}" in page
    assert (
        reverse("admin:responses_app_conversation_change", args=[Response.objects.get(pk=other["id"]).conversation_id])
        in page
    )
    only_left = operator.get(timeline(root["id"], branch=left["id"])).text
    assert f'id="{left["id"]}"' in only_left
    assert f'id="{right["id"]}"' not in only_left


def test_deleted_and_expired_turns_show_nothing_they_said(
    api: httpx.Client, account: Account, script: Script, signed_in: SignIn
) -> None:
    first = create(api, input=f"Deleted question {script(Step(text=['Deleted answer.']))}")
    kept = script(Step(text=["Kept answer."]))
    second = create(api, input=f"Kept question {kept}", previous_response_id=first["id"])
    assert api.delete(f"/v1/responses/{first['id']}").status_code == 200
    page = signed_in("operator").get(timeline(second["id"])).text
    assert "Kept answer." in page
    assert "Deleted answer." not in page
    assert "Deleted question" not in page
    Response.objects.filter(pk=second["id"]).update(expires_at=timezone.now())
    expired = signed_in("operator").get(timeline(second["id"])).text
    assert "Kept answer." not in expired
    assert "Expired." in expired


def test_an_answer_is_rendered_and_its_chart_described(
    api: httpx.Client, account: Account, script: Script, signed_in: SignIn
) -> None:
    turn = create(api, input=script(Step(text=[f"**Fine**\n\n{CHART}"])))
    page = signed_in("operator").get(timeline(turn["id"])).text
    assert "<strong>Fine</strong>" in page
    assert '<figure class="vis-chart"' in page
    assert "<figcaption>Glucose</figcaption>" in page


def test_nothing_a_caller_or_a_model_writes_runs(
    api: httpx.Client, account: Account, script: Script, signed_in: SignIn
) -> None:
    tool = {"type": "function", "name": "odd", "description": HOSTILE, "parameters": {"type": "object"}}
    mark = script(
        Step(
            reasoning=[HOSTILE],
            text=[f"{HOSTILE}\n\n[a](javascript:alert(1)) ![i](https://evil.example/x)"],
            calls=[Call("odd", {"x": HOSTILE})],
        )
    )
    turn = create(
        api, input=f"{HOSTILE} {mark}", instructions=HOSTILE, user=HOSTILE, session_id=HOSTILE[:100],
        metadata={"k": HOSTILE}, tools=[tool],
    )  # fmt: skip
    subject = Subject.objects.get(account_id=account.id, user_key=HOSTILE)
    api.patch(f"/v1/subjects/{'x'}", json={"time_zone": "UTC", "display_name": HOSTILE})
    Subject.objects.filter(pk=subject.pk).update(display_name=HOSTILE)
    operator = signed_in("operator")
    addresses = [
        timeline(turn["id"]),
        reverse("admin:tenancy_subject_changelist"),
        reverse("admin:tenancy_subject_change", args=[subject.pk]),
    ]
    for address in addresses:
        page = operator.get(address).text
        assert what_would_run(page) == [], address
        assert "&lt;script&gt;alert(1)" in page
        assert "}}" in page


def what_would_run(page: str) -> list[str]:
    """Elements and attributes of ours that a browser would run, load or go to."""
    found: list[str] = []
    for element in lxml.html.document_fromstring(page).iter(lxml.etree.Element):
        found += [str(element.tag)] if element.tag == "script" and not element.get("src", "").startswith("/") else []
        found += [value for value in element.attrib.values() if value.startswith("javascript:")]
        found += [name for name, value in element.attrib.items() if name.startswith("on") or "alert(1)" in value]
        found += [element.get("src", "") for _ in "x" if element.get("src", "/")[0] != "/"]
    return found


def test_support_is_refused_and_the_audit_knows_who_looked(
    api: httpx.Client, account: Account, script: Script, signed_in: SignIn
) -> None:
    turn = create(api, input=script(Step(text=["Secret."])))
    support = signed_in("support")
    refused = support.get(timeline(turn["id"]))
    assert refused.status_code == 403
    assert "Secret" not in refused.text
    assert AuditEntry.objects.get(actor_name=support.name).action == "refused"
    operator = signed_in("operator")
    operator.get(timeline(turn["id"]))
    row = Response.objects.select_related("subject").get(pk=turn["id"])
    entry = AuditEntry.objects.get(actor_name=operator.name)
    assert (entry.object_type, entry.object_id) == ("conversation", str(row.conversation_id))
    assert entry.subject_hash == row.subject.key_hash
    assert operator.get(reverse("admin:responses_app_conversation_change", args=[10**9])).status_code == 404
    assert operator.get("/admin/responses_app/conversation/x/change/").status_code == 404


def test_a_long_conversation_is_paged_in_a_fixed_number_of_queries(account: Account, signed_in: SignIn) -> None:
    subject = Subject.objects.create(account_id=account.id, user_key="long")
    ids = many_turns(subject, 500)
    operator = signed_in("operator")
    counts = set()
    for page in ("1", "13", "25"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            shown = operator.get(timeline(ids[0], page=page))
        counts.add(len(queries))
        assert shown.text.count('class="turn"') == 20
    assert len(counts) == 1
    assert counts.pop() <= 20
    assert f'id="{ids[499]}"' in operator.get(timeline(ids[0], page="999999")).text
    assert f'id="{ids[250]}"' in operator.get(timeline(ids[0], turn=ids[250])).text


def many_turns(subject: Subject, count: int) -> list[str]:
    """Rows of a chain of ``count`` finished turns, as a scripted model leaves them."""

    conversation = Conversation.objects.create(subject=subject)
    key = ApiKey.objects.get(account_id=subject.account_id)
    now = timezone.now()
    request = ResponseRequest.model_validate({"model": "mirobody-flash", "input": "x"})
    ids: list[str] = []
    rows = []
    for number in range(count):
        response_id = new_response_id()
        body = new_response(Identity(response_id, int(now.timestamp()), None), request)
        text = f"Answer **{number}**"
        body |= {"status": "completed", "output_text": text, "output": [message_item("msg_x", "completed", text)]}
        rows.append(
            Response(
                id=response_id, account_id=subject.account_id, subject=subject, conversation=conversation,
                previous_id=ids[-1] if ids else None, status="completed", side_channel=True, request="{}",
                input=json.dumps(f"Question {number}"), added="[]", body=json.dumps(body),
                api_key=key,
                created_at=now + timedelta(seconds=number), lease_until=now,
            )
        )  # fmt: skip
        ids.append(response_id)
    Response.objects.bulk_create(rows)
    return ids
