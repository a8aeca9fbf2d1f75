"""The doors of the playground, without a browser: who gets in, and what its key can do."""

from collections.abc import Iterator

import httpx
import pytest

from mirobody_site.tenancy.models import ApiKey
from tests.responses_app.playground.conftest import Developer
from tests.support.server import http_client


@pytest.fixture
def visitor(server: str) -> Iterator[httpx.Client]:
    with http_client(server) as client:
        yield client


def token(client: httpx.Client, path: str) -> str:
    page = client.get(path).text
    return page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]


def log_in(client: httpx.Client, developer: Developer) -> None:
    form = {"username": developer.name, "password": developer.password}
    form["csrfmiddlewaretoken"] = token(client, "/playground/login")
    assert client.post("/playground/login", data=form).status_code == 302


def make_key(client: httpx.Client) -> str:
    headers = {"X-CSRFToken": token(client, "/playground")}
    made: str = client.post("/playground/key", headers=headers).json()["key"]
    return made


def works(server: str, key: str) -> bool:
    with http_client(server, {"Authorization": f"Bearer {key}"}) as client:
        return client.get("/v1/data", params={"user": "alice"}).is_success


@pytest.mark.parametrize("path", ["/playground", "/playground/"])
def test_a_stranger_is_sent_to_the_login(visitor: httpx.Client, path: str) -> None:
    answer = visitor.get(path)
    assert (answer.status_code, answer.headers["location"].split("?")[0]) == (302, "/playground/login")


@pytest.mark.parametrize("path", ["/playground/key", "/playground/answer"])
def test_a_stranger_gets_nothing_done(visitor: httpx.Client, path: str) -> None:
    headers = {"X-CSRFToken": token(visitor, "/playground/login")}
    keys = ApiKey.objects.count()
    assert visitor.post(path, headers=headers, json={"text": "x"}).status_code == 302
    assert ApiKey.objects.count() == keys


def test_another_site_cannot_have_a_key_made(visitor: httpx.Client, developer: Developer) -> None:
    log_in(visitor, developer)
    assert visitor.post("/playground/key").status_code == 403


def test_a_new_visit_ends_the_key_of_the_one_before(server: str, visitor: httpx.Client, developer: Developer) -> None:
    log_in(visitor, developer)
    first = make_key(visitor)
    assert works(server, first)
    second = make_key(visitor)
    assert works(server, second)
    assert not works(server, first)


def test_the_key_is_for_ones_own_account(
    server: str, visitor: httpx.Client, developer: Developer, api: httpx.Client
) -> None:
    log_in(visitor, developer)
    key = make_key(visitor)
    with http_client(server, {"Authorization": f"Bearer {key}"}) as client:
        assert client.get("/v1/data", params={"user": "alice"}).json() == (
            api.get("/v1/data", params={"user": "alice"}).json()
        )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"text": 3}',
        b'{"text": "5.4", "grounding": {"figures": [{"start": -1}]}}',
        b'{"text": "5.4", "grounding": {"figures": 3}}',
    ],
)
def test_what_is_no_answer_is_refused(visitor: httpx.Client, developer: Developer, body: bytes) -> None:
    log_in(visitor, developer)
    headers = {"X-CSRFToken": token(visitor, "/playground")}
    assert visitor.post("/playground/answer", headers=headers, content=body).status_code == 400


def test_figures_that_are_nowhere_in_the_text_hurt_nobody(visitor: httpx.Client, developer: Developer) -> None:
    log_in(visitor, developer)
    headers = {"X-CSRFToken": token(visitor, "/playground")}
    figures = [{"start": 9, "end": 2, "supported_by": []}, {"start": 10**9, "end": 10**9, "supported_by": []}]
    answer = visitor.post(
        "/playground/answer", headers=headers, json={"text": "<b>5.4</b>", "grounding": {"figures": figures}}
    )
    assert answer.status_code == 200
    assert "<b>" not in answer.json()["html"]


def test_its_pages_load_nothing_from_elsewhere_and_stand_in_no_frame(
    visitor: httpx.Client, developer: Developer
) -> None:
    log_in(visitor, developer)
    for path in ("/playground", "/playground/login"):
        headers = visitor.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert "no-store" in headers["cache-control"]
