"""Writing and reading records over HTTP, in as few words as a test needs."""

from typing import Any

import httpx

Record = dict[str, Any]


def record(
    indicator: str = "body weight", value: Any = 70, unit: str = "kg", time: str = "2026-03-01", **more: Any
) -> Record:
    return {"indicator": indicator, "value": value, "unit": unit, "time": time, **more}


def write(api: httpx.Client, *records: Record, user: str = "u-001", **more: Any) -> httpx.Response:
    """Posts the records, permanent unless told otherwise, and gives the answer as it is."""
    return api.post("/v1/data", json={"user": user, "retention": "permanent", "records": records} | more)


def written(api: httpx.Client, *records: Record, user: str = "u-001", **more: Any) -> dict[str, Any]:
    """Posts records that must be accepted; the answer's body."""
    response = write(api, *records, user=user, **more)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def rows(api: httpx.Client, user: str = "u-001", **query: Any) -> list[dict[str, Any]]:
    """The rows of ``GET /v1/data``, newest first."""
    response = api.get("/v1/data", params={"user": user, **query})
    assert response.status_code == 200, response.text
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def row_of(api: httpx.Client, *records: Record) -> dict[str, Any]:
    """Writes one reading and reads it back."""
    written(api, *records)
    (row,) = rows(api)
    return row
