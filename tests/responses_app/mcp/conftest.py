"""What tests of MCP servers share: the scripted model, the servers, and turns whose model calls their tools."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.conversations.stores import markers, stores
from tests.responses_app.api.conftest import (
    Ask,
    Json,
    Script,
    ask,
    create,
    event_logs,
    held_turns,
    script,
    scripted_model,
)
from tests.support.mcp_servers import Lab, real_server
from tests.support.redis_server import redis_server, shared_redis_server
from tests.support.upstream import Call, Step
from tests.tools_app.foreign_hosts import PUBLIC
from tools_app import egress

__all__ = [
    "Ask",
    "ask",
    "event_logs",
    "held_turns",
    "markers",
    "redis_server",
    "script",
    "scripted_model",
    "shared_redis_server",
    "stores",
]

Uses = Callable[..., Json]


@pytest.fixture(autouse=True)
def one_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this machine's addresses one counts as public."""
    monkeypatch.setattr(egress, "is_public", lambda address: address == PUBLIC)


@pytest.fixture(scope="session")
def shared_lab() -> Iterator[Lab]:
    with real_server() as lab:
        yield lab


@pytest.fixture
def lab(shared_lab: Lab) -> Lab:
    """The real server, of which nothing has been asked yet."""
    shared_lab.headers.clear()
    shared_lab.methods.clear()
    return shared_lab


@pytest.fixture
def uses(api: httpx.Client, script: Script) -> Uses:
    """The response of a turn on these servers whose model makes these calls, one after the other, and then answers."""

    def used(tools: list[Json], *calls: Call, **body: Any) -> Json:
        mark = script(*(Step(calls=[call]) for call in calls), Step(text=["Done."]))
        return create(api, input=f"Work {mark}", tools=tools, **body)

    return used


def entry(url: str, label: str = "lab", **fields: Any) -> Json:
    """An MCP entry of ``tools``."""
    return {"type": "mcp", "server_label": label, "server_url": url, "require_approval": "never", **fields}
