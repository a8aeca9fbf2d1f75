"""The doors of the FHIR view: one Observation, and a search over a Subject's. What they look like is in fhir/."""

from collections.abc import Sequence
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.http import JsonResponse
from django.utils import timezone
from rest_framework.request import Request

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.http import ApiView, named_user
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.selectors import find_subject
from tools_app.api import described
from tools_app.api.fhir_queries import check_known, matching, read_page
from tools_app.fhir.observations import observation, public_id_of, resource_id
from tools_app.records.models import HealthRecord
from tools_app.records.pressures import measured_with, with_seconds
from tools_app.records.selectors import find_record, page_of, records_of

PATH = "/v1/fhir/Observation"
MEDIA_TYPE = "application/fhir+json"


class ObservationView(ApiView):
    """``/v1/fhir/Observation/{id}``."""

    @described.read_observation
    def get(self, request: Request, resource: str) -> JsonResponse:
        """The account's measurement with a row of this id; if the call names a user, of that Subject alone."""
        user, public_id = named_user(request), public_id_of(resource)
        now = timezone.now()
        record = find_record(_account_id(request), public_id, now) if public_id else None
        if record is None or (user is not None and record.subject.user_key != user):
            raise NotFoundError("There is no such Observation.")
        return _answer(observation(measured_with(record, records_of(record.subject, now))))


class ObservationsView(ApiView):
    """``/v1/fhir/Observation``."""

    @described.search_observations
    def get(self, request: Request) -> JsonResponse:
        """A search: the Subject's readings that match, newest first, as a Bundle."""
        query = request.query_params
        check_known(query)
        count, offset = read_page(query)
        subject = find_subject(_account_id(request), named_user(request) or "")
        zone = ZoneInfo(subject.time_zone if subject else "UTC")
        records = records_of(subject, timezone.now()) if subject else HealthRecord.objects.none()
        found = matching(records, query, zone)
        rows, has_more = page_of(found, count, offset)
        links = [_link(request, "self", offset)]
        links += [_link(request, "next", offset + count)] if has_more else []
        links += [_link(request, "previous", max(offset - count, 0))] if offset else []
        bundle = {"resourceType": "Bundle", "type": "searchset", "total": found.count(), "link": links}
        entries = [_entry(request, measurement) for measurement in with_seconds(rows, records)]
        # FHIR has no empty lists.
        return _answer(bundle | ({"entry": entries} if entries else {}))


def _account_id(request: Request) -> int:
    return cast(ApiKey, request.auth).account_id


def _answer(resource: dict[str, Any]) -> JsonResponse:
    return JsonResponse(resource, content_type=MEDIA_TYPE, json_dumps_params={"ensure_ascii": False})


def _entry(request: Request, measurement: Sequence[HealthRecord]) -> dict[str, Any]:
    url = request.build_absolute_uri(f"{PATH}/{resource_id(measurement[0])}")
    return {"fullUrl": url, "resource": observation(measurement), "search": {"mode": "match"}}


def _link(request: Request, relation: str, offset: int) -> dict[str, str]:
    query = request.query_params.copy()
    if offset or "_offset" in query:
        query["_offset"] = str(offset)
    path = f"{PATH}?{query.urlencode()}" if query else PATH
    return {"relation": relation, "url": request.build_absolute_uri(path)}
