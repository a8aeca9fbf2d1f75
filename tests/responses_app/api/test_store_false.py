"""``store: false`` (wire contract, section 5): no row with content, and nothing left when the turn is over."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.db import connection

from responses_app.streaming.backends import event_log, request_slots
from responses_app.streaming.event_log import LogGone
from tests.responses_app.api.conftest import LOOKUP, Json, Script, calls_of, create, create_stream, output_for
from tests.support.envelope import assert_error
from tests.support.sse import open_stream
from tests.support.upstream import Call, Cut, Step

PHONE = Call("phone_lookup", {"name": "marker-spoken"})
MEMBERS = Call("list_family_members", {})
MARKER = "marker-spoken"


def rows_with(text: str) -> list[str]:
    """The tables of the database in which any value of any row holds this text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            if any(text in str(value) for row in cursor.fetchall() for value in row):
                found.append(table)
    return found


def assert_nothing_left(api: httpx.Client, response_id: str) -> None:
    """Neither rows nor log nor order of this response."""
    assert rows_with(response_id) == []
    assert request_slots().take(response_id) is None
    with pytest.raises(LogGone):
        asyncio.run(event_log().answer(response_id))
    assert_error(api.get(f"/v1/responses/{response_id}"), 404, "not_found")
    assert_error(api.get(f"/v1/responses/{response_id}?stream=true"), 404, "not_found")
    assert_error(api.delete(f"/v1/responses/{response_id}"), 404, "not_found")
    body = {"input": "And?", "previous_response_id": response_id}
    assert_error(api.post("/v1/responses", json=body), 404, "previous_response_not_found", "previous_response_id")


TURNS = {
    "text": [Step(reasoning=[MARKER], text=[MARKER])],
    "server tools": [Step(text=[MARKER], calls=[MEMBERS]), Step(text=[MARKER])],
    "handoff": [Step(text=[MARKER], calls=[PHONE])],
    "cut short": [Step(text=[MARKER], finish="length")],
}
CALLERS: dict[str, Callable[..., Json]] = {
    "json": create,
    "stream": lambda api, **body: create_stream(api, **body).response,
}
each_caller = pytest.mark.parametrize("ask_once", CALLERS.values(), ids=CALLERS.keys())


@each_caller
@pytest.mark.parametrize("steps", TURNS.values(), ids=TURNS.keys())
def test_a_turn_leaves_nothing(
    api: httpx.Client, script: Script, ask_once: Callable[..., Json], steps: list[Step]
) -> None:
    body: dict[str, Any] = {"instructions": "marker-asked", "metadata": {"about": "marker-asked"}, "tools": [LOOKUP]}
    response = ask_once(api, input=f"marker-asked {script(*steps)}", store=False, user="marker-asked", **body)
    assert response["store"] is False
    assert MARKER in response["output_text"]
    assert rows_with("marker-asked") == rows_with(MARKER) == []
    assert_nothing_left(api, response["id"])


def test_a_failed_turn_leaves_nothing(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=[MARKER, Cut()]))
    failed = create_stream(api, input=f"marker-asked {mark}", store=False).response
    assert_error(
        api.post("/v1/responses", json={"input": f"marker-asked {mark}", "store": False}), 502, "upstream_error"
    )
    assert rows_with("marker-asked") == rows_with(MARKER) == []
    assert_nothing_left(api, failed["id"])


def test_a_running_turn_has_no_row_either(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    mark = script(Step(text=[MARKER, gate, "."], calls=[MEMBERS]), Step(text=["So."]))
    with open_stream(api, {"input": f"marker-asked {mark}", "store": False}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        assert rows_with("marker-asked") == rows_with(MARKER) == rows_with(response_id) == []
        assert_error(api.get(f"/v1/responses/{response_id}"), 404, "not_found")
        gate.set()
        live.check()
    assert_nothing_left(api, response_id)


@each_caller
def test_a_resume_leaves_only_that_the_handoff_is_answered(
    api: httpx.Client, script: Script, ask_once: Callable[..., Json]
) -> None:
    paused = create(
        api, input=f"Call {script(Step(calls=[Call('phone_lookup')]), Step(text=[MARKER]))}", tools=[LOOKUP]
    )
    body = {"input": [output_for(calls_of(paused)[0], "marker-output")], "previous_response_id": paused["id"]}
    resumed = ask_once(api, **body, store=False)
    assert resumed["output_text"] == MARKER
    assert rows_with("marker-output") == rows_with(MARKER) == []
    assert rows_with(resumed["id"]) in ([], ["responses_app_pendingcall"])


def test_it_reads_what_it_continues_and_adds_nothing(api: httpx.Client, script: Script) -> None:
    first = create(api, input="Hi")
    aside = create(api, input=f"Aside {script(Step(text=['Aside.']))}", previous_response_id=first["id"], store=False)
    assert aside["previous_response_id"] == first["id"]
    assert_nothing_left(api, aside["id"])
    assert create(api, input="And?", previous_response_id=first["id"])["status"] == "completed"


def test_the_subject_is_not_created_by_it(api: httpx.Client, script: Script) -> None:
    response = create(
        api, input=f"Who? {script(Step(calls=[MEMBERS]), Step(text=['So.']))}", user="never-seen", store=False
    )
    assert response["user"] == "never-seen"
    assert rows_with("never-seen") == []
