"""A health record as the API shows it."""

from typing import Any

from tools_app.fhir.observations import resource_id
from tools_app.records.models import HealthRecord
from tools_app.standardization import ordinal

CHANNEL = "api"


def record_row(record: HealthRecord) -> dict[str, Any]:
    """The JSON object of one record: ``value`` as written with its unit; what is unknown is ``null``."""
    return {
        "id": record.public_id,
        "object": "health_record",
        "measurement_id": record.measurement_id,
        "indicator": record.indicator,
        "value": record.text,
        "parsed_value": _number(record.number),
        "parsed_unit": record.ucum_unit or None,
        "parsed_text": ordinal(record.value) if record.number is None else None,
        "comparator": record.comparator or None,
        "loinc_code": record.loinc_code or None,
        "canonical_name": record.canonical_name or None,
        "fhir_resource_id": resource_id(record),
        "time": record.time,
        "end_time": record.end_time or None,
        "reference_low": _number(record.reference_low),
        "reference_high": _number(record.reference_high),
        "reference_text": record.reference_text or None,
        "abnormal": record.abnormal or None,
        "abnormal_source": record.abnormal_source or None,
        "source": CHANNEL,
        "comment": record.source or None,
        "retention": record.retention,
        "expires_at": record.expires_at.isoformat() if record.expires_at else None,
        "session_id": record.session_id or None,
    }


def _number(value: float | None) -> float | int | None:
    """Whole numbers without a decimal point, as people write them."""
    if value is None or not value.is_integer() or abs(value) >= 1e15:  # noqa: PLR2004
        return value
    return int(value)
