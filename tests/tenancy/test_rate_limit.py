"""The rate limit of a key: what passes, what is refused, what every answer says of it, on one process and on several.

Source: the wire contract, section 1.
"""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import openai
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from mirobody_site.tenancy import rate_limit
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.services import create_api_key
from tests.support.envelope import assert_error
from tests.support.process import server_process
from tests.support.redis_server import RedisServer, redis_server, running_redis_server, shared_redis_server
from tests.support.server import Account, http_client

__all__ = ["redis_server", "shared_redis_server"]

CALLERS, LIMIT = 200, 60
READ = "/v1/data"


@pytest.fixture(params=["in process", "in redis"])
def counted(request: pytest.FixtureRequest, settings: Settings, server: str) -> Iterator[None]:
    """A server that counts in its memory, and one that counts in Redis."""
    if request.param == "in redis":
        settings.REDIS_URL = request.getfixturevalue("redis_server").url
    yield
    settings.REDIS_URL = ""


def limit(account: Account, rpm: int) -> None:
    ApiKey.objects.filter(account_id=account.id).update(rate_limit_rpm=rpm)


def figures(answer: httpx.Response) -> tuple[int, int]:
    assert 1 <= int(answer.headers["x-ratelimit-reset"]) <= 60
    return int(answer.headers["x-ratelimit-limit"]), int(answer.headers["x-ratelimit-remaining"])


@pytest.mark.usefixtures("counted")
def test_of_200_callers_at_once_exactly_60_pass(account: Account) -> None:
    limit(account, LIMIT)
    with account.client() as client, ThreadPoolExecutor(32) as callers:
        answers = list(callers.map(lambda _: client.get(READ), range(CALLERS)))
    assert Counter(answer.status_code for answer in answers) == {200: LIMIT, 429: CALLERS - LIMIT}
    passed = [figures(answer)[1] for answer in answers if answer.status_code == 200]
    assert sorted(passed) == list(range(LIMIT))


@pytest.mark.usefixtures("counted")
def test_a_refused_request_says_when_to_come_back(api: httpx.Client, account: Account) -> None:
    limit(account, 1)
    assert figures(api.get(READ)) == (1, 0)
    refused = api.get(READ)
    assert_error(refused, 429, "rate_limit_exceeded")
    assert figures(refused) == (1, 0)
    assert refused.headers["retry-after"] == refused.headers["x-ratelimit-reset"]


@pytest.mark.usefixtures("counted")
def test_the_next_window_begins_anew(api: httpx.Client, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "WINDOW_SECONDS", 0.2)
    limit(account, 1)
    assert api.get(READ).status_code == 200
    deadline = time.monotonic() + 20
    while api.get(READ).status_code != 200:
        assert time.monotonic() < deadline


def test_every_kind_of_answer_counts_and_says_what_is_left(api: httpx.Client, account: Account) -> None:
    limit(account, 100)
    answers = [
        api.get(READ),
        api.post("/v1/responses", json={"input": "Hi"}),
        api.post("/v1/responses", json={"input": "Hi", "stream": True}),
        api.post("/v1/responses", json={}),
        api.get("/v1/responses/resp_unknown"),
        api.put("/v1/responses"),
        api.delete("/v1/subjects/nobody"),
        api.get("/v1/fhir/Observation"),
        api.post("/v1/shares", content=b"{"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 400, 404, 405, 404, 200, 400]
    assert [figures(answer) for answer in answers] == [(100, 99 - made) for made in range(len(answers))]


def test_probes_and_callers_without_a_key_are_not_counted(anonymous: httpx.Client) -> None:
    for answer in (anonymous.get("/healthz"), anonymous.get(READ)):
        assert "x-ratelimit-limit" not in answer.headers


def test_keys_of_one_account_are_counted_apart(account: Account, server: str) -> None:
    limit(account, 1)
    name = ApiKey.objects.get(account_id=account.id).account.get_username()
    _, other = create_api_key(name)
    with account.client() as api:
        assert [api.get(READ).status_code for _ in range(2)] == [200, 429]
    with http_client(server, {"Authorization": f"Bearer {other}"}) as api:
        assert figures(api.get(READ)) == (1_000_000, 999_999)


def test_operators_set_the_limit_of_a_key(api: httpx.Client, account: Account) -> None:
    operator = Client()
    operator.force_login(User.objects.create_superuser(f"limiter-{account.id}"))
    key = ApiKey.objects.get(account_id=account.id)
    page = f"/admin/tenancy/apikey/{key.pk}/change/"
    assert operator.post(page, {"rate_limit_rpm": "0"}, headers={"host": "localhost"}).status_code == 200
    assert operator.post(page, {"rate_limit_rpm": "7"}, headers={"host": "localhost"}).status_code == 302
    assert figures(api.get(READ)) == (7, 6)


def test_the_official_client_tells_its_user(account: Account) -> None:
    limit(account, 1)
    client = openai.OpenAI(base_url=f"{account.base_url}/v1", api_key=account.key, max_retries=0)
    with client:
        client.responses.create(model="mirobody-flash", input="Hi")
        with pytest.raises(openai.RateLimitError, match="may make 1 requests a minute") as refused:
            client.responses.create(model="mirobody-flash", input="Hi")
    assert refused.value.code == "rate_limit_exceeded"


def test_a_server_whose_redis_is_away_counts_for_itself(
    account: Account, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with running_redis_server() as gone:
        settings.REDIS_URL = gone.url
    limit(account, 2)
    with account.client() as api:
        assert [api.get(READ).status_code for _ in range(3)] == [200, 200, 429]
    assert "counted by this process alone" in caplog.text


def test_web_processes_count_together(redis_server: RedisServer) -> None:
    settings = {"REDIS_URL": redis_server.url, "CELERY_BROKER_URL": "", "RATE_LIMIT_RPM": str(LIMIT)}
    with ExitStack() as stack:
        first = stack.enter_context(server_process(settings, seeded=False))
        other = {**settings, "DATA_DIR": str(first.data)}
        second = stack.enter_context(server_process(other, seeded=False))
        headers = {"Authorization": f"Bearer {first.key}"}
        clients = [stack.enter_context(http_client(each.base_url, headers)) for each in (first, second)]
        callers = stack.enter_context(ThreadPoolExecutor(16))
        answers = list(callers.map(lambda number: clients[number % 2].get(READ), range(CALLERS)))
    assert Counter(answer.status_code for answer in answers) == {200: LIMIT, 429: CALLERS - LIMIT}
