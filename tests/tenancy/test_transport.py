"""What stands around every endpoint: the envelope, request ids, logs, streams, probes and static files."""

import logging
import queue
import re
from collections.abc import Iterator
from logging.handlers import QueueHandler

import httpx
import pytest
from pytest_django import Settings

from mirobody_site.tenancy.log import LogContextFilter
from tests.support import probe_urls
from tests.support.envelope import assert_error
from tests.support.server import Account

NEW_REQUEST_ID = re.compile(r"req_[0-9a-f]{32}")


@pytest.fixture
def probes(settings: Settings) -> None:
    """Adds the probe views to the site's paths."""
    settings.ROOT_URLCONF = "tests.support.probe_urls"
    probe_urls.go_on.clear()
    probe_urls.closed.clear()


@pytest.fixture
def log_records(server: str) -> Iterator["queue.Queue[logging.LogRecord]"]:
    """Everything the server logs from now on."""
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    handler = QueueHandler(records)
    handler.addFilter(LogContextFilter())
    logging.getLogger().addHandler(handler)
    yield records
    logging.getLogger().removeHandler(handler)


def lines_of(response: httpx.Response, records: "queue.Queue[logging.LogRecord]") -> list[str]:
    """The messages logged for the request; its access line is the last."""
    lines = []
    while True:
        record = records.get(timeout=20)
        if vars(record)["ids"].get("request_id") != response.headers["x-request-id"]:
            continue
        lines.append(record.getMessage())
        if record.name.endswith("access_log") and record.levelno == logging.INFO:
            return lines


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nope", "/v1/nope/alice%20b?user=bob", "/v1/%FF", "/v1/a%00b"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_an_unknown_path_is_a_404_envelope(api: httpx.Client, method: str, path: str) -> None:
    assert_error(api.request(method, path), 404, "not_found")


@pytest.mark.parametrize("path", ["/healthz", "/healthz/", "/readyz", "/metrics"])
def test_probes_and_scrapers_come_by_any_address(anonymous: httpx.Client, path: str) -> None:
    assert anonymous.get(path, headers={"Host": "10.0.0.7:8000"}).status_code == 200
    assert anonymous.post(path, headers={"Host": "10.0.0.7:8000"}).status_code == 405


def test_an_unknown_host_is_a_400_envelope(api: httpx.Client) -> None:
    assert_error(api.get("/v1/nope", headers={"Host": "elsewhere.example"}), 400, "invalid_value")


@pytest.mark.parametrize("path", ["/v1/breaking/alice", "/v1/breaking-async", "/v1/breaking-plain"])
def test_a_broken_view_is_a_500_envelope_without_its_text(
    api: httpx.Client, probes: None, log_records: "queue.Queue[logging.LogRecord]", path: str
) -> None:
    response = api.get(path)
    assert_error(response, 500, "server_error")
    log = "\n".join(lines_of(response, log_records))
    assert "ValueError" in log
    assert probe_urls.HEALTH_CONTENT not in response.text + log


def test_what_may_not_be_seen_does_not_exist(api: httpx.Client, probes: None) -> None:
    forbidden = api.get("/v1/forbidding")
    assert_error(forbidden, 404, "not_found")
    assert forbidden.json() == api.get("/v1/nope").json()


def test_the_access_line_has_the_route_and_no_values(
    account: Account, probes: None, log_records: "queue.Queue[logging.LogRecord]"
) -> None:
    with account.client() as client:
        response = client.get("/v1/breaking/alice?user=bob")
    lines = lines_of(response, log_records)
    assert re.fullmatch(r"GET /v1/breaking/<name> 500 \d+ms", lines[-1])
    assert not any("alice" in line or "bob" in line for line in lines)


@pytest.mark.parametrize("given", ["a", "Az09._:-", "x" * 128])
def test_a_sane_request_id_is_kept(api: httpx.Client, given: str) -> None:
    assert api.get("/v1/nope", headers={"X-Request-Id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "<script>", "é".encode()])
def test_another_request_id_is_replaced(api: httpx.Client, given: str | bytes) -> None:
    answered = api.get("/v1/nope", headers=[("X-Request-Id", given)]).headers["x-request-id"]  # type: ignore[list-item]
    assert NEW_REQUEST_ID.fullmatch(answered)


def test_request_ids_are_new_each_time_and_on_every_kind_of_answer(anonymous: httpx.Client) -> None:
    paths = ["/healthz", "/healthz", "/readyz", "/nope", "/v1/nope", "/admin/", "/static/admin/css/base.css"]
    answered = [anonymous.get(path).headers["x-request-id"] for path in paths]
    assert all(NEW_REQUEST_ID.fullmatch(request_id) for request_id in answered)
    assert len(set(answered)) == len(paths)


def test_a_stream_is_passed_on_as_it_comes(api: httpx.Client, probes: None) -> None:
    with api.stream("GET", "/v1/streaming", headers={"Accept": "application/xml", "X-Request-Id": "mine"}) as response:
        assert response.headers["x-request-id"] == "mine"
        pieces = response.iter_raw()
        assert next(pieces) == b"first\n"
        probe_urls.go_on.set()
        assert b"".join(pieces) == b"second\n"


def test_a_caller_who_leaves_ends_the_stream(api: httpx.Client, probes: None) -> None:
    with api.stream("GET", "/v1/streaming") as response:
        assert next(response.iter_raw()) == b"first\n"
    try:
        assert probe_urls.closed.wait(10)
    finally:
        probe_urls.go_on.set()


@pytest.mark.parametrize("path", ["/healthz", "/healthz/", "/readyz", "/readyz/"])
def test_probes_need_no_key_and_no_slash(anonymous: httpx.Client, path: str) -> None:
    response = anonymous.get(path)
    assert response.status_code == 200
    assert response.json()["status"] == "ok"


def test_not_ready_without_redis_where_one_is_configured(anonymous: httpx.Client, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    response = anonymous.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "checks": {"database": "ok", "redis": "failed"}}


def test_static_files_are_served_with_debug_off(anonymous: httpx.Client) -> None:
    response = anonymous.get("/static/admin/css/base.css")
    assert response.status_code == 200
    assert "text/css" in response.headers["content-type"]
    assert "DJANGO Admin" in response.text


def test_answers_under_v1_are_not_cached(api: httpx.Client) -> None:
    assert api.get("/v1/nope").headers["cache-control"] == "no-store"
