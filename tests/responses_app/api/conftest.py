"""What tests of the Agent API share: the scripted model behind the server, and calls that check what they are given.

mark = script(Step(text=["Fine."]))
response = create(api, input=f"How am I? {mark}")
stream = create_stream(api, input=f"How am I? {mark}")
"""

import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from responses_app.services.dispatch import dispatch_turn
from responses_app.streaming.backends import event_log, request_slots, request_twins
from tests.support.grammar import Stream, check_response
from tests.support.redis_server import redis_server, shared_redis_server
from tests.support.sse import open_stream
from tests.support.upstream import ScriptedStep, Upstream

__all__ = ["redis_server", "shared_redis_server"]

Json = dict[str, Any]
Script = Callable[..., str]
Ask = Callable[..., Json]

PATIENCE_SECONDS = 20.0

LOOKUP = {
    "type": "function",
    "name": "phone_lookup",
    "description": "Finds a phone number.",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
"""A client tool."""
BOOKING = {
    "type": "function",
    "name": "book_appointment",
    "parameters": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
}
"""Another one."""


@pytest.fixture(autouse=True)
def scripted_model(settings: Settings, upstream: Upstream) -> None:
    """The scripted upstream answers for the model in every test of this folder."""
    settings.LLM_BASE_URL = upstream.url


@pytest.fixture
def script(upstream: Upstream) -> Script:
    """Registers a script under a name of its own and gives its mark, to stand in the user's message."""

    def register(*steps: ScriptedStep, repeat_last: bool = False) -> str:
        return upstream.script(f"script-{secrets.token_hex(4)}", *steps, repeat_last=repeat_last)

    return register


@pytest.fixture(params=["json", "stream"])
def ask(request: pytest.FixtureRequest, api: httpx.Client) -> Ask:
    """Asks once as JSON, once as a stream, and gives the checked final response, which ``GET`` gives just the same."""

    def asked(**body: Any) -> Json:
        response = create_stream(api, **body).response if request.param == "stream" else create(api, **body)
        assert retrieve(api, response["id"]) == response
        return response

    return asked


class HeldTurns:
    """Accepted turns that nobody begins until they are let go, as on a server whose workers are all busy."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._held: list[Callable[[], None]] = []
        self._holds = True

    def dispatch(self, response_id: str, *, store: bool) -> None:
        """Takes the place of ``dispatch_turn``."""
        self.ids.append(response_id)
        self._held.append(partial(dispatch_turn, response_id, store=store))
        if not self._holds:
            self._send()

    def hold(self) -> None:
        """Holds again what is accepted from now on."""
        self._holds = True

    def let_go(self) -> None:
        """All begin, and none is held any more."""
        self._holds = False
        self._send()

    def _send(self) -> None:
        while self._held:
            self._held.pop(0)()


@pytest.fixture
def held_turns(monkeypatch: pytest.MonkeyPatch) -> HeldTurns:
    """Holds every turn that is accepted from now on."""
    held = HeldTurns()
    monkeypatch.setattr("responses_app.services.intake.dispatch_turn", held.dispatch)
    return held


@pytest.fixture(params=["in process", "in redis"])
def event_logs(request: pytest.FixtureRequest, settings: Settings, server: str) -> Iterator[None]:
    """A server that keeps its event logs in its memory, and one that keeps them in Redis."""
    if request.param == "in process":
        yield
        return
    settings.REDIS_URL = request.getfixturevalue("redis_server").url
    _choose_backends_again()
    yield
    settings.REDIS_URL = ""
    _choose_backends_again()


def _choose_backends_again() -> None:
    event_log.cache_clear()
    request_slots.cache_clear()
    request_twins.cache_clear()


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider is asked again without a wait."""
    monkeypatch.setattr("responses_app.llm.provider.FIRST_RETRY_SECONDS", 0.0)


def create(api: httpx.Client, /, headers: dict[str, str] | None = None, **body: Any) -> Json:
    """The checked response of a JSON ``POST /v1/responses``. Fails unless it is a 200."""
    return ok(api.post("/v1/responses", json=body, headers=headers))


def create_stream(api: httpx.Client, /, headers: dict[str, str] | None = None, **body: Any) -> Stream:
    """The grammar-checked stream of a ``POST /v1/responses``."""
    with open_stream(api, body, **(headers or {})) as live:
        return live.check()


def retrieve(api: httpx.Client, response_id: str, **params: str) -> Json:
    """The checked response of ``GET /v1/responses/{id}``. Fails unless it is a 200."""
    return ok(api.get(f"/v1/responses/{response_id}", params=params))


def ok(answer: httpx.Response) -> Json:
    """The checked response object of an answer. Fails unless it is a 200."""
    assert answer.status_code == 200, answer.text
    return check_response(answer.json())


def calls_of(response: Json) -> list[Json]:
    """The function calls that a response hands to its caller."""
    return [item for item in response["output"] if item["type"] == "function_call"]


def output_for(call: Json, output: Any = "done") -> Json:
    """The ``function_call_output`` item that answers a function call."""
    return {"type": "function_call_output", "call_id": call["call_id"], "output": output}


def message(text: str, role: str = "user") -> Json:
    """A message item."""
    return {"type": "message", "role": role, "content": text}


def write_record(
    api: httpx.Client, indicator: str, value: str, user: str | None = None, session_id: str | None = None, **record: Any
) -> None:
    """Writes one health record, permanent or for the session."""
    retention = "session" if session_id else "permanent"
    records = [{"indicator": indicator, "value": value, **record}]
    body = {"user": user, "retention": retention, "session_id": session_id, "records": records}
    answer = api.post("/v1/data", json=body)
    assert answer.status_code == 200, answer.text


def follow(api: httpx.Client, response_id: str, **params: str) -> bytes:
    """The raw stream of ``GET /v1/responses/{id}?stream=true``, to its end."""
    answer = api.get(f"/v1/responses/{response_id}", params={"stream": "true", **params})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    return answer.content


def wait_until(condition: Callable[[], object]) -> None:
    """Returns as soon as the condition holds; fails when it does not come to hold."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the awaited state did not come"
        time.sleep(0.01)
