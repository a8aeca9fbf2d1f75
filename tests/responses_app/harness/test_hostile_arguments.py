"""Every server tool, its own and those that are off by default, against arguments that mean harm or no sense."""

import json
from itertools import islice
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import Json, Script, create, retrieve, write_record
from tests.responses_app.harness.conftest import Document
from tests.support.upstream import Call, Step, Upstream
from tools_app.registry import TOOLS

CLOSED = "http://127.0.0.1:1/"
BOBS = "77.77"
SENSE: dict[str, Json] = {
    "query_health_data": {"operation": "readings", "indicators": ["weight"]},
    "search_medical_evidence": {"query": "sleep"},
    "search_medical_literature": {"query": "sleep"},
    "get_clinical_trials": {"query": "sleep"},
    "get_article_by_pmcid": {"pmcid": "PMC1"},
    "read_source": {"ref": "lit:1"},
    "fetch_url": {"url": CLOSED},
    "write_fhir_observation": {"indicator": "weight", "value": 70, "unit": "kg"},
    "write_todos": {"todos": []},
    "task": {"description": "look", "prompt": "Look."},
    "eval": {"code": "1"},
    "read_file": {"file_path": "/a"},
    "write_file": {"file_path": "/a", "content": "x"},
    "edit_file": {"file_path": "/a", "old_string": "x", "new_string": "y"},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
}
"""What a tool is given where nothing is odd."""
ODD = [
    "\ud800", "a\x00b", "x" * 30_000, "'; DROP TABLE x; --", "%", "\u202e", "../../etc/passwd", "/records/../x",
    "file:///etc/passwd", 10**30, -1, 1e308, True, [], {}, [[]], ["\ud800"], ["x"] * 1000, {"\ud800": 1},
    {"tool": "eval"}, [{"tool": "task", "arguments": {}}], "9999-12-31", "0001-01-01", "99999999999 days ago",
    "(((((", "[", "*" * 400, "\\",
]  # fmt: skip
EACH = 7


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.fixture
def bobs(api: httpx.Client, document: Document) -> list[Any]:
    """What names bob, who shares nothing, and what is his."""
    write_record(api, "weight", BOBS, user="bob", unit="kg")
    (row,) = api.get("/v1/data", params={"user": "bob"}).json()["data"]
    paper = document("bob", "Letter", BOBS)
    return ["bob", row["id"], [row["id"]], paper, f"/records/{paper}.txt", [f"/records/{paper}.txt"]]


def odd_calls(tools: dict[str, Json], bobs: list[Any]) -> list[Call]:
    """A call for each property of each tool with each of bob's, and with some of the odd values in turn."""
    odd = [*ODD, nested(100), nested(400)]
    calls = []
    for name, parameters in tools.items():
        for spot, field in enumerate(parameters.get("properties", {})):
            values = [*bobs, *islice(odd * 2, spot * EACH % len(odd), None)][: len(bobs) + EACH]
            calls += [Call(name, json.dumps(SENSE.get(name, {}) | {field: value})) for value in values]
    return calls


def test_no_argument_breaks_a_tool_or_shows_another(
    api: httpx.Client, script: Script, upstream: Upstream, settings: Settings, bobs: list[Any]
) -> None:
    settings.BUILTIN_TOOLS = list(TOOLS)
    settings.EUROPE_PMC_URL = settings.CLINICAL_TRIALS_URL = CLOSED
    write_record(api, "weight", "60", user="ann", unit="kg")
    mark = script(Step(text=["Hi."]))
    create(api, input=mark, user="ann")
    functions = [tool["function"] for tool in upstream.requests(mark)[0].body["tools"]]
    calls = odd_calls({function["name"]: function["parameters"] for function in functions}, bobs)
    assert len({call.name for call in calls}) == len(functions) - 1 == 19
    for start in range(0, len(calls), 50):
        mark = script(Step(calls=calls[start : start + 50]), Step(text=["Done."]))
        response = create(api, input=mark, user="ann")
        assert response["status"] == "completed"
        assert retrieve(api, response["id"], user="ann") == response
        assert BOBS not in json.dumps([step["result"] for step in response["tool_steps"]])
        broken = [step for step in response["tool_steps"] if "The tool failed." in str(step["result"])]
        assert not broken
