"""``manage.py show_response``: what an operator sees of a turn, and content only where it was asked for."""

import json

import httpx
import pytest
from django.contrib.auth.models import User

from tests.responses_app.api.conftest import BOOKING, Json, Script, calls_of, create, retrieve, write_record
from tests.support.commands import manage
from tests.support.leftovers import Markers
from tests.support.server import Account
from tests.support.upstream import Call, Step


@pytest.fixture
def markers() -> Markers:
    return Markers()


@pytest.fixture
def paused(api: httpx.Client, script: Script, markers: Markers) -> Json:
    """A turn that looked records up and handed off, with a marker in whatever somebody wrote."""
    user = markers["user"]
    write_record(api, markers["indicator"], markers["value"], user=user)
    mark = script(
        Step(calls=[Call("query_health_data", {})]),
        Step(text=[markers["answer"]], calls=[Call("book_appointment", {"date": markers["argument"]})]),
    )
    asked = {"instructions": markers["instructions"], "metadata": {"note": markers["metadata"]}}
    question = f"{markers['question']} {mark}"
    return create(api, input=question, user=user, tools=[BOOKING], session_id=markers["session"], **asked)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> Json:
    capsys.readouterr()
    assert manage("show_response", *arguments, "--json") == 0
    (one,) = json.loads(capsys.readouterr().out)
    found: Json = one
    return found


def test_without_content(account: Account, paused: Json, markers: Markers, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, paused["id"])
    assert markers.in_text(json.dumps(found)) == set()
    assert (found["id"], found["status"], found["model"]) == (paused["id"], "completed", paused["model"])
    assert found["account"] == User.objects.get(pk=account.id).username
    assert found["tools"] == [{"name": "query_health_data", "status": "completed"}]
    assert found["pending_calls"] == [call["call_id"] for call in calls_of(paused)]
    assert found["usage"] == paused["usage"]
    capsys.readouterr()
    assert manage("show_response", paused["id"]) == 0
    words = capsys.readouterr().out
    assert markers.in_text(words) == set()
    assert "tools: query_health_data (completed)" in words
    assert f"{paused['usage']['total_tokens']} total tokens" in words


def test_with_content(api: httpx.Client, paused: Json, markers: Markers, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, paused["id"], "--content")
    assert markers.in_text(json.dumps(found)) == set(markers)
    assert found["response"] == retrieve(api, paused["id"])
    capsys.readouterr()
    assert manage("show_response", paused["id"], "--content") == 0
    assert markers.in_text(capsys.readouterr().out) == set(markers)


def test_by_the_request_that_made_it(api: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    answer = api.post("/v1/responses", json={"input": "Hello"})
    assert shown(capsys, answer.headers["x-request-id"])["id"] == answer.json()["id"]


def test_what_went_wrong(api: httpx.Client, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    failed = api.post("/v1/responses", json={"input": script(Step(status=400)), "background": True}).json()
    list(api.get(f"/v1/responses/{failed['id']}", params={"stream": "true"}).iter_lines())
    assert shown(capsys, failed["id"])["error"] == "upstream_error"


def test_what_is_not_there(api: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    gone = create(api, input="Hello")
    assert api.delete(f"/v1/responses/{gone['id']}").status_code == 200
    for text in (gone["id"], "resp_" + "0" * 32, "req_nobody", "", "\x00"):
        assert manage("show_response", text) == 1
        assert "There is no such response" in capsys.readouterr().err
    assert manage("show_response") == 2
