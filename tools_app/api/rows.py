"""Health records and shares as the API shows them; clinical records as an export does, since no door lists them."""

import json
from datetime import datetime
from typing import Any

from tools_app.fhir.clinical_resources import clinical_resource_id
from tools_app.fhir.observations import resource_id
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord, Share
from tools_app.records.selectors import holds
from tools_app.standardization import ordinal
from tools_app.tools.family import DEFAULT_SUBJECT

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


def clinical_row(record: ClinicalRecord) -> dict[str, Any]:
    """The JSON object of one clinical record: everything as its source states it; what it leaves open is ``null``."""
    return {
        "id": record.public_id,
        "object": "clinical_record",
        "kind": record.kind,
        "display": record.display,
        "codes": json.loads(record.codes),
        "status": record.status or None,
        "fhir_resource_id": clinical_resource_id(record),
        "time": record.time or None,
        "end_time": record.end_time or None,
        "text": record.text or None,
        "source": record.source or None,
        "source_id": record.source_id or None,
        "retention": record.retention,
        "expires_at": record.expires_at.isoformat() if record.expires_at else None,
    }


def share_row(share: Share, now: datetime) -> dict[str, Any]:
    """The JSON object of one share, whose two Subjects have been read; ``active``: whether it holds at ``now``."""
    return {
        "object": "share",
        "user": share.subject.user_key or None,
        "with": share.with_subject.user_key or DEFAULT_SUBJECT,
        "scope": share.scope,
        "start": share.start.isoformat() if share.start else None,
        "end": share.end.isoformat() if share.end else None,
        "active": holds(share, now),
        "created_at": share.created_at.isoformat(),
    }


def _number(value: float | None) -> float | int | None:
    """Whole numbers without a decimal point, as people write them."""
    if value is None or not value.is_integer() or abs(value) >= 1e15:  # noqa: PLR2004
        return value
    return int(value)
