"""Erasure to the byte: after a deletion nothing the server keeps holds a marker of what was deleted.

Every free-text field a caller or the model can fill holds a marker of its own. What is searched: every row of every
table, the SQLite file and its log after a sweep or purge, and Redis where it carries the event logs.
Source: the wire contract, sections 5 and 11.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path

import httpx
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from mirobody_site.tenancy.models import Subject
from responses_app.models import RecordSource, Response
from responses_app.services.sweeping import sweep_expired
from responses_app.streaming.backends import event_log
from responses_app.streaming.event_log import LogGone
from tests.conversations.marked import (
    BESIDE_THE_TRANSCRIPT,
    EVERYTHING,
    RECORD,
    TRANSCRIPT,
    Json,
    handoff,
    plain_turn,
    resume,
    rich_turn,
    write_records,
)
from tests.conversations.stores import Stores
from tests.responses_app.api.conftest import (
    Script,
    create,
    retrieve,
    write_record,
)
from tests.support.leftovers import Markers, all_rows
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step
from tests.tools_app.fhir_bundles import Patient, written
from tools_app.fhir.importing import import_file
from tools_app.records.models import HealthRecord, Share


@pytest.fixture
def api(account: Account, markers: Markers) -> Iterator[httpx.Client]:
    """The account's HTTP client, which sends an Idempotency-Key with every POST; none of them is ever kept as it is."""
    keys = Markers()

    def give_key(request: httpx.Request) -> None:
        if request.method == "POST":
            request.headers["Idempotency-Key"] = keys[str(len(keys))]

    with account.client() as client:
        client.event_hooks = {"request": [give_key]}
        yield client
    assert keys.in_rows() | keys.in_database_files() == set()


def delete(api: httpx.Client, path: str, **params: str) -> Json:
    answer = api.delete(path, params=params)
    assert answer.status_code == 200, answer.text
    gone: Json = answer.json()
    return gone


def delete_response(api: httpx.Client, response: Json) -> None:
    delete(api, f"/v1/responses/{response['id']}")
    assert_log_is_gone(response)


def assert_log_is_gone(response: Json) -> None:
    with pytest.raises(LogGone):
        asyncio.run(event_log().answer(response["id"]))


def expire(*responses: Json) -> None:
    """What the clock would do."""
    past = timezone.now() - timedelta(seconds=1)
    Response.objects.filter(pk__in=[response["id"] for response in responses]).update(expires_at=past)


def expire_records(api: httpx.Client, user: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    ids = [row["id"] for row in api.get("/v1/data", params={"user": user}).json()["data"]]
    owners = HealthRecord.objects.filter(public_id__in=ids).values_list("subject_id", flat=True)
    RecordSource.objects.filter(owner_id__in=set(owners)).update(expires_at=past)
    HealthRecord.objects.filter(public_id__in=ids).update(expires_at=past)


def test_every_marker_is_found_while_it_is_kept(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    user = markers["user"]
    write_records(api, markers, user)
    rich_turn(api, script, markers, user=user, session_id=markers["session"])
    paused = handoff(api, script, markers, user=user)
    resume(api, markers, paused, user=user)
    assert markers.in_rows() == set(markers)
    sweep_expired()
    assert connection.vendor != "sqlite" or markers.in_database_files() == set(markers)
    if stores.redis:
        assert markers.in_redis(stores.redis) >= {"answer", "instructions", "metadata value", "value", "user"}


def test_deleting_a_response(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    write_records(api, markers, None)
    response = rich_turn(api, script, markers)
    delete_response(api, response)
    assert stores.left() == RECORD
    sweep_expired()
    assert stores.left_to_the_byte() == RECORD


def test_a_live_response_keeps_the_transcript_of_the_deleted_one_before(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    write_records(api, markers, None)
    first = rich_turn(api, script, markers)
    second = plain_turn(api, script, markers, "second", previous_response_id=first["id"])
    branch = plain_turn(api, script, markers, "branch", previous_response_id=first["id"])
    delete_response(api, first)
    continuations = {"second input", "second answer", "branch input", "branch answer"}
    assert set(markers) - stores.left() == BESIDE_THE_TRANSCRIPT
    assert stores.left() == RECORD | TRANSCRIPT | continuations
    delete_response(api, branch)
    assert stores.left() == RECORD | TRANSCRIPT | {"second input", "second answer"}
    delete_response(api, second)
    sweep_expired()
    assert stores.left_to_the_byte() == RECORD


def test_a_live_resume_keeps_what_it_goes_on_with(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    paused = handoff(api, script, markers)
    resumed = resume(api, markers, paused)
    delete_response(api, paused)
    assert set(markers) - stores.left() == {"handoff metadata"}
    delete_response(api, resumed)
    sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_deleting_a_handoff_that_waits(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    delete_response(api, handoff(api, script, markers))
    sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_deleting_while_the_turn_runs(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    gate = threading.Event()
    mark = script(Step(text=[markers["spoken"], gate, markers["spoken late"]]))
    with open_stream(api, {"input": f"{markers['asked']} {mark}", "session_id": markers["session"]}) as live:
        response = live.next()["response"]
        live.until("response.output_text.delta")
        delete(api, f"/v1/responses/{response['id']}")
        gate.set()
        live.check()
    stores.a_minute_passes()
    sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_deleting_a_failed_response(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    mark = script(Step(text=[markers["spoken"]], calls=[Call("no_such_tool")]), repeat_last=True)
    body = {"input": f"{markers['asked']} {mark}", "session_id": markers["session"]}
    assert api.post("/v1/responses", json=body).status_code == 502
    [failed] = api.get(f"/v1/sessions/{markers['session']}").json()["responses"]
    assert stores.left() >= {"asked", "session"}
    delete_response(api, retrieve(api, failed))
    sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_deleting_a_session_with_its_responses(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    session = markers["session"]
    write_records(api, markers, None)
    write_record(api, markers["session indicator"], markers["session value"], session_id=session)
    adopted = rich_turn(api, script, markers)
    first = plain_turn(api, script, markers, "first", previous_response_id=adopted["id"], session_id=session)
    paused = handoff(api, script, markers, session_id=session)
    delete(api, f"/v1/sessions/{session}", responses="true")
    for response in (adopted, first, paused):
        assert_log_is_gone(response)
    assert stores.left() == RECORD
    sweep_expired()
    assert stores.left_to_the_byte() == RECORD


def test_ending_a_sessions_working_data(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    session = markers["session"]
    write_record(api, markers["indicator"], markers["value"], session_id=session)
    mark = script(Step(calls=[EVERYTHING]), Step(text=[markers["answer"]]))
    create(api, input=f"{markers['asked']} {mark}", session_id=session)
    delete(api, f"/v1/sessions/{session}")
    sweep_expired()
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == {"session", "asked", "answer"}


def by_id(api: httpx.Client, markers: Markers) -> None:
    for row in api.get("/v1/data", params={"user": markers["user"]}).json()["data"]:
        assert delete(api, "/v1/data", user=markers["user"], id=row["id"])["deleted"] == 1


def by_indicator(api: httpx.Client, markers: Markers) -> None:
    for field in ("indicator", "second indicator"):
        assert delete(api, "/v1/data", user=markers["user"], indicator=markers[field])["deleted"] == 1


def all_of_them(api: httpx.Client, markers: Markers) -> None:
    assert delete(api, "/v1/data", user=markers["user"], all="true")["deleted"] == 2


def by_expiry(api: httpx.Client, markers: Markers) -> None:
    expire_records(api, markers["user"])


@pytest.mark.parametrize("remove", [by_id, by_indicator, all_of_them, by_expiry])
def test_records_go_from_all_but_the_answers_own_text(
    api: httpx.Client,
    script: Script,
    stores: Stores,
    markers: Markers,
    remove: Callable[[httpx.Client, Markers], None],
) -> None:
    user = markers["user"]
    write_records(api, markers, user)
    response = rich_turn(api, script, markers, user=user)
    quoting = create(api, input=script(Step(calls=[EVERYTHING]), Step(text=[markers["value"]])), user=user)
    following = plain_turn(api, script, markers, "following", user=user, previous_response_id=response["id"])
    remove(api, markers)
    shown = "".join(str(retrieve(api, each["id"])) for each in (response, following))
    assert markers.in_text(shown) & RECORD == set()
    assert markers.in_text(str(retrieve(api, quoting["id"]))) & RECORD == {"value"}
    sweep_expired()
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == set(markers) - (RECORD - {"value"})
    delete_response(api, quoting)
    sweep_expired()
    assert stores.left_to_the_byte() == set(markers) - RECORD


def erase_over_http(api: httpx.Client, account: Account, user: str) -> None:
    delete(api, f"/v1/subjects/{user}")


def erase_by_command(api: httpx.Client, account: Account, user: str) -> None:
    receipt = StringIO()
    name = User.objects.get(pk=account.id).username
    call_command("purge_subject", "--account", name, "--user", user, "--yes", "--json", stdout=receipt)
    assert user not in receipt.getvalue()


@pytest.mark.parametrize("erase", [erase_over_http, erase_by_command])
def test_erasing_a_subject(
    api: httpx.Client,
    account: Account,
    script: Script,
    stores: Stores,
    markers: Markers,
    erase: Callable[[httpx.Client, Account, str], None],
) -> None:
    before = set(all_rows())
    user = markers["user"]
    write_records(api, markers, user)
    write_record(api, markers["session indicator"], "1", user=user, session_id=markers["session"])
    Subject.objects.filter(account_id=account.id, user_key=user).update(display_name=markers["display name"])
    first = rich_turn(api, script, markers, user=user, session_id=markers["session"])
    paused = handoff(api, script, markers, user=user)
    resumed = resume(api, markers, paused, user=user)
    waiting = handoff(api, script, markers, user=user, session_id=markers["other session"])
    erase(api, account, user)
    for response in (first, paused, resumed, waiting):
        assert_log_is_gone(response)
    assert stores.left() == set()
    assert {table for table, _ in set(all_rows()) - before} == {"tools_app_recordremoval", "tenancy_usageofday"}
    if erase is erase_over_http:
        sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_erasing_a_relative_leaves_only_words(
    api: httpx.Client, account: Account, script: Script, stores: Stores, markers: Markers
) -> None:
    relative, own = markers["user"], "ann"
    write_records(api, markers, relative)
    create(api, input="Hi", user=own)
    shares(account, relative, own, markers["display name"])
    theirs = Call("query_health_data", {"member": relative})
    mark = script(Step(calls=[Call("list_family_members"), theirs]), Step(text=[markers["value"]]))
    response = create(api, input=f"{markers['asked']} {mark}", user=own)
    assert markers.in_text(str(response["tool_steps"])) >= {"user", "display name", "indicator", "value unit"}
    delete(api, f"/v1/subjects/{relative}")
    assert markers.in_rows() == {"asked", "value"}
    assert markers.in_text(str(retrieve(api, response["id"], user=own)["tool_steps"])) == set()
    sweep_expired()
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == {"asked", "value"}


def test_erasing_a_relative_while_a_turn_quotes_it(
    api: httpx.Client, account: Account, script: Script, stores: Stores, markers: Markers
) -> None:
    relative, own = markers["user"], "ann"
    write_records(api, markers, relative)
    create(api, input="Hi", user=own)
    shares(account, relative, own, markers["display name"])
    gate = threading.Event()
    theirs = Call("query_health_data", {"member": relative})
    mark = script(Step(calls=[Call("list_family_members"), theirs]), Step(text=["Well", gate, "."]))
    with open_stream(api, {"input": f"{markers['asked']} {mark}", "user": own}) as live:
        live.until("response.output_text.delta")
        delete(api, f"/v1/subjects/{relative}")
        gate.set()
        live.check()
    sweep_expired()
    stores.a_minute_passes()
    assert stores.left_to_the_byte() == {"asked"}


def shares(account: Account, owner: str, viewer: str, display_name: str) -> None:
    of_account = Subject.objects.filter(account_id=account.id)
    of_account.filter(user_key=owner).update(display_name=display_name)
    Share.objects.create(subject=of_account.get(user_key=owner), with_subject=of_account.get(user_key=viewer))


def test_erasing_a_subject_while_its_turn_runs(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    gate = threading.Event()
    mark = script(Step(text=[markers["spoken"], gate, markers["spoken late"]]))
    with open_stream(api, {"input": f"{markers['asked']} {mark}", "user": markers["user"]}) as live:
        live.until("response.output_text.delta")
        delete(api, f"/v1/subjects/{markers['user']}")
        gate.set()
        live.check()
    stores.a_minute_passes()
    sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_expiry(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    write_records(api, markers, None)
    first = rich_turn(api, script, markers)
    second = plain_turn(api, script, markers, "second", previous_response_id=first["id"])
    paused = handoff(api, script, markers)
    stores.a_minute_passes()
    expire(first, paused)
    sweep_expired()
    assert stores.left_to_the_byte() == RECORD | TRANSCRIPT | {"second input", "second answer"}
    expire(second)
    sweep_expired()
    assert stores.left_to_the_byte() == RECORD


def test_operators_leave_no_traces_of_whom_they_looked_at(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    user = markers["user"]
    write_records(api, markers, user)
    response = rich_turn(api, script, markers, user=user)
    operator = Client()
    operator.force_login(User.objects.create_superuser(f"operator-{response['id'][-8:]}"))
    subject = Subject.objects.get(user_key=user)
    for path in (
        f"/admin/tenancy/subject/?q={user}",
        f"/admin/tenancy/subject/{subject.pk}/change/",
        f"/admin/responses_app/response/{quote(response['id'])}/change/",
    ):
        assert operator.get(path, headers={"host": "localhost"}).status_code == 200
    swept = {"reason": "maintenance"}
    answer = operator.post("/admin/responses_app/response/sweep/", swept, headers={"host": "localhost"})
    assert answer.status_code == 200
    delete(api, f"/v1/subjects/{user}")
    sweep_expired()
    assert stores.left_to_the_byte() == set()
    assert not LogEntry.objects.filter(object_repr__contains=user).exists()


def test_erasing_a_subject_takes_its_clinical_records(
    api: httpx.Client, account: Account, script: Script, stores: Stores, markers: Markers, tmp_path: Path
) -> None:
    before = set(all_rows())
    note = [{"text": markers["note"]}]
    condition = Patient().condition(markers["code"], markers["display"], note=note)
    import_file(written(tmp_path, condition), account.id, markers["user"], timezone.now(), dry_run=False)
    lookups = [Call("list_clinical_records"), Call("summarize_health_data")]
    create(api, input=script(Step(calls=lookups), Step(text=["Fine."])), user=markers["user"])
    assert stores.left() >= {"note", "code", "display", "user"}
    delete(api, f"/v1/subjects/{markers['user']}")
    assert {table for table, _ in set(all_rows()) - before} == {"tools_app_recordremoval", "tenancy_usageofday"}
    sweep_expired()
    assert stores.left_to_the_byte() == set()


def test_the_agents_files_and_todos_go_with_their_conversation(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers
) -> None:
    note = Call("write_file", {"file_path": f"/{markers['path']}", "content": markers["content"]})
    plan = Call("write_todos", {"todos": [{"content": markers["todo"], "status": "pending"}]})
    inner = script(Step(text=[markers["task result"]]))
    task = Call("task", {"description": markers["task"], "prompt": f"{markers['prompt']} {inner}"})
    code = Call("eval", {"code": f"print('{markers['code']}')"})
    mark = script(Step(calls=[note, plan, task, code]), Step(text=["Done."]))
    first = create(api, input=f"Work {mark}")
    second = plain_turn(api, script, markers, "second", previous_response_id=first["id"])
    delete_response(api, first)
    assert stores.left() == set(markers)
    delete_response(api, second)
    sweep_expired()
    assert stores.left_to_the_byte() == set()
