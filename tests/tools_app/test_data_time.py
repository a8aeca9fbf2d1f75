"""When a reading was: dates, offsets, the Subject's day."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.tools_app.records import record, row_of, rows, write, written


@pytest.mark.parametrize("time", ["2026-03-01", "2006-05-14T18:20:00-05:00", "2026-03-01T08:00:00Z", "1900-01-01"])
def test_a_time_comes_back_as_written(api: httpx.Client, time: str) -> None:
    assert row_of(api, record(time=time))["time"] == time


def test_a_time_without_offset_is_the_subjects(account: Account, api: httpx.Client) -> None:
    Subject.objects.create(account_id=account.id, user_key="u-001", time_zone="Asia/Shanghai")
    assert row_of(api, record(time="2026-03-01T08:00:00"))["time"] == "2026-03-01T08:00:00+08:00"


def test_without_a_time_it_is_now(api: httpx.Client) -> None:
    before = datetime.now(UTC)
    row = row_of(api, {"indicator": "weight", "value": 70, "unit": "kg"})
    assert abs(datetime.fromisoformat(row["time"]) - before) < timedelta(minutes=1)


@pytest.mark.parametrize(
    "time",
    [
        "2026-03",
        "2026",
        "1 March 2026",
        "2026-02-30",
        "2026-03-01T25:00:00Z",
        "2026-03-01T08:00:00+99:00",
        "1066-10-14",
        "1899-12-31",
        "2999-01-01",
        "99999-01-01",
        "",
        "٢٠٢٦-٠٣-٠١",
    ],
)
def test_a_time_that_cannot_be(api: httpx.Client, time: str) -> None:
    assert_error(write(api, record(time=time)), 400, "invalid_value", "records[0].time")


def test_tomorrow_is_a_clock_error_and_later_is_refused(api: httpx.Client) -> None:
    today = datetime.now(UTC).date()
    assert write(api, record(time=str(today + timedelta(days=1)))).status_code == 200
    assert_error(write(api, record(time=str(today + timedelta(days=3)))), 400, "invalid_value", "records[0].time")


@pytest.mark.parametrize(
    ("time", "end"),
    [
        ("2026-03-02", "2026-03-01"),
        ("2026-03-01T08:00:00Z", "2026-03-01T07:59:59Z"),
        ("2026-03-01T08:00:00Z", "2026-03-01T15:59:00+08:00"),
    ],
)
def test_an_end_before_its_start(api: httpx.Client, time: str, end: str) -> None:
    response = write(api, record("sleep duration", 7, "h", time, end_time=end))
    assert_error(response, 400, "invalid_value", "records[0].end_time")


def test_an_episode_across_midnight(api: httpx.Client) -> None:
    row = row_of(api, record("sleep", 7.5, "h", "2026-03-01T23:10:00+08:00", end_time="2026-03-02T06:40:00+08:00"))
    assert row["end_time"] == "2026-03-02T06:40:00+08:00"


def test_a_date_filter_means_the_subjects_day(account: Account, api: httpx.Client) -> None:
    Subject.objects.create(account_id=account.id, user_key="u-001", time_zone="Asia/Shanghai")
    written(api, record(value=70), record(value=71, time="2026-03-02T00:30:00+08:00"))
    assert [row["parsed_value"] for row in rows(api, start="2026-03-01", end="2026-03-01")] == [70]
    assert [row["parsed_value"] for row in rows(api, start="2026-03-02", end="2026-03-02")] == [71]
    assert [row["parsed_value"] for row in rows(api, start="2026-03-01T16:00:00Z")] == [71]


def test_newest_first_whatever_the_offset(api: httpx.Client) -> None:
    times = ["2026-03-01T09:00:00+08:00", "2026-03-01T02:00:00Z", "2026-02-28", "2026-02-28T23:30:00-05:00"]
    written(api, *(record(value=60 + index, time=time) for index, time in enumerate(times)))
    assert [row["parsed_value"] for row in rows(api)] == [63, 61, 60, 62]
