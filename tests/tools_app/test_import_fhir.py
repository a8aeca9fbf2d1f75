"""``import_fhir``: what a FHIR file becomes, what is not taken and why, and what changes nothing at all."""

import io
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from mirobody_site.tenancy.models import Subject
from tests.support.server import Account
from tests.tools_app.fhir_bundles import LOINC, Patient, bundle, concept, quantity, written
from tests.tools_app.odd_json import places, with_odd
from tests.tools_app.records import rows
from tests.tools_app.records import written as write
from tools_app.fhir import documents
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord

Json = dict[str, Any]


@pytest.fixture
def pat() -> Patient:
    return Patient()


def run(account: Account, path: Path, *flags: str, user: str = "u-001") -> Json:
    out = io.StringIO()
    name = User.objects.get(pk=account.id).username
    call_command("import_fhir", str(path), "--account", name, "--user", user, "--json", *flags, stdout=out)
    summary: Json = json.loads(out.getvalue())
    return summary


def refused(account: Account, path: Path, message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        run(account, path)
    assert caught.value.returncode == 1
    assert not Subject.objects.filter(account_id=account.id).exists()


def clinical(account: Account, **which: Any) -> list[ClinicalRecord]:
    return list(ClinicalRecord.objects.filter(subject__account_id=account.id, **which).order_by("id"))


def skipped(summary: Json) -> dict[tuple[str, str], int]:
    return {(one["type"], one["reason"]): one["count"] for one in summary["skipped"]}


def test_a_history_becomes_readings_and_clinical_records(account: Account, api: httpx.Client, tmp_path: Path) -> None:
    summary = run(account, written(tmp_path, *Patient().history(visits=3)))
    assert summary["status"] == "imported"
    # Five readings of one value and a blood pressure of two, at each visit.
    assert summary["readings"]["ingested"] == 3 * 7
    assert {kind: kept["added"] for kind, kept in summary["clinical"].items()} == dict.fromkeys(
        ["allergy", "condition", "document", "encounter", "immunization", "medication", "procedure", "report"], 3
    )
    assert {what: count for (what, _), count in skipped(summary).items()} == {
        "Claim": 3, "Medication": 3, "Organization": 1, "Patient": 1,
    }  # fmt: skip
    (newest,) = rows(api, indicator="4548-4", limit=1)
    assert (newest["canonical_name"], newest["parsed_unit"], newest["time"]) == (
        "HbA1c", "%", "2016-06-04T09:32:00+00:00",
    )  # fmt: skip


def test_the_same_file_again_adds_nothing(account: Account, tmp_path: Path) -> None:
    path = written(tmp_path, *Patient().history(visits=2))
    first, again = run(account, path), run(account, path)
    assert again["readings"] == {"ingested": 0, "standardized": 0, "duplicates": first["readings"]["ingested"]}
    assert all(kept == {"added": 0, "changed": 0, "duplicates": 2} for kept in again["clinical"].values())
    assert len(clinical(account)) == 2 * 8


def test_a_fact_that_changed_is_restated_and_not_kept_twice(account: Account, tmp_path: Path, pat: Patient) -> None:
    condition = pat.condition()
    run(account, written(tmp_path, pat.patient(), condition))
    resolved = condition | {
        "clinicalStatus": {"coding": [{"code": "resolved"}]},
        "abatementDateTime": "2020-01-02",
    }
    summary = run(account, written(tmp_path, pat.patient(), resolved))
    assert summary["clinical"] == {"condition": {"added": 0, "changed": 1, "duplicates": 0}}
    (record,) = clinical(account)
    assert (record.status, record.end_time, str(record.last_date)) == ("resolved", "2020-01-02", "2020-01-02")


def test_a_dry_run_counts_and_keeps_nothing(account: Account, tmp_path: Path) -> None:
    path = written(tmp_path, *Patient().history(visits=1))
    planned = run(account, path, "--dry-run")
    assert planned["status"] == "would be imported"
    assert not Subject.objects.filter(account_id=account.id).exists()
    assert run(account, path) == planned | {"status": "imported"}


def test_in_words(account: Account, tmp_path: Path, pat: Patient) -> None:
    out = io.StringIO()
    name = User.objects.get(pk=account.id).username
    path = written(tmp_path, pat.patient(), pat.condition(), pat.blood_pressure(120, 80))
    call_command("import_fhir", str(path), "--account", name, "--user", "u-001", stdout=out)
    assert out.getvalue().splitlines() == [
        "imported: 3 resources",
        "readings: 2 new (2 with a LOINC code), 0 known",
        "condition: 1 new, 0 changed, 0 known",
        "skipped Patient: 1, resources of this type are not taken",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"valueQuantity": quantity(70.5, "kg")}, {"value": "70.5 kg", "parsed_value": 70.5, "loinc_code": "29463-7"}),
        ({"valueQuantity": quantity(70, "kg") | {"comparator": "<"}}, {"parsed_value": 70, "comparator": "<"}),
        ({"valueQuantity": {"value": 70, "unit": "kg"}}, {"parsed_unit": "kg", "loinc_code": "29463-7"}),
        ({"valueString": "not measured"}, {"value": "not measured", "parsed_value": None}),
        ({"valueCodeableConcept": {"text": "Heavy"}}, {"value": "Heavy"}),
        ({"valueInteger": 3}, {"value": "3"}),
        ({"valueBoolean": False}, {"value": "false"}),
        ({"valueQuantity": quantity(70, "kg"), "effectiveDateTime": "2026-03-01"}, {"time": "2026-03-01"}),
        (
            {
                "valueQuantity": quantity(70, "kg"),
                "effectiveDateTime": None,
                "effectivePeriod": {"start": "2026-03-01T23:00:00+08:00", "end": "2026-03-02T07:00:00+08:00"},
            },
            {"time": "2026-03-01T23:00:00+08:00", "end_time": "2026-03-02T07:00:00+08:00"},
        ),
        (
            {
                "valueQuantity": quantity(70, "kg"),
                "referenceRange": [{"low": quantity(50, "kg"), "high": quantity(65, "kg"), "text": "50 to 65"}],
            },
            {"reference_low": 50, "reference_high": 65, "reference_text": "50 to 65", "abnormal": "high"},
        ),
        (
            {"valueQuantity": quantity(70, "kg"), "referenceRange": [{"low": quantity(110, "[lb_av]")}]},
            {"reference_low": None, "abnormal": None},
        ),
        (
            {"valueQuantity": quantity(70, "kg"), "interpretation": [{"coding": [{"code": "LL"}]}]},
            {"abnormal": "low"},
        ),
    ],
    ids=str,
)
def test_what_an_observation_says(
    account: Account, api: httpx.Client, tmp_path: Path, pat: Patient, fields: Json, expected: Json
) -> None:
    run(account, written(tmp_path, pat.observation("29463-7", "Body Weight", **fields)))
    (row,) = rows(api)
    assert {name: row[name] for name in expected} == expected
    assert (row["indicator"], row["comment"]) == ("Body Weight", "fhir")


def test_the_code_counts_and_not_the_name(account: Account, api: httpx.Client, tmp_path: Path, pat: Patient) -> None:
    value = {"valueQuantity": quantity(91, "mg/dL")}
    known = pat.observation("1558-6", "My morning sugar", **value)
    unknown = pat.observation("99999-9", "Glucose", **value)
    run(account, written(tmp_path, known, unknown))
    found = {row["indicator"]: (row["loinc_code"], row["canonical_name"]) for row in rows(api)}
    assert found == {"My morning sugar": ("1558-6", "Fasting glucose"), "Glucose": ("99999-9", None)}


def test_a_blood_pressure_gives_both_readings(
    account: Account, api: httpx.Client, tmp_path: Path, pat: Patient
) -> None:
    run(account, written(tmp_path, pat.blood_pressure(121.25, 80)))
    found = rows(api)
    assert {(row["loinc_code"], row["parsed_value"]) for row in found} == {("8480-6", 121.25), ("8462-4", 80)}
    assert len({row["measurement_id"] for row in found}) == 1


def test_a_blood_pressure_comes_out_as_the_panel_that_went_in(
    account: Account, api: httpx.Client, tmp_path: Path, pat: Patient
) -> None:
    given = pat.blood_pressure(121.25, 80)
    run(account, written(tmp_path, given))
    (resource,) = {row["fhir_resource_id"] for row in rows(api)}
    panel = api.get(f"/v1/fhir/Observation/{resource}").json()
    sides = [
        {part["code"]["coding"][0]["code"]: part["valueQuantity"]["value"] for part in body["component"]}
        for body in (panel, given)
    ]
    assert panel["code"]["coding"][0]["code"] == given["code"]["coding"][0]["code"]
    assert sides[0] == sides[1]


def test_a_reading_is_the_same_one_in_whatever_unit_it_came(
    account: Account, api: httpx.Client, tmp_path: Path, pat: Patient
) -> None:
    kilograms = pat.observation("29463-7", "Body Weight", valueQuantity=quantity(70, "kg"))
    grams = pat.observation("29463-7", "Weight", valueQuantity=quantity(70000, "g"))
    summary = run(account, written(tmp_path, kilograms, grams))
    assert (summary["readings"]["ingested"], summary["readings"]["duplicates"]) == (1, 1)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "holds no value"),
        ({"dataAbsentReason": {"text": "asked"}}, "holds no value"),
        ({"valueQuantity": quantity(70, "kg"), "status": "entered-in-error"}, "status is entered-in-error"),
        ({"valueQuantity": quantity(70, "kg"), "effectiveDateTime": None}, "says no time"),
        ({"valueQuantity": quantity(7000, "kg")}, "value is not possible for this indicator in this unit"),
        (
            {"valueQuantity": quantity(70, "kg"), "effectiveDateTime": "2100-01-01"},
            "time lies more than a day in the future",
        ),
        (
            {"valueQuantity": quantity(70, "kg"), "effectiveDateTime": "2026-03"},
            "time must be an ISO 8601 date (2026-03-01) or date-time (2026-03-01T08:00:00+08:00)",
        ),
        ({"valueQuantity": "70 kg"}, "not valid FHIR: valueQuantity"),
        ({"valueQuantity": quantity(70, "kg"), "subject": {"reference": "Group/7"}}, "not about a patient"),
        ({"valueString": "a\x00b"}, "value: must not contain control characters"),
        ({"valueString": "x" * 1001}, "value: must be at most 1000 characters"),
        (
            {"valueSampledData": {"origin": {"value": 0}, "period": 1, "dimensions": 1}},
            "the kind of its value is not taken",
        ),
    ],
)
def test_an_observation_that_is_not_taken(
    account: Account, tmp_path: Path, pat: Patient, fields: Json, reason: str
) -> None:
    good = pat.observation("8867-4", "Heart rate", valueQuantity=quantity(61, "/min"))
    summary = run(account, written(tmp_path, good, pat.observation("29463-7", "Body Weight", **fields)))
    assert skipped(summary) == {("Observation", reason): 1}
    assert summary["readings"]["ingested"] == 1


def test_the_clinical_kinds(account: Account, tmp_path: Path, pat: Patient) -> None:
    run(account, written(tmp_path, pat.patient(), *pat.others(), pat.condition()))
    found = {record.kind: (record.display, record.status, record.text) for record in clinical(account)}
    note = "2026-03-01\nSeen for a routine check."
    assert found == {
        "medication": ("Metformin 500 MG Oral Tablet", "active", "Dosage: 1.0 tablet, 2 time(s) every 1.0 d"),
        "allergy": ("Allergy to peanuts", "active", "Criticality: high\nReaction: Skin eruption (mild)"),
        "immunization": ("Influenza vaccine", "completed", ""),
        "procedure": ("Medication reconciliation", "completed", ""),
        "encounter": ("Encounter for check up", "finished", "Class: AMB"),
        "report": ("History and physical note", "final", note),
        "document": ("Outpatient note", "current", note),
        "condition": ("Diabetes mellitus type 2", "active", ""),
    }


@pytest.mark.parametrize(
    ("onset", "precision", "first_day"),
    [
        ("2019", "year", "2019-01-01"),
        ("2019-05", "month", "2019-05-01"),
        ("2019-05-06", "day", "2019-05-06"),
        ("2019-05-06T23:00:00-04:00", "instant", "2019-05-07"),
    ],
)
def test_a_clinical_time_is_as_exact_as_it_was_stated(
    account: Account, tmp_path: Path, pat: Patient, onset: str, precision: str, first_day: str
) -> None:
    run(account, written(tmp_path, pat.condition(onsetDateTime=onset)))
    (record,) = clinical(account)
    assert (record.time, record.precision, str(record.local_date)) == (onset, precision, first_day)
    # It goes on.
    assert record.last_date is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"verificationStatus": {"coding": [{"code": "entered-in-error"}]}, "clinicalStatus": None},
            "status is entered-in-error",
        ),
        ({"code": None}, "says not what it is about"),
        ({"abatementDateTime": "2001-01-01"}, "ends before it begins"),
        ({"onsetDateTime": "1066-10-14"}, "a time must lie between the years 1900 and 2200"),
        ({"code": {"text": "x" * 501}}, "its name is longer than 500 characters"),
        ({"note": [{"text": "a\x00b"}]}, "its text holds control characters"),
        ({"severity": 7}, "not valid FHIR: severity"),
        ({"code": {"text": "x", "secret": 1}}, "not valid FHIR: an unknown element in code"),
    ],
)
def test_a_clinical_resource_that_is_not_taken(
    account: Account, tmp_path: Path, pat: Patient, fields: Json, reason: str
) -> None:
    assert skipped(run(account, written(tmp_path, pat.condition(**fields)))) == {("Condition", reason): 1}


NOT_TAKEN = ("Medication", "Claim")
ABSENT = {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]}


def without(resource: Json, name: str) -> Json:
    """What FHIR requires is not there, and an extension says why, as FHIR allows."""
    return {key: value for key, value in resource.items() if key != name} | {f"_{name}": ABSENT}


def test_a_status_that_is_said_to_be_unknown_is_none(account: Account, tmp_path: Path, pat: Patient) -> None:
    taken = [pat.observation("2339-0", "Glucose", valueQuantity=quantity(5, "mmol/L")), *pat.others()]
    stated = [without(one, "status") for one in taken if "status" in one and one["resourceType"] not in NOT_TAKEN]
    named = [one for one in taken if one["resourceType"] == "Medication"]
    run(account, written(tmp_path, *stated, *named))
    assert len(stated) > 6
    assert len(rows_of_account(account)) == 1
    assert {record.status for record in clinical(account)} == {""}
    assert len(clinical(account)) == len(stated) - 1


def rows_of_account(account: Account) -> list[HealthRecord]:
    return list(HealthRecord.objects.filter(subject__account_id=account.id))


def test_a_note_without_its_text_says_nothing(account: Account, tmp_path: Path, pat: Patient) -> None:
    run(account, written(tmp_path, pat.condition(note=[{"_text": ABSENT}, {"text": "Mild."}])))
    assert [record.text for record in clinical(account)] == ["Mild."]


BAD_CODES: list[Any] = ["x", 5, [], {"coding": 5}, {"coding": ["x"]}, {"coding": {"a": 1}}, {"text": ["x"]}]


@pytest.mark.parametrize("code", BAD_CODES, ids=str)
def test_what_is_referred_to_may_be_no_fhir(account: Account, tmp_path: Path, pat: Patient, code: Any) -> None:
    referred = {"resourceType": "Medication", "id": "m", "code": code}
    inside = {"contained": [referred, 5, {"id": {}}]}
    run(
        account,
        written(
            tmp_path,
            pat.about(
                "MedicationStatement",
                status="active",
                medicationReference={"reference": "#m", "display": "Metformin"},
                **inside,
            ),
            pat.about(
                "Procedure",
                status="completed",
                code={"text": "Biopsy"},
                reasonReference=[{"reference": "#m"}, {"reference": "#m", "display": "Lump"}],
                **inside,
            ),
        ),
    )
    # A contained resource that is no FHIR makes the one it is in none either.
    assert clinical(account) == []
    run(
        account,
        bundle_file(
            tmp_path,
            referred,
            pat.about(
                "MedicationStatement",
                status="active",
                medicationReference={"reference": "Medication/m", "display": "Metformin"},
            ),
            pat.about(
                "Procedure",
                status="completed",
                code={"text": "Biopsy"},
                reasonReference=[{"reference": "Medication/m"}],
            ),
        ),
    )
    assert [(record.display, record.text) for record in clinical(account)] == [("Metformin", ""), ("Biopsy", "")]


@pytest.mark.parametrize("odd", [5, "x", {"a": 1}, [5], [{"id": {}, "system": 1, "value": []}]], ids=str)
def test_what_leads_to_a_patient_may_be_no_fhir(account: Account, tmp_path: Path, odd: Any) -> None:
    patient = {"resourceType": "Patient", "id": "p", "identifier": odd}
    by_number = {"resourceType": "Procedure", "subject": {"identifier": {"system": "s", "value": "v"}}}
    refused(account, bundle_file(tmp_path, patient, by_number), "more than one patient")
    by_contained = {"resourceType": "Procedure", "subject": {"reference": "#p"}, "contained": odd}
    refused(account, bundle_file(tmp_path, patient, by_contained), "more than one patient")


def bundle_file(folder: Path, *resources: Json) -> Path:
    path = folder / "bundle.json"
    entries = [{"resource": resource} for resource in resources]
    path.write_text(json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}))
    return path


def test_many_references_to_many_are_looked_up_at_once(account: Account, tmp_path: Path) -> None:
    many = 20_000
    patient = {"resourceType": "Patient", "id": "p", "identifier": [{"value": str(number)} for number in range(many)]}
    named = [
        {"resourceType": "Basic"},
        *({"resourceType": "Procedure", "subject": {"identifier": {"value": "7"}}},) * many,
    ]
    document = documents.Document([documents.Entry("", one) for one in (patient, *named)])
    document.check_one_patient(named)
    within = {"contained": [{"resourceType": "Condition", "id": str(number)} for number in range(many)]}
    for number in range(many):
        found = document.resolve(f"#{number}", within)
        assert found
        assert found.resource["id"] == str(number)


def test_a_refuted_condition_is_not_an_active_one(account: Account, tmp_path: Path, pat: Patient) -> None:
    run(account, written(tmp_path, pat.condition(verificationStatus={"coding": [{"code": "refuted"}]})))
    (record,) = clinical(account)
    assert record.status == "refuted"


def ndjson(folder: Path, *values: Any) -> Path:
    path = folder / "export.ndjson"
    path.write_text("\n".join([*(json.dumps(value) for value in values), ""]))
    return path


def test_ndjson(account: Account, tmp_path: Path, pat: Patient) -> None:
    inside = bundle(pat.observation("29463-7", "Body Weight", valueQuantity=quantity(70, "kg")))
    summary = run(account, ndjson(tmp_path, pat.condition(), inside, pat.blood_pressure(120, 80)))
    assert (summary["resources"], summary["readings"]["ingested"]) == (3, 3)


def test_a_resource_without_a_patient_is_the_only_ones(account: Account, tmp_path: Path, pat: Patient) -> None:
    lone = pat.observation("29463-7", "Body Weight", valueQuantity=quantity(70, "kg"), subject=None)
    assert run(account, written(tmp_path, pat.patient(), lone))["readings"]["ingested"] == 1


@pytest.mark.parametrize(
    "reference",
    [
        {"reference": "Patient/p-1"},
        {"reference": "Patient/p-1/_history/2"},
        {"reference": "https://records.example/fhir/Patient/p-1"},
        {"identifier": {"system": "urn:example", "value": "7"}},
    ],
    ids=str,
)
def test_ways_to_name_the_patient(account: Account, tmp_path: Path, pat: Patient, reference: Json) -> None:
    patient = pat.patient() | {"id": "p-1", "identifier": [{"system": "urn:example", "value": "7"}]}
    given = bundle(pat.condition(subject=reference))
    given["entry"].append({"fullUrl": "https://records.example/fhir/Patient/p-1", "resource": patient})
    path = tmp_path / "named.json"
    path.write_text(json.dumps(given))
    assert run(account, path)["clinical"]["condition"]["added"] == 1


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": "urn:uuid:5c0e8f0e-0000-4000-8000-000000000000"},
        {"reference": "Patient/other"},
        {"reference": "https://elsewhere.example/Patient/other"},
        {"identifier": {"system": "urn:example", "value": "another"}},
    ],
    ids=str,
)
def test_data_of_a_second_patient_refuses_the_file(
    account: Account, tmp_path: Path, pat: Patient, subject: Json
) -> None:
    path = written(tmp_path, pat.patient(), pat.condition(), pat.condition(subject=subject))
    refused(account, path, "^The file holds data of more than one patient. Nothing was imported.$")


def test_patients_inside_resources_are_who_they_say(account: Account, tmp_path: Path, pat: Patient) -> None:
    def about(number: str) -> Json:
        inside = {"resourceType": "Patient", "id": "p", "identifier": [{"value": number}]}
        return pat.condition(subject={"reference": "#p"}, contained=[inside])

    refused(account, written(tmp_path, about("1"), about("2")), "more than one patient")
    refused(account, written(tmp_path, pat.patient(), about("1")), "more than one patient")
    known = pat.patient() | {"identifier": [{"value": "1"}]}
    assert run(account, written(tmp_path, known, about("1"), about("1")))["clinical"]["condition"]["added"] == 2


def test_one_id_for_two_patients_refuses_the_file(account: Account, tmp_path: Path, pat: Patient) -> None:
    other = pat.patient() | {"birthDate": "1990-01-01"}
    refused(account, written(tmp_path, pat.patient(), other), "more than one patient")
    assert run(account, written(tmp_path, pat.patient(), pat.patient(), pat.condition()))["resources"] == 3


ODD = [
    True, 0, -1, 1.5e308, "", "x", "#", "\x00", "²", "5", "true", "0000", [], {}, [[]], [{}], {"coding": [5]},
    {"reference": "#"}, {"resourceType": "None"}, {"resourceType": {}}, '{"text": "x"}', '{"reference": "#p"}',
    '[{"text": "x"}]', '{"resourceType": "Basic"}',
]  # fmt: skip


WHOSE = ("resourceType", "subject", "patient")


def everything(pat: Patient) -> list[Json]:
    """One resource of each kind that is taken, with all that is read in it."""
    about = {"reference": "#m", "display": "Metformin"}
    more = {
        "note": [{"text": "A note."}],
        "contained": [{"resourceType": "Medication", "id": "m", "code": concept("1", "M")}],
    }
    pressure = pat.blood_pressure(
        120, 80, interpretation=[concept("H", "High")], referenceRange=[{"low": {"value": 1.5}, "text": "1.5-"}], **more
    )  # fmt: skip
    dosage = [{"asNeededBoolean": False, "doseAndRate": [{"doseQuantity": {"value": 1.5, "unit": "mg"}}]}]
    statement = pat.about(
        "MedicationStatement", status="active", medicationReference=about, dosage=dosage, reasonReference=[about],
        effectivePeriod={"start": "2026-01-01", "end": "2026-01-02"}, **more,
    )  # fmt: skip
    condition = pat.condition(recordedDate="2026-01-01", severity=concept("2", "Severe"), **more)
    return [pressure, condition, statement, *pat.others()[2:]]


def test_a_resource_may_hold_anything_anywhere(account: Account, tmp_path: Path, pat: Patient) -> None:
    # A third of them at each place, in turn: all of them everywhere would take long.
    spots = [(one, place) for one in everything(pat) for place in places(one) if place[0] not in WHOSE]
    resources = [with_odd(*spot, odd) for turn, spot in enumerate(spots) for odd in ODD[turn % 3 :: 3]]
    summary = run(account, ndjson(tmp_path, *resources))
    assert summary["resources"] == len(resources) > 1500
    assert summary["readings"]["ingested"] > 0
    assert not [one for one in summary["skipped"] if "Metformin" in one["reason"]]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"code": '{"text": "Gout"}'}, "code"),
        ({"code": {"coding": ['{"code": "1", "display": "Gout"}']}}, "code.coding"),
        ({"note": ['{"text": "x"}']}, "note"),
        ({"onsetDateTime": -1}, "onsetDateTime"),
        ({"contained": [{"resourceType": "None"}]}, "a resource in it"),
        ({"contained": [{"resourceType": {}}]}, "a resource in it"),
        ({"stage": '[{"type": {"text": "x"}}]'}, "stage"),
    ],
    ids=str,
)
def test_what_only_looks_like_fhir_is_none(
    account: Account, tmp_path: Path, pat: Patient, fields: Json, place: str
) -> None:
    summary = run(account, written(tmp_path, pat.condition(**fields)))
    assert skipped(summary) == {("Condition", f"not valid FHIR: {place}"): 1}


def test_two_patients_refuse_the_file(account: Account, tmp_path: Path, pat: Patient) -> None:
    refused(account, written(tmp_path, pat.patient(), Patient(2).patient()), "more than one patient")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "neither JSON nor NDJSON|no resources"),
        (b"{", "neither JSON nor NDJSON: line 1"),
        (b'{"resourceType": "Bundle", "entry": [{"resource": ', "neither JSON nor NDJSON"),
        (b'{"resourceType": "Patient"}\n{"resourceType":', "line 2"),
        (b"[1, 2]", "The file is no FHIR resource"),
        (b'{"entry": []}', "The file is no FHIR resource"),
        (b'{"resourceType": "Bundle", "entry": {"a": 1}}', "entry is no list"),
        (b'{"resourceType": "Bundle", "entry": [7]}', r"entry\[0\] is no object"),
        (b'{"resourceType": "Bundle", "entry": [{"resource": {}}]}', r"entry\[0\].resource is no FHIR resource"),
        (b'{"resourceType": "Bundle", "type": "collection"}', "no resources"),
        (b'{"a":' * 100_000, "nests too deep"),
        (b"\xff\xfe\x00", "neither JSON nor NDJSON"),
        (b'{"resourceType": "Observation", "valueString": "\\ud800"}', "neither JSON nor NDJSON"),
    ],
)
def test_a_file_that_cannot_be_imported(account: Account, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    refused(account, path, message)


def test_a_file_that_is_too_large(
    account: Account, tmp_path: Path, pat: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, pat.patient(), pat.condition())
    monkeypatch.setattr(documents, "MAX_RESOURCES", 1)
    refused(account, path, "more than 1 resources")
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", path.stat().st_size - 1)
    refused(account, path, "larger than")


def test_a_file_that_is_not_there(account: Account, tmp_path: Path) -> None:
    refused(account, tmp_path / "none.json", "cannot be read")
    refused(account, tmp_path, "cannot be read")


def test_an_account_that_is_not_there(database: None, tmp_path: Path, pat: Patient) -> None:
    with pytest.raises(CommandError, match="no such account"):
        call_command("import_fhir", str(written(tmp_path, pat.patient())), "--account", "nobody", "--user", "u")


def test_a_failure_in_the_middle_leaves_nothing(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError(os.strerror(28))

    monkeypatch.setattr("tools_app.fhir.importing.keep_clinical", broken)
    with pytest.raises(OSError, match="space"):
        run(account, written(tmp_path, *Patient().history(visits=2)))
    assert not HealthRecord.objects.filter(subject__account_id=account.id).exists()
    assert not Subject.objects.filter(account_id=account.id).exists()


def test_erasing_the_subject_takes_clinical_records(account: Account, api: httpx.Client, tmp_path: Path) -> None:
    run(account, written(tmp_path, *Patient().history(visits=1)))
    answer = api.delete("/v1/subjects/u-001").json()
    assert answer["deleted"]["records"] == 7 + 8
    assert clinical(account) == []


def test_deleting_all_records_takes_clinical_ones(account: Account, api: httpx.Client, tmp_path: Path) -> None:
    run(account, written(tmp_path, *Patient().history(visits=1)))
    one = clinical(account)[0]
    assert api.delete("/v1/data", params={"user": "u-001", "id": one.public_id}).json()["deleted"] == 1
    assert api.delete("/v1/data", params={"user": "u-002", "id": clinical(account)[0].public_id}).json()["deleted"] == 0
    assert api.delete("/v1/data", params={"user": "u-001", "all": "true"}).json()["deleted"] == 7 + 7
    assert clinical(account) == []


def test_an_imported_reading_joins_those_written_by_name(
    account: Account, api: httpx.Client, tmp_path: Path, pat: Patient
) -> None:
    write(api, {"indicator": "体重", "value": 71, "unit": "kg", "time": "2026-02-01"})
    imported = pat.observation("29463-7", "Body Weight", valueQuantity=quantity(70, "kg"))
    run(account, written(tmp_path, imported | {"code": concept("29463-7", "Poids", LOINC)}))
    assert {row["canonical_name"] for row in rows(api)} == {"Body weight"}
