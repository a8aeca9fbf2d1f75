"""What every error answer looks like."""

import httpx


def assert_error(response: httpx.Response, status: int, code: str, param: str | None = None) -> None:
    """The answer is the error envelope with this status, code and param, and carries a request id."""
    assert (response.status_code, response.text) == (status, response.text)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"]
    error = response.json()["error"]
    assert set(error) == {"message", "type", "code", "param"}
    assert (error["code"], error["param"]) == (code, param)
    assert isinstance(error["message"], str)
    assert error["message"]
    assert error["type"] == _type_for(status, code)


def _type_for(status: int, code: str) -> str:
    match status:
        case 401:
            return "authentication_error"
        case 429:
            return "insufficient_quota" if code == "insufficient_quota" else "rate_limit_error"
        case 502:
            return "upstream_error"
        case _ if status >= 500:
            return "server_error"
        case _:
            return "invalid_request_error"
