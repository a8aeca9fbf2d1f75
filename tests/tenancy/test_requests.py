"""Bodies, content types, methods and the named user, on the endpoints that take a body."""

from collections.abc import Iterator

import httpx
import pytest
from django.conf import settings

from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account

PATHS = ["/v1/responses", "/v1/data"]
LIMIT = settings.REQUEST_BODY_BYTES
INVALID_JSON = {
    "empty": b"",
    "blank": b" \n",
    "no JSON": b"input=hi",
    "array": b"[{}]",
    "string": b'"hi"',
    "null": b"null",
    "cut": b'{"input": "hi"',
    "two values": b"{}{}",
    "single quotes": b"{'input': 'hi'}",
    "trailing comma": b'{"input": "hi",}',
    "byte order mark": b'\xef\xbb\xbf{"input": "hi"}',
    "UTF-16": '{"input": "hi"}'.encode("utf-16"),
    "bad UTF-8": b'{"input": "\xff"}',
    "UTF-8 of a surrogate": b'{"input": "\xed\xa0\x80"}',
    "lone high surrogate": rb'{"input": "\ud83d"}',
    "lone low surrogate": rb'{"input": "\ude00"}',
    "surrogate in a key": rb'{"\ud83d": 1}',
    "surrogates in the wrong order": rb'{"input": "\ude00\ud83d"}',
    "NaN": b'{"input": "hi", "temperature": NaN}',
    "Infinity": b'{"input": "hi", "temperature": Infinity}',
    "-Infinity": b'{"input": "hi", "temperature": -Infinity}',
    "a number past every float": b'{"input": "hi", "metadata": {"a": [1e999]}}',
    "deep arrays": b'{"input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "raw control character": b'{"input": "a\x00b"}',
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", INVALID_JSON.values(), ids=INVALID_JSON.keys())
def test_what_is_no_json_object(api: httpx.Client, path: str, body: bytes) -> None:
    assert_error(api.post(path, content=body, headers={"Content-Type": "application/json"}), 400, "invalid_json")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "text/json", "*/*"]
)
def test_another_content_type(api: httpx.Client, path: str, content_type: str) -> None:
    response = api.post(path, content=b"{}", headers={"Content-Type": content_type})
    assert_error(response, 415, "unsupported_media_type")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/a.b+json", ""],
)
def test_json_content_types_and_none_are_read(api: httpx.Client, path: str, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    response = api.post(path, content=b'{"user": 5}', headers=headers)
    assert_error(response, 400, "invalid_type", "user")


@pytest.mark.parametrize("path", PATHS)
def test_a_body_over_the_limit(api: httpx.Client, path: str) -> None:
    assert_error(api.post(path, content=b" " * (LIMIT + 1)), 413, "request_too_large")


@pytest.mark.parametrize("path", PATHS)
def test_a_body_over_the_limit_of_undeclared_length(api: httpx.Client, path: str) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(LIMIT // 2**20 + 1):
            yield b" " * 2**20

    response = api.post(path, content=pieces(), headers={"X-Request-Id": "mine"})
    assert_error(response, 413, "request_too_large")
    assert response.headers["x-request-id"] == "mine"


@pytest.mark.parametrize("path", PATHS)
def test_a_body_at_the_limit_is_read(api: httpx.Client, path: str) -> None:
    assert_error(api.post(path, content=b'{"user": 5}'.ljust(LIMIT)), 400, "invalid_type", "user")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS"])
def test_another_method(api: httpx.Client, path: str, method: str) -> None:
    response = api.request(method, path)
    assert_error(response, 405, "method_not_allowed")
    assert "POST" in response.headers["allow"]


@pytest.mark.parametrize("path", PATHS)
def test_a_trailing_slash_changes_nothing(api: httpx.Client, path: str) -> None:
    without, with_slash = (api.post(path + end, json={"user": 5}) for end in ("", "/"))
    assert_error(without, 400, "invalid_type", "user")
    assert (with_slash.status_code, with_slash.json()) == (without.status_code, without.json())


BAD_USERS = {
    "number": (5, "invalid_type"),
    "bool": (False, "invalid_type"),
    "object": ({}, "invalid_type"),
    "array": (["a"], "invalid_type"),
    "too long": ("x" * 257, "value_too_long"),
    "control character": ("a\nb", "invalid_value"),
    "null character": ("a\x00", "invalid_value"),
    "delete": ("a\x7f", "invalid_value"),
    "C1 control": ("a\x85", "invalid_value"),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("user", "code"), BAD_USERS.values(), ids=BAD_USERS.keys())
def test_a_user_that_cannot_be(api: httpx.Client, path: str, user: object, code: str) -> None:
    assert_error(api.post(path, json={"user": user}), 400, code, "user")


@pytest.mark.parametrize("query", ["user=a%0Ab", "user=" + "x" * 257, "user=%FF", "user=%ED%A0%80", "user=a&user=b"])
def test_a_user_in_the_query_that_cannot_be(api: httpx.Client, query: str) -> None:
    response = api.get(f"/v1/data?{query}")
    assert_error(response, 400, "value_too_long" if "xxx" in query else "invalid_value", "user")


def test_a_user_in_the_header_that_cannot_be(api: httpx.Client) -> None:
    response = api.get("/v1/data", headers=[(b"X-Mirobody-User", b"\xff")])  # type: ignore[list-item]
    assert_error(response, 400, "invalid_value", "user")


@pytest.mark.parametrize("path", PATHS)
def test_header_and_body_must_name_the_same_user(api: httpx.Client, path: str) -> None:
    response = api.post(path, json={"user": "alice", "input": "hi"}, headers={"X-Mirobody-User": "bob"})
    assert_error(response, 400, "invalid_value", "user")


def weights(client: httpx.Client, query: str = "", headers: list[tuple[bytes, bytes]] | None = None) -> list[float]:
    """The values a reader sees who names the user by query or header."""
    response = client.get(f"/v1/data?{query}", headers=headers)  # type: ignore[arg-type]
    return [row["parsed_value"] for row in response.raise_for_status().json()["data"]]


def write_weight(client: httpx.Client, value: float, user: str | None) -> None:
    record = {"indicator": "weight", "value": value, "unit": "kg"}
    client.post("/v1/data", json={"user": user, "retention": "permanent", "records": [record]}).raise_for_status()


def test_users_are_told_apart_exactly_as_sent(api: httpx.Client) -> None:
    users = ["alice", "Alice", " alice", "alice ", "é", "e\u0301", "李雷", "x" * 256]
    for number, user in enumerate(users):
        write_weight(api, 60 + number, user)
    for number, user in enumerate(users):
        assert weights(api, str(httpx.QueryParams({"user": user}))) == [60 + number]
    assert weights(api) == []


def test_null_and_empty_are_the_default_subject(api: httpx.Client) -> None:
    write_weight(api, 71, None)
    write_weight(api, 72, "")
    assert sorted(weights(api)) == sorted(weights(api, "user=")) == [71, 72]


def test_the_header_names_the_user_too(api: httpx.Client) -> None:
    write_weight(api, 80, "李雷")
    header = [(b"X-Mirobody-User", "李雷".encode())]
    assert weights(api, headers=header) == [80]
    assert weights(api, str(httpx.QueryParams({"user": "李雷"})), headers=header) == [80]


def test_accounts_do_not_share_users(account: Account, other_account: Account) -> None:
    with account.client() as mine, other_account.client() as theirs:
        write_weight(mine, 60, "alice")
        assert weights(mine, "user=alice") == [60]
        assert weights(theirs, "user=alice") == []


def test_reading_makes_no_subject(account: Account, api: httpx.Client) -> None:
    assert weights(api, "user=never-seen") == []
    api.delete("/v1/data?user=never-seen&all=true").raise_for_status()
    assert not Subject.objects.filter(account_id=account.id).exists()
