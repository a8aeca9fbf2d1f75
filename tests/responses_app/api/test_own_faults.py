"""Faults of this server itself: every caller is told, nothing hangs, and no text of an exception gets out."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from django.db import DatabaseError

from mirobody_site.tenancy.log import ContentFreeFormatter, LogContextFilter
from tests.responses_app.api.conftest import Ask, Script, create, create_stream, retrieve
from tests.support.envelope import assert_error
from tests.support.upstream import Call, Step, Upstream
from tools_app.registry import TOOLS

CONTENT = "words-that-must-not-leak"


@pytest.fixture
def log_lines(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """What the server has logged so far, formatted as it formats its lines."""
    caplog.handler.addFilter(LogContextFilter())
    caplog.handler.setFormatter(ContentFreeFormatter("[%(context)s] %(message)s"))
    return lambda: caplog.text


def raises(*_: Any, **__: Any) -> Any:
    raise RuntimeError(CONTENT)


def cannot_store(*_: Any, **__: Any) -> Any:
    raise DatabaseError(CONTENT)


class BrokenModel:
    """A back end with a fault of its own."""

    def stream(self, _: Any) -> Iterator[Any]:
        yield from ()
        raises()


BREAKAGES = {
    "the model back end breaks": ("responses_app.services.preparing.model_backend", BrokenModel),
    "there is no model back end": ("responses_app.services.preparing.model_backend", raises),
    "the tools cannot be listed": ("responses_app.services.turn_tools.enabled_tools", raises),
    "the prompt cannot be made": ("responses_app.services.preparing.system_prompt", raises),
}


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(("place", "broken"), BREAKAGES.values(), ids=BREAKAGES.keys())
def test_a_turn_that_breaks_is_a_server_error(
    api: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    log_lines: Callable[[], str],
    place: str,
    broken: Any,
    store: bool,
) -> None:
    monkeypatch.setattr(place, broken)
    answer = api.post("/v1/responses", json={"input": "Hi", "store": store}, timeout=10)
    assert_error(answer, 500, "server_error")
    stream = create_stream(api, input="Hi", store=store)
    assert stream.error
    assert (stream.error["code"], stream.response["status"]) == ("server_error", "failed")
    assert CONTENT not in answer.text + str(stream.events) + log_lines()
    if store:
        assert retrieve(api, stream.response["id"]) == stream.response


def test_an_answer_that_cannot_be_stored_has_failed(
    api: httpx.Client, script: Script, monkeypatch: pytest.MonkeyPatch, log_lines: Callable[[], str]
) -> None:
    monkeypatch.setattr("responses_app.services.turns.remember", cannot_store)
    stream = create_stream(api, input=f"Hi {script(Step(text=['Hello.']))}")
    assert stream.response["status"] == "failed"
    assert stream.response["error"]["code"] == "server_error"
    assert CONTENT not in str(stream.events) + log_lines()


def test_a_tool_that_breaks_has_failed_and_the_turn_goes_on(
    ask: Ask, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, log_lines: Callable[[], str]
) -> None:
    monkeypatch.setitem(TOOLS, "list_family_members", replace(TOOLS["list_family_members"], run=raises))
    mark = script(Step(calls=[Call("list_family_members")]), Step(text=["I could not look."]))
    response = ask(input=f"Who? {mark}")
    assert [step["status"] for step in response["tool_steps"]] == ["failed"]
    assert response["output_text"] == "I could not look."
    assert CONTENT not in str(response) + str(upstream.requests(mark)[1].body) + log_lines()


def test_an_ordinary_turn_logs_none_of_its_content(
    api: httpx.Client, script: Script, log_lines: Callable[[], str]
) -> None:
    mark = script(
        Step(reasoning=[CONTENT], text=[CONTENT], calls=[Call("query_health_data", {"indicators": [CONTENT]})]),
        Step(calls=[Call("unknown", {"x": CONTENT})]),
        Step(text=[CONTENT]),
    )
    response = create(api, input=f"{CONTENT} {mark}", instructions=CONTENT, user=CONTENT, metadata={"a": CONTENT})
    assert api.get(f"/v1/responses/{response['id']}", params={"user": CONTENT}).status_code == 200
    assert response["id"] in log_lines()
    assert CONTENT not in log_lines()
