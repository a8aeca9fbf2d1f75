"""Sessions through HTTP: one conversation under a name, its turns one at a time, kept for ever, ended on request."""

import threading
from datetime import timedelta

import httpx
import pytest
from django.utils import timezone

from responses_app.models import Conversation, Response, Session
from tests.responses_app.api.conftest import (
    LOOKUP,
    Script,
    calls_of,
    create,
    create_stream,
    output_for,
    retrieve,
    write_record,
)
from tests.support.envelope import assert_error
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Upstream

PHONE = Call("phone_lookup", {"name": "x"})


def listed(api: httpx.Client, name: str) -> list[str]:
    answer = api.get(f"/v1/sessions/{name}")
    assert answer.status_code == 200, answer.text
    ids: list[str] = answer.json()["responses"]
    return ids


def test_a_session_goes_on_from_its_newest_response(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    first = create(api, input=f"One {script(Step(text=['Ant.']))}", session_id="s")
    mark = script(Step(text=["Bee."]))
    second = create(api, input=f"Two {mark}", session_id="s")
    assert (first["session_id"], second["session_id"]) == ("s", "s")
    assert second["previous_response_id"] == first["id"]
    assert "Ant." in [message["content"] for message in upstream.requests(mark)[0].messages]
    assert listed(api, "s") == [first["id"], second["id"]]
    assert Response.objects.get(pk=first["id"]).expires_at is None


def test_continuing_a_response_of_a_session_is_a_turn_of_it(api: httpx.Client) -> None:
    first = create(api, input="One", session_id="s")
    second = create(api, input="Two", previous_response_id=first["id"])
    branch = create(api, input="Three", previous_response_id=first["id"], session_id="s")
    assert second["session_id"] == "s"
    assert create(api, input="Four", session_id="s")["previous_response_id"] == branch["id"]


def test_a_chain_is_adopted(api: httpx.Client) -> None:
    first = create(api, input="One")
    second = create(api, input="Two", previous_response_id=first["id"], session_id="s")
    assert listed(api, "s") == [first["id"], second["id"]]
    assert set(Response.objects.filter(pk__in=listed(api, "s")).values_list("expires_at", flat=True)) == {None}


def test_a_response_of_elsewhere_cannot_be_continued_in_a_session(api: httpx.Client) -> None:
    stray = create(api, input="One")
    create(api, input="Two", session_id="s")
    other = create(api, input="Three", session_id="t")
    for previous in (stray, other):
        body = {"input": "Four", "session_id": "s", "previous_response_id": previous["id"]}
        assert_error(api.post("/v1/responses", json=body), 400, "invalid_session", "session_id")
    body = {"input": "Four", "session_id": "new", "previous_response_id": other["id"]}
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_session", "session_id")


def test_two_turns_at_once(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    with open_stream(api, {"input": f"One {script(Step(text=['a', gate, 'b']))}", "session_id": "s"}) as live:
        live.until("response.output_text.delta")
        answer = api.post("/v1/responses", json={"input": "Two", "session_id": "s"})
        assert_error(answer, 409, "conversation_locked", "session_id")
        assert int(answer.headers["Retry-After"]) > 0
        gate.set()
        live.check()
    assert create(api, input="Two", session_id="s")["status"] == "completed"


def test_a_failed_turn_is_skipped_and_frees_the_session(api: httpx.Client, script: Script) -> None:
    first = create(api, input="One", session_id="s")
    failing = {"input": script(Step(status=400)), "session_id": "s"}
    assert api.post("/v1/responses", json=failing).status_code == 502
    assert create(api, input="Two", session_id="s")["previous_response_id"] == first["id"]


def test_a_handoff_is_resumed_by_its_session(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[PHONE]), Step(text=["Done."]))
    paused = create(api, input=f"Call {mark}", session_id="s", tools=[LOOKUP])
    refused = api.post("/v1/responses", json={"input": "Hi", "session_id": "s"})
    assert_error(refused, 400, "invalid_value", "input")
    resumed = create(api, input=[output_for(calls_of(paused)[0])], session_id="s")
    assert (resumed["output_text"], resumed["previous_response_id"]) == ("Done.", paused["id"])


def test_deleting_a_handoff_takes_the_session_back(api: httpx.Client, script: Script) -> None:
    first = create(api, input="One", session_id="s")
    paused = create(api, input=script(Step(calls=[PHONE])), session_id="s", tools=[LOOKUP])
    assert api.delete(f"/v1/responses/{paused['id']}").status_code == 200
    assert create(api, input="Two", session_id="s")["previous_response_id"] == first["id"]


def test_sessions_of_different_people_are_different(api: httpx.Client) -> None:
    create(api, input="One", session_id="s", user="a")
    assert create(api, input="One", session_id="s", user="b")["previous_response_id"] is None
    assert_error(api.get("/v1/sessions/s"), 404, "not_found")
    assert len(api.get("/v1/sessions/s", params={"user": "a"}).json()["responses"]) == 1


def test_a_session_needs_store(api: httpx.Client) -> None:
    answer = api.post("/v1/responses", json={"input": "Hi", "session_id": "s", "store": False})
    assert_error(answer, 400, "invalid_value", "session_id")


def test_ending_a_session(api: httpx.Client) -> None:
    response = create(api, input="One", session_id="s/1")
    write_record(api, "glucose", "5.4 mmol/L", session_id="s/1")
    ended = api.delete("/v1/sessions/s%2F1").json()
    assert ended == {"status": "ok", "session_id": "s/1", "deleted": 1, "subject": None}
    assert api.get("/v1/data").json()["data"] == []
    assert retrieve(api, response["id"]) == response
    assert api.delete("/v1/sessions/s%2F1", params={"responses": "true"}).json()["deleted"] == 1
    assert_error(api.get(f"/v1/responses/{response['id']}"), 404, "not_found")
    assert_error(api.delete("/v1/sessions/s%2F1"), 404, "not_found")
    assert not Session.objects.filter(name="s/1").exists()


def test_an_erased_person_is_gone_and_may_start_anew(api: httpx.Client) -> None:
    response = create(api, input="One", session_id="s", user="eve")
    write_record(api, "glucose", "5.4 mmol/L", user="eve")
    erased = api.delete("/v1/subjects/eve").json()
    assert erased == {"status": "ok", "subject": "eve", "deleted": {"records": 1, "files": 0, "conversations": 1}}
    assert_error(api.get(f"/v1/responses/{response['id']}"), 404, "not_found")
    assert_error(api.delete("/v1/subjects/eve"), 404, "not_found")
    assert api.get("/v1/data", params={"user": "eve"}).json()["data"] == []
    assert create(api, input="One", session_id="s", user="eve")["previous_response_id"] is None
    assert not Conversation.objects.filter(responses=response["id"]).exists()


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        "subjects/ann/eve",
        "subjects/ann//eve",
        "subjects//eve",
        "subjects/eve//",
        "subjects//",
        "subjects/x/subjects/eve",
        "subjects/v1/subjects/eve",
        "sessions/s/eve",
        "sessions//",
    ],
)
def test_a_slash_that_is_not_escaped_names_nobody(api: httpx.Client, method: str, path: str) -> None:
    for name in ("eve", "subjects", "sessions"):
        write_record(api, "glucose", "5.4 mmol/L", user=name)
    response = create(api, input="One", session_id="eve")
    assert_error(api.request(method, f"/v1/{path}", params={"responses": "true"}), 404, "not_found")
    assert retrieve(api, response["id"]) == response
    for name in ("eve", "subjects", "sessions"):
        assert api.get("/v1/data", params={"user": name}).json()["data"]


def test_an_escaped_slash_is_part_of_a_persons_name(api: httpx.Client) -> None:
    write_record(api, "glucose", "5.4 mmol/L", user="ann/eve")
    assert api.get("/v1/subjects/ann%2Feve/").json()["subject"] == "ann/eve"
    assert api.delete("/v1/subjects/ann%2Feve").json()["subject"] == "ann/eve"


@pytest.mark.parametrize("background", [True, False])
def test_a_turn_after_one_from_the_clocks_future_says_one_time_everywhere(api: httpx.Client, background: bool) -> None:
    first = create(api, input="Hi", session_id="s")
    ahead = timezone.now() + timedelta(hours=1)
    Response.objects.filter(pk=first["id"]).update(created_at=ahead)
    stream = create_stream(api, input="Hi", session_id="s", background=background)
    assert stream.response["created_at"] >= int(ahead.timestamp())
    assert retrieve(api, stream.response["id"]) == stream.response
