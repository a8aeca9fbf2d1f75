"""The same reading again is kept once; a different one is not taken for it."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.server import Account
from tests.tools_app.people import Person
from tests.tools_app.records import record, rows, written
from tools_app.records.models import HealthRecord

STEPS = record("steps", 31, "{steps}", "2026-01-04T06:12:40Z")


def test_the_same_in_another_tongue_spelling_and_offset(api: httpx.Client) -> None:
    assert written(api, STEPS)["ingested"] == 1
    again = written(api, STEPS, record("步数", 31.0, "步", "2026-01-04T14:12:40+08:00"))
    assert (again["ingested"], again["standardized"], again["duplicates"]) == (0, 0, 2)
    assert len(rows(api)) == 1


def test_what_was_sent_again_is_not_counted_again(account: Account, api: httpx.Client) -> None:
    for again in (STEPS, STEPS, record("步数", 31.0, "步", "2026-01-04T14:12:40+08:00")):
        written(api, again)
    steps = Person(account.id, "u-001").one(indicators=["steps"], operation="aggregate", group_by="day")
    assert (steps["count"], steps["sum"], [group["sum"] for group in steps["groups"]]) == (1, 31, [31])


def test_within_one_batch(api: httpx.Client) -> None:
    answer = written(api, STEPS, STEPS)
    assert (answer["ingested"], answer["duplicates"]) == (1, 1)


def test_what_differs_is_another_reading(api: httpx.Client) -> None:
    weight = record(value=70.2, time="2026-03-01T07:35:00+08:00")
    changes = [
        {"time": "2026-03-02T07:35:00+08:00"},
        {"value": 70.3},
        {"value": "<70.2"},
        {"source": "scale"},
        {"indicator": "body fat", "unit": "%", "value": 20},
        {"time": "2026-03-01"},
    ]
    assert written(api, weight, *(weight | change for change in changes))["ingested"] == 1 + len(changes)


def test_it_is_another_person_s_too(api: httpx.Client) -> None:
    assert written(api, STEPS, user="u-001")["ingested"] == 1
    assert written(api, STEPS, user="u-002")["ingested"] == 1


def test_from_ten_connections_at_once(account: Account, api: httpx.Client) -> None:
    batch = [record("heart rate", 60 + index, "/min", "2026-03-01T08:00:00Z") for index in range(20)]

    def send(_: int) -> dict[str, int]:
        with account.client() as client:
            return written(client, *batch)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(send, range(10)))
    assert sum(answer["ingested"] for answer in answers) == 20
    assert sum(answer["duplicates"] for answer in answers) == 180
    assert len(rows(api)) == 20


def test_what_was_read_can_be_written_back(api: httpx.Client) -> None:
    written(
        api,
        record("blood glucose", 6.1, "mmol/L", "2026-03-01T08:00:00+08:00", source="meter"),
        record("blood pressure", "120/80", "mmHg", "2026-03-01T09:00:00"),
        record("尿糖", "阴性", ""),
    )
    before = rows(api)
    answer = written(api, *before)
    assert (answer["ingested"], answer["duplicates"]) == (0, 2 * 2 + 2)
    assert rows(api) == before


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        ("~5.4", "mmol/L"),
        ("about 5.4", "毫摩尔/升"),
        ("5.4", "spoons"),
        ("~5.4", "spoons"),
        (9007199254740993, "mmol/L"),
    ],
)
@pytest.mark.parametrize("indicator", ["glucose", "weirdthing"])
def test_a_value_that_was_not_read_can_be_written_back(
    api: httpx.Client, indicator: str, value: str | int, unit: str
) -> None:
    written(api, record(indicator, value, unit))
    before = rows(api)
    assert written(api, *before)["duplicates"] == 1
    assert rows(api) == before


def test_unread_values_in_two_units_are_two_readings(api: httpx.Client) -> None:
    units = ["mmol/L", "mg/dL", "spoons", ""]
    assert written(api, *(record("glucose", "~5.4", unit) for unit in units))["ingested"] == len(units)


def test_the_longer_of_two_retentions_holds(api: httpx.Client) -> None:
    written(api, STEPS, retention="1h")
    assert written(api, STEPS, retention="permanent")["duplicates"] == 1
    written(api, STEPS, retention="1d")
    written(api, STEPS, retention="session", session_id="s")
    (row,) = rows(api)
    assert (row["retention"], row["expires_at"], row["session_id"]) == ("permanent", None, None)


def test_one_that_expired_is_no_duplicate(account: Account, api: httpx.Client) -> None:
    written(api, STEPS, retention="1h")
    HealthRecord.objects.filter(subject__account_id=account.id).update(expires_at="2026-01-01T00:00:00Z")
    assert written(api, STEPS, retention="1h")["ingested"] == 1
    assert len(rows(api)) == 1
