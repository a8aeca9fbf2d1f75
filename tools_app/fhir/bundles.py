"""All records of a Subject as the entries of a FHIR R4 Bundle. What each resource looks like is in its own module.

Source: FHIR R4, Bundle: each resource under its ``urn:uuid``, by which the others refer to it.
"""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from mirobody_site.tenancy.models import Subject
from tools_app.fhir.clinical_resources import clinical_resource
from tools_app.fhir.observations import observation, patient_id
from tools_app.records.pressures import IS_FIRST, with_seconds
from tools_app.records.selectors import clinical_records_of, pages_of, records_of

Json = dict[str, Any]


def bundle_entries(subject: Subject, now: datetime) -> Iterator[Json]:
    """The Subject as a Patient, its readings as Observations, its clinical records as what they are."""
    patient = _patient(subject)
    about = f"urn:uuid:{patient['id']}"
    yield _entry(patient)
    readings = records_of(subject, now)
    for firsts in pages_of(readings.filter(IS_FIRST)):
        for measurement in with_seconds(firsts, readings):
            yield _entry(observation(measurement) | {"subject": {"reference": about}})
    for page in pages_of(clinical_records_of(subject, now)):
        for record in page:
            yield _entry(clinical_resource(record, about))


def _entry(resource: Json) -> Json:
    return {"fullUrl": f"urn:uuid:{resource['id']}", "resource": resource}


def _patient(subject: Subject) -> Json:
    named = {"name": [{"text": subject.display_name}]} if subject.display_name.strip() else {}
    known = {"identifier": [{"value": subject.user_key}]} if subject.user_key.strip() else {}
    return {"resourceType": "Patient", "id": str(uuid.UUID(patient_id(subject.pk))), **known, **named}
