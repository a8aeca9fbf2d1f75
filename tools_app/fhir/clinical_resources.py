"""A clinical record as a FHIR R4 resource, the way back of clinical.py, which reads it again as the same record.

Sources: FHIR R4, the resource of each function and its required codes; the extension data-absent-reason.
"""

import base64
import json
import uuid
from collections.abc import Callable
from html import escape
from typing import Any

from tools_app.fhir.observations import date_time
from tools_app.records.clinical import CLINICAL_PREFIX, ClinicalKind, ClinicalRecord

Json = dict[str, Any]

_VERIFICATION = frozenset({"unconfirmed", "provisional", "differential", "confirmed", "refuted"})
_TAKEN = frozenset({"active", "completed", "intended", "stopped", "on-hold", "unknown", "not-taken"})
_GIVEN = frozenset({"completed", "not-done"})
_DONE = frozenset({"preparation", "in-progress", "not-done", "on-hold", "stopped", "completed", "unknown"})
_MET = frozenset(
    {"planned", "arrived", "triaged", "in-progress", "onleave", "finished", "cancelled", "unknown"}
)  # fmt: skip
_REPORTED = frozenset(
    {"registered", "partial", "preliminary", "final", "amended", "corrected", "appended", "cancelled", "unknown"}
)
_DOCUMENT = frozenset({"preliminary", "final", "amended"})
_UNKNOWN = {
    "extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]
}
_DAY = len("2026-01-01")
_INSTANT_HAS = "T"


def clinical_resource_id(record: ClinicalRecord) -> str:
    """The id of the resource that shows the record."""
    return str(uuid.UUID(record.public_id.removeprefix(CLINICAL_PREFIX)))


def clinical_resource(record: ClinicalRecord, patient: str) -> Json:
    """The record as a resource about the patient whose address is ``patient``."""
    made = _WRITERS[ClinicalKind(record.kind)](record, {"reference": patient})
    # FHIR has no empty values.
    return {name: value for name, value in made.items() if value not in ("", [], {}, None)} | {
        "id": clinical_resource_id(record)
    }


def _condition(record: ClinicalRecord, patient: Json) -> Json:
    return {
        "resourceType": "Condition",
        **_verified(record, "condition"),
        "code": _concept(record),
        "subject": patient,
        "onsetDateTime": _time(record.time),
        "abatementDateTime": _time(record.end_time),
        "note": _notes(record),
    }


def _allergy(record: ClinicalRecord, patient: Json) -> Json:
    return {
        "resourceType": "AllergyIntolerance",
        **_verified(record, "allergyintolerance"),
        "code": _concept(record),
        "patient": patient,
        "onsetDateTime": _time(record.time),
        "note": _notes(record),
    }


def _verified(record: ClinicalRecord, system: str) -> Json:
    if not record.status:
        return {}
    kind = "verification" if record.status in _VERIFICATION else "clinical"
    name = f"http://terminology.hl7.org/CodeSystem/{system}-{'ver-status' if kind == 'verification' else kind}"
    return {
        "verificationStatus" if kind == "verification" else "clinicalStatus": {
            "coding": [{"system": name, "code": record.status}]
        }
    }


def _medication(record: ClinicalRecord, patient: Json) -> Json:
    """A statement, also of what was prescribed: which of the two it was is not kept."""
    known = record.status in _TAKEN
    return {
        "resourceType": "MedicationStatement",
        "status": record.status if known else "unknown",
        "statusReason": [{"text": record.status}] if record.status and not known else [],
        "medicationCodeableConcept": _concept(record),
        "subject": patient,
        **_effective(record, "effective"),
        "note": _notes(record),
    }


def _immunization(record: ClinicalRecord, patient: Json) -> Json:
    when = {"occurrenceDateTime": _time(record.time)} if record.time else {"occurrenceString": "unknown"}
    return {
        "resourceType": "Immunization",
        "status": record.status if record.status in _GIVEN else "completed",
        "vaccineCode": _concept(record),
        "patient": patient,
        **when,
        "note": _notes(record),
    }


def _procedure(record: ClinicalRecord, patient: Json) -> Json:
    return {
        "resourceType": "Procedure",
        "status": _one_of(_DONE, record.status),
        "code": _concept(record),
        "subject": patient,
        **_effective(record, "performed"),
        "note": _notes(record),
    }


def _encounter(record: ClinicalRecord, patient: Json) -> Json:
    """Its class is not kept as a code. It has no notes in FHIR, so its text is its narrative."""
    return {
        "resourceType": "Encounter",
        "status": _one_of(_MET, record.status),
        "class": _UNKNOWN,
        "type": [_concept(record)],
        "subject": patient,
        "period": _period(record),
        "text": _narrative(record.text),
    }


def _report(record: ClinicalRecord, patient: Json) -> Json:
    return {
        "resourceType": "DiagnosticReport",
        "status": _one_of(_REPORTED, record.status),
        "code": _concept(record),
        "subject": patient,
        **_effective(record, "effective"),
        "presentedForm": [_attachment(record.text)] if record.text else [],
    }


def _document(record: ClinicalRecord, patient: Json) -> Json:
    instant = _INSTANT_HAS in record.time
    return {
        "resourceType": "DocumentReference",
        "status": "superseded" if record.status == "superseded" else "current",
        "docStatus": record.status if record.status in _DOCUMENT else "",
        "type": _concept(record),
        "subject": patient,
        "date": _time(record.time) if instant else "",
        "context": {} if instant or not record.time else {"period": {"start": _time(record.time)}},
        "content": [{"attachment": _attachment(record.text) if record.text else {"title": record.display}}],
    }


def _concept(record: ClinicalRecord) -> Json:
    codes = [{name: value for name, value in code.items() if value} for code in json.loads(record.codes)]
    return ({"coding": codes} if codes else {}) | {"text": record.display}


def _one_of(known: frozenset[str], status: str) -> str:
    return status if status in known else "unknown"


def _effective(record: ClinicalRecord, name: str) -> Json:
    if record.end_time:
        return {f"{name}Period": _period(record)}
    return {f"{name}DateTime": _time(record.time)}


def _period(record: ClinicalRecord) -> Json:
    sides = {"start": _time(record.time), "end": _time(record.end_time)}
    return {name: time for name, time in sides.items() if time}


def _time(text: str) -> str:
    """A year, a month or a day as it is; an instant in FHIR's spelling."""
    return date_time(text) if len(text) > _DAY else text


def _notes(record: ClinicalRecord) -> list[Json]:
    return [{"text": record.text}] if record.text else []


def _attachment(text: str) -> Json:
    return {"contentType": "text/plain; charset=utf-8", "data": base64.b64encode(text.encode()).decode()}


def _narrative(text: str) -> Json:
    if not text:
        return {}
    return {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml"><pre>{escape(text)}</pre></div>'}


_WRITERS: dict[ClinicalKind, Callable[[ClinicalRecord, Json], Json]] = {
    ClinicalKind.CONDITION: _condition,
    ClinicalKind.ALLERGY: _allergy,
    ClinicalKind.MEDICATION: _medication,
    ClinicalKind.IMMUNIZATION: _immunization,
    ClinicalKind.PROCEDURE: _procedure,
    ClinicalKind.ENCOUNTER: _encounter,
    ClinicalKind.REPORT: _report,
    ClinicalKind.DOCUMENT: _document,
}
