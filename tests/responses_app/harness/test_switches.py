"""The agent's list, and what turns the agent's own tools on and off (contract 2, 6 and 7)."""

from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import Ask, Json, Script, create
from tests.responses_app.harness.conftest import Uses, result, statuses
from tests.support.envelope import assert_error
from tests.support.upstream import Call, Step, Upstream
from tools_app.registry import HARNESS_TOOL_NAMES

PLAN = [{"content": "Look up", "status": "in_progress"}, {"content": "Answer", "status": "pending"}]


def todos(items: Any) -> Call:
    return Call("write_todos", {"todos": items})


def test_the_list_is_replaced_whole_and_shown_in_later_turns(ask: Ask, script: Script, upstream: Upstream) -> None:
    first = ask(input=f"Plan {script(Step(calls=[todos(PLAN)]), Step(calls=[todos(PLAN[1:])]), Step(text=['So.']))}")
    assert [result(first, 0), result(first, 1)] == [{"todos": PLAN}, {"todos": PLAN[1:]}]
    mark = script(Step(text=["Fine."]))
    ask(input=f"And? {mark}", previous_response_id=first["id"])
    outputs = [m["content"] for m in upstream.requests(mark)[0].messages if m["role"] == "tool"]
    assert outputs[-1] == '{"todos":[{"content":"Answer","status":"pending"}]}'


@pytest.mark.parametrize(
    "items", [None, "x", [{}], [{"content": "x"}], [{"content": "x", "status": "later"}], PLAN * 30, [PLAN]]
)
def test_a_list_that_is_none(uses: Uses, items: Any) -> None:
    assert statuses(uses(todos(items))) == ["failed"]


def offered(upstream: Upstream, api: httpx.Client, script: Script, **body: Any) -> set[str]:
    mark = script(Step(text=["Fine."]))
    create(api, input=f"Hi {mark}", **body)
    return set(upstream.requests(mark)[0].tool_names)


@pytest.mark.parametrize("builtin_tools", ["auto", "none", ["query_health_data"]])
def test_builtin_tools_trims_domain_tools_alone(
    upstream: Upstream, api: httpx.Client, script: Script, builtin_tools: Any
) -> None:
    assert offered(upstream, api, script, builtin_tools=builtin_tools) >= HARNESS_TOOL_NAMES


def test_tool_choice_none_turns_them_off(
    upstream: Upstream, api: httpx.Client, script: Script, settings: Settings
) -> None:
    assert offered(upstream, api, script, tool_choice="none") == set()
    settings.TOOL_CHOICE_NONE = "client"
    assert offered(upstream, api, script, tool_choice="none") >= HARNESS_TOOL_NAMES


def test_a_deployment_chooses(upstream: Upstream, api: httpx.Client, script: Script, settings: Settings) -> None:
    settings.HARNESS_TOOLS = ["eval"]
    assert offered(upstream, api, script) & HARNESS_TOOL_NAMES == {"eval"}
    settings.HARNESS_TOOLS = []
    assert offered(upstream, api, script) & HARNESS_TOOL_NAMES == set()


def test_the_built_in_analyst_is_given_none(api: httpx.Client, settings: Settings) -> None:
    settings.LLM_BASE_URL = ""
    with_harness = create(api, input="How is my weight?")
    settings.HARNESS_TOOLS = []
    assert create(api, input="How is my weight?")["usage"] == with_harness["usage"]


@pytest.mark.parametrize("name", sorted(HARNESS_TOOL_NAMES))
def test_their_names_are_taken(api: httpx.Client, settings: Settings, name: str) -> None:
    settings.HARNESS_TOOLS = []
    body: Json = {"input": "Hi", "tools": [{"type": "function", "name": name}]}
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_value", "tools[0].name")
