"""POST /v1/data: shapes, limits, retention, all or nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.tools_app.records import record, row_of, rows, write, written


def test_a_record_is_read_back_as_written_and_as_understood(api: httpx.Client) -> None:
    given = record(
        "空腹血糖", "5.4", "mmol/L", "2026-03-01T08:00:00+08:00", source="lab", reference_low=3.9, reference_high=6.1
    )
    answer = written(api, given)
    assert answer == {"status": "ok", "ingested": 1, "standardized": 1, "duplicates": 0, "subject": "u-001"}

    (row,) = rows(api)
    assert row["measurement_id"] == row["id"]
    assert row.pop("id").startswith("rec_")
    assert row.pop("measurement_id")
    assert row.pop("fhir_resource_id")
    assert row == {
        "object": "health_record",
        "indicator": "空腹血糖",
        "value": "5.4 mmol/L",
        "parsed_value": 5.4,
        "parsed_unit": "mmol/L",
        "parsed_text": None,
        "comparator": None,
        "loinc_code": "14771-0",
        "canonical_name": "Fasting glucose",
        "time": "2026-03-01T08:00:00+08:00",
        "end_time": None,
        "reference_low": 3.9,
        "reference_high": 6.1,
        "reference_text": None,
        "abnormal": "normal",
        "abnormal_source": "computed",
        "source": "api",
        "comment": "lab",
        "retention": "permanent",
        "expires_at": None,
        "session_id": None,
    }


def test_an_unknown_name_is_kept_without_a_code(api: httpx.Client) -> None:
    assert written(api, record("grip of the left hand", 31, "kg"))["standardized"] == 0
    (row,) = rows(api)
    assert (row["loinc_code"], row["canonical_name"]) == (None, None)
    assert (row["value"], row["parsed_value"]) == ("31 kg", 31)


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"retention": None}, "invalid_retention", "retention"),
        ({"retention": "forever"}, "invalid_retention", "retention"),
        ({"retention": 1}, "invalid_retention", "retention"),
        ({"retention": "session"}, "invalid_session", "session_id"),
        ({"retention": "session", "session_id": " "}, "invalid_session", "session_id"),
        ({"retention": "session", "session_id": "s" * 129}, "invalid_session", "session_id"),
        ({"retention": "session", "session_id": 7}, "invalid_session", "session_id"),
        ({"records": None}, "missing_required_parameter", "records"),
        ({"records": []}, "missing_required_parameter", "records"),
        ({"records": {}}, "invalid_type", "records"),
        ({"records": "weight"}, "invalid_type", "records"),
        ({"records": [record(), "weight"]}, "invalid_type", "records[1]"),
        ({"records": [record()] * 501}, "too_many_items", "records"),
        ({"user": 7}, "invalid_type", "user"),
    ],
)
def test_a_malformed_batch(api: httpx.Client, change: dict[str, Any], code: str, param: str) -> None:
    body = {"user": "u-001", "retention": "permanent", "records": [record()]} | change
    assert_error(api.post("/v1/data", json=body), 400, code, param)


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"indicator": None}, "missing_required_parameter", "indicator"),
        ({"indicator": "  "}, "missing_required_parameter", "indicator"),
        ({"indicator": 7}, "invalid_type", "indicator"),
        ({"indicator": "w" * 201}, "value_too_long", "indicator"),
        ({"indicator": "weight\x00"}, "invalid_value", "indicator"),
        ({"value": None}, "missing_required_parameter", "value"),
        ({"value": ""}, "missing_required_parameter", "value"),
        ({"value": True}, "invalid_type", "value"),
        ({"value": [70]}, "invalid_type", "value"),
        ({"value": {"number": 70}}, "invalid_type", "value"),
        ({"value": "NaN"}, "invalid_value", "value"),
        ({"value": "-Infinity"}, "invalid_value", "value"),
        ({"value": "1e400"}, "invalid_value", "value"),
        ({"value": 10**60}, "invalid_value", "value"),
        ({"value": "70\x1b"}, "invalid_value", "value"),
        ({"value": "7" * 1001}, "value_too_long", "value"),
        ({"value": -70}, "invalid_value", "value"),
        ({"indicator": "pulse", "value": -3, "unit": "/min"}, "invalid_value", "value"),
        ({"indicator": "blood glucose", "value": 171, "unit": "mmol/L"}, "invalid_value", "value"),
        ({"indicator": "body temperature", "value": 98.6, "unit": "C"}, "invalid_value", "value"),
        ({"indicator": "HbA1c", "value": 48, "unit": "%"}, "invalid_value", "value"),
        ({"value": "70 kg", "unit": "[lb_av]"}, "invalid_value", "unit"),
        ({"unit": 7}, "invalid_type", "unit"),
        ({"unit": "k" * 101}, "value_too_long", "unit"),
        ({"source": "watch\n"}, "invalid_value", "source"),
        ({"source": ["watch"]}, "invalid_type", "source"),
        ({"reference_low": "3"}, "invalid_type", "reference_low"),
        ({"reference_high": True}, "invalid_type", "reference_high"),
        ({"reference_low": 9, "reference_high": 3}, "invalid_value", "reference_low"),
        ({"reference_text": "t" * 501}, "value_too_long", "reference_text"),
        ({"time": 1772323200}, "invalid_type", "time"),
    ],
)
def test_an_impossible_record_is_named_and_nothing_is_kept(
    api: httpx.Client, change: dict[str, Any], code: str, field: str
) -> None:
    response = write(api, record(value=69), record(value=68), record(value=67), record() | change)
    assert_error(response, 400, code, f"records[3].{field}")
    assert rows(api) == []


def test_a_refused_batch_makes_no_subject(account: Account, api: httpx.Client) -> None:
    write(api, record(value="NaN"), user="nobody")
    assert not Subject.objects.filter(account_id=account.id, user_key="nobody").exists()


def test_a_message_never_repeats_a_value(api: httpx.Client) -> None:
    response = write(api, record(value="secret\x07value"), record("secret\x07name"))
    assert "secret" not in response.text


def test_ten_megabytes_of_text_are_refused(api: httpx.Client) -> None:
    assert_error(write(api, record(value="x" * 10_000_000)), 400, "value_too_long", "records[0].value")


def test_five_hundred_records_go_through(api: httpx.Client) -> None:
    batch = [record(value=f"{50 + index / 100:.2f}") for index in range(500)]
    assert written(api, *batch)["ingested"] == 500


def test_unknown_fields_are_ignored_and_null_is_absent(api: httpx.Client) -> None:
    row = row_of(api, record(end_time=None, reference_low=None, mood="fine"))
    assert row["end_time"] is None


def test_without_a_user_it_is_the_default_subject(api: httpx.Client) -> None:
    answer = api.post("/v1/data", json={"retention": "permanent", "records": [record()]}).json()
    assert (answer["ingested"], answer["subject"]) == (1, None)
    assert len(api.get("/v1/data").json()["data"]) == 1
    assert rows(api, user="u-001") == []


@pytest.mark.parametrize(("word", "hours"), [("1h", 1), ("2h", 2), ("6h", 6), ("1d", 24)])
def test_a_timed_record_says_when_it_goes(api: httpx.Client, word: str, hours: int) -> None:
    before = datetime.now(UTC)
    written(api, record(), retention=word)
    (row,) = rows(api)
    after = datetime.now(UTC)
    assert row["retention"] == word
    assert before <= datetime.fromisoformat(row["expires_at"]) - timedelta(hours=hours) <= after


def test_a_session_record_names_its_session(api: httpx.Client) -> None:
    written(api, record(), retention="session", session_id="visit-7")
    (row,) = rows(api)
    assert (row["retention"], row["session_id"], row["expires_at"]) == ("session", "visit-7", None)


def test_persistent_is_another_word_for_permanent(api: httpx.Client) -> None:
    written(api, record(), retention="persistent")
    assert rows(api)[0]["retention"] == "permanent"
