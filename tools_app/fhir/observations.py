"""A measurement as a FHIR R4 Observation, computed from its rows. Searches over them are in api/fhir.py.

Sources: FHIR R4, Observation and its search Bundle; the blood pressure profile of its vital signs.
"""

import hashlib
import hmac
import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.conf import settings

from tools_app.fhir.systems import LOINC, UCUM
from tools_app.records.models import RECORD_PREFIX, HealthRecord
from tools_app.records.pressures import PANEL, SIDES
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
    """The id of the resource that shows the record: the same for both rows of a blood pressure."""
    shown_as = record.measurement_id if record.analyte in SIDES else record.public_id
    return str(uuid.UUID(shown_as.removeprefix(RECORD_PREFIX)))


def public_id_of(resource: str) -> str | None:
    """The record id behind a resource id, or ``None`` when no record can have it."""
    try:
        parsed = uuid.UUID(resource)
    except ValueError:
        return None
    return f"{RECORD_PREFIX}{parsed.hex}" if str(parsed) == resource else None


def observation(measurement: Sequence[HealthRecord]) -> Json:
    """The rows of one measurement, at least one, as an Observation: a blood pressure as a panel of two components."""
    record, *others = measurement
    found = _panel(measurement) if others else {"code": _code(record)} | _result(record)
    return {
        "resourceType": "Observation",
        "id": resource_id(record),
        "status": "final",
        **_category(record),
        "subject": {"reference": f"Patient/{patient_id(record.subject_id)}"},
        **_effective(record),
        "issued": record.created_at.astimezone(UTC).isoformat(timespec="milliseconds"),
        **found,
    }


def _panel(rows: Sequence[HealthRecord]) -> Json:
    names = {row.indicator for row in rows}
    text = names.pop() if len(names) == 1 else _concepts_by_code()[PANEL].name
    return {
        "code": {"coding": [_coding(PANEL)], "text": text},
        "component": [{"code": _code(row) | {"text": row.canonical_name}} | _result(row) for row in rows],
    }


def _result(record: HealthRecord) -> Json:
    return _value(record) | _interpretation(record) | _reference_range(record)


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
    return {"coding": [_coding(record.loinc_code)], "text": record.indicator}


def _coding(code: str) -> Json:
    concept = _concepts_by_code().get(code)
    return {"system": LOINC, "code": code} | ({"display": concept.long_name} if concept else {})


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
