"""``/v1/fhir/Observation``: each reading as a valid FHIR R4 Observation, and the search over them."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.observation import Observation
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.tools_app.records import Record, record, row_of, written
from tools_app.fhir.observations import observation
from tools_app.records.batch import WrittenRecord
from tools_app.records.interpretation import kept_for, rows_of
from tools_app.records.models import HealthRecord, Retention
from tools_app.records.pressures import SIDES

Json = dict[str, Any]
PATH = "/v1/fhir/Observation"


def checked(answer: httpx.Response) -> Json:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/fhir+json"
    body: Json = answer.json()
    (Bundle if body["resourceType"] == "Bundle" else Observation).model_validate(body)
    return body


def shown(api: httpx.Client, *records: Record) -> Json:
    """The Observation of one reading, by the id that its row gives."""
    row = row_of(api, *records)
    body = checked(api.get(f"{PATH}/{row['fhir_resource_id']}"))
    assert body["id"] == row["fhir_resource_id"]
    return body


def searched(api: httpx.Client, user: str = "u-001", **query: Any) -> Json:
    return checked(api.get(PATH, params={"user": user, **query}))


def values(bundle: Json) -> list[Any]:
    return [entry["resource"]["valueQuantity"]["value"] for entry in bundle.get("entry", [])]


def test_a_coded_quantity(api: httpx.Client) -> None:
    given = record("fasting glucose", 5.4, "mmol/L", reference_low=3.9, reference_high=5.3, reference_text="3.9-5.3")
    body = shown(api, given)
    assert body["status"] == "final"
    assert body["code"] == {
        "coding": [
            {
                "system": "http://loinc.org",
                "code": "14771-0",
                "display": "Fasting glucose [Moles/volume] in Serum or Plasma",
            }
        ],
        "text": "fasting glucose",
    }
    unit = {"unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"}
    assert body["valueQuantity"] == {"value": 5.4} | unit
    assert body["referenceRange"] == [{"low": {"value": 3.9} | unit, "high": {"value": 5.3} | unit, "text": "3.9-5.3"}]
    assert body["interpretation"][0]["coding"][0]["code"] == "H"
    assert body["category"][0]["coding"][0]["code"] == "laboratory"


def test_what_is_not_understood_is_no_code_and_no_ucum(api: httpx.Client) -> None:
    body = shown(api, record("mystery index", 7, "widgets"))
    assert body["code"] == {"text": "mystery index"}
    assert body["valueQuantity"] == {"value": 7, "unit": "widgets"}
    assert not {"category", "interpretation", "referenceRange"} & body.keys()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (record("CRP", "<0.5", "mg/L"), {"comparator": "<", "value": 0.5}),
        (record("CRP", "≥ 200 mg/L", ""), {"comparator": ">=", "value": 200, "code": "mg/L", "unit": "mg/L"}),
        (record("pain score", 3, ""), {"value": 3}),
    ],
)
def test_quantities(api: httpx.Client, given: Record, expected: Json) -> None:
    assert expected.items() <= shown(api, given)["valueQuantity"].items()


def test_words(api: httpx.Client) -> None:
    assert shown(api, record("urine protein", "negative", ""))["valueString"] == "negative"


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-03-01", "2026-03-01"),
        ("2026-03-01T08:00:00+08:00", "2026-03-01T08:00:00+08:00"),
        ("2026-03-01T08:00:00.125Z", "2026-03-01T08:00:00.125Z"),
        ("2026-03-01 08:00+0530", "2026-03-01T08:00:00+05:30"),
        ("2026-03-01T08:00Z", "2026-03-01T08:00:00+00:00"),
        ("2026-03-01T08:00:00+08:05:43", "2026-02-28T23:54:17+00:00"),
    ],
)
def test_a_time_is_as_exact_as_it_was_written(api: httpx.Client, time: str, expected: str) -> None:
    assert shown(api, record(time=time))["effectiveDateTime"] == expected


def test_an_episode_has_a_period(api: httpx.Client) -> None:
    body = shown(api, record("sleep", 7.5, "h", "2026-03-01T23:10:00+08:00", end_time="2026-03-02T06:40:00+08:00"))
    assert body["effectivePeriod"] == {"start": "2026-03-01T23:10:00+08:00", "end": "2026-03-02T06:40:00+08:00"}
    assert "effectiveDateTime" not in body


def test_the_subject_is_opaque_and_the_same_for_all_its_readings(api: httpx.Client, account: Account) -> None:
    written(api, record(), record(time="2026-03-02"))
    written(api, record(), user="u-002")
    mine, other = searched(api), searched(api, user="u-002")
    (reference,) = {entry["resource"]["subject"]["reference"] for entry in mine["entry"]}
    assert reference != other["entry"][0]["resource"]["subject"]["reference"]
    assert "u-001" not in str(mine["entry"])
    pk = Subject.objects.get(account_id=account.id, user_key="u-001").pk
    assert not reference.endswith(f"/{pk}")


def test_one_that_is_not_yours_does_not_exist(api: httpx.Client, other_account: Account) -> None:
    resource = row_of(api, record())["fhir_resource_id"]
    assert api.get(f"{PATH}/{resource}/", params={"user": "u-001"}).status_code == 200
    made_up = "00000000-0000-4000-8000-000000000000"
    shapes = [made_up, resource.upper(), resource.replace("-", ""), "rec_" + resource, "x", "%00", "{" + resource + "}"]
    answers = [api.get(f"{PATH}/{shape}") for shape in shapes]
    answers.append(api.get(f"{PATH}/{resource}", params={"user": "u-002"}))
    with other_account.client() as stranger:
        answers.append(stranger.get(f"{PATH}/{resource}"))
    for answer in answers:
        assert_error(answer, 404, "not_found", None)
    assert len({answer.text for answer in answers}) == 1


def test_a_deleted_or_expired_one_is_gone(api: httpx.Client) -> None:
    first = row_of(api, record())
    api.delete("/v1/data", params={"user": "u-001", "id": first["id"]})
    assert api.get(f"{PATH}/{first['fhir_resource_id']}").status_code == 404
    second = row_of(api, record(time="2026-03-02"))
    HealthRecord.objects.filter(public_id=second["id"]).update(expires_at=datetime.now(UTC))
    assert api.get(f"{PATH}/{second['fhir_resource_id']}").status_code == 404
    assert searched(api)["total"] == 0


def test_a_search_is_one_persons_newest_first(api: httpx.Client) -> None:
    written(api, *(record(value=60 + day, time=f"2026-03-0{day}") for day in range(1, 4)))
    written(api, record(value=99), user="u-002")
    bundle = searched(api)
    assert (bundle["type"], bundle["total"], values(bundle)) == ("searchset", 3, [63, 62, 61])
    entry = bundle["entry"][0]
    assert entry["search"] == {"mode": "match"}
    assert checked(api.get(entry["fullUrl"])) == entry["resource"]
    assert "entry" not in searched(api, user="never seen")


def test_links_lead_through_all_pages(api: httpx.Client) -> None:
    written(api, *(record(value=60 + day, time=f"2026-03-0{day}") for day in range(1, 6)))
    seen: list[Any] = []
    url: str | None = f"{PATH}?user=u-001&_count=2&date=ge2026-03-01"
    while url:
        bundle = checked(api.get(url))
        seen += values(bundle)
        url = next((link["url"] for link in bundle["link"] if link["relation"] == "next"), None)
    assert seen == [65, 64, 63, 62, 61]
    relations = {link["relation"]: link["url"] for link in bundle["link"]}
    assert values(checked(api.get(relations["previous"]))) == [63, 62]
    assert checked(api.get(relations["self"])) == bundle


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("29463-7", ["body weight"]),
        ("http://loinc.org|29463-7", ["body weight"]),
        ("29463-7,8867-4", ["body weight", "heart rate"]),
        ("http://snomed.info/sct|29463-7", []),
        ("29463", []),
        ("http://loinc.org|", []),
    ],
)
def test_search_by_code(api: httpx.Client, code: str, found: list[str]) -> None:
    written(api, record(), record("heart rate", 61, "/min"), record("mystery index", 7, "widgets"))
    entries = searched(api, code=code).get("entry", [])
    assert sorted(entry["resource"]["code"]["text"] for entry in entries) == found


DAYS = ["2025-12-31", "2026-01-01", "2026-01-31T23:30:00Z", "2026-02-01", "2026-02-01T12:00:00Z"]


@pytest.mark.parametrize(
    ("dates", "found"),
    [
        (["2026-02-01"], [63, 64]),
        (["eq2026-01"], [61, 62]),
        (["2025"], [60]),
        (["ge2026-01-31"], [62, 63, 64]),
        (["gt2026-01-31"], [63, 64]),
        (["gt2025"], [61, 62, 63, 64]),
        (["le2026-01"], [60, 61, 62]),
        (["lt2026-01-31"], [60, 61]),
        (["ge2026-01-01", "lt2026-02"], [61, 62]),
        (["ge2026-02-01T12:00:00Z"], [63, 64]),
        (["gt2026-02-01T12:00:00Z"], []),
        (["lt2026-02-01T12:00:00Z"], [60, 61, 62]),
        (["le2026-01-31T23:30:00Z"], [60, 61, 62]),
    ],
    ids=str,
)
def test_search_by_date(api: httpx.Client, dates: list[str], found: list[int]) -> None:
    written(api, *(record(value=60 + index, time=time) for index, time in enumerate(DAYS)))
    assert sorted(values(searched(api, date=dates))) == found


def test_a_day_is_the_subjects(api: httpx.Client, account: Account) -> None:
    Subject.objects.create(account_id=account.id, user_key="u-001", time_zone="Asia/Shanghai")
    written(api, record(time="2026-03-01T20:00:00Z"))
    assert searched(api, date="2026-03-02")["total"] == 1
    assert searched(api, date="2026-03-01")["total"] == 0


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ({"date": "ne2026-01-01"}, "invalid_value", "date"),
        ({"date": "yesterday"}, "invalid_value", "date"),
        ({"date": "ge2026-02-30"}, "invalid_value", "date"),
        ({"date": "ge2026-13"}, "invalid_value", "date"),
        ({"date": ""}, "invalid_value", "date"),
        ({"_count": "0"}, "invalid_value", "_count"),
        ({"_count": "1001"}, "invalid_value", "_count"),
        ({"_offset": "-1"}, "invalid_value", "_offset"),
        ({"code": "a\x00"}, "invalid_value", "code"),
        ({"code": "a," * 200}, "invalid_value", "code"),
        ({"code": ["a"] * 11}, "too_many_items", "code"),
        ({"date": ["gt2026-01-01T00:00:00Z"] * 900}, "too_many_items", "date"),
        ({"category": "laboratory"}, "unsupported_parameter", "category"),
    ],
)
def test_a_search_that_is_not_understood(api: httpx.Client, query: Json, code: str, param: str) -> None:
    written(api, record())
    answer = api.get(PATH, params={"user": "u-001", **query})
    assert_error(answer, 400, code, param)
    assert answer.headers["content-type"] == "application/json"


def test_without_a_key(anonymous: httpx.Client) -> None:
    assert_error(anonymous.get(PATH), 401, "missing_api_key", None)


def test_only_reading(api: httpx.Client) -> None:
    assert_error(api.post(PATH, json={}), 405, "method_not_allowed", None)


WRITTEN_TIMES = st.one_of(
    st.dates(datetime(1900, 1, 2).date(), datetime(2026, 1, 1).date()).map(str),  # noqa: DTZ001
    st.datetimes(datetime(1900, 1, 2), datetime(2026, 1, 1), timezones=st.timezones()).map(  # noqa: DTZ001
        datetime.isoformat
    ),
)


@settings(max_examples=200, deadline=None)
@given(
    indicator=st.one_of(st.text(max_size=30), st.sampled_from(["weight", "blood pressure", "CRP", "urine protein"])),
    value=st.one_of(st.text(max_size=30), st.floats(-1e16, 1e16), st.sampled_from(["120/80", "<0.5", "1e-9"])),
    unit=st.one_of(st.text(max_size=10), st.sampled_from(["kg", "mg/L", "mmHg", ""])),
    time=WRITTEN_TIMES,
    reference_low=st.none() | st.floats(-1e300, 1e300),
    reference_text=st.text(max_size=10),
)
@example(indicator="blood pressure", value="120/80", unit="1", time="2000-01-01", reference_low=None, reference_text="")
def test_every_reading_that_can_be_written_is_valid_fhir(**fields: Any) -> None:
    now = datetime(2026, 6, 15, 12, tzinfo=UTC)
    try:
        asked = WrittenRecord.model_validate(fields)
        kept = list(rows_of(asked, "r", ZoneInfo("UTC"), now, kept_for(Retention.PERMANENT, now)))
    except (ValidationError, InvalidRequestError):
        return
    for row in kept:
        row.subject_id = 1
    # In a doubtful unit the two numbers of a blood pressure are no pressures, and each is shown by itself.
    pressures = all(row.analyte in SIDES for row in kept)
    for measurement in [kept] if pressures else [[row] for row in kept]:
        Observation.model_validate(observation(measurement))
