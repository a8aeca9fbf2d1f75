"""GET and DELETE /v1/data: filters, pages, expiry, and that nobody sees or deletes another's."""

from typing import Any

import httpx
import pytest

from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.tools_app.records import record, rows, written
from tools_app.records.models import HealthRecord


def values(api: httpx.Client, **query: Any) -> list[float]:
    return [row["parsed_value"] for row in rows(api, **query)]


def test_pages(api: httpx.Client) -> None:
    written(api, *(record(value=60 + day, time=f"2026-03-{day:02}") for day in range(1, 6)))
    first = api.get("/v1/data", params={"user": "u-001", "limit": 2}).json()
    assert (first["object"], first["has_more"], first["subject"]) == ("list", True, "u-001")
    assert [row["parsed_value"] for row in first["data"]] == [65, 64]
    assert values(api, limit=2, offset=2) == [63, 62]
    last = api.get("/v1/data", params={"user": "u-001", "limit": 2, "offset": 4}).json()
    assert (len(last["data"]), last["has_more"]) == (1, False)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "1001"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": "9" * 5000}, "limit"),
        ({"offset": "-1"}, "offset"),
        ({"offset": "99999999999999999999"}, "offset"),
        ({"start": "2026-13-01"}, "start"),
        ({"end": "yesterday"}, "end"),
        ({"start": "2026-03-02", "end": "2026-03-01"}, "end"),
        ({"indicator": "weight\x00"}, "indicator"),
    ],
)
def test_a_bad_query(api: httpx.Client, query: dict[str, str], param: str) -> None:
    assert_error(api.get("/v1/data", params={"user": "u-001"} | query), 400, "invalid_value", param)


@pytest.mark.parametrize("length", [201, 50_001])
@pytest.mark.parametrize(("method", "param"), [("GET", "indicator"), ("DELETE", "indicator"), ("DELETE", "id")])
def test_a_long_name_is_refused(api: httpx.Client, method: str, param: str, length: int) -> None:
    written(api, record())
    response = api.request(method, "/v1/data", params={"user": "u-001", param: "a" * length})
    assert_error(response, 400, "value_too_long", param)


@pytest.mark.parametrize("indicator", ["weig", "WEIGHT", "体重", "29463-7", "Body weight"])
def test_found_by_a_part_of_either_name_or_the_code(api: httpx.Client, indicator: str) -> None:
    written(api, record("体重", 70), record("height", 165, "cm"))
    found = values(api, indicator=indicator)
    assert found == [70]


@pytest.mark.parametrize("indicator", ["%", "_", "*", "' OR 1=1 --", "29463"])
def test_not_found_by_wildcards_or_half_a_code(api: httpx.Client, indicator: str) -> None:
    written(api, record("体重", 70))
    assert values(api, indicator=indicator) == []


def test_reading_and_deleting_make_no_subject(account: Account, api: httpx.Client) -> None:
    assert rows(api, user="nobody") == []
    answer = api.delete("/v1/data", params={"user": "nobody", "all": "true"}).json()
    assert answer == {"status": "ok", "deleted": 0, "subject": "nobody"}
    assert not Subject.objects.filter(account_id=account.id).exists()


def test_an_expired_record_is_gone_at_once(account: Account, api: httpx.Client) -> None:
    written(api, record(value=70), retention="1h")
    written(api, record(value=71))
    expiring = HealthRecord.objects.filter(subject__account_id=account.id, retention="1h")
    expiring.update(expires_at="2026-01-01T00:00:00Z")
    assert values(api) == [71]
    assert api.delete("/v1/data", params={"user": "u-001", "all": "true"}).json()["deleted"] == 1
    assert not HealthRecord.objects.filter(subject__account_id=account.id).exists()


def test_delete_one(api: httpx.Client) -> None:
    written(api, record(value=70), record(value=71))
    doomed = rows(api, limit=1)[0]
    query = {"user": "u-001", "id": doomed["id"]}
    assert api.delete("/v1/data", params=query).json() == {"status": "ok", "deleted": 1, "subject": "u-001"}
    assert api.delete("/v1/data", params=query).json()["deleted"] == 0
    assert doomed["id"] not in {row["id"] for row in rows(api)}
    assert len(rows(api)) == 1


@pytest.mark.parametrize(("indicator", "left"), [("body WEIGHT", [71]), ("29463-7", []), ("body", [70, 71])])
def test_delete_by_a_whole_written_name_or_code(api: httpx.Client, indicator: str, left: list[float]) -> None:
    written(api, record("Body weight", 70, time="2026-03-02"), record("体重", 71))
    api.delete("/v1/data", params={"user": "u-001", "indicator": indicator})
    assert values(api) == left


@pytest.mark.parametrize(
    "query", [{}, {"id": ""}, {"all": "false"}, {"all": "true", "indicator": "weight"}, {"id": "rec_1", "all": "true"}]
)
def test_delete_wants_exactly_one_way(api: httpx.Client, query: dict[str, str]) -> None:
    written(api, record())
    response = api.delete("/v1/data", params={"user": "u-001"} | query)
    assert_error(response, 400, "missing_required_parameter")
    assert len(rows(api)) == 1


def test_strangers_neither_see_nor_delete(api: httpx.Client, other_account: Account) -> None:
    written(api, record("potassium", 7.7, "mmol/L"))
    secret = rows(api)[0]["id"]
    with other_account.client() as stranger:
        for client, user in [(stranger, "u-001"), (api, "u-002"), (api, "U-001"), (api, " u-001"), (api, "")]:
            assert rows(client, user=user) == []
            for how in ({"id": secret}, {"indicator": "potassium"}, {"all": "true"}):
                assert client.delete("/v1/data", params={"user": user} | how).json()["deleted"] == 0
    assert [row["id"] for row in rows(api)] == [secret]


def test_a_trailing_slash_changes_nothing(api: httpx.Client) -> None:
    written(api, record())
    assert api.get("/v1/data/?user=u-001").json() == api.get("/v1/data?user=u-001").json()
