"""Values, units and codes as they come out of POST and GET /v1/data."""

from typing import Any

import httpx
import pytest

from tests.support.envelope import assert_error
from tests.tools_app.records import record, row_of, rows, write, written


@pytest.mark.parametrize(
    ("indicator", "value", "unit", "parsed", "ucum", "code"),
    [
        ("blood glucose", 7.2, "mmol/L", 7.2, "mmol/L", "14749-6"),
        ("blood glucose", 130, "mg/dL", 130, "mg/dL", "2345-7"),
        ("血糖", "６．１", "ｍｍｏｌ／Ｌ", 6.1, "mmol/L", "14749-6"),
        ("blood glucose", "5.6 mmol/L", "", 5.6, "mmol/L", "14749-6"),
        ("HbA1c", 48, "mmol/mol", 48, "mmol/mol", "59261-8"),
        ("糖化血红蛋白", 6.5, "%", 6.5, "%", "4548-4"),
        ("creatinine", 88, "μmol/L", 88, "umol/L", "14682-9"),
        ("creatinine", 88, "µmol/L", 88, "umol/L", "14682-9"),
        ("creatinine", 1.0, "mg/dl", 1, "mg/dL", "2160-0"),
        ("B12", 300, "mcg/L", 300, "ug/L", "2132-9"),
        ("hemoglobin", 14, "g/dl", 14, "g/dL", "718-7"),
        ("sodium", 140, "MMOL/L", 140, "mmol/L", "2951-2"),
        ("body temperature", 98.6, "F", 98.6, "[degF]", "8310-5"),
        ("体温", 36.8, "℃", 36.8, "Cel", "8310-5"),
        ("WBC", 5.1, "10^9/L", 5.1, "10*9/L", "6690-2"),
        ("weight", "70,5", "kg", 70.5, "kg", "29463-7"),
        ("ferritin", "1.234,5", "ng/mL", 1234.5, "ng/mL", "2276-4"),
        ("resting heart rate", "58,3712345", "/min", 58.3712345, "/min", "40443-4"),
    ],
)
def test_numbers_units_and_codes(
    api: httpx.Client, indicator: str, value: Any, unit: str, parsed: float, ucum: str, code: str
) -> None:
    row = row_of(api, record(indicator, value, unit))
    assert (row["parsed_value"], row["parsed_unit"], row["loinc_code"]) == (parsed, ucum, code)


@pytest.mark.parametrize(
    ("indicator", "value", "unit", "parsed", "ucum", "code"),
    [
        ("body weight", "10 st 5 lb", "", 145, "[lb_av]", "29463-7"),
        ("body weight", "10 st 5", "st", 145, "[lb_av]", "29463-7"),
        ("body weight", "10 st 5", "stone", 145, "[lb_av]", "29463-7"),
        ("weight", "70 kg 500 g", "", 70.5, "kg", "29463-7"),
        ("body height", "1m75", "", 175, "cm", "8302-2"),
        ("身高", "1米75", "", 175, "cm", "8302-2"),
        ("身高", "175公分", "", 175, "cm", "8302-2"),
        ("身高", "1m75", "m", 175, "cm", "8302-2"),
        ("body height", "5 ft 9", "", 69, "[in_i]", "8302-2"),
    ],
)
def test_a_value_in_two_units_is_one_number(
    api: httpx.Client, indicator: str, value: str, unit: str, parsed: float, ucum: str, code: str
) -> None:
    row = row_of(api, record(indicator, value, unit))
    assert (row["parsed_value"], row["parsed_unit"], row["loinc_code"]) == (parsed, ucum, code)
    shown = api.get(f"/v1/fhir/Observation/{row['fhir_resource_id']}", params={"user": "u-001"}).json()
    assert shown["valueQuantity"] == {
        "value": parsed, "unit": ucum, "system": "http://unitsofmeasure.org", "code": ucum,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("indicator", "value", "unit", "parsed", "ucum", "code"),
    [
        ("体重", "130斤", "", 65, "kg", "29463-7"),
        ("体重", "130 市斤", "", 65, "kg", "29463-7"),
        ("体重", 130, "斤", 65, "kg", "29463-7"),
        ("体重", "130.5", "斤", 65.25, "kg", "29463-7"),
        ("体重", "130斤", "斤", 65, "kg", "29463-7"),
        ("体重", "65斤5两", "", 32.75, "kg", "29463-7"),
        ("body weight", "10 st", "", 10, "[stone_av]", "29463-7"),
        ("body weight", 10, "st", 10, "[stone_av]", "29463-7"),
        ("体温", "36.8度", "", 36.8, "Cel", "8310-5"),
        ("体温", 36.8, "度", 36.8, "Cel", "8310-5"),
        ("体温", "36.8度", "℃", 36.8, "Cel", "8310-5"),
        ("体温", "36度8", "", 36.8, "Cel", "8310-5"),
        ("体温", "36.8 ℃", "", 36.8, "Cel", "8310-5"),
    ],
)
def test_everyday_units_count_for_what_they_are_used_of(
    api: httpx.Client, indicator: str, value: Any, unit: str, parsed: float, ucum: str, code: str
) -> None:
    row = row_of(api, record(indicator, value, unit))
    assert (row["parsed_value"], row["parsed_unit"], row["loinc_code"]) == (parsed, ucum, code)
    assert row["value"].startswith(str(value))
    shown = api.get(f"/v1/fhir/Observation/{row['fhir_resource_id']}", params={"user": "u-001"}).json()
    assert (shown["valueQuantity"]["value"], shown["valueQuantity"]["code"]) == (parsed, ucum)
    assert shown["valueQuantity"]["unit"] in {ucum, unit}
    assert shown["valueQuantity"]["unit"] not in {"斤", "度", "st"}


@pytest.mark.parametrize(
    ("indicator", "value", "unit"),
    [
        ("血糖", "130斤", ""), ("身高", "36度8", ""), ("体重", "36.8度", ""), ("体重", "65斤5", ""),
        ("体重", "5两", ""), ("体重", "130斤", "kg"), ("体温", "98.6度", "mg"), ("我的指标", "65斤5两", ""),
    ],
)  # fmt: skip
def test_everyday_units_of_anything_else_stay_text(api: httpx.Client, indicator: str, value: str, unit: str) -> None:
    assert row_of(api, record(indicator, value, unit))["parsed_value"] is None


@pytest.mark.parametrize(("value", "unit"), [(130, "斤"), ("130", "斤"), ("130斤", "")])
def test_limits_of_a_weight_in_jin_are_in_jin_until_it_is_read_back(api: httpx.Client, value: Any, unit: str) -> None:
    row = row_of(api, record("体重", value, unit, reference_low=100, reference_high=140))
    assert (row["abnormal"], row["reference_low"], row["reference_high"]) == ("normal", 50, 70)
    written(api, row, user="u-002")
    (again,) = rows(api, "u-002")
    told = ("value", "parsed_value", "parsed_unit", "abnormal", "reference_low", "reference_high")
    assert {name: again[name] for name in told} == {name: row[name] for name in told}


@pytest.mark.parametrize(
    ("indicator", "value"),
    [("body weight", "80 cm 5"), ("body weight", "70 kg 500"), ("body height", "1m8"), ("my index", "3 kg2")],
)
def test_a_stray_number_after_a_unit_leaves_the_value_text(api: httpx.Client, indicator: str, value: str) -> None:
    row = row_of(api, record(indicator, value, ""))
    assert (row["value"], row["parsed_value"], row["parsed_unit"]) == (value, None, None)
    shown = api.get(f"/v1/fhir/Observation/{row['fhir_resource_id']}", params={"user": "u-001"}).json()
    assert (shown.get("valueString"), shown.get("valueQuantity")) == (value, None)


def test_limits_beside_a_value_in_two_units_are_in_the_unit_beside_it(api: httpx.Client) -> None:
    row = row_of(api, record("body height", "1m75", "m", reference_low=1.5, reference_high=1.9))
    assert (row["abnormal"], row["reference_low"], row["reference_high"]) == ("normal", 150, 190)


@pytest.mark.parametrize(
    ("indicator", "unit"),
    [("creatinine", ""), ("甘油三酯", "ｍｇ／ｄ"), ("hemoglobin", "G/L"), ("magnesium", "Mmol/L"), ("sodium", "kg")],
)
def test_no_unit_or_a_doubtful_one_gets_no_code(api: httpx.Client, indicator: str, unit: str) -> None:
    row = row_of(api, record(indicator, 1.2, unit))
    assert (row["parsed_value"], row["loinc_code"]) == (1.2, None)
    assert row["value"] == f"1.2 {unit}".rstrip()


@pytest.mark.parametrize(
    ("value", "comparator", "number"),
    [
        ("<10", "<", 10),
        ("< 10", "<", 10),
        ("≤10", "<=", 10),
        (">500", ">", 500),
        ("＜10", "<", 10),
        ("10<", None, None),
    ],
)
def test_a_bound_stays_a_bound(api: httpx.Client, value: str, comparator: str | None, number: float | None) -> None:
    row = row_of(api, record("rheumatoid factor", value, "IU/mL"))
    assert (row["comparator"], row["parsed_value"], row["value"]) == (comparator, number, f"{value} IU/mL")


@pytest.mark.parametrize("value", ["NEG", "阴性", "阳性(+)", "++", "±", "-", "+1", "Negative", "未检出"])
def test_a_result_in_words_stays_words(api: httpx.Client, value: str) -> None:
    row = row_of(api, record("尿糖", value, ""))
    assert (row["value"], row["parsed_value"], row["loinc_code"]) == (value, None, "25428-4")


@pytest.mark.parametrize("value", [":", "see note", "haemolysed", "80 cm 5", "10 st 5", "未检出"])
def test_text_beside_a_unit_is_the_same_reading_when_read_back(api: httpx.Client, value: str) -> None:
    row = row_of(api, record("blood glucose", value, "mmol/L" if value != "10 st 5" else ""))
    assert written(api, row)["ingested"] == 0


@pytest.mark.parametrize("value", [9007199254740993, "9007199254740993", ">9007199254740993"])
def test_a_number_too_large_to_keep_exactly_stays_as_written(api: httpx.Client, value: int | str) -> None:
    row = row_of(api, record("steps", value, "steps"))
    assert (row["value"], row["parsed_value"]) == (f"{value} steps", None)


def test_the_largest_exact_number_is_read(api: httpx.Client) -> None:
    assert row_of(api, record("steps", 2**53, "steps"))["parsed_value"] == 2**53


@pytest.mark.parametrize(("field", "length"), [("indicator", 200), ("value", 1000), ("unit", 100)])
def test_text_that_grows_when_written_out_is_refused(api: httpx.Client, field: str, length: int) -> None:
    response = write(api, record() | {field: "ﷺ" * length})
    assert_error(response, 400, "value_too_long", f"records[0].{field}")


def test_units_written_as_one_character_are_no_growth(api: httpx.Client) -> None:
    assert row_of(api, record("body weight", "70", "㎏"))["parsed_value"] == 70


@pytest.mark.parametrize("value", ["120/80", "120 / 80", "120-80", "120／80", "120/80 mmHg"])
def test_a_blood_pressure_is_two_readings_of_one_time(api: httpx.Client, value: str) -> None:
    answer = written(api, record("血压", value, "mmHg", "2026-03-01T08:00:00Z"))
    assert (answer["ingested"], answer["standardized"]) == (2, 2)
    pair = {row["loinc_code"]: row["parsed_value"] for row in rows(api)}
    assert pair == {"8480-6": 120, "8462-4": 80}
    assert {row["time"] for row in rows(api)} == {"2026-03-01T08:00:00Z"}


@pytest.mark.parametrize(
    ("value", "unit"), [("17/11 kPa", ""), ("17/11", "kPa"), ("17.3/9.5 kPa", ""), ("17/9.5", "kPa")]
)
def test_a_blood_pressure_in_kilopascals_is_two_readings(api: httpx.Client, value: str, unit: str) -> None:
    answer = written(api, record("血压", value, unit))
    assert (answer["ingested"], answer["standardized"]) == (2, 2)
    low = float(value.partition("/")[2].removesuffix(" kPa"))
    pair = {row["loinc_code"]: (row["parsed_value"], row["parsed_unit"]) for row in rows(api)}
    assert pair == {"8480-6": (float(value.partition("/")[0]), "kPa"), "8462-4": (low, "kPa")}


@pytest.mark.parametrize("value", ["高压130低压85", "高压130 低压85", "收缩压130，舒张压85 mmHg"])
def test_a_blood_pressure_in_words_is_two_readings(api: httpx.Client, value: str) -> None:
    written(api, record("血压", value, ""))
    pair = {row["loinc_code"]: (row["parsed_value"], row["parsed_unit"]) for row in rows(api)}
    assert pair == {"8480-6": (130, "mm[Hg]"), "8462-4": (85, "mm[Hg]")}


@pytest.mark.parametrize("value", ["120/", "/80", "120/80/95", "80/120", "120", 120])
def test_half_a_blood_pressure_is_refused(api: httpx.Client, value: Any) -> None:
    assert_error(write(api, record("blood pressure", value, "mmHg")), 400, "invalid_value", "records[0].value")


@pytest.mark.parametrize(
    ("value", "low", "high", "abnormal"),
    [
        (5.0, 3.9, 6.1, "normal"),
        (6.1, 3.9, 6.1, "normal"),
        (6.2, None, 6.1, "high"),
        (3.8, 3.9, None, "low"),
        ("<0.5", None, 3.0, "normal"),
        ("<5", 3.9, 6.1, None),
        (">6.1", 3.9, 6.1, "high"),
        ("<3.9", 3.9, 6.1, "low"),
        ("normal", 3.9, 6.1, None),
        (5.0, None, None, None),
    ],
)
def test_abnormal_follows_the_limits(
    api: httpx.Client, value: Any, low: float | None, high: float | None, abnormal: str | None
) -> None:
    row = row_of(api, record("blood glucose", value, "mmol/L", reference_low=low, reference_high=high))
    assert row["abnormal"] == abnormal


def test_spellings_of_one_unit_are_one_code_and_compare(api: httpx.Client) -> None:
    spelled = ["mg/dl", "mg/dL", "mg/100mL", "mg%", "MG/DL", "ｍｇ／ｄＬ", "毫克/分升"]
    written(api, *(record("creatinine", 1.0, unit, f"2026-03-01T0{i}:00:00Z") for i, unit in enumerate(spelled)))
    assert {(row["loinc_code"], row["parsed_unit"]) for row in rows(api)} == {("2160-0", "mg/dL")}


@pytest.mark.parametrize("code", ["2339-0", "9999-9"])
def test_a_code_beside_an_unknown_name_is_no_field_of_a_record(api: httpx.Client, code: str) -> None:
    row = row_of(api, record("my glucose stick", 110, "mg/dL", code=code))
    assert (row["loinc_code"], row["parsed_value"], row["value"]) == (None, 110, "110 mg/dL")


def test_an_inverted_blood_pressure_written_apart_is_not_swapped(api: httpx.Client) -> None:
    written(api, record("SBP", 76, "mmHg"), record("DBP", 118, "mmHg"))
    assert {row["loinc_code"]: row["parsed_value"] for row in rows(api)} == {"8480-6": 76, "8462-4": 118}


@pytest.mark.parametrize(
    ("indicator", "value", "unit", "code"),
    [("HIV viral load", "undetectable", "copies/mL", "20447-9"), ("HBV DNA", "未检出", "IU/mL", "42595-9")],
)
def test_what_was_not_detected_is_not_nought(
    api: httpx.Client, indicator: str, value: str, unit: str, code: str
) -> None:
    row = row_of(api, record(indicator, value, unit))
    assert (row["parsed_value"], row["parsed_text"], row["loinc_code"]) == (None, "not detected", code)


@pytest.mark.parametrize(
    ("name", "unit", "code"),
    [
        ("Hb", "g/L", "718-7"),
        ("HbA", "%", "4546-8"),
        ("HbA1c", "%", "4548-4"),
        ("HbA2", "%", "4551-8"),
        ("HbF", "%", "4576-5"),
    ],
)
def test_kinds_of_hemoglobin_are_never_merged(api: httpx.Client, name: str, unit: str, code: str) -> None:
    assert row_of(api, record(name, 9.7, unit))["loinc_code"] == code
