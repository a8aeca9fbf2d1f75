"""What the agent's own tools leave when it goes while their turn still runs, and what a turn that is not stored leaves.

To the byte, in every store.
"""

import threading
from collections.abc import Callable

import httpx
import pytest

from responses_app.services.sweeping import sweep_expired
from tests.conversations.marked import RECORD, Json, write_records
from tests.conversations.stores import Stores
from tests.responses_app.api.conftest import Script, create, retrieve
from tests.support.leftovers import Markers
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step

OWN = "ann"


def own_tools(script: Script, markers: Markers) -> list[Call]:
    """A call of each tool that keeps or shows words of the model."""
    inner = script(Step(text=[markers["task result"]]))
    return [
        Call("write_file", {"file_path": f"/{markers['path']}", "content": markers["content"]}),
        Call("task", {"description": markers["task"], "prompt": f"{markers['prompt']} {inner}"}),
        Call("eval", {"code": f"print('{markers['code']}')"}),
        Call("write_todos", {"todos": [{"content": markers["todo"], "status": "pending"}]}),
    ]


def asks_of_member(script: Script, member: str) -> list[Call]:
    """Every way to another person's readings: asked directly, by a sub-turn, by code."""
    arguments = {"member": member, "operation": "readings"}
    inner = script(
        Step(calls=[Call("query_health_data", arguments), Call("list_family_members")]), Step(text=["Done."])
    )
    return [
        Call("query_health_data", arguments),
        Call("task", {"description": "look", "prompt": f"Look {inner}"}),
        Call("eval", {"code": "data", "queries": [{"tool": "query_health_data", "arguments": arguments}]}),
    ]


def swept(stores: Stores) -> set[str]:
    stores.a_minute_passes()
    sweep_expired()
    return stores.left_to_the_byte()


def revoked(api: httpx.Client, member: str) -> None:
    assert api.delete("/v1/shares", params={"user": member, "with": OWN}).json()["deleted"] == 1


def narrowed(api: httpx.Client, member: str) -> None:
    shared(api, member, "clinical")


def erased(api: httpx.Client, member: str) -> None:
    assert api.delete(f"/v1/subjects/{member}").status_code == 200


def shared(api: httpx.Client, member: str, scope: str) -> None:
    assert api.post("/v1/shares", json={"user": member, "with": OWN, "scope": scope}).status_code == 200


@pytest.mark.parametrize("end", [revoked, narrowed, erased])
def test_a_share_that_ends_while_a_turn_uses_it(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, end: Callable[[httpx.Client, str], None]
) -> None:
    member = markers["user"]
    write_records(api, markers, member)
    create(api, input="Hi", user=OWN)
    shared(api, member, "all")
    gate = threading.Event()
    mark = script(Step(calls=asks_of_member(script, member)), Step(text=["Well", gate, "."]))
    with open_stream(api, {"input": f"Look {mark}", "user": OWN}) as live:
        live.until("response.output_text.delta")
        end(api, member)
        gate.set()
        response: Json = live.check().response
    assert len(response["tool_steps"]) == 6
    kept = retrieve(api, response["id"], user=OWN)
    assert [step["result"]["gone"] for step in kept["tool_steps"]] == [True] * 6
    assert markers.in_text(str(kept)) == set()
    assert swept(stores) == (set() if end is erased else RECORD | {"user"})


@pytest.mark.parametrize("whole", ["response", "subject"])
def test_what_goes_while_its_turn_runs(
    api: httpx.Client, script: Script, stores: Stores, markers: Markers, whole: str
) -> None:
    gate = threading.Event()
    mark = script(Step(calls=own_tools(script, markers)), Step(text=["Well", gate, "."]))
    with open_stream(api, {"input": f"{markers['asked']} {mark}", "user": markers["user"]}) as live:
        response = live.next()["response"]
        live.until("response.output_text.delta")
        path = f"responses/{response['id']}" if whole == "response" else f"subjects/{markers['user']}"
        assert api.delete(f"/v1/{path}").status_code == 200
        gate.set()
        live.check()
    assert swept(stores) == ({"user"} if whole == "response" else set())


def test_a_turn_that_is_not_stored(api: httpx.Client, script: Script, stores: Stores, markers: Markers) -> None:
    mark = script(Step(calls=own_tools(script, markers)), Step(text=["Done."]))
    response = create(api, input=f"{markers['asked']} {mark}", store=False)
    assert markers.in_text(str(response)) >= {"content", "code", "todo", "task result"}
    assert swept(stores) == set()
