"""What one written record gives: a blood pressure's two rows, its limits, and who says it is abnormal."""

from typing import Any

import httpx
import pytest

from tests.support.envelope import assert_error
from tests.tools_app.records import record, row_of, rows, write, written

PRESSURE = record("血压", "120/80", "mmHg", "2026-03-01T08:00:00Z")


def test_the_rows_of_a_blood_pressure_share_a_measurement_and_keep_what_was_written(api: httpx.Client) -> None:
    written(api, PRESSURE, PRESSURE | {"time": "2026-03-02T08:00:00Z", "value": "130/85"})

    found = rows(api, indicator="血压")
    assert len(found) == 4
    assert {row["value"] for row in found} == {"120/80 mmHg", "130/85 mmHg"}
    values: dict[str, set[Any]] = {}
    for row in found:
        values.setdefault(row["measurement_id"], set()).add((row["loinc_code"], row["parsed_value"]))
    assert sorted(values.values(), key=sorted) == [
        {("8480-6", 120), ("8462-4", 80)},
        {("8480-6", 130), ("8462-4", 85)},
    ]


@pytest.mark.parametrize("code", ["8480-6", "8462-4", "systolic", "Diastolic blood pressure"])
def test_each_side_of_a_blood_pressure_is_found(api: httpx.Client, code: str) -> None:
    written(api, PRESSURE)
    assert len(rows(api, indicator=code)) == 1


def test_a_blood_pressure_is_deleted_whole(api: httpx.Client) -> None:
    written(api, PRESSURE, record("heart rate", 61, "/min", PRESSURE["time"]))
    (systolic,) = rows(api, indicator="8480-6")

    answer = api.delete("/v1/data", params={"user": "u-001", "id": systolic["id"]}).json()

    assert answer["deleted"] == 2
    assert [row["indicator"] for row in rows(api)] == ["heart rate"]


def test_a_blood_pressure_read_back_is_the_same_measurement(api: httpx.Client) -> None:
    written(api, PRESSURE)
    answer = written(api, *rows(api))
    assert (answer["ingested"], answer["duplicates"]) == (0, 4)


@pytest.mark.parametrize(
    ("text", "value", "limits", "abnormal"),
    [
        ("3.9-6.1", 5.0, (3.9, 6.1), "normal"),
        ("3.9-6.1", 6.2, (3.9, 6.1), "high"),
        ("3,9–6,1 mmol/L", 3.8, (3.9, 6.1), "low"),
        ("３．９～６．１", 6.1, (3.9, 6.1), "normal"),
        ("<5.2", 5.1, (None, 5.2), "normal"),
        ("<5.2", 5.2, (None, 5.2), "high"),
        ("≤5.2", 5.2, (None, 5.2), "normal"),
        (">=4", 3.9, (4, None), "low"),
        ("<5.2", "<5.2", (None, 5.2), "normal"),
        ("<5.2", "<6", (None, 5.2), None),
        ("70-100 mg/dL", 5.0, (None, None), None),
        ("see report", 5.0, (None, None), None),
    ],
)
def test_limits_stated_in_words_count(
    api: httpx.Client, text: str, value: Any, limits: tuple[Any, Any], abnormal: str | None
) -> None:
    row = row_of(api, record("blood glucose", value, "mmol/L", reference_text=text))
    assert (row["reference_low"], row["reference_high"]) == limits
    assert (row["abnormal"], row["abnormal_source"]) == (abnormal, "computed" if abnormal else None)
    assert row["reference_text"] == text


@pytest.mark.parametrize(
    ("value", "text", "abnormal"),
    [
        ("阴性", "阴性", "normal"),
        ("++", "Negative", "abnormal"),
        ("未检出", "negative", "normal"),
        ("黄色", "阴性", None),
    ],
)
def test_a_result_in_words_is_held_against_words(
    api: httpx.Client, value: str, text: str, abnormal: str | None
) -> None:
    row = row_of(api, record("尿糖", value, "", reference_text=text))
    assert row["abnormal"] == abnormal


@pytest.mark.parametrize(
    ("change", "abnormal", "source"),
    [
        ({"abnormal": "H"}, "high", "given"),
        ({"abnormal": "偏低"}, "low", "given"),
        ({"abnormal": "abnormal"}, "abnormal", "given"),
        ({"value": "5.0 ↑"}, "high", "given"),
        ({"value": "5.0 (L)"}, "low", "given"),
        ({"value": "5.0 H"}, "high", "given"),
        ({"abnormal": None}, "normal", "computed"),
        ({"abnormal": ""}, "normal", "computed"),
    ],
)
def test_what_the_laboratory_says_goes_over_the_limits(
    api: httpx.Client, change: dict[str, Any], abnormal: str, source: str
) -> None:
    given = record("blood glucose", 5, "mmol/L", reference_low=3.9, reference_high=6.1) | change
    row = row_of(api, given)
    assert (row["parsed_value"], row["abnormal"], row["abnormal_source"]) == (5, abnormal, source)
    assert row["value"] == f"{given['value']} mmol/L"
    assert written(api, row)["duplicates"] == 1


def test_an_unknown_verdict_is_refused(api: httpx.Client) -> None:
    assert_error(write(api, record(abnormal="purple")), 400, "invalid_value", "records[0].abnormal")


@pytest.mark.parametrize(
    ("indicator", "value", "unit", "parsed", "parsed_text", "code"),
    [
        ("尿白细胞", "0-2", "/HPF", None, None, "5821-4"),
        ("尿白细胞", "0-2/HP", "", None, None, "5821-4"),
        ("ANA", "1:160", "", 160, None, "5048-4"),
        ("抗核抗体", "阴性", "", None, "negative", "8061-4"),
        ("I:E ratio", "1:2", "", None, None, None),
        ("尿蛋白", "++", "", None, "2+", "20454-5"),
        ("HBV DNA", "未检出", "IU/mL", None, "not detected", "42595-9"),
        ("HBV DNA", "1.2×10^5", "IU/mL", 120000, None, "42595-9"),
        ("WBC", "5.1×10^9", "10^9/L", 5.1, None, "6690-2"),
        ("sleep duration", "7h32m", "", 452, None, "93832-4"),
        ("height", "5'10\"", "", 70, None, "8302-2"),
        ("Glucose (mg/dL)", 97, "", 97, None, "2345-7"),
        ("餐后血糖", 7.8, "mmol/L", 7.8, None, "14761-1"),
        ("weight", 70, "mmHg", 70, None, None),
        ("heart rate", "illegible", "", None, None, "8867-4"),
    ],
)
def test_what_is_no_plain_number(
    api: httpx.Client, indicator: str, value: Any, unit: str, parsed: Any, parsed_text: str | None, code: str | None
) -> None:
    row = row_of(api, record(indicator, value, unit))
    assert (row["parsed_value"], row["parsed_text"], row["loinc_code"]) == (parsed, parsed_text, code)
    assert row["value"] == f"{value} {unit}".rstrip()
    assert written(api, row)["duplicates"] == 1


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"indicator": "pulse", "value": -3, "unit": "/min"}, "value", "invalid_value"),
        ({"indicator": "blood glucose", "value": 171, "unit": "mmol/L"}, "value", "invalid_value"),
        ({"indicator": "体温", "value": 98.6, "unit": "C"}, "value", "invalid_value"),
        ({"indicator": "sodium", "value": 1400, "unit": "mmol/L"}, "value", "invalid_value"),
        ({"indicator": "HbA1c", "value": 48, "unit": "%"}, "value", "invalid_value"),
        ({"value": "NaN"}, "value", "invalid_value"),
        ({"value": "1e400"}, "value", "invalid_value"),
        ({"value": "9" * 1001}, "value", "value_too_long"),
        ({"time": "1066-10-14"}, "time", "invalid_value"),
        ({"time": "2026-03-02", "end_time": "2026-03-01"}, "end_time", "invalid_value"),
    ],
)
def test_the_impossible_is_refused_by_name(api: httpx.Client, change: dict[str, Any], field: str, code: str) -> None:
    assert_error(write(api, record(), record() | change), 400, code, f"records[1].{field}")
    assert rows(api) == []


def test_ten_megabytes_of_text_are_refused(api: httpx.Client) -> None:
    response = write(api, record(value="x" * 10_000_000))
    assert_error(response, 400, "value_too_long", "records[0].value")
