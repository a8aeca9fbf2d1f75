"""Credentials of MCP servers go to that server alone: to the byte in no table, no file, no Redis value, no log line, no
stream, and to no model, whatever becomes of the turn. Source: the wire contract, section 8."""

import io
import json
import logging
from collections.abc import Iterator

import httpx
import pytest

from mirobody_site.tenancy.log import ContentFreeFormatter
from responses_app.mcp.results import MOST_CHARACTERS
from responses_app.streaming.backends import request_slots
from tests.conversations.stores import Stores
from tests.responses_app.api.conftest import (
    LOOKUP,
    HeldTurns,
    Json,
    Script,
    calls_of,
    create,
    ok,
    output_for,
    wait_until,
)
from tests.responses_app.mcp.conftest import entry
from tests.responses_app.mcp.test_unusable import reflects
from tests.support.leftovers import Markers
from tests.support.mcp_servers import Says, Scripted, scripted_server, text_result, tool
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Upstream
from tests.tools_app.foreign_hosts import PUBLIC, host, redirects, replies

LOOK = Call("mcp__lab__look")


@pytest.fixture
def log_text() -> Iterator[io.StringIO]:
    """All that is logged, however little it matters."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(ContentFreeFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.setLevel(level)
    root.removeHandler(handler)


def secret_entry(server: Scripted, markers: Markers, **fields: object) -> Json:
    headers = {"X-Api-Key": markers["header"]}
    return entry(server.url, authorization=markers["token"], headers=headers, **fields)


def repeats(markers: Markers) -> dict[str, Says]:
    """A server that repeats its caller's credentials wherever it can."""
    said = f"Bearer {markers['token']} {markers['header']}"
    return {
        "tools/list": {
            "tools": [
                tool("look", description=said, inputSchema={"type": "object", "description": said}),
                tool(markers["token"]),
            ]
        },
        "tools/call": text_result(said, structuredContent={said: [said]}),
    }


def body_of(server: Scripted, markers: Markers, script: Script, *steps: Step) -> Json:
    steps = steps or (Step(calls=[LOOK]), Step(text=["Done."]))
    return {"input": script(*steps), "tools": [secret_entry(server, markers)]}


@pytest.mark.parametrize("store", [True, False])
def test_a_turn_that_ends_well(
    api: httpx.Client,
    script: Script,
    upstream: Upstream,
    stores: Stores,
    markers: Markers,
    log_text: io.StringIO,
    store: bool,
) -> None:
    with scripted_server(repeats(markers)) as server:
        body = body_of(server, markers, script)
        with open_stream(api, {**body, "store": store}) as live:
            assert live.check().response["tool_steps"][0]["status"] == "completed"
        sent = [asked.headers for asked in server.host.asked]
    assert {headers["authorization"] for headers in sent} == {f"Bearer {markers['token']}"}
    assert {headers["x-api-key"] for headers in sent} == {markers["header"]}
    assert markers.in_text(bytes(live.raw)) == set()
    assert b"[credentials]" in live.raw
    assert markers.in_text(json.dumps([request.body for request in upstream.requests(body["input"])])) == set()
    assert stores.left_to_the_byte() == set()
    assert "turn completed" in log_text.getvalue()
    assert markers.in_text(log_text.getvalue()) == set()


ENDS: dict[str, tuple[Says, Step]] = {
    "the server fails": (reflects, Step(text=["Done."])),
    "the server refuses": ({"code": -1, "message": "no"}, Step(text=["Done."])),
    "the provider fails": (text_result("seen"), Step(status=400)),
}


@pytest.mark.parametrize(("result", "last"), ENDS.values(), ids=ENDS.keys())
def test_turns_that_end_otherwise(
    api: httpx.Client,
    script: Script,
    stores: Stores,
    markers: Markers,
    log_text: io.StringIO,
    result: Says,
    last: Step,
) -> None:
    with scripted_server({**repeats(markers), "tools/call": result}) as server:
        answer = api.post("/v1/responses", json=body_of(server, markers, script, Step(calls=[LOOK]), last))
    assert answer.status_code in (200, 502)
    assert markers.in_text(answer.text + log_text.getvalue()) == set()
    assert stores.left_to_the_byte() == set()


def test_a_server_that_is_refused(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, log_text: io.StringIO
) -> None:
    with scripted_server({"initialize": reflects, "server/discover": reflects}) as server:
        answer = api.post("/v1/responses", json=body_of(server, markers, script))
    assert answer.status_code == 400
    assert markers.in_text(answer.text + log_text.getvalue()) == set()
    assert stores.left_to_the_byte() == set()


def test_they_follow_no_redirect(api: httpx.Client, script: Script, markers: Markers) -> None:
    with host(PUBLIC, replies("200 OK")) as other, scripted_server({}) as server:
        server.host.answer = redirects(f"http://{PUBLIC}:{other.port}/", "307 Temporary Redirect")
        assert api.post("/v1/responses", json=body_of(server, markers, script)).status_code == 400
        assert other.asked == []


def test_they_wait_sealed_and_are_taken_once(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, held_turns: HeldTurns
) -> None:
    """While nobody has begun the turn they are in Redis alone, where nobody can read them."""
    with scripted_server({}) as server:
        queued = api.post("/v1/responses", json={**body_of(server, markers, script), "background": True}).json()
        assert stores.left_to_the_byte() == set()
        assert stores.redis
        assert stores.redis.exists(f"mirobody:request:{queued['id']}:mcp")
        held_turns.let_go()
        wait_until(lambda: api.get(f"/v1/responses/{queued['id']}").json()["status"] == "completed")
        assert {asked.headers["x-api-key"] for asked in server.host.asked} == {markers["header"]}
    assert not stores.redis.exists(f"mirobody:request:{queued['id']}:mcp")


@pytest.mark.parametrize("end", ["cancel", "delete"])
def test_a_turn_that_never_begins_leaves_none(
    api: httpx.Client, script: Script, markers: Markers, held_turns: HeldTurns, end: str
) -> None:
    with scripted_server({}) as server:
        queued = api.post("/v1/responses", json={**body_of(server, markers, script), "background": True}).json()
    path = f"/v1/responses/{queued['id']}"
    ended = api.post(f"{path}/cancel") if end == "cancel" else api.delete(path)
    assert ended.status_code == 200
    assert request_slots().take(f"{queued['id']}:mcp") is None


@pytest.mark.parametrize("store", [True, False])
def test_where_they_were_lost_no_server_is_asked_without_them(
    api: httpx.Client, script: Script, markers: Markers, held_turns: HeldTurns, store: bool
) -> None:
    with scripted_server({}) as server:
        body = {**body_of(server, markers, script), "stream": True, "store": store}
        with open_stream(api, body) as live:
            response_id = live.until("response.created")[0]["response"]["id"]
            asked_before = len(server.host.asked)
            assert request_slots().take(f"{response_id}:mcp") is not None
            held_turns.let_go()
            failed = live.check().response
        assert len(server.host.asked) == asked_before
    assert failed["error"]["code"] == "server_error"
    assert "MCP servers" in failed["error"]["message"]


def test_a_resume_has_none_of_its_handoffs(api: httpx.Client, script: Script, markers: Markers) -> None:
    """They were not kept; those it sends itself are used."""
    with scripted_server({}) as server:
        steps = (Step(calls=[Call("phone_lookup", {"name": "Ann"})]), Step(calls=[LOOK]), Step(text=["Done."]))
        body = body_of(server, markers, script, *steps)
        paused = create(api, **{**body, "tools": [*body["tools"], LOOKUP]})
        asked_before = len(server.host.asked)
        again = entry(server.url, authorization="another-token")
        outputs = [output_for(call) for call in calls_of(paused)]
        resumed = create(api, previous_response_id=paused["id"], input=outputs, tools=[again])
        assert resumed["tool_steps"][0]["status"] == "completed"
        sent = {asked.headers["authorization"] for asked in server.host.asked[asked_before:]}
    assert sent == {"Bearer another-token"}


def test_each_server_gets_its_own(api: httpx.Client, script: Script) -> None:
    with scripted_server({}) as one, scripted_server({}) as two:
        mark = script(Step(calls=[Call("mcp__one__look"), Call("mcp__two__look")]), Step(text=["Done."]))
        tools = [
            entry(one.url, "one", authorization="the-first-token"),
            entry(two.url, "two", headers={"Authorization": "Basic second"}),
        ]
        create(api, input=mark, tools=tools)
        sent = [{asked.headers["authorization"] for asked in server.host.asked} for server in (one, two)]
    assert sent == [{"Bearer the-first-token"}, {"Basic second"}]


def test_no_row_of_the_input_or_request_tells(api: httpx.Client, script: Script, markers: Markers) -> None:
    with scripted_server({}) as server:
        response = create(api, **body_of(server, markers, script))
    path = f"/v1/responses/{response['id']}"
    everything = ok(api.get(path)), api.get(f"{path}/input_items").text, api.get(f"{path}?stream=true").text
    assert markers.in_text(str(everything)) == set()
    assert markers.in_rows() == set()


def test_no_part_of_them_is_left_where_a_result_is_cut(api: httpx.Client, script: Script, markers: Markers) -> None:
    kept = MOST_CHARACTERS - 10
    with scripted_server({"tools/call": text_result("x" * kept + markers["token"])}) as server:
        (step,) = create(api, **body_of(server, markers, script))["tool_steps"]
    assert step["result"]["result"][kept:].startswith("[credentia")


def test_a_short_header_is_no_secret(api: httpx.Client, script: Script) -> None:
    """A short value may stand anywhere: results are left as they are."""
    with scripted_server({"tools/call": text_result("version 2 of it")}) as server:
        mark = script(Step(calls=[LOOK]), Step(text=["Done."]))
        (step,) = create(api, input=mark, tools=[entry(server.url, headers={"X-Version": "2"})])["tool_steps"]
    assert step["result"] == {"result": "version 2 of it"}
