"""What time does to stored conversations and records, with a moved clock: 30 days, never, and timed records."""

import os
import secrets
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from django.apps import apps
from django.db.models import Model

from responses_app.models import Conversation, Response
from responses_app.services.sweeping import sweep_expired
from tests.responses_app.api.conftest import Script, create, create_stream, follow, message, retrieve, write_record
from tests.support.clock import Clock
from tests.support.envelope import assert_error
from tests.support.grammar import check_stream
from tests.support.server import Account
from tests.support.upstream import Call, Step, Upstream, text_of
from tools_app.records.models import HealthRecord

DAYS_30 = timedelta(days=30)
FERRITIN = Call("query_health_data", {"indicators": ["ferritin"]})
GONE = {"gone": True, "records": 1}


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def settle(request: pytest.FixtureRequest) -> Any:
    """Called where the sweep may or may not have come by: nobody can tell."""
    return sweep_expired if request.param else lambda: None


@pytest.fixture(params=["UTC", "Asia/Shanghai", "America/Los_Angeles"])
def host_zone(request: pytest.FixtureRequest) -> Iterator[str]:
    """The time zone of the machine that the server runs on."""
    before = os.environ.get("TZ")
    _set_host_zone(request.param)
    yield request.param
    _set_host_zone(before)


def _set_host_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    time.tzset()


@pytest.fixture
def value() -> str:
    """A reading of this test alone, so that it can be told from any other in the database."""
    return f"{10 + secrets.randbelow(90)}.{secrets.randbelow(1000):03d}7"


def created(response: dict[str, Any]) -> datetime:
    return Response.objects.get(pk=response["id"]).created_at


def assert_readable(api: httpx.Client, response: dict[str, Any]) -> None:
    assert retrieve(api, response["id"]) == response
    assert check_stream(follow(api, response["id"])).response == response
    assert api.get(f"/v1/responses/{response['id']}/input_items").json()["data"]


def assert_gone(api: httpx.Client, response: dict[str, Any]) -> None:
    """Whatever a caller tries, the response does not exist."""
    path = f"/v1/responses/{response['id']}"
    assert_error(api.get(path), 404, "not_found")
    assert_error(api.get(path, params={"stream": "true"}), 404, "not_found")
    assert_error(api.get(f"{path}/input_items"), 404, "not_found")
    assert_error(api.delete(path), 404, "not_found")
    for store in (True, False):
        continued = {"input": "Hi", "previous_response_id": response["id"], "store": store}
        answer = api.post("/v1/responses", json=continued)
        assert_error(answer, 404, "previous_response_not_found", "previous_response_id")
        reference = {"type": "item_reference", "id": response["output"][0]["id"]}
        answer = api.post("/v1/responses", json={"input": [reference, message("Hi")], "store": store})
        assert_error(answer, 404, "not_found", "input[0]")


def test_a_response_lives_for_30_days_to_the_moment(
    api: httpx.Client, clock: Clock, settle: Any, host_zone: str
) -> None:
    response = create(api, input="One")
    end = created(response) + DAYS_30
    for moment in (end - timedelta(hours=1), end - timedelta(microseconds=1)):
        clock.stand_at(moment)
        settle()
        assert_readable(api, response)
        reference = {"type": "item_reference", "id": response["output"][0]["id"]}
        create(api, input=[reference, message("Hi")], store=False)
        create(api, input="Hi", previous_response_id=response["id"], store=False)
    clock.stand_at(end)
    settle()
    assert_gone(api, response)


def test_the_sweep_leaves_nothing_of_an_expired_conversation(api: httpx.Client, account: Account, clock: Clock) -> None:
    response = create(api, input="One")
    clock.stand_at(created(response) + DAYS_30)
    sweep_expired()
    assert not Response.objects.filter(account_id=account.id).exists()
    assert not Conversation.objects.filter(subject__account_id=account.id).exists()


def test_a_session_never_expires(api: httpx.Client, clock: Clock, host_zone: str) -> None:
    first = create(api, input="One", session_id="s")
    second = create(api, input="Two", previous_response_id=first["id"])
    clock.stand_at(created(first) + timedelta(days=20 * 365))
    sweep_expired()
    assert_readable(api, first)
    assert listed(api, "s") == [first["id"], second["id"]]
    assert create(api, input="Three", session_id="s")["previous_response_id"] == second["id"]


def test_the_head_of_a_chain_keeps_what_it_needs_of_an_expired_root(
    api: httpx.Client, account: Account, clock: Clock, settle: Any, script: Script, upstream: Upstream
) -> None:
    root = create(api, input=f"Root {script(Step(text=['Ant.']))}")
    clock.stand_at(created(root) + timedelta(days=15))
    head = create(api, input="Head", previous_response_id=root["id"])
    clock.stand_at(created(root) + DAYS_30)
    settle()
    assert_gone(api, root)
    assert_readable(api, head)
    mark = script(Step(text=["Bee."]))
    third = create(api, input=f"Third {mark}", previous_response_id=head["id"])
    said = [text_of(entry) for entry in upstream.requests(mark)[0].messages]
    assert said[1].startswith("Root")
    assert said[2] == "Ant."
    clock.stand_at(created(third) + DAYS_30)
    settle()
    for response in (root, head, third):
        assert_gone(api, response)
    sweep_expired()
    assert not Response.objects.filter(account_id=account.id).exists()


def test_adoption_keeps_the_living_and_wakes_no_dead(
    api: httpx.Client, clock: Clock, settle: Any, script: Script, upstream: Upstream
) -> None:
    root = create(api, input=f"Root {script(Step(text=['Ant.']))}")
    clock.stand_at(created(root) + timedelta(days=15))
    head = create(api, input="Head", previous_response_id=root["id"])
    clock.stand_at(created(root) + DAYS_30)
    settle()
    adopted = create(api, input="Adopted", previous_response_id=head["id"], session_id="s")
    clock.stand_at(created(adopted) + timedelta(days=365))
    settle()
    assert_gone(api, root)
    assert listed(api, "s") == [head["id"], adopted["id"]]
    assert_readable(api, head)
    mark = script(Step(text=["Bee."]))
    create(api, input=f"More {mark}", session_id="s")
    assert "Ant." in [text_of(entry) for entry in upstream.requests(mark)[0].messages]


RETENTIONS = {"1h": 1, "2h": 2, "6h": 6, "1d": 24}
"""Hours that a record is kept."""


@pytest.mark.parametrize("retention", RETENTIONS)
def test_a_timed_record_goes_to_the_moment(
    api: httpx.Client,
    clock: Clock,
    settle: Any,
    script: Script,
    upstream: Upstream,
    retention: str,
    value: str,
) -> None:
    write_timed(api, retention, value)
    record = only_record(api)
    end = record.created_at + timedelta(hours=RETENTIONS[retention])
    told = ask_for_ferritin(api, script)
    clock.stand_just_before(end)
    settle()
    assert [row["value"] for row in api.get("/v1/data").json()["data"]] == [f"{value} ng/mL"]
    assert value in str(ask_for_ferritin(api, script)["tool_steps"])
    assert retrieve(api, told["id"]) == told
    assert value in tool_outputs(upstream, next_turn(api, script, told))
    clock.stand_at(end)
    settle()
    assert api.get("/v1/data").json()["data"] == []
    assert value not in str(ask_for_ferritin(api, script)["tool_steps"])
    assert_result_gone(api, told, value)
    assert value not in tool_outputs(upstream, next_turn(api, script, told))
    sweep_expired()
    assert value not in rows()


@pytest.mark.usefixtures("host_zone")
def test_a_timed_record_goes_to_the_moment_wherever_the_server_stands(
    api: httpx.Client, clock: Clock, value: str
) -> None:
    write_timed(api, "6h", value)
    record = only_record(api)
    clock.stand_just_before(record.created_at + timedelta(hours=6))
    (row,) = api.get("/v1/data").json()["data"]
    assert datetime.fromisoformat(row["expires_at"]) == record.created_at + timedelta(hours=6)
    clock.stand_at(record.created_at + timedelta(hours=6))
    assert api.get("/v1/data").json()["data"] == []


@pytest.mark.usefixtures("host_zone")
def test_a_reading_is_on_the_subjects_day_wherever_the_server_stands(api: httpx.Client) -> None:
    assert api.patch("/v1/subjects/far", json={"time_zone": "Asia/Shanghai"}).status_code == 200
    times = ["2026-03-01", "2026-03-02T00:30:00+08:00"]
    weights = [{"indicator": "weight", "value": 70, "unit": "kg", "time": written} for written in times]
    api.post("/v1/data", json={"user": "far", "retention": "permanent", "records": weights}).raise_for_status()
    for day, written in zip(("2026-03-01", "2026-03-02"), times, strict=True):
        (row,) = api.get("/v1/data", params={"user": "far", "start": day, "end": day}).json()["data"]
        assert row["time"] == written


@pytest.mark.parametrize("streamed", [False, True], ids=["json", "stream"])
def test_a_session_record_stays_in_the_answers_own_text_alone(
    api: httpx.Client, script: Script, upstream: Upstream, settle: Any, streamed: bool, value: str
) -> None:
    write_record(api, "ferritin", f"{value} ng/mL", session_id="s")
    told = ask_for_ferritin(api, script, f"It was {value} then.", streamed, session_id="s")
    assert value in str(told["health_records"])
    assert api.delete("/v1/sessions/s").json()["deleted"] == 1
    settle()
    assert_result_gone(api, told, value)
    mark = next_turn(api, script, told)
    assert value not in tool_outputs(upstream, mark)
    assert said_with(upstream, mark, value) == [told["output_text"]]
    sweep_expired()
    # The grounding quotes the number from the answer's text.
    assert rows().count(value) == rows().count(told["output_text"]) + rows().count(f'"text": "{value}"') > 0


def write_timed(api: httpx.Client, retention: str, value: str) -> None:
    records = [{"indicator": "ferritin", "value": f"{value} ng/mL"}]
    answer = api.post("/v1/data", json={"retention": retention, "records": records})
    assert answer.status_code == 200, answer.text


def only_record(api: httpx.Client) -> HealthRecord:
    (row,) = api.get("/v1/data").json()["data"]
    return HealthRecord.objects.get(public_id=row["id"])


def ask_for_ferritin(
    api: httpx.Client, script: Script, answer: str = "I have seen it.", streamed: bool = False, **body: Any
) -> dict[str, Any]:
    """A turn whose tool looks the record up."""
    mark = script(Step(calls=[FERRITIN]), Step(text=[answer]))
    if streamed:
        return create_stream(api, input=f"Look {mark}", **body).response
    return create(api, input=f"Look {mark}", **body)


def next_turn(api: httpx.Client, script: Script, response: dict[str, Any]) -> str:
    """Continues the response; gives the mark by which the model's input is found."""
    mark = script(Step(text=["Fine."]))
    create(api, input=f"And? {mark}", previous_response_id=response["id"])
    return mark


def tool_outputs(upstream: Upstream, mark: str) -> str:
    (request,) = upstream.requests(mark)
    return "".join(text_of(entry) for entry in request.messages if entry["role"] == "tool")


def said_with(upstream: Upstream, mark: str, value: str) -> list[str]:
    (request,) = upstream.requests(mark)
    return [text_of(entry) for entry in request.messages if value in str(entry)]


def assert_result_gone(api: httpx.Client, told: dict[str, Any], value: str) -> None:
    """``GET`` and its stream show the answer's text and not the result."""
    shown = retrieve(api, told["id"])
    assert [step["result"] for step in shown["tool_steps"]] == [GONE]
    assert [item["data"] for item in shown["health_records"]] == [GONE]
    assert shown["output_text"] == told["output_text"]
    raw = follow(api, told["id"])
    assert check_stream(raw).response == shown
    assert value not in str(side_events(raw))


def side_events(raw: bytes) -> list[dict[str, Any]]:
    """The events that show tools at work."""
    return [event for event in check_stream(raw).events if event["type"].startswith("response.mirobody_")]


def rows() -> str:
    """All that is in the database."""
    models: list[type[Model]] = list(apps.get_models())
    return "\n".join(str(row) for model in models for row in model._base_manager.values_list())


def listed(api: httpx.Client, name: str) -> list[str]:
    ids: list[str] = api.get(f"/v1/sessions/{name}").json()["responses"]
    return ids
