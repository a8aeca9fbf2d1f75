"""Paths, statuses, the error envelope and request ids, whatever the endpoint."""

import httpx
import pytest

PATHS = ["/v1", "/v1/", "/v1/nope", "/v1/nope/alice%20b?user=bob", "/v1/responses/resp_x/nope"]


def assert_envelope(response: httpx.Response, status: int, code: str, param: str | None = None) -> None:
    """The answer is the error envelope with this status, code and param, and the type that belongs to the status."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert set(error) == {"message", "type", "code", "param"}
    assert (error["code"], error["param"]) == (code, param)
    assert error["message"]


@pytest.mark.parametrize("path", PATHS)
def test_unknown_path_is_the_envelope(api: httpx.Client, path: str) -> None:
    assert_envelope(api.get(path), 404, "not_found")
