"""A blood pressure as FHIR clients expect it: one Observation, the panel, with its two readings as components."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.tools_app.records import record, rows, written
from tests.tools_app.test_fhir_observations import PATH, Json, checked, searched
from tools_app.records.models import HealthRecord

PRESSURE = record("血压", "120/80", "mmHg", "2026-03-01T08:00:00Z")


def codes(bundle: Json) -> list[str]:
    return [entry["resource"]["code"]["coding"][0]["code"] for entry in bundle.get("entry", [])]


def components(body: Json) -> dict[str, Any]:
    return {part["code"]["coding"][0]["code"]: part["valueQuantity"]["value"] for part in body["component"]}


def test_it_is_one_panel_with_two_components(api: httpx.Client) -> None:
    written(api, PRESSURE)
    (resource,) = {row["fhir_resource_id"] for row in rows(api)}
    body = checked(api.get(f"{PATH}/{resource}"))
    assert body["id"] == resource
    assert body["category"][0]["coding"][0]["code"] == "vital-signs"
    assert (body["code"]["coding"][0]["code"], body["code"]["text"]) == ("85354-9", "血压")
    assert "valueQuantity" not in body
    assert components(body) == {"8480-6": 120, "8462-4": 80}
    assert [part["code"]["text"] for part in body["component"]] == [
        "Systolic blood pressure",
        "Diastolic blood pressure",
    ]
    assert {part["valueQuantity"]["code"] for part in body["component"]} == {"mm[Hg]"}
    assert searched(api)["entry"][0]["resource"] == body


def test_two_numbers_in_a_doubtful_unit_are_no_panel_and_both_shown(api: httpx.Client) -> None:
    written(api, record("blood pressure", "120/80", "1", "2026-03-01T08:00:00Z"))
    shown = [checked(api.get(f"{PATH}/{row['fhir_resource_id']}")) for row in rows(api)]
    assert len({body["id"] for body in shown}) == 2
    assert {body["code"]["text"] for body in shown} == {"blood pressure"}
    assert not any("component" in body for body in shown)
    found = searched(api)
    assert found["total"] == 2
    assert {entry["resource"]["id"] for entry in found["entry"]} == {body["id"] for body in shown}


def test_the_id_of_either_row_leads_to_it(api: httpx.Client) -> None:
    written(api, PRESSURE)
    ids = [row["id"].removeprefix("rec_") for row in rows(api)]
    shapes = [f"{one[:8]}-{one[8:12]}-{one[12:16]}-{one[16:20]}-{one[20:]}" for one in ids]
    first, second = (checked(api.get(f"{PATH}/{shape}")) for shape in shapes)
    assert first == second


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"code": "85354-9"}, ["85354-9"]),
        ({"code": "8480-6"}, ["8480-6"]),
        ({"code": "8462-4"}, []),
        ({"code": "8480-6,85354-9"}, ["85354-9", "8480-6"]),
        ({"combo-code": "8480-6"}, ["85354-9", "8480-6"]),
        ({"combo-code": "http://loinc.org|8462-4"}, ["85354-9"]),
        ({"combo-code": "8867-4"}, ["8867-4"]),
        ({}, ["85354-9", "8480-6", "8867-4"]),
    ],
)
def test_search_by_code(api: httpx.Client, query: Json, found: list[str]) -> None:
    alone = record("systolic", 130, "mmHg", "2026-02-28")
    written(api, PRESSURE, alone, record("heart rate", 61, "/min", "2026-02-27"))
    bundle = searched(api, **query)
    assert (codes(bundle), bundle["total"]) == (found, len(found))


def test_pages_count_measurements(api: httpx.Client) -> None:
    written(api, *(PRESSURE | {"time": f"2026-03-0{day}"} for day in range(1, 4)))
    seen: list[Any] = []
    url: str | None = f"{PATH}?user=u-001&_count=1"
    while url:
        page = checked(api.get(url))
        assert page["total"] == 3
        seen += [entry["resource"]["effectiveDateTime"] for entry in page["entry"]]
        url = next((link["url"] for link in page["link"] if link["relation"] == "next"), None)
    assert seen == ["2026-03-03", "2026-03-02", "2026-03-01"]


def test_one_that_shares_a_side_with_another_is_shown_by_itself(api: httpx.Client) -> None:
    written(api, PRESSURE)
    written(api, PRESSURE | {"value": "120/85"})
    found = [entry["resource"] for entry in searched(api)["entry"]]
    assert sorted(body["code"]["coding"][0]["code"] for body in found) == ["8462-4", "85354-9"]
    assert all(checked(api.get(f"{PATH}/{row['fhir_resource_id']}")) in found for row in rows(api))


def test_a_side_that_expired_is_not_shown(api: httpx.Client) -> None:
    written(api, PRESSURE)
    HealthRecord.objects.filter(loinc_code="8462-4").update(expires_at=datetime.now(UTC))
    bundle = searched(api)
    assert (codes(bundle), bundle["total"]) == (["8480-6"], 1)
    assert searched(api, code="85354-9")["total"] == 0


@pytest.mark.parametrize("indicator", ["8480-6", "8462-4", "血压"])
def test_it_is_deleted_whole_by_any_of_its_names(api: httpx.Client, indicator: str) -> None:
    written(api, PRESSURE, record("heart rate", 61, "/min"))
    answer = api.delete("/v1/data", params={"user": "u-001", "indicator": indicator}).json()
    assert answer["deleted"] == 2
    assert codes(searched(api)) == ["8867-4"]
