"""``list_clinical_records`` and ``summarize_health_data``: what they tell about one person, and of whom they tell."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.server import Account
from tests.tools_app.fhir_bundles import Patient, quantity, written
from tests.tools_app.people import NOW, Person
from tests.tools_app.records import record
from tools_app.contract import NotPermitted, TryDifferently
from tools_app.fhir.importing import import_file
from tools_app.records.clinical import ClinicalRecord

Json = dict[str, Any]


@pytest.fixture
def ann(account: Account) -> Person:
    return Person(account.id, "ann")


@pytest.fixture
def bob(account: Account) -> Person:
    return Person(account.id, "bob")


@pytest.fixture
def pat() -> Patient:
    return Patient()


def imported(person: Person, folder: Path, *resources: Json) -> Person:
    import_file(written(folder, *resources), person.account_id, person.user, NOW, dry_run=False)
    return person


def listed(person: Person, **arguments: Any) -> Json:
    return person.run("list_clinical_records", **arguments).data


def names(data: Json) -> list[str]:
    return [entry["name"] for entry in data["results"]]


def test_each_kind_newest_first(ann: Person, tmp_path: Path, pat: Patient) -> None:
    imported(ann, tmp_path, *pat.others(), pat.condition())
    data = listed(ann)
    assert (data["count"], data["truncated"], data["next_offset"]) == (8, False, None)
    assert data["results"][-1]["kind"] == "condition"
    condition = listed(ann, kinds=["condition"])["results"]
    assert condition == [
        {
            "id": ClinicalRecord.objects.get(subject=ann.subject, kind="condition").public_id,
            "kind": "condition",
            "name": "Diabetes mellitus type 2",
            "codes": [{"system": "http://snomed.info/sct", "code": "44054006", "display": "Diabetes mellitus type 2"}],
            "status": "active",
            "time": "2019-05-06T10:00:00-04:00",
            "end_time": None,
            "text": None,
            "text_truncated": False,
            "next_text_offset": None,
            "source": "fhir",
        }
    ]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("diabetes", ["Diabetes mellitus type 2"]),
        ("TYPE mellitus", ["Diabetes mellitus type 2"]),
        ("44054006", ["Diabetes mellitus type 2"]),
        ("哮喘", ["哮喘"]),
        ("diabetes asthma", []),
        ("%", []),
        ("_", []),
        ("\x00\ud800", ["Diabetes mellitus type 2", "哮喘"]),
    ],
)
def test_search_in_names_and_codes(ann: Person, tmp_path: Path, pat: Patient, search: str, found: list[str]) -> None:
    imported(ann, tmp_path, pat.condition(), pat.condition("195967001", "哮喘"))
    assert sorted(names(listed(ann, search=search))) == found


def test_by_status(ann: Person, tmp_path: Path, pat: Patient) -> None:
    resolved = {"clinicalStatus": {"coding": [{"code": "resolved"}]}}
    imported(ann, tmp_path, pat.condition(), pat.condition("1", "Flu", **resolved))
    assert names(listed(ann, status="Resolved")) == ["Flu"]


RESOLVED = {"clinicalStatus": {"coding": [{"code": "resolved"}]}}
COURSES: dict[str, Json] = {
    "still going on": {"onsetDateTime": "2019-05-06"},
    "over": {"onsetDateTime": "2019-05-06", "abatementDateTime": "2020-02"} | RESOLVED,
    "some time in 2021": {"onsetDateTime": "2021"} | RESOLVED,
    "undated": {"onsetDateTime": None},
}


@pytest.mark.parametrize(
    ("days", "found"),
    [
        ({}, {"still going on", "over", "some time in 2021", "undated"}),
        ({"start": "2022"}, {"still going on"}),
        ({"start": "2021-06-01"}, {"still going on", "some time in 2021"}),
        ({"start": "2020-02-29"}, {"still going on", "over", "some time in 2021"}),
        ({"end": "2020"}, {"still going on", "over"}),
        ({"start": "2021-03", "end": "2021-03"}, {"still going on", "some time in 2021"}),
        ({"end": "2019-05-05"}, set()),
    ],
    ids=lambda value: ", ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_by_date(ann: Person, tmp_path: Path, pat: Patient, days: Json, found: set[str]) -> None:
    conditions = [pat.condition(str(number), name, **COURSES[name]) for number, name in enumerate(COURSES)]
    imported(ann, tmp_path, *conditions)
    data = listed(ann, **days)
    assert set(names(data)) == found
    assert data["undated"] == (1 if days else 0)


def test_pages_reach_everything(ann: Person, tmp_path: Path, pat: Patient) -> None:
    imported(ann, tmp_path, *(pat.condition(str(number), f"Condition {number}") for number in range(7)))
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        result = ann.run("list_clinical_records", limit=3, offset=offset)
        seen += names(result.data)
        assert set(result.record_ids) == {entry["id"] for entry in result.data["results"]}
        assert result.data["truncated"] is (result.data["next_offset"] is not None)
        offset = result.data["next_offset"]
    assert sorted(seen) == [f"Condition {number}" for number in range(7)]


def test_a_long_text_is_read_page_by_page(ann: Person, tmp_path: Path, pat: Patient) -> None:
    text = "".join(f"line {number}\n" for number in range(3000)).strip()
    imported(ann, tmp_path, pat.condition(note=[{"text": text}]))
    (entry,) = listed(ann)["results"]
    assert (text.startswith(entry["text"]), entry["text_truncated"]) == (True, True)
    assert len(entry["text"]) <= 500
    read, offset = "", 0
    while offset is not None:
        (page,) = listed(ann, id=entry["id"], text_offset=offset)["results"]
        read, offset = read + page["text"], page["next_text_offset"]
    assert read == text


@pytest.mark.parametrize(
    "arguments",
    [
        {"id": "clin_x", "limit": 3},
        {"text_offset": 3},
        {"start": "2026-03", "end": "2026-02"},
        {"start": "last year"},
        {"kinds": ["observation"]},
        {"limit": 0},
        {"limit": 101},
        {"user": "bob"},
    ],
    ids=str,
)
def test_arguments_that_do_not_work(ann: Person, arguments: Json) -> None:
    with pytest.raises(TryDifferently):
        listed(ann, **arguments)


def test_nothing_of_anybody_else(ann: Person, bob: Person, tmp_path: Path, pat: Patient) -> None:
    imported(bob, tmp_path, pat.condition())
    (other,) = listed(bob)["results"]
    for arguments in ({}, {"search": "diabetes"}, {"id": other["id"]}, {"id": "clin_%"}, {"id": "\x00"}):
        result = ann.run("list_clinical_records", **arguments)
        assert (result.data["results"], result.data["count"], result.empty) == ([], 0, True)
    assert ann.run("summarize_health_data").empty
    for tool in ("list_clinical_records", "summarize_health_data"):
        with pytest.raises(NotPermitted):
            ann.run(tool, member="bob")


def test_expired_records_are_invisible(ann: Person, tmp_path: Path, pat: Patient) -> None:
    imported(ann, tmp_path, pat.condition())
    ClinicalRecord.objects.filter(subject=ann.subject).update(expires_at=NOW)
    assert listed(ann)["count"] == 0
    assert ann.run("summarize_health_data").data["clinical"] == []


@pytest.mark.parametrize(("scope", "readings", "clinical"), [("all", 1, 1), ("readings", 1, 0), ("clinical", 0, 1)])
def test_a_member_shows_what_the_scope_says(
    ann: Person, bob: Person, tmp_path: Path, pat: Patient, scope: str, readings: int, clinical: int
) -> None:
    imported(bob.has(record("sodium", 140, "mmol/L")), tmp_path, pat.condition())
    bob.shares_with(ann, scope=scope)
    summary = ann.run("summarize_health_data", member="bob").data
    assert (summary["readings"], len(summary["clinical"])) == (readings, clinical)
    for tool, count in (("query_health_data", readings), ("list_clinical_records", clinical)):
        if count:
            assert ann.run(tool, member="bob").data["results"]
        else:
            with pytest.raises(NotPermitted, match=scope):
                ann.run(tool, member="bob")


def test_a_summary(ann: Person, tmp_path: Path, pat: Patient) -> None:
    ann.has(
        record("fasting glucose", 5.2, "mmol/L", "2026-01-01", reference_high=5.6),
        record("空腹血糖", "117 mg/dL", "", "2026-03-01", reference_high=100),
        record("mystery index", "odd", "", "2026-02-01", source="watch"),
    )
    imported(
        ann, tmp_path, pat.condition(), *(pat.condition(str(n), f"Old {n}", onsetDateTime="2001") for n in range(7))
    )
    data = ann.run("summarize_health_data").data
    glucose, mystery = data["indicators"]
    latest = glucose.pop("latest")
    assert glucose == {
        "indicator": "Fasting glucose", "loinc_code": "14771-0", "unit": "mmol/L", "count": 2,
        "first_date": "2026-01-01", "last_date": "2026-03-01", "abnormal": 1,
    }  # fmt: skip
    assert (latest["text"], latest["date"], latest["abnormal"]) == ("117 mg/dL", "2026-03-01", "high")
    assert latest["value"] == pytest.approx(6.494, abs=0.001)
    assert (mystery["indicator"], mystery["latest"]["text"], mystery["latest"]["value"]) == (
        "mystery index",
        "odd",
        None,
    )
    (conditions,) = data["clinical"]
    assert (conditions["count"], conditions["first_date"], conditions["last_date"]) == (8, "2001-01-01", "2019-05-06")
    assert next(fact["name"] for fact in conditions["latest"]) == "Diabetes mellitus type 2"
    assert len(conditions["latest"]) == 5
    sources = [(source["records"], source["source"], source["count"]) for source in data["sources"]]
    assert sources == [("readings", "api", 2), ("readings", "watch", 1), ("clinical", "fhir", 8)]
    assert (data["readings"], data["indicator_count"], data["truncated"]) == (3, 2, False)


def test_a_summary_of_many_indicators_is_bounded_and_goes_on(ann: Person) -> None:
    ann.has(*(record(f"measure {number:03}", number, "kg") for number in range(120)))
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        data = ann.run("summarize_health_data", offset=offset).data
        assert len(data["indicators"]) <= 50
        seen += [one["indicator"] for one in data["indicators"]]
        offset = data["next_offset"]
    assert seen == [f"measure {number:03}" for number in range(120)]


def test_a_summary_costs_the_same_whatever_there_is(ann: Person, tmp_path: Path) -> None:
    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            ann.run("summarize_health_data")
        return len(queries)

    imported(ann, tmp_path, *Patient().history(visits=1))
    few = cost()
    imported(ann, tmp_path, *Patient(2).history(visits=8))
    ann.has(*(record(f"measure {number}", number, "kg") for number in range(30)))
    assert cost() == few


def test_all_records_stand_behind_a_summary(ann: Person, tmp_path: Path, pat: Patient) -> None:
    imported(ann.has(record(), record(time="2026-03-02")), tmp_path, pat.condition())
    (used,) = ann.run("summarize_health_data").records
    assert (used.count, len(used.ids), used.owner_id) == (3, 3, ann.subject.pk)
    assert json.dumps(used.ids).count("clin_") == 1


def test_a_reading_of_a_bundle_is_asked_for_like_any_other(ann: Person, tmp_path: Path, pat: Patient) -> None:
    imported(ann, tmp_path, pat.observation("4548-4", "A1c", valueQuantity=quantity(6.1, "%")))
    assert ann.one(indicators=["糖化血红蛋白"])["readings"][0]["value"] == 6.1
