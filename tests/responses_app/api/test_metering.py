"""What turns used is counted by account, key, Subject and day, and an account's cap refuses the turn after it.

Source: the wire contract, section 1.
"""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import openai
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from mirobody_site.tenancy import known_keys
from mirobody_site.tenancy.models import AccountProfile, ApiKey, Subject, UsageOfDay
from responses_app.models import Response
from responses_app.protocol.catalogue import catalogue
from responses_app.services.turns import run_turn
from tests.responses_app.api.conftest import HeldTurns, Script, create, create_stream, held_turns, wait_until
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Usage

__all__ = ["held_turns"]

MEMBERS = Call("list_family_members")
COUNTS = ("turns", "model_calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


@pytest.fixture(autouse=True)
def prices(settings: Settings) -> None:
    pricing = {"input": 1, "cached_input": 0.5, "output": 10}
    settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"pricing": pricing}})


def usage_of(account: Account) -> list[dict[str, Any]]:
    return list(UsageOfDay.objects.filter(account_id=account.id).order_by("pk").values(*COUNTS, "cost_micro_usd"))


def counted(account: Account) -> dict[str, Any]:
    (row,) = usage_of(account)
    return row


def two_calls(script: Script) -> str:
    return script(
        Step(calls=[MEMBERS], usage=Usage(prompt=1000, completion=20, cached=600, reasoning=5)),
        Step(text=["Fine."], usage=Usage(prompt=1100, completion=30, cached=900, reasoning=7)),
    )


OF_TWO_CALLS = {
    "turns": 1,
    "model_calls": 2,
    "input_tokens": 2100,
    "cached_tokens": 1500,
    "output_tokens": 50,
    "reasoning_tokens": 12,
    "cost_micro_usd": 600 + 750 + 500,
}


@pytest.mark.parametrize("store", [True, False], ids=["stored", "not stored"])
def test_a_turn_is_counted_once(api: httpx.Client, account: Account, script: Script, store: bool) -> None:
    response = create(api, input=f"Hi {two_calls(script)}", store=store)
    assert counted(account) == OF_TWO_CALLS
    run_turn(response["id"], store=store)
    assert counted(account) == OF_TWO_CALLS


def test_turns_of_a_day_add_up_for_each_subject_and_key(api: httpx.Client, account: Account, script: Script) -> None:
    for user in ("ann", "ann", "bob"):
        create(api, input=f"Hi {two_calls(script)}", user=user)
    rows = UsageOfDay.objects.filter(account_id=account.id)
    names = {subject.pk: subject.user_key for subject in Subject.objects.filter(account_id=account.id)}
    assert {names[row.subject_number]: row.turns for row in rows} == {"ann": 2, "bob": 1}
    assert {(row.api_key_id, row.day) for row in rows} == {
        (ApiKey.objects.get(account_id=account.id).pk, timezone.now().date())
    }


def test_completions_count_too(api: httpx.Client, account: Account, script: Script) -> None:
    messages = [{"role": "user", "content": f"Hi {two_calls(script)}"}]
    answer = api.post("/v1/chat/completions", json={"model": "mirobody-flash", "messages": messages})
    assert answer.status_code == 200
    assert counted(account) == OF_TWO_CALLS


def test_a_failed_turn_counts_what_it_did(api: httpx.Client, account: Account, script: Script) -> None:
    mark = script(Step(calls=[MEMBERS], usage=Usage(prompt=1000, completion=20)), Step(status=400))
    assert api.post("/v1/responses", json={"input": f"Hi {mark}"}).status_code == 502
    assert counted(account)["turns"] == 1
    assert counted(account)["output_tokens"] == 20


def test_a_cancelled_turn_counts_what_it_did(api: httpx.Client, account: Account, script: Script) -> None:
    mark = script(Step(text=["Well", threading.Event()]))
    with open_stream(api, {"input": f"Hi {mark}"}) as live:
        response = live.next()["response"]
        live.until("response.output_text.delta")
        api.post(f"/v1/responses/{response['id']}/cancel")
        live.check()
    assert counted(account)["turns"] == 1
    assert counted(account)["model_calls"] == 1


def test_a_turn_deleted_while_it_ran_counts(api: httpx.Client, account: Account, script: Script) -> None:
    mark = script(Step(text=["Well", threading.Event()]))
    with open_stream(api, {"input": f"Hi {mark}"}) as live:
        response = live.next()["response"]
        live.until("response.output_text.delta")
        api.delete(f"/v1/responses/{response['id']}")
    wait_until(lambda: [row["turns"] for row in usage_of(account)] == [1])


def test_a_turn_that_never_began_counts_nothing(
    api: httpx.Client, account: Account, script: Script, held_turns: HeldTurns
) -> None:
    response = api.post("/v1/responses", json={"input": "Hi", "background": True}).json()
    api.post(f"/v1/responses/{response['id']}/cancel")
    held_turns.let_go()
    create(api, input=f"Hi {two_calls(script)}")
    assert counted(account) == OF_TWO_CALLS


def test_what_is_counted_outlives_an_erasure_without_a_name(
    api: httpx.Client, account: Account, script: Script
) -> None:
    create(api, input=f"Hi {two_calls(script)}", user="ann-of-the-erasure")
    assert api.delete("/v1/subjects/ann-of-the-erasure").status_code == 200
    assert counted(account) == OF_TWO_CALLS
    assert "ann-of" not in str(list(UsageOfDay.objects.filter(account_id=account.id).values()))


def cap(account: Account, usd: str | None) -> None:
    AccountProfile.objects.update_or_create(account_id=account.id, defaults={"monthly_cap_usd": usd})
    known_keys.forget()


STARTS: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "response": lambda api: api.post("/v1/responses", json={"input": "Hi"}),
    "stream": lambda api: api.post("/v1/responses", json={"input": "Hi", "stream": True}),
    "completion": lambda api: api.post(
        "/v1/chat/completions", json={"model": "mirobody-flash", "messages": [{"role": "user", "content": "Hi"}]}
    ),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_past_its_cap_an_account_starts_no_turn(
    api: httpx.Client, account: Account, script: Script, start: Callable[[httpx.Client], httpx.Response]
) -> None:
    cap(account, "0.01")
    create(api, input=f"Hi {script(Step(text=['Fine.'], usage=Usage(prompt=10_000, completion=0)))}")
    refused = start(api)
    assert_error(refused, 429, "insufficient_quota")
    assert refused.headers["x-should-retry"] == "false"
    assert "retry-after" not in refused.headers
    assert Response.objects.filter(account_id=account.id).count() == 1
    assert api.get("/v1/data").status_code == 200
    cap(account, "0.02")
    assert start(api).status_code == 200


def test_a_new_month_begins_at_nothing(api: httpx.Client, account: Account, script: Script) -> None:
    cap(account, "0.01")
    create_stream(api, input=f"Hi {script(Step(text=['Fine.'], usage=Usage(prompt=10_000, completion=0)))}")
    last_month = timezone.now().date().replace(day=1) - timedelta(days=1)
    UsageOfDay.objects.filter(account_id=account.id).update(day=last_month)
    create(api, input="Hi")


def test_the_official_client_tells_its_user_and_does_not_ask_again(api: httpx.Client, account: Account) -> None:
    cap(account, "0")
    client = openai.OpenAI(base_url=f"{account.base_url}/v1", api_key=account.key, max_retries=2)
    with client, pytest.raises(openai.RateLimitError, match=r"spent what it may in this month: 0\.00 USD") as refused:
        client.responses.create(model="mirobody-flash", input="Hi")
    assert refused.value.code == "insufficient_quota"
    assert refused.value.request.headers["x-stainless-retry-count"] == "0"


def test_operators_set_the_cap_and_see_the_usage(api: httpx.Client, account: Account, script: Script) -> None:
    create(api, input=f"Hi {two_calls(script)}")
    operator = Client(headers={"host": "localhost"})
    operator.force_login(User.objects.create_superuser(f"capper-{account.id}"))
    form = {"account": str(account.id), "monthly_cap_usd": "0.00"}
    assert operator.post(reverse("admin:tenancy_accountprofile_add"), form).status_code == 302
    assert_error(api.post("/v1/responses", json={"input": "Hi"}), 429, "insufficient_quota")
    seen = operator.get(reverse("admin:tenancy_usageofday_changelist"))
    assert str(OF_TWO_CALLS["cost_micro_usd"]) in seen.text
