"""A health record as a FHIR R4 Observation, computed from its row. Searches over them are in api/fhir.py.

Source: FHIR R4, Observation and its search Bundle.
"""

import hashlib
import hmac
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.conf import settings

from tools_app.fhir.systems import LOINC, UCUM
from tools_app.records.models import RECORD_PREFIX, HealthRecord
from tools_app.standardization import Concept, concepts, ucum_unit

Json = dict[str, Any]

_CATEGORIES = {"vital signs": "vital-signs", "body measures": "vital-signs", "wearables": "activity"}
_CATEGORY_SYSTEM = "http://terminology.hl7.org/CodeSystem/observation-category"
_INTERPRETATION_SYSTEM = "http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation"
_INTERPRETATIONS = {"low": ("L", "Low"), "normal": ("N", "Normal"), "high": ("H", "High")}
_DATE_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00))?", re.ASCII
)
# Up to here a floating point number tells every whole number from the next.
_EXACT = 1e15


def resource_id(record: HealthRecord) -> str:
    """The record's id as a FHIR resource."""
    return str(uuid.UUID(record.public_id.removeprefix(RECORD_PREFIX)))


def public_id_of(resource: str) -> str | None:
    """The record id behind a resource id, or ``None`` when no record can have it."""
    try:
        parsed = uuid.UUID(resource)
    except ValueError:
        return None
    return f"{RECORD_PREFIX}{parsed.hex}" if str(parsed) == resource else None


def observation(record: HealthRecord) -> Json:
    """The record as an Observation."""
    return {
        "resourceType": "Observation",
        "id": resource_id(record),
        "status": "final",
        **_category(record),
        "code": _code(record),
        "subject": {"reference": f"Patient/{patient_id(record.subject_id)}"},
        **_effective(record),
        "issued": record.created_at.astimezone(UTC).isoformat(timespec="milliseconds"),
        **_value(record),
        **_interpretation(record),
        **_reference_range(record),
    }


def patient_id(subject_id: int) -> str:
    """What stands for a Subject in resources: always the same, and tells nothing to whoever has not the secret key."""
    digest = hmac.new(settings.SECRET_KEY.encode(), f"patient:{subject_id}".encode(), hashlib.sha256)
    return digest.hexdigest()[:32]


def _category(record: HealthRecord) -> Json:
    concept = _concepts_by_analyte().get(record.analyte)
    if concept is None:
        return {}
    code = _CATEGORIES.get(concept.category, "laboratory")
    return {"category": [{"coding": [{"system": _CATEGORY_SYSTEM, "code": code}]}]}


def _code(record: HealthRecord) -> Json:
    if not record.loinc_code:
        return {"text": record.indicator}
    coding = {"system": LOINC, "code": record.loinc_code}
    concept = _concepts_by_code().get(record.loinc_code)
    if concept:
        coding["display"] = concept.long_name
    return {"coding": [coding], "text": record.indicator}


def _effective(record: HealthRecord) -> Json:
    start = date_time(record.time)
    if not record.end_time:
        return {"effectiveDateTime": start}
    return {"effectivePeriod": {"start": start, "end": date_time(record.end_time)}}


def date_time(text: str) -> str:
    """A stored time in FHIR's spelling: with seconds, and with an offset in hours and minutes. A date stays a date."""
    if _DATE_TIME.fullmatch(text):
        return text
    moment = datetime.fromisoformat(text)
    spelled = moment.isoformat()
    return spelled if _DATE_TIME.fullmatch(spelled) else moment.astimezone(UTC).isoformat()


def _value(record: HealthRecord) -> Json:
    if record.number is None:
        return {"valueString": record.text}
    quantity = _quantity(record.number, record)
    if record.comparator:
        quantity["comparator"] = record.comparator
    return {"valueQuantity": quantity}


def _quantity(number: float, record: HealthRecord) -> Json:
    value = int(number) if number.is_integer() and abs(number) < _EXACT else number
    written = record.unit.strip()
    if record.ucum_unit:
        return {
            "value": value,
            "unit": written if ucum_unit(written) == record.ucum_unit else record.ucum_unit,
            "system": UCUM,
            "code": record.ucum_unit,
        }
    return {"value": value} | ({"unit": record.unit} if written else {})


def _interpretation(record: HealthRecord) -> Json:
    if record.abnormal not in _INTERPRETATIONS:
        return {}
    code, display = _INTERPRETATIONS[record.abnormal]
    return {"interpretation": [{"coding": [{"system": _INTERPRETATION_SYSTEM, "code": code, "display": display}]}]}


def _reference_range(record: HealthRecord) -> Json:
    stated = dict(_limits(record))
    return {"referenceRange": [stated]} if stated else {}


def _limits(record: HealthRecord) -> Iterator[tuple[str, Any]]:
    for name, limit in (("low", record.reference_low), ("high", record.reference_high)):
        if limit is not None:
            yield name, _quantity(limit, record)
    if record.reference_text.strip():
        yield "text", record.reference_text


@cache
def _concepts_by_code() -> dict[str, Concept]:
    return {concept.code: concept for concept in concepts()}


@cache
def _concepts_by_analyte() -> dict[str, Concept]:
    return {concept.analyte: concept for concept in concepts()}
