"""FHIR resources as clinical records: conditions, medications, documents and so on. Observations are in readings.py.

Source: FHIR R4, the resource of each function.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from tools_app.fhir.documents import Document, Entry, Resource, Unusable
from tools_app.fhir.parsing import (
    MAX_TEXT_LENGTH,
    Coding,
    all_words,
    check_plain,
    check_valid,
    checked_concept,
    codings,
    notes,
    words,
)
from tools_app.fhir.readings import SOURCE
from tools_app.records.clinical import (
    MAX_CODE_LENGTH,
    MAX_DISPLAY_LENGTH,
    MAX_SOURCE_ID_LENGTH,
    MAX_SYSTEM_LENGTH,
    ClinicalKind,
    ClinicalRecord,
)
from tools_app.records.clinical_times import ClinicalTime, read_clinical_time, timed
from tools_app.records.names import normalised

_MISTAKE = "entered-in-error"
_TEXT_TYPES = ("text/plain", "text/markdown")


@dataclass(frozen=True, slots=True)
class Fact:
    """What a resource says, in FHIR's own terms: a CodeableConcept, a status, times as written, lines of text."""

    kind: ClinicalKind
    concept: Resource
    status: str
    start: str | None
    end: str | None
    lines: Iterable[str | None]


def clinical_record(entry: Entry, document: Document, zone: ZoneInfo) -> ClinicalRecord:
    """The resource as an unsaved row without a Subject. Raises Unusable."""
    resource = entry.resource
    check_valid(resource)
    fact = READERS[entry.type](resource, document)
    if fact.status == _MISTAKE:
        raise Unusable(f"status is {_MISTAKE}")
    display = check_plain(words(fact.concept), MAX_DISPLAY_LENGTH, "its name").replace("\n", " ")
    if not display:
        raise Unusable("says not what it is about")
    source_id = check_plain(_identity(entry), MAX_SOURCE_ID_LENGTH, "its id")
    codes = [_bounded(code) for code in codings(fact.concept)]
    record = ClinicalRecord(
        kind=fact.kind,
        display=display,
        **_coded(codes, display),
        status=check_plain(fact.status, 40, "its status"),
        **_timed(fact, zone),
        text=check_plain("\n".join(filter(None, fact.lines)), MAX_TEXT_LENGTH, "its text"),
        source=SOURCE,
        source_id=source_id,
    )
    record.fingerprint = _fingerprint(record)
    return record


def _identity(entry: Entry) -> str:
    """Its id in the world if it has one, else the one in its own server, else none."""
    return entry.full_url or entry.local_name


def _bounded(code: Coding) -> Coding:
    return {
        "system": check_plain(code["system"], MAX_SYSTEM_LENGTH, "a code's system"),
        "code": check_plain(code["code"], MAX_CODE_LENGTH, "a code"),
        "display": check_plain(code["display"], MAX_DISPLAY_LENGTH, "a code's name"),
    }


def _coded(codes: list[Coding], display: str) -> dict[str, str]:
    first = codes[0] if codes else {"system": "", "code": ""}
    names = dict.fromkeys([display, *(name for code in codes for name in (code["display"], code["code"]))])
    return {
        "code_system": first["system"],
        "code": first["code"],
        "codes": json.dumps(codes, ensure_ascii=False),
        "search": normalised("\n".join(names)),
    }


def _timed(fact: Fact, zone: ZoneInfo) -> dict[str, Any]:
    start, end = _time(fact.start, zone), _time(fact.end, zone)
    if start and end and end.last_day < start.first_day:
        raise Unusable("ends before it begins")
    return timed(start, end, fact.status)


def _time(text: str | None, zone: ZoneInfo) -> ClinicalTime | None:
    if not text:
        return None
    try:
        return read_clinical_time(text, zone)
    except ValueError as error:
        raise Unusable(f"a time {error}") from None


def _fingerprint(record: ClinicalRecord) -> str:
    """With an id of its own a fact may change and stays the same one; without, all that it says makes it."""
    what = [record.kind, record.source_id, record.code_system, record.code, normalised(record.display), record.time]
    if not record.source_id:
        what += [record.end_time, record.status, record.text]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _condition(resource: Resource, document: Document) -> Fact:
    return Fact(
        ClinicalKind.CONDITION,
        resource.get("code", {}),
        _verified_status(resource),
        _onset(resource) or resource.get("recordedDate"),
        resource.get("abatementDateTime") or resource.get("abatementPeriod", {}).get("end"),
        (
            _line("Severity", words(resource.get("severity", {}))),
            _line("Body site", all_words(resource.get("bodySite", []))),
            *notes(resource),
        ),
    )


def _allergy(resource: Resource, document: Document) -> Fact:
    reactions = resource.get("reaction", [])
    return Fact(
        ClinicalKind.ALLERGY,
        resource.get("code", {}),
        _verified_status(resource),
        _onset(resource) or resource.get("recordedDate"),
        None,
        (
            _line("Criticality", resource.get("criticality")),
            *(_line("Reaction", _reaction(reaction)) for reaction in reactions),
            *notes(resource),
        ),
    )


def _reaction(reaction: Resource) -> str:
    severity = reaction.get("severity")
    manifestation = all_words(reaction.get("manifestation", []))
    return f"{manifestation} ({severity})" if severity else manifestation


def _verified_status(resource: Resource) -> str:
    """The clinical status, unless verification says that it is not so or not sure."""
    verification = _first_code(resource.get("verificationStatus", {}))
    if verification and verification != "confirmed":
        return verification
    return _first_code(resource.get("clinicalStatus", {}))


def _onset(resource: Resource) -> str | None:
    onset: str | None = resource.get("onsetDateTime") or resource.get("onsetPeriod", {}).get("start")
    return onset


def _medication_request(resource: Resource, document: Document) -> Fact:
    return Fact(
        ClinicalKind.MEDICATION,
        _medicine(resource, document),
        resource.get("status", ""),
        resource.get("authoredOn"),
        None,
        (
            *(_line("Dosage", _dosage(dosage)) for dosage in resource.get("dosageInstruction", [])),
            _line("Reason", _reasons(resource, document)),
            *notes(resource),
        ),
    )


def _medication_statement(resource: Resource, document: Document) -> Fact:
    period = resource.get("effectivePeriod", {})
    return Fact(
        ClinicalKind.MEDICATION,
        _medicine(resource, document),
        resource.get("status", ""),
        resource.get("effectiveDateTime") or period.get("start") or resource.get("dateAsserted"),
        period.get("end"),
        (
            *(_line("Dosage", _dosage(dosage)) for dosage in resource.get("dosage", [])),
            _line("Reason", _reasons(resource, document)),
            *notes(resource),
        ),
    )


def _medicine(resource: Resource, document: Document) -> Resource:
    given: Resource = resource.get("medicationCodeableConcept", {})
    reference = resource.get("medicationReference", {})
    if given or not reference:
        return given
    code = _code_of(document.resolve(reference.get("reference", ""), resource))
    return code if words(code) else {"text": reference.get("display", "")}


def _code_of(referred: Entry | None) -> Resource:
    """The code of what is referred to, which was not checked as FHIR, unlike the resource itself."""
    return checked_concept(referred.resource.get("code")) if referred else {}


def _dosage(dosage: Resource) -> str:
    if "text" in dosage:
        return str(dosage["text"])
    repeat = dosage.get("timing", {}).get("repeat", {})
    amounts = [rate.get("doseQuantity", {}) for rate in dosage.get("doseAndRate", [])]
    parts = [f"{amount['value']} {amount.get('unit', '')}".strip() for amount in amounts if "value" in amount]
    if {"frequency", "period", "periodUnit"} <= repeat.keys():
        parts.append(f"{repeat['frequency']} time(s) every {repeat['period']} {repeat['periodUnit']}")
    if dosage.get("asNeededBoolean"):
        parts.append("as needed")
    return ", ".join(parts)


def _reasons(resource: Resource, document: Document) -> str:
    coded = all_words(resource.get("reasonCode", []))
    return coded or ", ".join(filter(None, _referred(resource.get("reasonReference", []), resource, document)))


def _referred(references: Iterable[Resource], resource: Resource, document: Document) -> Iterator[str]:
    for reference in references:
        found = document.resolve(reference.get("reference", ""), resource)
        yield reference.get("display") or words(_code_of(found))


def _immunization(resource: Resource, document: Document) -> Fact:
    return Fact(
        ClinicalKind.IMMUNIZATION,
        resource.get("vaccineCode", {}),
        resource.get("status", ""),
        resource.get("occurrenceDateTime"),
        None,
        (_line("Given", resource.get("occurrenceString")), *notes(resource)),
    )


def _procedure(resource: Resource, document: Document) -> Fact:
    period = resource.get("performedPeriod", {})
    return Fact(
        ClinicalKind.PROCEDURE,
        resource.get("code", {}),
        resource.get("status", ""),
        resource.get("performedDateTime") or period.get("start"),
        period.get("end"),
        (
            _line("Performed", resource.get("performedString")),
            _line("Reason", _reasons(resource, document)),
            _line("Outcome", words(resource.get("outcome", {}))),
            *notes(resource),
        ),
    )


def _encounter(resource: Resource, document: Document) -> Fact:
    period = resource.get("period", {})
    kinds = resource.get("type", [])
    concept = kinds[0] if kinds else {"coding": [resource["class"]]}
    return Fact(
        ClinicalKind.ENCOUNTER,
        concept,
        resource.get("status", ""),
        period.get("start"),
        period.get("end"),
        (
            _line("Class", words({"coding": [resource["class"]]})),
            _line("Reason", _reasons(resource, document)),
            _line("At", resource.get("serviceProvider", {}).get("display")),
        ),
    )


def _report(resource: Resource, document: Document) -> Fact:
    period = resource.get("effectivePeriod", {})
    return Fact(
        ClinicalKind.REPORT,
        resource["code"],
        resource.get("status", ""),
        resource.get("effectiveDateTime") or period.get("start") or resource.get("issued"),
        period.get("end"),
        (
            _line("Conclusion", resource.get("conclusion")),
            _line("Conclusion", all_words(resource.get("conclusionCode", []))),
            *_attached(resource.get("presentedForm", [])),
        ),
    )


def _document(resource: Resource, document: Document) -> Fact:
    attachments = [content["attachment"] for content in resource.get("content", [])]
    title = next((one["title"] for one in attachments if "title" in one), "")
    concept = resource.get("type") or {"text": resource.get("description") or title}
    current = resource.get("status", "")
    status = resource.get("docStatus") or current
    period = resource.get("context", {}).get("period", {})
    return Fact(
        ClinicalKind.DOCUMENT,
        concept,
        _MISTAKE if _MISTAKE in (current, status) else status,
        resource.get("date") or period.get("start"),
        None,
        (resource.get("description"), *_attached(attachments)),
    )


def _attached(attachments: Iterable[Resource]) -> Iterator[str]:
    """The plain texts that are inside the file; nothing is fetched."""
    for attachment in attachments:
        if "data" in attachment and str(attachment.get("contentType", "")).lower().startswith(_TEXT_TYPES):
            try:
                yield base64.b64decode(attachment["data"], validate=True).decode()
            except ValueError:
                raise Unusable("an attached text is not UTF-8 in base64") from None


def _first_code(concept: Resource) -> str:
    return next((str(one["code"]) for one in concept.get("coding", []) if one.get("code")), "")


def _line(label: str, text: str | None) -> str | None:
    return f"{label}: {text}" if text else None


READERS: dict[str, Callable[[Resource, Document], Fact]] = {
    "Condition": _condition,
    "AllergyIntolerance": _allergy,
    "MedicationRequest": _medication_request,
    "MedicationStatement": _medication_statement,
    "Immunization": _immunization,
    "Procedure": _procedure,
    "Encounter": _encounter,
    "DiagnosticReport": _report,
    "DocumentReference": _document,
}
"""How each resource type is read."""
