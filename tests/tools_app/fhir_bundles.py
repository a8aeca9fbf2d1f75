"""Made-up patients as FHIR R4 bundles, in the manner of Synthea: a transaction with urn:uuid references.

Everything is computed from a seed; nobody in it exists.
"""

import base64
import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Json = dict[str, Any]

LOINC = "http://loinc.org"
SNOMED = "http://snomed.info/sct"
UCUM = "http://unitsofmeasure.org"
CLINICAL_STATUS = "http://terminology.hl7.org/CodeSystem/condition-clinical"
FIRST_VISIT = datetime(2016, 4, 5, 9, 30, tzinfo=UTC)

LABS = [
    ("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "%", 5.2, 7.9),
    ("2339-0", "Glucose [Mass/volume] in Blood", "mg/dL", 70, 140),
    ("2093-3", "Cholesterol [Mass/volume] in Serum or Plasma", "mg/dL", 150, 240),
    ("29463-7", "Body Weight", "kg", 60, 90),
    ("8867-4", "Heart rate", "/min", 55, 95),
]


def quantity(value: float, unit: str) -> Json:
    return {"value": value, "unit": unit, "system": UCUM, "code": unit}


def concept(code: str, display: str, system: str = SNOMED) -> Json:
    return {"coding": [{"system": system, "code": code, "display": display}], "text": display}


def bundle(*resources: Json, kind: str = "transaction") -> Json:
    """A bundle of the resources, each under its ``urn:uuid`` when its id is one."""
    return {"resourceType": "Bundle", "type": kind, "entry": [_entry(resource) for resource in resources]}


def _entry(resource: Json) -> Json:
    request = {"method": "POST", "url": resource["resourceType"]}
    return {"fullUrl": f"urn:uuid:{resource['id']}", "resource": resource, "request": request}


def written(folder: Path, *resources: Json) -> Path:
    """A file with a bundle of the resources."""
    path = folder / f"{uuid.uuid4()}.json"
    path.write_text(json.dumps(bundle(*resources)))
    return path


class Patient:
    """One made-up patient; each method makes a resource about them."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self.id = self.new_id()
        self.reference = {"reference": f"urn:uuid:{self.id}"}

    def new_id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def patient(self) -> Json:
        return {
            "resourceType": "Patient",
            "id": self.id,
            "identifier": [{"system": "urn:example:records", "value": self.id}],
            "name": [{"use": "official", "family": "Example1", "given": ["Made2"]}],
            "gender": "female",
            "birthDate": "1961-08-14",
        }

    def about(self, resource_type: str, **fields: Any) -> Json:
        subject = "patient" if resource_type in ("AllergyIntolerance", "Immunization") else "subject"
        made = {"resourceType": resource_type, "id": self.new_id(), subject: self.reference} | fields
        return {name: value for name, value in made.items() if value is not None}

    def observation(self, code: str, display: str, **fields: Any) -> Json:
        given = {
            "status": "final",
            "code": concept(code, display, LOINC),
            "effectiveDateTime": "2026-03-01T08:00:00+08:00",
        }
        return self.about("Observation", **(given | fields))

    def blood_pressure(self, systolic: float, diastolic: float, **fields: Any) -> Json:
        components = [
            {"code": concept(code, f"{name} Blood Pressure", LOINC), "valueQuantity": quantity(value, "mm[Hg]")}
            for code, name, value in (("8462-4", "Diastolic", diastolic), ("8480-6", "Systolic", systolic))
        ]
        return self.observation("85354-9", "Blood pressure panel", component=components, **fields)

    def condition(self, number: str = "44054006", name: str = "Diabetes mellitus type 2", **fields: Any) -> Json:
        given = {
            "clinicalStatus": {"coding": [{"system": CLINICAL_STATUS, "code": "active"}]},
            "code": concept(number, name),
            "onsetDateTime": "2019-05-06T10:00:00-04:00",
        }
        return self.about("Condition", **(given | fields))

    def history(self, visits: int) -> Iterator[Json]:
        """The patient and ``visits`` visits, fourteen resources each, five of them Observations."""
        yield self.patient()
        yield {"resourceType": "Organization", "id": self.new_id(), "name": "Made-up Clinic"}
        for number in range(visits):
            yield from self._visit((FIRST_VISIT + timedelta(days=30 * number, minutes=number)).isoformat())

    def _visit(self, time: str) -> Iterator[Json]:
        for code, display, unit, low, high in LABS:
            value = round(self._random.uniform(low, high), 2)
            yield self.observation(code, display, effectiveDateTime=time, valueQuantity=quantity(value, unit))
        yield self.blood_pressure(self._random.randint(100, 150), self._random.randint(60, 95), effectiveDateTime=time)
        yield self.condition(onsetDateTime=time)
        yield from self.others(time)

    def others(self, time: str = "2026-03-01T08:00:00+08:00") -> list[Json]:
        """One of each of the other kinds, and a claim, which is not taken."""
        medicine = {"resourceType": "Medication", "id": self.new_id(), "status": "active",
                    "code": concept("860975", "Metformin 500 MG Oral Tablet", "http://www.nlm.nih.gov/research/umls/rxnorm")}  # fmt: skip  # noqa: E501
        note = base64.b64encode(f"{time[:10]}\nSeen for a routine check.".encode()).decode()
        attachment = {"contentType": "text/plain; charset=utf-8", "data": note}
        return [
            medicine,
            self.about("MedicationRequest", status="active", intent="order", authoredOn=time,
                       medicationReference={"reference": f"urn:uuid:{medicine['id']}"},
                       dosageInstruction=[{"timing": {"repeat": {"frequency": 2, "period": 1.0, "periodUnit": "d"}},
                                           "doseAndRate": [{"doseQuantity": {"value": 1.0, "unit": "tablet"}}]}]),
            self.about("AllergyIntolerance", code=concept("91935009", "Allergy to peanuts"), recordedDate=time,
                       clinicalStatus={"coding": [{"code": "active"}]}, criticality="high",
                       reaction=[{"manifestation": [concept("271807003", "Skin eruption")], "severity": "mild"}]),
            self.about("Immunization", status="completed", occurrenceDateTime=time,
                       vaccineCode=concept("140", "Influenza vaccine", "http://hl7.org/fhir/sid/cvx")),
            self.about("Procedure", status="completed", code=concept("430193006", "Medication reconciliation"),
                       performedPeriod={"start": time, "end": time}),
            self.about("Encounter", status="finished", period={"start": time, "end": time},
                       **{"class": {"code": "AMB"}}, type=[concept("185349003", "Encounter for check up")]),
            self.about("DiagnosticReport", status="final", code=concept("34117-2", "History and physical note", LOINC),
                       effectiveDateTime=time, presentedForm=[attachment]),
            self.about("DocumentReference", status="current", date=time, content=[{"attachment": attachment}],
                       type=concept("34108-1", "Outpatient note", LOINC)),
            self.about("Claim", status="active", use="claim", created=time),
        ]  # fmt: skip
