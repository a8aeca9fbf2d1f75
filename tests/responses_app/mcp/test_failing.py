"""MCP servers that fail, hang or say odd things in mid-turn: a failed or described step, and the turn goes on."""

import json
import socket
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import Ask, Json, Script, create, ok, wait_until
from tests.responses_app.mcp.conftest import Uses, entry
from tests.responses_app.mcp.test_unusable import SSE, cuts, hangs, reflects, resolves
from tests.support.mcp_servers import SESSION, Says, Scripted, scripted_server, text_result, tool
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Upstream
from tests.tools_app.foreign_hosts import PRIVATE, PUBLIC, Asked, drips, host, redirects, replies

LOOK = Call("mcp__lab__look", {"at": "it"})


def step_of(uses: Uses, server: Scripted, *calls: Call) -> Json:
    """The last step of a turn that makes these calls, or the usual one; the turn ends well whatever becomes of it."""
    response = uses([entry(server.url)], *(calls or (LOOK,)))
    assert (response["status"], response["output_text"]) == ("completed", "Done.")
    step: Json = response["tool_steps"][-1]
    return step


def content(*blocks: Any, **fields: Any) -> Json:
    return {"content": list(blocks), **fields}


TEXT = {"type": "text", "text": "five"}
RESULTS: dict[str, tuple[Json, Json]] = {
    "text": (content(TEXT), {"result": "five"}),
    "texts": (content(TEXT, TEXT), {"result": "five\nfive"}),
    "nothing": (content(), {"result": ""}),
    "no content": ({}, {"result": ""}),
    "structured": (content(structuredContent={"n": 5}), {"result": {"n": 5}}),
    "structured, and as text": (
        content({"type": "text", "text": '{"n": 5}'}, structuredContent={"n": 5}),
        {"result": {"n": 5}},
    ),
    "structured, and other text": (content(TEXT, structuredContent={"n": 5}), {"result": {"n": 5}, "text": "five"}),
    "structured, but no object": (content(structuredContent=[5]), {"result": "[5]"}),
    "image": (
        content({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        {"result": "[image, image/png, 3 bytes: not shown]"},
    ),
    "image of nothing": (content({"type": "image"}), {"result": "[content of the type image: not shown]"}),
    "resource": (content({"type": "resource", "resource": {"uri": "a:b", "text": "six"}}), {"result": "six"}),
    "binary resource": (
        content({"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA"}}),
        {"result": "[resource a:b, 3 bytes: not shown]"},
    ),
    "link": (
        content({"type": "resource_link", "uri": "a:b", "name": "B"}),
        {"result": "[resource a:b, B: not read]"},
    ),
    "unknown": (content(TEXT, {"type": "hologram"}), {"result": "five\n[content of the type hologram: not shown]"}),
    "untyped": (content("five"), {"result": "[content without a type: not shown]"}),
}


@pytest.mark.parametrize(("result", "told"), RESULTS.values(), ids=RESULTS.keys())
def test_results_of_every_form(uses: Uses, result: Json, told: Json) -> None:
    with scripted_server({"tools/call": result}) as server:
        step = step_of(uses, server)
    assert (step["status"], step["result"]) == ("completed", told)


FAILED: dict[str, tuple[Json, str]] = {
    "text": (content(TEXT, isError=True, structuredContent={"answer": 42}), "five"),
    "structured alone": (content(isError=True, structuredContent={"answer": 42}), '{"answer": 42}'),
    "without a word": (content(isError=True), "did not say why"),
    "wants input": ({"resultType": "input_required", "inputRequests": {}}, "asks for input"),
    "JSON-RPC error": ({"code": -32602, "message": "no such thing"}, "The call failed: no such thing"),
}


@pytest.mark.parametrize(("result", "told"), FAILED.values(), ids=FAILED.keys())
def test_results_that_say_it_failed(
    api: httpx.Client, script: Script, upstream: Upstream, result: Json, told: str
) -> None:
    mark = script(Step(calls=[LOOK]), Step(text=["Done."]))
    with scripted_server({"tools/call": result}) as server:
        (step,) = create(api, input=mark, tools=[entry(server.url)])["tool_steps"]
    assert step["status"] == "failed"
    assert told in step["result"]["error"]
    assert json.loads(upstream.requests(mark)[1].tool_outputs[0]) == step["result"]


SSE_RESULT = SSE + b'id: 1\ndata: {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n\n'
ANSWERS: dict[str, tuple[Says, str]] = {
    "hangs": (hangs, "It is not known whether it did what was asked"),
    "drips": (drips(SSE, b": x\n\n"), "in time"),
    "cut": (cuts, "could not be reached"),
    "cut in the middle": (
        lambda connection, asked: connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        ),
        "could not be reached",
    ),
    "500": (reflects, "it answered with status 500"),
    "404": (replies("404 Not Found"), "it answered with status 404"),
    "no JSON": (replies("200 OK", b"{", Content_Type="application/json"), "failed"),
    "other content": (replies("200 OK", b"{}", Content_Type="text/html"), "failed"),
    "events without a result": (lambda connection, asked: connection.sendall(SSE), "failed"),
    "endless events": (drips(SSE, b"data: " + b"x" * 1_000_000 + b"\n"), "failed"),
    "50 MB": (text_result("x" * 50_000_000), "larger than 4 MB"),
    "elsewhere": (redirects(f"http://{PRIVATE}:9/", "307 Temporary Redirect"), "its address is not public"),
    "deep": (
        replies(
            "200 OK",
            b'{"jsonrpc":"2.0","id":2,"result":' + b'{"a":' * 9000 + b"1" + b"}" * 9001,
            Content_Type="application/json",
        ),
        "failed",
    ),
}


SILENT = [ANSWERS["hangs"][0], ANSWERS["drips"][0]]


@pytest.mark.parametrize(("answer", "told"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_that_are_none(uses: Uses, settings: Settings, answer: Says, told: str) -> None:
    """The call is made once: who cannot know whether it was carried out does not repeat it."""
    if answer in SILENT:
        settings.MCP_CALL_SECONDS = 2.0
    with scripted_server({"tools/call": answer}) as server:
        step = step_of(uses, server)
        assert server.times("tools/call") == 1
    assert step["status"] == "failed"
    assert told in step["result"]["error"]


def test_a_failed_call_does_not_end_the_session(uses: Uses) -> None:
    answers = [replies("500 Oh"), text_result("again")]
    with scripted_server({"tools/call": lambda params: answers.pop(0)}) as server:
        step = step_of(uses, server, LOOK, LOOK)
        assert (step["status"], step["result"]) == ("completed", {"result": "again"})
        assert server.times("initialize") == 2


def test_a_server_that_dies_between_calls(uses: Uses) -> None:
    """It answers no more, comes back, and is asked again in a new session."""
    answers: list[Says] = [text_result("one"), cuts, text_result("three")]
    with scripted_server({"tools/call": lambda params: answers.pop(0)}) as server:
        steps = uses([entry(server.url)], LOOK, LOOK, LOOK)["tool_steps"]
    assert [step["status"] for step in steps] == ["completed", "failed", "completed"]


ODD_JSON = {
    "NaN": '{"n": NaN}',
    "infinity": '{"n": 1e999}',
    "surrogate": '{"n": "\\ud800"}',
    "null": '{"n": "\\u0000"}',
}


@pytest.mark.parametrize("body", ODD_JSON.values(), ids=ODD_JSON.keys())
def test_numbers_and_text_that_are_hard_to_keep(ask: Ask, script: Script, body: str) -> None:
    def answer(connection: socket.socket, asked: Asked) -> None:
        result = f'{{"content": [], "structuredContent": {body}}}'
        raw = f'{{"jsonrpc": "2.0", "id": {json.loads(asked.body)["id"]}, "result": {result}}}'
        replies("200 OK", raw.encode(), Content_Type="application/json")(connection, asked)

    with scripted_server({"tools/call": answer}) as server:
        mark = script(Step(calls=[LOOK]), Step(text=["Done."]))
        assert ask(input=mark, tools=[entry(server.url)])["output_text"] == "Done."


def test_a_long_result_is_cut_and_says_so(uses: Uses) -> None:
    with scripted_server({"tools/call": text_result("x" * 300_000)}) as server:
        text = step_of(uses, server)["result"]["result"]
    assert text.startswith("x" * 100_000 + "\n[Cut here: 200000 more")
    assert len(text) < 100_100


def test_a_session_that_the_server_forgot_is_begun_anew(uses: Uses) -> None:
    forgotten: list[Says] = [replies("404 Not Found"), text_result("seen again")]
    with scripted_server({"tools/call": lambda params: forgotten.pop(0)}, session=SESSION) as server:
        step = step_of(uses, server)
        assert (step["status"], step["result"]) == ("completed", {"result": "seen again"})
        # One to list, one that was forgotten, one more.
        assert (server.times("initialize"), server.times("tools/call")) == (3, 2)


def test_a_session_that_is_forgotten_for_ever_fails(uses: Uses) -> None:
    with scripted_server({"tools/call": replies("404 Not Found")}, session=SESSION) as server:
        assert step_of(uses, server)["status"] == "failed"
        assert server.times("tools/call") == 2


def test_a_name_that_resolves_elsewhere_the_second_time(uses: Uses, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[bool] = []
    resolves(monkeypatch, lambda: [PRIVATE if listed else PUBLIC])

    def tools(params: Json) -> Json:
        listed.append(True)
        return {"tools": [tool("look")]}

    with scripted_server({"tools/list": tools}) as server, host(PRIVATE, replies("200 OK"), server.host.port) as here:
        response = uses([entry(f"http://mcp.example:{server.host.port}/mcp")], LOOK)
        (step,) = response["tool_steps"]
        assert here.asked == []
        assert server.times("tools/call") == 0
    assert (step["status"], step["result"]) == ("failed", {"error": "The server failed: its address is not public."})


def test_cancelling_ends_a_call_that_hangs(api: httpx.Client, script: Script) -> None:
    left = []

    def waits(connection: socket.socket, asked: Asked) -> None:
        hangs(connection, asked)
        left.append(True)

    with scripted_server({"tools/call": waits}) as server:
        body = {"input": script(Step(calls=[LOOK])), "tools": [entry(server.url)], "stream": True}
        with open_stream(api, body) as live:
            created = live.until("response.mirobody_tool_call")[0]
            wait_until(lambda: server.times("tools/call"))
            cancelled = ok(api.post(f"/v1/responses/{created['response']['id']}/cancel"))
            assert live.check().response["status"] == "cancelled"
        assert cancelled["status"] == "cancelled"
        wait_until(lambda: left)


def test_the_deadline_ends_a_call_that_hangs(api: httpx.Client, script: Script, settings: Settings) -> None:
    settings.TURN_DEADLINE_SECONDS = 4.0
    with scripted_server({"tools/call": hangs}) as server:
        response = create(api, input=script(Step(calls=[LOOK])), tools=[entry(server.url)])
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_duration"})
    assert response["tool_steps"][0]["status"] == "failed"


NAMES = ["look", "query_health_data", "x" * 70 + "_read", "x" * 70 + "_delete", "y" * 200, "a b/c", "名", "write.todos"]


def test_names_of_every_kind_lead_to_their_tools(
    api: httpx.Client, script: Script, upstream: Upstream, uses: Uses
) -> None:
    says: dict[str, Says] = {
        "tools/list": {"tools": [tool(name) for name in NAMES]},
        "tools/call": lambda params: text_result(params["name"]),
    }
    with scripted_server(says) as server:
        mark = script(Step(text=["Done."]))
        create(api, input=mark, tools=[entry(server.url)])
        names = [name for name in upstream.requests(mark)[0].tool_names if name.startswith("mcp__")]
        assert len(set(names)) == len(NAMES)
        assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() and name.isascii() for name in names)
        assert names[:2] == ["mcp__lab__look", "mcp__lab__query_health_data"]
        steps = uses([entry(server.url)], *map(Call, names))["tool_steps"]
    assert [step["result"]["result"] for step in steps] == NAMES


ODD_TOOLS: list[Json] = [
    {"name": "none"},
    {"name": "text", "inputSchema": "object"},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": 5}}}},
    {"name": "properties", "inputSchema": {"type": "object", "properties": None}},
    {"name": "huge", "inputSchema": {"type": "object", "description": "x" * 40_000}},
    {"name": "elsewhere", "inputSchema": {"type": "object", "$schema": f"http://{PRIVATE}:9/schema"}},
]


def test_schemas_that_are_none_take_any_object(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    long = tool("long", description="x" * 50_000)
    with scripted_server({"tools/list": {"tools": [*ODD_TOOLS, long, {"title": "nameless"}, 5]}}) as server:
        mark = script(Step(text=["Done."]))
        create(api, input=mark, tools=[entry(server.url)])
    offered = {tool["function"]["name"]: tool["function"] for tool in upstream.requests(mark)[0].body["tools"]}
    odd = [offered[f"mcp__lab__{tool['name']}"]["parameters"] for tool in ODD_TOOLS[:-1]]
    assert odd == [{"type": "object", "properties": {}}] * len(odd)
    assert offered["mcp__lab__elsewhere"]["parameters"]["type"] == "object"
    assert len(offered["mcp__lab__long"]["description"]) == 1024
    assert sum(name.startswith("mcp__") for name in offered) == len(ODD_TOOLS) + 1
