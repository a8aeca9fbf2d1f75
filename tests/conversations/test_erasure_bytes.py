"""Erasure to the byte: after a deletion nothing the server keeps holds a marker of what was deleted.

Every free-text field a caller or the model can fill holds a marker of its own. What is searched: every row of every
table, the SQLite file and its log after a sweep or purge, and Redis where it carries the event logs.
Source: the wire contract, sections 5 and 11.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from typing import Any

import httpx
import pytest
import redis
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from mirobody_site.tenancy.models import Subject
from responses_app.models import RecordSource, Response
from responses_app.services.sweeping import sweep_expired
from responses_app.streaming.backends import event_log, request_slots
from responses_app.streaming.event_log import LogGone
from tests.responses_app.api.conftest import (
    Script,
    calls_of,
    create,
    create_stream,
    output_for,
    retrieve,
    wait_until,
    write_record,
)
from tests.support.leftovers import Markers, all_rows
from tests.support.redis_server import RedisServer, redis_server, shared_redis_server
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step
from tools_app.records.models import HealthRecord, Share

__all__ = ["redis_server", "shared_redis_server"]

Json = dict[str, Any]
KEPT_LOG_MILLISECONDS = 60_000
EVERYTHING = Call("query_health_data", {})

RECORD = {"indicator", "value", "value unit", "source", "reference text", "second indicator"}
"""A Subject's permanent records."""
TRANSCRIPT = {
    *("system text", "developer text", "user text", "user part", "image", "file name", "assistant text"),
    *("replayed reasoning", "replayed arguments", "replayed output", "replayed output part"),
    *("server arguments", "answer", "indicator", "value", "value unit", "source", "second indicator"),
    *("replayed tool name", "reasoning"),
}
"""The items of the rich turn's transcript: what was asked, thought, called, found and answered."""
BESIDE_THE_TRANSCRIPT = {
    *("instructions", "metadata key", "metadata value", "safety identifier", "prompt cache key"),
    *("tool name", "tool description", "parameter name", "parameter description"),
}
"""What the rich turn holds besides."""


@dataclass
class Stores:
    """Everything the server keeps: the database, and Redis when the event logs are there."""

    markers: Markers
    redis: redis.Redis | None

    def left(self) -> set[str]:
        """The fields whose markers are still there."""
        return self.markers.in_rows() | self._in_redis()

    def left_to_the_byte(self) -> set[str]:
        """The same, with the bytes of the database's files."""
        return self.left() | self.markers.in_database_files()

    def a_minute_passes(self) -> None:
        """What Redis does by itself within a minute of a turn's end."""
        if self.redis:
            # The end is written, and seen, a moment before the shorter life is.
            wait_until(lambda: all(life <= KEPT_LOG_MILLISECONDS for life in self._lives()))
            assert -1 not in self._lives()
            self.redis.flushall()

    def _lives(self) -> list[int]:
        """Milliseconds that each key has left; -1 is for ever."""
        return [self.redis.pttl(key) for key in self.redis.scan_iter()] if self.redis else []

    def _in_redis(self) -> set[str]:
        return self.markers.in_redis(self.redis) if self.redis else set()


@pytest.fixture
def markers() -> Markers:
    return Markers()


@pytest.fixture(params=["in process", "in redis"])
def stores(request: pytest.FixtureRequest, settings: Settings, markers: Markers, server: str) -> Iterator[Stores]:
    """The stores of a server that keeps its event logs in its memory, and of one that keeps them in Redis."""
    if request.param == "in process":
        yield Stores(markers, None)
        return
    redis_server: RedisServer = request.getfixturevalue("redis_server")
    settings.REDIS_URL = redis_server.url
    _choose_backends_again()
    yield Stores(markers, redis_server.client)
    settings.REDIS_URL = ""
    _choose_backends_again()


def _choose_backends_again() -> None:
    event_log.cache_clear()
    request_slots.cache_clear()


def write_records(api: httpx.Client, markers: Markers, user: str | None) -> None:
    tags = {"source": markers["source"], "reference_text": markers["reference text"]}
    write_record(api, markers["indicator"], markers["value"], user=user, **tags)
    write_record(api, markers["second indicator"], "5.4", user=user, unit=markers["value unit"])


def rich_input(markers: Markers, mark: str) -> list[Json]:
    """Every kind of input item and part, with a marker in each text."""
    image = {"type": "input_image", "image_url": f"https://example.com/{markers['image']}.png"}
    file = {"type": "input_file", "filename": markers["file name"], "file_data": "data:text/plain;base64,aGk="}
    parts = [{"type": "input_text", "text": f"{markers['user part']} {mark}"}, image, file]
    call = {"type": "function_call", "call_id": "call_a", "name": markers["replayed tool name"]}
    output = [{"type": "input_text", "text": markers["replayed output part"]}]
    return [
        {"role": "system", "content": markers["system text"]},
        {"role": "developer", "content": markers["developer text"]},
        {"role": "user", "content": markers["user text"]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": markers["replayed reasoning"]}]},
        {**call, "arguments": f'{{"a": "{markers["replayed arguments"]}"}}'},
        {**call, "call_id": "call_b", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": markers["replayed output"]},
        {"type": "function_call_output", "call_id": "call_b", "output": output},
        {"role": "assistant", "content": [{"type": "output_text", "text": markers["assistant text"]}]},
        {"role": "user", "content": parts},
    ]


def tool(markers: Markers, prefix: str = "") -> Json:
    name, description = markers[f"{prefix}parameter name"], markers[f"{prefix}parameter description"]
    return {
        "type": "function",
        "name": markers[f"{prefix}tool name"],
        "description": markers[f"{prefix}tool description"],
        "parameters": {"type": "object", "properties": {name: {"type": "string", "description": description}}},
    }


def rich_turn(api: httpx.Client, script: Script, markers: Markers, **body: Any) -> Json:
    """A turn with a marker in every field that a caller, a model and the server's tools can fill."""
    mark = script(
        Step(reasoning=[markers["reasoning"]], calls=[EVERYTHING]),
        Step(calls=[Call("query_health_data", {"indicators": [markers["server arguments"]]})]),
        Step(text=[markers["answer"]]),
    )
    response = create_stream(
        api,
        input=rich_input(markers, mark),
        instructions=markers["instructions"],
        metadata={markers["metadata key"]: markers["metadata value"]},
        tools=[tool(markers)],
        safety_identifier=markers["safety identifier"],
        prompt_cache_key=markers["prompt cache key"],
        include=["reasoning.encrypted_content"],
        **body,
    ).response
    assert response["output_text"] == markers["answer"]
    assert markers["value"] in str(response["tool_steps"])
    return response


def plain_turn(api: httpx.Client, script: Script, markers: Markers, prefix: str, **body: Any) -> Json:
    mark = script(Step(text=[markers[f"{prefix} answer"]]))
    return create(api, input=f"{markers[f'{prefix} input']} {mark}", **body)


def handoff(api: httpx.Client, script: Script, markers: Markers, **body: Any) -> Json:
    """A handoff with a marker in its input, instructions, tool, metadata, words and call."""
    offered = tool(markers, "handoff ")
    mark = script(
        Step(text=[markers["handoff words"]], calls=[Call(offered["name"], {"x": markers["handoff arguments"]})]),
        Step(text=[markers["resume answer"]]),
    )
    return create(
        api,
        input=f"{markers['handoff input']} {mark}",
        tools=[offered],
        instructions=markers["handoff instructions"],
        metadata={"k": markers["handoff metadata"]},
        **body,
    )


def resume(api: httpx.Client, markers: Markers, paused: Json, **body: Any) -> Json:
    outputs = [output_for(calls_of(paused)[0], markers["resume output"])]
    metadata = {"k": markers["resume metadata"]}
    resumed = create(api, input=outputs, previous_response_id=paused["id"], metadata=metadata, **body)
    assert resumed["output_text"] == markers["resume answer"]
    return resumed


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
    assert {table for table, _ in set(all_rows()) - before} == {"tools_app_recordremoval"}
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
        f"/admin/responses_app/response/{response['id']}/change/",
    ):
        assert operator.get(path, headers={"host": "localhost"}).status_code == 200
    swept = {"action": "sweep_now", "_selected_action": response["id"]}
    answer = operator.post("/admin/responses_app/response/", swept, headers={"host": "localhost"})
    assert answer.status_code == 302
    delete(api, f"/v1/subjects/{user}")
    sweep_expired()
    assert stores.left_to_the_byte() == set()
    assert not LogEntry.objects.filter(object_repr__contains=user).exists()
