"""API keys, seen from outside: which are let in, how they are made, shown and revoked."""

import io

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from mirobody_site.tenancy import known_keys
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.services import create_api_key, revoke_api_key
from tests.support.envelope import assert_error
from tests.support.server import Account, http_client

KEYED = [("GET", "/v1/data"), ("POST", "/v1/data"), ("POST", "/v1/responses"), ("GET", "/v1/responses/resp_x")]


def get_data(server: str, authorization: str | None) -> httpx.Response:
    headers = {} if authorization is None else {"Authorization": authorization}
    with http_client(server, headers) as client:
        return client.get("/v1/data")


@pytest.mark.parametrize(("method", "path"), KEYED)
def test_without_a_key(anonymous: httpx.Client, method: str, path: str) -> None:
    response = anonymous.request(method, path)
    assert_error(response, 401, "missing_api_key")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path"), KEYED)
def test_with_an_unknown_key(anonymous: httpx.Client, method: str, path: str) -> None:
    response = anonymous.request(method, path, headers={"Authorization": f"Bearer mb_live_{'x' * 43}"})
    assert_error(response, 401, "invalid_api_key")
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_key_that_is_forgotten_in_mid_request_is_let_in(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    get = known_keys.get

    def get_for_the_last_time(secret: str) -> ApiKey | None:
        found = get(secret)
        known_keys.forget()
        return found

    monkeypatch.setattr(known_keys, "get", get_for_the_last_time)
    with account.client() as client:
        for _ in range(4):
            assert_error(client.get("/v1/responses/resp_x"), 404, "not_found")


@pytest.mark.parametrize("header", ["", "Bearer", "Basic YTpi", "Bearer one two", "mb_live_alone"])
def test_a_malformed_header_is_no_key(server: str, header: str) -> None:
    assert_error(get_data(server, header), 401, "missing_api_key")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(account: Account, scheme: str) -> None:
    assert get_data(account.base_url, f"{scheme} {account.key}").status_code == 200


@pytest.mark.parametrize("spoil", [str.upper, lambda key: key[:-1], lambda key: key + "x"])
def test_a_key_is_compared_whole(account: Account, spoil: "type[str]") -> None:
    assert_error(get_data(account.base_url, f"Bearer {spoil(account.key)}"), 401, "invalid_api_key")


def test_keys_of_one_account_live_and_end_each_on_its_own(account: Account) -> None:
    second, secret = create_api_key(User.objects.get(pk=account.id).username)
    assert get_data(account.base_url, f"Bearer {secret}").status_code == 200
    revoke_api_key(second)
    assert_error(get_data(account.base_url, f"Bearer {secret}"), 401, "invalid_api_key")
    assert get_data(account.base_url, f"Bearer {account.key}").status_code == 200


def test_an_account_switched_off_lets_nobody_in(account: Account) -> None:
    User.objects.filter(pk=account.id).update(is_active=False)
    assert_error(get_data(account.base_url, f"Bearer {account.key}"), 401, "invalid_api_key")


def test_create_api_key_prints_a_working_key_alone_on_its_last_line(server: str) -> None:
    secrets = []
    for _ in range(2):
        out = io.StringIO()
        call_command("create_api_key", account="from-the-shell", stdout=out)
        secrets.append(out.getvalue().splitlines()[-1])
    assert len(set(secrets)) == 2
    for secret in secrets:
        assert len(secret) == len("mb_live_") + 43
        assert get_data(server, f"Bearer {secret}").status_code == 200
    account = User.objects.get(username="from-the-shell")
    assert not account.has_usable_password()
    assert account.api_keys.count() == 2


@pytest.mark.parametrize("name", ["", "with space", "x" * 151])
def test_create_api_key_refuses_a_bad_account_name(database: None, name: str) -> None:
    with pytest.raises(CommandError):
        call_command("create_api_key", account=name, stdout=io.StringIO())


def test_of_a_secret_only_hash_and_prefix_are_kept(account: Account) -> None:
    row = ApiKey.objects.filter(account_id=account.id).values().get()
    assert row["prefix"] == account.key[:12]
    assert account.key[12:] not in str(row)


def test_the_admin_shows_and_revokes_keys_but_never_their_hash(account: Account) -> None:
    operator = User.objects.create_superuser(f"operator-{account.id}", password=None)
    admin = Client()
    admin.force_login(operator)
    key = ApiKey.objects.get(account_id=account.id)
    pages = [admin.get("/admin/tenancy/apikey/"), admin.get(f"/admin/tenancy/apikey/{key.pk}/change/")]
    for page in pages:
        assert page.status_code == 200
        assert key.prefix in page.text
        assert key.secret_hash not in page.text
    admin.post("/admin/tenancy/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    assert_error(get_data(account.base_url, f"Bearer {account.key}"), 401, "invalid_api_key")
