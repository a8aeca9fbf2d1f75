"""``/v1/subjects/{user}``: a Subject's time zone and name, and that a day is the Subject's day everywhere."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from pytest_django import Settings

from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import Step, Upstream
from tests.tools_app.fhir_bundles import Patient, written
from tests.tools_app.people import NOW, Person
from tests.tools_app.records import record, rows
from tests.tools_app.records import written as write
from tools_app.fhir.importing import import_file
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord

Json = dict[str, Any]
PATH = "/v1/subjects/u-001"


def changed(api: httpx.Client, path: str = PATH, **body: Any) -> Json:
    answer = api.patch(path, json=body)
    assert answer.status_code == 200, answer.text
    subject: Json = answer.json()
    assert api.get(path).json() == subject
    return subject


def day_of(api: httpx.Client, day: str) -> list[float]:
    """The values of the readings of one day, which all ways of asking agree on."""
    found = [row["parsed_value"] for row in rows(api, start=day, end=day)]
    bundle = api.get("/v1/fhir/Observation", params={"user": "u-001", "date": day}).json()
    assert [entry["resource"]["valueQuantity"]["value"] for entry in bundle.get("entry", [])] == found
    return sorted(found)


def test_a_subject_is_in_utc_until_it_says_otherwise(api: httpx.Client) -> None:
    write(api, record())
    subject = api.get(PATH).json()
    created = subject.pop("created_at")
    assert datetime.fromisoformat(created) <= datetime.now(UTC)
    assert subject == {"object": "subject", "subject": "u-001", "time_zone": "UTC", "display_name": None}


def test_zone_and_name_change_apart(api: httpx.Client) -> None:
    assert changed(api, time_zone="Asia/Shanghai")["time_zone"] == "Asia/Shanghai"
    both = changed(api, display_name=" Old Bob ")
    assert (both["time_zone"], both["display_name"]) == ("Asia/Shanghai", "Old Bob")
    assert changed(api, display_name="")["display_name"] is None


def test_the_default_subject(api: httpx.Client, account: Account) -> None:
    assert changed(api, "/v1/subjects/@default", time_zone="Europe/Berlin")["subject"] is None
    assert Subject.objects.get(account_id=account.id).user_key == ""


def test_a_subject_never_seen_or_of_another_account(api: httpx.Client, other_account: Account) -> None:
    assert_error(api.get(PATH), 404, "not_found", None)
    changed(api, time_zone="Asia/Shanghai")
    with other_account.client() as stranger:
        assert_error(stranger.get(PATH), 404, "not_found", None)
        assert changed(stranger, display_name="Mine")["time_zone"] == "UTC"


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_required_parameter", None),
        ({"time_zone": None}, "missing_required_parameter", None),
        ({"time_zone": 8}, "invalid_type", "time_zone"),
        ({"time_zone": ""}, "invalid_value", "time_zone"),
        ({"time_zone": "+08:00"}, "invalid_value", "time_zone"),
        ({"time_zone": "asia/shanghai"}, "invalid_value", "time_zone"),
        ({"time_zone": "localtime"}, "invalid_value", "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "invalid_value", "time_zone"),
        ({"time_zone": "Asia/Shanghai\x00"}, "invalid_value", "time_zone"),
        ({"display_name": 7}, "invalid_type", "display_name"),
        ({"display_name": "a\x00"}, "invalid_value", "display_name"),
        ({"display_name": "x" * 201}, "value_too_long", "display_name"),
    ],
)
def test_what_a_subject_cannot_become(
    api: httpx.Client, account: Account, body: Json, code: str, param: str | None
) -> None:
    assert_error(api.patch(PATH, json=body), 400, code, param)
    assert not Subject.objects.filter(account_id=account.id).exists()


def test_another_zone_moves_readings_to_their_days_there(api: httpx.Client) -> None:
    write(
        api,
        record(value=70, time="2026-03-01"),
        record(value=71, time="2026-03-01T20:00:00Z"),
        record(value=72, time="2026-03-01T08:00:00-05:00"),
    )
    assert day_of(api, "2026-03-01") == [70, 71, 72]
    changed(api, time_zone="Asia/Shanghai")
    assert (day_of(api, "2026-03-01"), day_of(api, "2026-03-02")) == ([70, 72], [71])
    changed(api, time_zone="America/Los_Angeles")
    assert (day_of(api, "2026-03-01"), day_of(api, "2026-03-02")) == ([70, 71, 72], [])
    assert {row["time"] for row in rows(api)} == {
        "2026-03-01", "2026-03-01T20:00:00Z", "2026-03-01T08:00:00-05:00",
    }  # fmt: skip


def test_what_moved_is_as_if_it_had_been_written_there(api: httpx.Client, account: Account) -> None:
    records = [
        record(time="2026-03-01"),
        record(time="2026-03-01T20:00:00Z"),
        record("sleep", 7, "h", "2026-03-01T22:00:00Z", end_time="2026-03-02T05:00:00Z"),
        record("sleep", 8, "h", "2026-03-03", end_time="2026-03-04"),
    ]
    write(api, *records)
    changed(api, time_zone="Asia/Shanghai")
    changed(api, "/v1/subjects/u-002", time_zone="Asia/Shanghai")
    write(api, *records, user="u-002")
    columns = ("local_date", "day", "instant", "end_instant", "fingerprint")
    own = HealthRecord.objects.filter(subject__account_id=account.id).order_by("id")
    moved, direct = (list(own.filter(subject__user_key=user).values(*columns)) for user in ("u-001", "u-002"))
    assert moved == direct


def test_days_around_a_change_of_the_clocks(api: httpx.Client, account: Account) -> None:
    changed(api, time_zone="America/New_York")
    # On 8 March 2026 that day is 23 hours long.
    times = ["2026-03-08T04:59:59Z", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z", "2026-03-09T04:00:00Z"]
    write(api, *(record(value=60 + index, time=time) for index, time in enumerate(times)))
    assert [day_of(api, day) for day in ("2026-03-07", "2026-03-08", "2026-03-09")] == [[60], [61, 62], [63]]
    groups = Person(account.id, "u-001").one(indicators=["weight"], operation="aggregate", group_by="day")["groups"]
    assert {group["period"]: group["count"] for group in groups} == {"2026-03-07": 1, "2026-03-08": 2, "2026-03-09": 1}


def test_a_night_counts_for_the_day_it_ends_on_and_other_episodes_for_the_one_they_begin_on(
    api: httpx.Client,
) -> None:
    changed(api, time_zone="Asia/Shanghai")
    night = {"time": "2026-03-01T23:10:00+08:00", "end_time": "2026-03-02T06:40:00+08:00"}
    write(api, record("deep sleep", 1.5, "h", **night), record("steps", 500, "{steps}", **night))
    assert (day_of(api, "2026-03-01"), day_of(api, "2026-03-02")) == ([500], [1.5])
    until_midnight = rows(api, end="2026-03-01T23:59:00+08:00")
    assert {row["indicator"] for row in until_midnight} == {"deep sleep", "steps"}
    assert rows(api, start="2026-03-02T00:00:00+08:00") == []


def test_clinical_records_move_too(account: Account, api: httpx.Client, tmp_path: Path) -> None:
    patient = Patient()
    late, dated = "2026-03-01T20:00:00Z", "2026-03-01"
    conditions = (
        patient.condition("1", "Late", onsetDateTime=late, abatementDateTime=late),
        patient.condition("2", "Dated", onsetDateTime=dated),
    )
    import_file(written(tmp_path, *conditions), account.id, "u-001", NOW, dry_run=False)
    changed(api, time_zone="Asia/Shanghai")
    found = ClinicalRecord.objects.filter(subject__account_id=account.id)
    days = {row.display: (str(row.local_date), str(row.last_date)) for row in found}
    assert days == {"Late": ("2026-03-02", "2026-03-02"), "Dated": ("2026-03-01", "None")}


def test_readings_written_while_the_zone_changes_are_on_the_right_day(account: Account, api: httpx.Client) -> None:
    write(api, record(value=1))
    zones = ["Asia/Shanghai", "America/Los_Angeles"] * 3

    def change() -> None:
        with account.client() as client:
            for zone in zones:
                changed(client, time_zone=zone)

    thread = threading.Thread(target=change)
    thread.start()
    for number in range(12):
        write(api, record(value=100 + number, time="2026-03-01T20:00:00Z"))
    thread.join()
    # Los Angeles came last.
    assert len(day_of(api, "2026-03-01")) == 1 + 12


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue", "UTC"])
def test_today_is_the_subjects(api: httpx.Client, settings: Settings, upstream: Upstream, zone: str) -> None:
    settings.LLM_BASE_URL = upstream.url
    changed(api, time_zone=zone)
    mark = upstream.script(f"today-{zone}", Step(text=["Fine."]))
    before = datetime.now(ZoneInfo(zone)).date()
    api.post("/v1/responses", json={"input": mark, "user": "u-001"})
    days = {f"Today is {day}." for day in (before, datetime.now(ZoneInfo(zone)).date())}
    assert any(day in upstream.requests(mark)[0].system for day in days)
