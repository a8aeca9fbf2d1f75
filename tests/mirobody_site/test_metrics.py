"""What ``/metrics`` shows, and to whom. Over several processes: test_up.py."""

import re

import httpx
import pytest
from pytest_django import Settings

from tests.support.server import Account
from tests.support.upstream import Call, Gate, Step, Upstream
from tests.support.waiting import wait_until

CONTENT = "peculiar-question-about-glucose"
PERSON = "somebody-in-particular"


@pytest.fixture(autouse=True)
def _provider(settings: Settings, upstream: Upstream) -> None:
    """The scripted provider answers."""
    settings.LLM_BASE_URL = upstream.url


def figures(anonymous: httpx.Client) -> dict[str, float]:
    """The samples by name and labels."""
    lines = anonymous.get("/metrics").text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def grown(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """By how much the samples grew."""
    return {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}


@pytest.mark.parametrize(
    ("step", "outcome", "call_outcome"),
    [
        (Step(text=["Fine."]), "completed", "completed"),
        (Step(calls=[Call("book", {})]), "handoff", "completed"),
        (Step(text=["Half"], finish="length"), "incomplete", "completed"),
        (Step(status=400), "failed", "failed"),
    ],
)
def test_a_turn_is_counted_once_by_its_outcome(
    api: httpx.Client, anonymous: httpx.Client, upstream: Upstream, step: Step, outcome: str, call_outcome: str
) -> None:
    mark = upstream.script(f"counted-{outcome}", step)
    before = figures(anonymous)
    api.post("/v1/responses", json={"input": mark, "tools": [{"type": "function", "name": "book"}]})
    after = grown(before, figures(anonymous))
    turns = {name: value for name, value in after.items() if name.startswith("mirobody_turn_seconds_count")}
    calls = {name: value for name, value in after.items() if name.startswith("mirobody_model_call_seconds_count")}
    assert turns == {f'mirobody_turn_seconds_count{{outcome="{outcome}"}}': 1}
    assert calls == {f'mirobody_model_call_seconds_count{{outcome="{call_outcome}"}}': 1}
    assert after["mirobody_turn_queue_seconds_count"] == 1


def test_tokens_are_the_providers(api: httpx.Client, anonymous: httpx.Client, upstream: Upstream) -> None:
    mark = upstream.script("counted-tokens", Step(text=["Fine."]))
    before = figures(anonymous)
    api.post("/v1/responses", json={"input": mark})
    after = grown(before, figures(anonymous))
    assert after['mirobody_tokens_total{direction="input"}'] == 1000
    assert after['mirobody_tokens_total{direction="output"}'] == 50


def test_streams_are_counted_while_they_are_open(
    api: httpx.Client, anonymous: httpx.Client, upstream: Upstream
) -> None:
    go_on = Gate()
    mark = upstream.script("counted-stream", Step(text=["Fi", go_on, "ne."]))
    before = figures(anonymous)["mirobody_open_streams"]
    with api.stream("POST", "/v1/responses", json={"input": mark, "stream": True}) as response:
        chunks = response.iter_text()
        next(chunks)
        assert figures(anonymous)["mirobody_open_streams"] == before + 1
        go_on.set()
        for _ in chunks:
            pass
    wait_until(lambda: figures(anonymous)["mirobody_open_streams"] == before)


def test_requests_are_counted_by_route_and_never_name_anybody(
    api: httpx.Client, anonymous: httpx.Client, account: Account, upstream: Upstream
) -> None:
    before = figures(anonymous)
    created = api.post("/v1/responses", json={"input": CONTENT, "user": PERSON}).json()
    api.get(f"/v1/responses/{created['id']}?user={PERSON}")
    api.get(f"/v1/{CONTENT}")
    api.request("PURGE", f"/{CONTENT}")
    expected = {
        f'mirobody_http_request_seconds_count{{method="{method}",route="{route}",status="{status}"}}'
        for method, route, status in [
            ("POST", "/v1/responses", 200),
            ("GET", "/v1/responses/<response_id>", 200),
            ("other", "(no route)", 404),
        ]
    }
    wait_until(lambda: expected <= grown(before, figures(anonymous)).keys())
    text = anonymous.get("/metrics").text
    for secret in (CONTENT, PERSON, created["id"], account.key):
        assert secret not in text


def test_with_a_token_only_its_bearer_sees_them(anonymous: httpx.Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "a-token"
    assert anonymous.get("/metrics").status_code == 401
    assert anonymous.get("/metrics", headers={"Authorization": "Bearer another"}).status_code == 401
    assert anonymous.get("/metrics", headers={"Authorization": "Bearer à-token".encode()}).status_code == 401
    assert anonymous.get("/metrics", headers={"Authorization": "Bearer a-token"}).status_code == 200
    assert not re.search("mirobody", anonymous.get("/metrics").text)
