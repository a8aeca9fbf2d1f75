"""``revoke_api_key`` and ``usage_report``: what they do to the next request, what they print, how they end."""

import json
from datetime import date

import httpx
import pytest
from django.contrib.auth.models import User

from mirobody_site.tenancy.models import ApiKey, UsageOfDay
from mirobody_site.tenancy.services import create_api_key
from tests.support.commands import manage
from tests.support.envelope import assert_error
from tests.support.server import Account


@pytest.fixture
def owner(account: Account) -> str:
    """The account's name."""
    return User.objects.get(pk=account.id).username


@pytest.fixture
def key(account: Account) -> ApiKey:
    return ApiKey.objects.get(account_id=account.id)


@pytest.mark.parametrize("means", ["beginning", "number", "secret"])
def test_a_revoked_key_is_refused(
    api: httpx.Client, account: Account, owner: str, key: ApiKey, means: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert api.get("/v1/data").status_code == 200
    text = {"beginning": key.prefix, "number": str(key.pk), "secret": account.key}[means]
    assert manage("revoke_api_key", "--account", owner, text, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["id"], told["prefix"]) == ("revoked", key.pk, key.prefix)
    assert account.key not in str(told)
    assert_error(api.get("/v1/data"), 401, "invalid_api_key")
    assert manage("revoke_api_key", "--account", owner, text) == 1


def test_what_means_no_key_or_two_revokes_none(
    api: httpx.Client, owner: str, key: ApiKey, capsys: pytest.CaptureFixture[str]
) -> None:
    twin, _ = create_api_key(owner, "laptop")
    ApiKey.objects.filter(pk=twin.pk).update(prefix=key.prefix)
    _, foreign = create_api_key("somebody-else")
    for text in (key.prefix, key.prefix[:-1], "mb_live_", foreign, ""):
        assert manage("revoke_api_key", "--account", owner, text) == 1
        told = capsys.readouterr().err
        assert "Nothing was revoked. Live keys: 2" in told
        assert f"{twin.pk}  {key.prefix}…" in told
        assert "laptop" in told
    assert manage("revoke_api_key", "--account", owner) == 2
    assert api.get("/v1/data").status_code == 200
    assert manage("revoke_api_key", "--account", owner, str(twin.pk)) == 0
    assert api.get("/v1/data").status_code == 200


def used(account: Account, key: ApiKey, day: str, subject: int = 0, turns: int = 1) -> None:
    UsageOfDay.objects.create(
        account_id=account.id, api_key=key, subject_number=subject, day=date.fromisoformat(day), turns=turns,
        model_calls=2 * turns, input_tokens=100 * turns, cached_tokens=10 * turns, output_tokens=20 * turns,
        reasoning_tokens=5 * turns, cost_micro_usd=1_500 * turns,
    )  # fmt: skip


def test_usage_is_summed_up_as_asked(
    account: Account, owner: str, key: ApiKey, capsys: pytest.CaptureFixture[str]
) -> None:
    other, _ = create_api_key(owner, "laptop")
    # Keys that begin alike stay two.
    ApiKey.objects.filter(pk=other.pk).update(prefix=key.prefix)
    used(account, key, "2026-03-01", subject=7)
    used(account, key, "2026-03-02", subject=8, turns=2)
    used(account, other, "2026-03-02", turns=4)
    used(account, key, "2026-03-03", turns=100)

    def report(by: str) -> list[dict[str, object]]:
        days = ["--from", "2026-03-01", "--to", "2026-03-02"]
        assert manage("usage_report", "--account", owner, "--by", by, *days, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["from"], told["to"], told["by"]) == ("2026-03-01", "2026-03-02", by)
        rows: list[dict[str, object]] = told["rows"]
        return rows

    assert report("account") == [
        {"account": owner, "turns": 7, "model_calls": 14, "input_tokens": 700, "cached_tokens": 70,
         "output_tokens": 140, "reasoning_tokens": 35, "cost_usd": 0.0105},
    ]  # fmt: skip
    assert [(row["day"], row["turns"]) for row in report("day")] == [("2026-03-01", 1), ("2026-03-02", 6)]
    assert [(row["subject"], row["turns"]) for row in report("subject")] == [(0, 4), (7, 1), (8, 2)]
    assert [(row["id"], row["key_name"], row["turns"]) for row in report("key")] == [
        (key.pk, "", 3), (other.pk, "laptop", 4),
    ]  # fmt: skip


def test_the_table_lines_up(account: Account, owner: str, key: ApiKey, capsys: pytest.CaptureFixture[str]) -> None:
    used(account, key, "2026-03-01", turns=1000)
    assert manage("usage_report", "--account", owner, "--from", "2026-03-01", "--to", "2026-03-01") == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "2026-03-01 to 2026-03-01, by account:"
    assert [line.split() for line in lines] == [
        ["account", "turns", "model_calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens",
         "cost_usd"],
        [owner, "1000", "2000", "100000", "10000", "20000", "5000", "1.500000"],
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1


def test_usage_of_nobody(database: None, owner: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert manage("usage_report", "--account", owner) == 0
    assert "nothing was used" in capsys.readouterr().out
    assert manage("usage_report", "--account", "nobody") == 1
    assert manage("usage_report", "--from", "yesterday") == 2
    assert manage("usage_report", "--by", "name") == 2
