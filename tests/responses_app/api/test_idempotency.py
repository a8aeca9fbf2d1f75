"""``Idempotency-Key``: the same request under the same key is done once and answered again; another one is a conflict.

Source: the wire contract, section 1.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from mirobody_site.tenancy.models import RememberedRequest
from mirobody_site.tenancy.services import create_api_key
from responses_app.models import Response
from responses_app.services.sweeping import sweep_expired
from tests.responses_app.api.conftest import (
    LOOKUP,
    Json,
    Script,
    calls_of,
    create,
    create_stream,
    output_for,
    redis_server,
    retrieve,
    shared_redis_server,
    wait_until,
)
from tests.support.envelope import assert_error
from tests.support.lost_callers import caller, followed_requests
from tests.support.server import Account, http_client, make_account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Upstream

__all__ = ["redis_server", "shared_redis_server"]

PARAM = "Idempotency-Key"
KEY = {PARAM: "order 1: 'a'"}
RECORDS = {"user": "ann", "retention": "permanent", "records": [{"indicator": "HbA1c", "value": "5.4 %"}]}
SHARE = {"user": "ann", "with": "bob", "scope": "all"}

in_both_stores = pytest.mark.usefixtures("event_logs")


@pytest.fixture
def side() -> Iterator[ThreadPoolExecutor]:
    """For callers who wait beside the test."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def remembered(account: Account) -> int:
    return RememberedRequest.objects.filter(account_id=account.id).count()


@pytest.mark.parametrize("make", [create, lambda api, **body: create_stream(api, **body).response], ids=["json", "sse"])
def test_the_answer_is_given_again(
    api: httpx.Client, script: Script, upstream: Upstream, make: Callable[..., Json]
) -> None:
    mark = script(Step(text=["Fine."]))
    first = make(api, headers=KEY, input=f"Hi {mark}")
    assert make(api, headers=KEY, input=f"Hi {mark}") == first == retrieve(api, first["id"])
    assert len(upstream.requests(mark)) == 1


@in_both_stores
def test_of_many_at_once_one_runs(
    api: httpx.Client, script: Script, upstream: Upstream, side: ThreadPoolExecutor
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Well", gate, " done."]))
    answers = [side.submit(create, api, headers=KEY, input=f"Hi {mark}", user="ann") for _ in range(8)]
    wait_until(lambda: followed_requests() != [])
    gate.set()
    assert len({answer.result()["id"] for answer in answers}) == 1
    assert len(upstream.requests(mark)) == 1


@in_both_stores
@pytest.mark.parametrize("store", [True, False], ids=["stored", "not stored"])
def test_a_running_turn_is_followed(
    api: httpx.Client, script: Script, upstream: Upstream, side: ThreadPoolExecutor, store: bool
) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Well", gate, " done."]))
    body = {"input": f"Hi {mark}", "store": store}
    with open_stream(api, body, **KEY) as live:
        live.until("response.output_text.delta")
        again = side.submit(create_stream, api, headers=KEY, **body)
        wait_until(lambda: followed_requests() != [])
        gate.set()
        first = live.check()
    assert again.result().response == first.response
    assert len(upstream.requests(mark)) == 1


@in_both_stores
def test_a_caller_lost_on_the_way_is_answered(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    gate = threading.Event()
    mark = script(Step(text=["Well", gate, " done."]))
    body = {"input": f"Hi {mark}", "store": False}
    with caller(api, body, **KEY):
        wait_until(lambda: len(upstream.requests(mark)) == 1)
    gate.set()
    assert create(api, headers=KEY, **body)["output_text"] == "Well done."
    assert len(upstream.requests(mark)) == 1


@in_both_stores
def test_what_was_not_stored_is_answered_for_a_minute_and_a_conflict_then(
    api: httpx.Client, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = script(Step(text=["Fine."]), repeat_last=True)
    body = {"input": f"Hi {mark}", "store": False}
    first = create(api, headers=KEY, **body)
    assert create(api, headers=KEY, **body) == first
    monkeypatch.setattr("responses_app.services.turns.KEPT_EVENTS_SECONDS", 0.01)
    short = {PARAM: "short"}
    create(api, headers=short, **body)
    wait_until(lambda: api.post("/v1/responses", json=body, headers=short).status_code == 409)
    refused = api.post("/v1/responses", json=body, headers=short)
    assert_error(refused, 409, "idempotency_conflict", PARAM)
    assert refused.headers["x-should-retry"] == "false"
    assert len(upstream.requests(mark)) == 2


OTHERS: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "body": lambda api: api.post("/v1/responses", json={"input": "Ho", "user": "ann"}, headers=KEY),
    "subject": lambda api: api.post("/v1/responses", json={"input": "Hi", "user": "bob"}, headers=KEY),
    "stream": lambda api: api.post("/v1/responses", json={"input": "Hi", "user": "ann", "stream": True}, headers=KEY),
    "path": lambda api: api.post("/v1/data", json=RECORDS, headers=KEY),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_another_request_under_the_key_is_a_conflict(
    api: httpx.Client, account: Account, other: Callable[[httpx.Client], httpx.Response]
) -> None:
    create(api, headers=KEY, input="Hi", user="ann")
    refused = other(api)
    assert_error(refused, 409, "idempotency_conflict", PARAM)
    assert refused.headers["x-should-retry"] == "false"
    assert Response.objects.filter(account_id=account.id).count() == 1


def test_the_same_request_may_be_written_differently(api: httpx.Client) -> None:
    first = create(api, headers=KEY, input="Hi", metadata={"a": "1", "b": "2"}, user="ann")
    text = b'{ "metadata": {"b": "2", "a": "1"}, "instructions": null, "input": "Hi" }'
    headers = {**KEY, "X-Mirobody-User": "ann", "Content-Type": "application/json"}
    assert api.post("/v1/responses/", content=text, headers=headers).json() == first


def test_keys_belong_to_an_account(api: httpx.Client, account: Account) -> None:
    first = create(api, headers=KEY, input="Hi")
    with make_account(account.base_url).client() as stranger:
        assert create(stranger, headers=KEY, input="Hi")["id"] != first["id"]
    name = Response.objects.get(pk=first["id"]).account.get_username()
    _, second_key = create_api_key(name)
    with http_client(account.base_url, {"Authorization": f"Bearer {second_key}"}) as same_account:
        assert create(same_account, headers=KEY, input="Hi") == first


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "schlüssel".encode().decode("latin-1")])
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/data", "/v1/shares", "/v1/responses/resp_x/cancel"])
def test_a_key_that_is_none(api: httpx.Client, path: str, key: str) -> None:
    body = {"/v1/data": RECORDS, "/v1/shares": SHARE}.get(path, {"input": "Hi"})
    refused = api.post(path, json=body, headers=[(PARAM.encode(), key.encode("latin-1"))])
    assert_error(refused, 400, "value_too_long" if len(key) > 255 else "invalid_value", PARAM)


def test_the_longest_key(api: httpx.Client) -> None:
    create(api, headers={PARAM: "x" * 255}, input="Hi")


def test_what_was_refused_is_not_remembered(api: httpx.Client, account: Account) -> None:
    body = {"input": "Hi", "previous_response_id": "resp_" + "0" * 32}
    assert api.post("/v1/responses", json=body, headers=KEY).status_code == 404
    assert api.post("/v1/responses", json={}, headers=KEY).status_code == 400
    assert remembered(account) == 0
    create(api, headers=KEY, input="Hi")


def test_a_failed_turn_is_answered_with_its_failure(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(status=400))
    answers = [api.post("/v1/responses", json={"input": f"Hi {mark}"}, headers=KEY) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [502, 502]
    assert answers[0].json() == answers[1].json()
    assert len(upstream.requests(mark)) == 1


def test_a_resume(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[Call(LOOKUP["name"], {"name": "Ann"})]), Step(text=["Done."]))
    paused = create(api, input=f"Hi {mark}", tools=[LOOKUP])
    body = {"input": [output_for(calls_of(paused)[0])], "previous_response_id": paused["id"]}
    assert create(api, headers=KEY, **body) == create(api, headers=KEY, **body)


def test_completions(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Fine."]))
    body = {"model": "mirobody-flash", "messages": [{"role": "user", "content": f"Hi {mark}"}]}
    answers = [api.post("/v1/chat/completions", json=body, headers=KEY).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(upstream.requests(mark)) == 1


def test_cancelling(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=["Well", threading.Event()]))
    with open_stream(api, {"input": f"Hi {mark}"}) as live:
        first = live.next()["response"]["id"]
        live.until("response.output_text.delta")
        answers = [api.post(f"/v1/responses/{first}/cancel", headers=KEY).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0]["status"] == "cancelled"
    other = create(api, input="Hi")["id"]
    refused = api.post(f"/v1/responses/{other}/cancel", headers=KEY)
    assert_error(refused, 409, "idempotency_conflict", PARAM)


def test_records_are_written_once(api: httpx.Client, side: ThreadPoolExecutor) -> None:
    posts = [side.submit(api.post, "/v1/data", json=RECORDS, headers=KEY) for _ in range(8)]
    answers = [post.result().json() for post in posts]
    assert answers == [{"status": "ok", "ingested": 1, "standardized": 1, "duplicates": 0, "subject": "ann"}] * 8
    changed: Json = {**RECORDS, "records": [{"indicator": "HbA1c", "value": "5.5 %"}]}
    assert_error(api.post("/v1/data", json=changed, headers=KEY), 409, "idempotency_conflict", PARAM)
    assert len(api.get("/v1/data", params={"user": "ann"}).json()["data"]) == 1


def test_refused_records_are_not_remembered(api: httpx.Client, account: Account) -> None:
    bad: Json = {**RECORDS, "records": [{"indicator": "pulse", "value": -3, "unit": "/min"}]}
    assert api.post("/v1/data", json=bad, headers=KEY).status_code == 400
    assert remembered(account) == 0
    assert api.post("/v1/data", json=RECORDS, headers=KEY).json()["ingested"] == 1


def test_a_share_is_given_once(api: httpx.Client) -> None:
    api.post("/v1/data", json=RECORDS)
    first = api.post("/v1/shares", json=SHARE, headers=KEY)
    assert first.status_code == 200
    assert api.post("/v1/shares", json=SHARE, headers=KEY).json() == first.json()
    assert api.delete("/v1/shares", params={"user": "ann", "with": "bob"}).json()["deleted"] == 1
    assert_error(api.post("/v1/shares", json=SHARE, headers=KEY), 409, "idempotency_conflict", PARAM)
    assert api.get("/v1/shares", params={"user": "ann"}).json()["data"] == []


def delete_response(api: httpx.Client, response: Json) -> None:
    assert api.delete(f"/v1/responses/{response['id']}").status_code == 200


def delete_first_of_two(api: httpx.Client, response: Json) -> None:
    create(api, input="More", user="ann", previous_response_id=response["id"])
    delete_response(api, response)


def erase(api: httpx.Client, response: Json) -> None:
    assert api.delete("/v1/subjects/ann").status_code == 200


def expire(api: httpx.Client, response: Json) -> None:
    Response.objects.filter(pk=response["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_expired()


@pytest.mark.parametrize("take_away", [delete_response, delete_first_of_two, erase, expire])
def test_what_is_remembered_goes_with_its_response(
    api: httpx.Client, account: Account, take_away: Callable[[httpx.Client, Json], None]
) -> None:
    first = create(api, headers=KEY, input="Hi", user="ann")
    take_away(api, first)
    assert remembered(account) == 0
    assert create(api, headers=KEY, input="Hi", user="ann")["id"] != first["id"]


def test_what_is_remembered_of_records_goes_with_their_subject(api: httpx.Client, account: Account) -> None:
    api.post("/v1/data", json=RECORDS, headers=KEY)
    assert remembered(account) == 1
    assert api.delete("/v1/subjects/ann").status_code == 200
    assert remembered(account) == 0


def test_an_expired_response_is_gone_before_the_sweep(api: httpx.Client) -> None:
    first = create(api, headers=KEY, input="Hi")
    Response.objects.filter(pk=first["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert create(api, headers=KEY, input="Hi")["id"] != first["id"]


def test_after_a_day_a_key_is_new(api: httpx.Client, account: Account) -> None:
    first = create(api, headers=KEY, input="Hi")
    RememberedRequest.objects.filter(account_id=account.id).update(expires_at=timezone.now())
    second = create(api, headers=KEY, input="Hi")
    assert second["id"] != first["id"]
    assert create(api, headers=KEY, input="Hi") == second
    RememberedRequest.objects.filter(account_id=account.id).update(expires_at=timezone.now())
    sweep_expired()
    assert remembered(account) == 0


def test_only_hashes_ids_and_counts_are_kept(api: httpx.Client, account: Account) -> None:
    response: Any = create(api, headers=KEY, input="a-word-of-mine", user="ann-of-mine")
    api.post("/v1/data", json={**RECORDS, "user": "ann-of-mine"}, headers={PARAM: "second-key"})
    rows = list(RememberedRequest.objects.filter(account_id=account.id).order_by("pk").values())
    assert [row["answer"] for row in rows] == [
        response["id"],
        '{"ingested": 1, "standardized": 1, "duplicates": 0}',
    ]
    for secret in ("of-mine", KEY[PARAM], "second-key"):
        assert secret not in str(rows)
