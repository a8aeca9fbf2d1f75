"""Tools of real MCP servers as a caller sees them: offered, called, told in ``tool_steps`` alone, continued."""

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import (
    LOOKUP,
    Ask,
    Json,
    Script,
    calls_of,
    create,
    create_stream,
    ok,
    output_for,
    wait_until,
)
from tests.responses_app.mcp.conftest import Uses, entry
from tests.support.envelope import assert_error
from tests.support.mcp_servers import Lab, real_server, scripted_server, text_result
from tests.support.upstream import Call, Step, Upstream

ECHO = Call("mcp__lab__echo", {"text": "A word."})


def test_a_tool_is_called_and_told_of_as_a_step(ask: Ask, script: Script, lab: Lab, upstream: Upstream) -> None:
    mark = script(Step(calls=[ECHO]), Step(text=["It said so."]))
    response = ask(input=mark, tools=[entry(lab.url)])
    (step,) = response["tool_steps"]
    assert (step["name"], step["status"]) == ("mcp__lab__echo", "completed")
    assert (step["arguments"], step["result"]) == ({"text": "A word."}, {"result": "A word."})
    assert [item["type"] for item in response["output"]] == ["message"]
    assert (response["health_records"], response["citations"]) == ([], [])
    first, second = upstream.requests(mark)
    offered = {tool["function"]["name"]: tool["function"] for tool in first.body["tools"]}
    assert {"mcp__lab__echo", "mcp__lab__add", "mcp__lab__picture", "mcp__lab__refuse"} <= set(offered)
    assert offered["mcp__lab__echo"]["description"] == "Gives the text back."
    assert offered["mcp__lab__echo"]["parameters"]["required"] == ["text"]
    assert second.tool_outputs == ['{"result":"A word."}']


@pytest.mark.parametrize("how", [{"stateless": True}, {"json_response": True}], ids=str)
def test_servers_of_every_kind(uses: Uses, how: dict[str, bool]) -> None:
    with real_server(**how) as server:
        (step,) = uses([entry(server.url)], ECHO)["tool_steps"]
    assert step["result"] == {"result": "A word."}


def test_results_of_every_kind(uses: Uses, lab: Lab) -> None:
    calls = (Call("mcp__lab__add", {"first": 1, "second": 2}), Call("mcp__lab__picture"), Call("mcp__lab__refuse"))
    added, drawn, refused = uses([entry(lab.url)], *calls)["tool_steps"]
    assert added["result"] == {"result": {"sum": 3}}
    assert (added["status"], drawn["status"], refused["status"]) == ("completed", "completed", "failed")
    assert drawn["result"] == {"result": "[image, image/png, 9 bytes: not shown]"}
    assert "refuse" in refused["result"]["error"]


def test_arguments_that_do_not_fit_are_the_servers_to_refuse(uses: Uses, lab: Lab) -> None:
    (step,) = uses([entry(lab.url)], Call("mcp__lab__add", {"first": "one"}))["tool_steps"]
    assert step["status"] == "failed"
    assert "first" in step["result"]["error"]


def test_the_entry_is_echoed_without_credentials(api: httpx.Client, script: Script, lab: Lab) -> None:
    given = entry(lab.url, authorization="a-secret-token", headers={"X-Key": "another-secret"}, allowed_tools=["echo"])
    stream = create_stream(api, input=script(Step(calls=[ECHO]), Step(text=["Done."])), tools=[given])
    assert stream.response["tools"] == [entry(lab.url, allowed_tools=["echo"])]
    assert {headers.get("authorization") for headers in lab.headers} == {"Bearer a-secret-token"}
    assert {headers.get("x-key") for headers in lab.headers} == {"another-secret"}
    assert "secret" not in api.get(f"/v1/responses/{stream.response['id']}").text


def test_only_allowed_tools_are_there(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    says = {"tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("read", "delete")]}}
    with scripted_server(says) as server:
        mark = script(Step(calls=[Call("mcp__lab__delete")]), Step(text=["I could not."]))
        create(api, input=mark, tools=[entry(server.url, allowed_tools=["read"])])
        assert server.times("tools/call") == 0
    names = upstream.requests(mark)[0].tool_names
    assert [name for name in names if name.startswith("mcp__")] == ["mcp__lab__read"]


@pytest.mark.parametrize("allowed", [["read"], {"tool_names": ["read"]}], ids=["list", "object"])
def test_both_forms_of_allowed_tools(api: httpx.Client, allowed: object) -> None:
    with scripted_server({}) as server:
        response = create(api, input="Hello", tools=[entry(server.url, allowed_tools=allowed)])
    assert response["tools"][0]["allowed_tools"] == ["read"]


def test_two_servers_with_the_same_tool(uses: Uses) -> None:
    with (
        scripted_server({"tools/call": text_result("of one")}) as one,
        scripted_server({"tools/call": text_result("of two")}) as two,
    ):
        tools = [entry(one.url, "one"), entry(two.url, "two")]
        steps = uses(tools, Call("mcp__two__look"), Call("mcp__one__look"))["tool_steps"]
        assert [step["result"]["result"] for step in steps] == ["of two", "of one"]
        assert (one.times("tools/call"), two.times("tools/call")) == (1, 1)


def test_one_session_serves_a_turn_and_is_closed_with_it(uses: Uses) -> None:
    with scripted_server({}, session="s-1") as server:
        uses([entry(server.url)], *[Call("mcp__lab__look")] * 3)
        # One to list the tools, and one for all calls of the turn.
        assert server.times("initialize") == 2
        wait_until(lambda: sum(asked.line.startswith("DELETE") for asked in server.host.asked) == 2)
        assert server.times("tools/call") == 3


def test_without_a_call_there_is_no_second_session(uses: Uses) -> None:
    with scripted_server({}) as server:
        uses([entry(server.url)])
        assert (server.times("initialize"), server.times("tools/list")) == (1, 1)


def test_calls_of_one_step_run_side_by_side(api: httpx.Client, script: Script, lab: Lab) -> None:
    calls = [Call("mcp__lab__echo", {"text": str(number)}) for number in range(12)]
    steps = create(api, input=script(Step(calls=calls), Step(text=["Done."])), tools=[entry(lab.url)])["tool_steps"]
    assert [step["result"]["result"] for step in steps] == [str(number) for number in range(12)]


def test_builtin_tools_do_not_switch_them_off_and_tool_choice_does(
    api: httpx.Client, script: Script, lab: Lab, upstream: Upstream
) -> None:
    with_them = script(Step(text=["Yes."]))
    create(api, input=with_them, tools=[entry(lab.url)], builtin_tools="none")
    assert "mcp__lab__echo" in upstream.requests(with_them)[0].tool_names
    lab.methods.clear()
    without = script(Step(text=["No."]))
    create(api, input=without, tools=[entry(lab.url)], tool_choice="none")
    assert upstream.requests(without)[0].tool_names == []
    assert lab.methods == []


def test_beside_client_tools_in_one_step(api: httpx.Client, script: Script, lab: Lab) -> None:
    mark = script(Step(calls=[ECHO, Call("phone_lookup", {"name": "Ann"})]), Step(text=["Done."]))
    response = create(api, input=mark, tools=[LOOKUP, entry(lab.url)])
    assert [step["name"] for step in response["tool_steps"]] == ["mcp__lab__echo"]
    assert [call["name"] for call in calls_of(response)] == ["phone_lookup"]


def test_a_resume_says_again_which_servers_it_uses(
    api: httpx.Client, script: Script, lab: Lab, upstream: Upstream
) -> None:
    """Those alone, and the paused turn's client tools hold; else it has none."""
    for tools, has_them in ([entry(lab.url)], True), (None, False):
        mark = script(Step(calls=[Call("phone_lookup", {"name": "Ann"})]), Step(text=["Done."]))
        paused = create(api, input=mark, tools=[LOOKUP, entry(lab.url)])
        outputs = [output_for(call) for call in calls_of(paused)]
        resumed = create(api, previous_response_id=paused["id"], input=outputs, tools=tools)
        names = upstream.requests(mark)[1].tool_names
        assert ("mcp__lab__echo" in names, "phone_lookup" in names) == (has_them, True)
        assert [tool["type"] for tool in resumed["tools"]] == ["function", *(["mcp"] if has_them else [])]


def test_a_clients_tool_of_the_same_name_stays_the_clients(api: httpx.Client, script: Script, lab: Lab) -> None:
    mine = {"type": "function", "name": "mcp__lab__echo"}
    response = create(api, input=script(Step(calls=[ECHO])), tools=[mine, entry(lab.url)])
    assert [call["name"] for call in calls_of(response)] == ["mcp__lab__echo"]
    assert response["tool_steps"] == []


def test_what_was_called_stays_in_the_conversation(
    api: httpx.Client, script: Script, lab: Lab, upstream: Upstream
) -> None:
    first = create(api, input=script(Step(calls=[ECHO]), Step(text=["Done."])), tools=[entry(lab.url)])
    mark = script(Step(text=["You had it say a word."]))
    create(api, previous_response_id=first["id"], input=mark)
    assert "A word." in str(upstream.requests(mark)[0].messages)


def test_background_and_unstored_turns(api: httpx.Client, script: Script, lab: Lab) -> None:
    def body() -> Json:
        return {"input": script(Step(calls=[ECHO]), Step(text=["Done."])), "tools": [entry(lab.url)]}

    queued = api.post("/v1/responses", json={**body(), "background": True}).json()
    wait_until(lambda: api.get(f"/v1/responses/{queued['id']}").json()["status"] == "completed")
    kept = ok(api.get(f"/v1/responses/{queued['id']}"))
    unstored = create(api, **body(), store=False)
    assert [response["tool_steps"][0]["result"] for response in (kept, unstored)] == [{"result": "A word."}] * 2


def test_sub_turns_use_them_too(uses: Uses, api: httpx.Client, script: Script, lab: Lab) -> None:
    inner = script(Step(calls=[ECHO]), Step(text=["A word."]))
    (task, step) = uses([entry(lab.url)], Call("task", {"description": "Ask", "prompt": inner}))["tool_steps"]
    assert (task["name"], step["name"], step["result"]) == ("task", "mcp__lab__echo", {"result": "A word."})


def test_the_built_in_analyst_leaves_them_alone(api: httpx.Client, settings: Settings, lab: Lab) -> None:
    settings.LLM_BASE_URL = ""
    response = create(api, input="What was my last HbA1c?", tools=[entry(lab.url)])
    assert all(not step["name"].startswith("mcp__") for step in response["tool_steps"])


def test_not_in_model_mode(api: httpx.Client, lab: Lab) -> None:
    body = {"input": "Hello", "mode": "model", "tools": [entry(lab.url)]}
    assert_error(api.post("/v1/responses", json=body), 400, "unsupported_parameter", "tools[0]")


ENTRY = entry("http://127.0.0.2:9/mcp")
REFUSED = {
    "approval": ({"require_approval": "always"}, "unsupported_parameter", "tools[0].require_approval"),
    "approval by tool": (
        {"require_approval": {"never": {"tool_names": ["read"]}}},
        "unsupported_parameter",
        "tools[0].require_approval",
    ),
    "connector": ({"connector_id": "connector_x"}, "unsupported_parameter", "tools[0].connector_id"),
    "no address": ({"server_url": None}, "missing_required_parameter", "tools[0].server_url"),
    "no label": ({"server_label": None}, "missing_required_parameter", "tools[0].server_label"),
    "label": ({"server_label": "my lab"}, "invalid_value", "tools[0].server_label"),
    "scheme": ({"server_url": "file:///etc/passwd"}, "invalid_value", "tools[0].server_url"),
    "no host": ({"server_url": "http:///mcp"}, "invalid_value", "tools[0].server_url"),
    "userinfo": ({"server_url": "http://a:b@127.0.0.2/"}, "invalid_value", "tools[0].server_url"),
    "line break": ({"server_url": "http://127.0.0.2/\r\nA: b"}, "invalid_value", "tools[0].server_url"),
    "headers": ({"headers": ["a"]}, "invalid_type", "tools[0].headers"),
    "header": ({"headers": {"A": 1}}, "invalid_type", "tools[0].headers.A"),
    "header's name": ({"headers": {"A b": "c"}}, "invalid_value", "tools[0].headers"),
    "header's line break": ({"headers": {"A": "b\r\nC: d"}}, "invalid_value", "tools[0].headers"),
    "hop by hop": ({"headers": {"Transfer-Encoding": "chunked"}}, "invalid_value", "tools[0].headers"),
    "host": ({"headers": {"hOST": "elsewhere"}}, "invalid_value", "tools[0].headers"),
    "the protocol's own": ({"headers": {"Mcp-Session-Id": "stolen"}}, "invalid_value", "tools[0].headers"),
    "twice": ({"headers": {"AUTHORIZATION": "b"}, "authorization": "c"}, "invalid_value", "tools[0]"),
    "token": ({"authorization": "a\nb"}, "invalid_value", "tools[0].authorization"),
    "allowed": ({"allowed_tools": "read"}, "invalid_type", "tools[0].allowed_tools"),
    "allowed by kind": ({"allowed_tools": {"read_only": True}}, "unsupported_parameter", "tools[0].allowed_tools"),
}


@pytest.mark.parametrize(("fields", "code", "param"), REFUSED.values(), ids=REFUSED.keys())
def test_an_entry_that_is_refused(api: httpx.Client, fields: Json, code: str, param: str) -> None:
    answer = api.post("/v1/responses", json={"input": "Hello", "tools": [ENTRY | fields]})
    assert_error(answer, 400, code, param)
    if "approval" in param:
        assert answer.json()["error"]["message"].startswith("require_approval is not supported")


def test_labels_are_unique_and_servers_few(api: httpx.Client) -> None:
    twice = api.post("/v1/responses", json={"input": "Hello", "tools": [ENTRY, ENTRY]})
    assert_error(twice, 400, "invalid_value", "tools[1].server_label")
    nine = [entry("http://127.0.0.2:9/mcp", f"s{number}") for number in range(9)]
    assert_error(api.post("/v1/responses", json={"input": "Hello", "tools": nine}), 400, "too_many_items", "tools")
