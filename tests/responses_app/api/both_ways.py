"""The same request sent twice, for JSON and for a stream: what is true of one has to be true of the other."""

from typing import Any

import httpx

from tests.responses_app.api.conftest import create, create_stream, retrieve
from tests.support.envelope import assert_error

Json = dict[str, Any]
Headers = dict[str, str]

_DIFFERS = frozenset({"id", "created_at", "completed_at", "output"})


def accepted(api: httpx.Client, body: Json, headers: Headers | None = None) -> Json:
    """The response of an accepted request, whose stream ends with the same and which ``GET`` gives again."""
    response = create(api, headers=headers, **body)
    streamed = create_stream(api, headers=headers, **body).response
    assert _comparable(streamed) == _comparable(response)
    if response["store"]:
        assert retrieve(api, response["id"]) == response
        assert retrieve(api, streamed["id"]) == streamed
    return response


def refused(
    api: httpx.Client,
    body: Json,
    code: str,
    param: str | None,
    *,
    status: int = 400,
    message: str | None = None,
    headers: Headers | None = None,
) -> str:
    """Asserts that a request is refused by the same plain HTTP error both ways. Gives its message."""
    plain = api.post("/v1/responses", json=body, headers=headers)
    streamed = api.post("/v1/responses", json=body | {"stream": True}, headers=headers)
    for answer in (plain, streamed):
        assert_error(answer, status, code, param)
    assert streamed.json() == plain.json()
    said: str = plain.json()["error"]["message"]
    assert message is None or said == message
    return said


def _comparable(response: Json) -> Json:
    return {name: value for name, value in response.items() if name not in _DIFFERS}
