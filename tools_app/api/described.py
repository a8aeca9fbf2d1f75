"""How the OpenAPI document tells of the data plane's doors: one decorator each."""

from http import HTTPStatus

from mirobody_site.tenancy.openapi import IDEMPOTENCY_KEY, JSON, USER_HEADER, USER_QUERY, in_path, operation, query
from tools_app.api import shapes
from tools_app.api.queries import DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET

_FHIR_JSON = "application/fhir+json"
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
_OFFSET = {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0}
_OF_SUBJECT = (USER_QUERY, USER_HEADER)
_ALL = {"type": "boolean", "default": False}

write_records = operation(
    "writeRecords",
    "Write health records",
    {JSON: shapes.Ingested},
    request=shapes.RecordBatch,
    parameters=[IDEMPOTENCY_KEY, *_OF_SUBJECT],
    faults=[HTTPStatus.CONFLICT],
)
list_records = operation(
    "listRecords",
    "List health records",
    {JSON: shapes.HealthRecordList},
    parameters=[
        *_OF_SUBJECT,
        query("indicator", "A part of the written or the canonical name, or a code."),
        query("start", "A date or date-time; without an offset it is the Subject's."),
        query("end", "A date or date-time, inclusive."),
        query("limit", "How many.", _LIMIT),
        query("offset", "How many of the newest to leave out.", _OFFSET),
    ],
)
delete_records = operation(
    "deleteRecords",
    "Delete health records",
    {JSON: shapes.DeletedCount},
    parameters=[
        *_OF_SUBJECT,
        query("id", "One record; exactly one of `id`, `indicator` and `all` is needed."),
        query("indicator", "A whole written name or code."),
        query("all", "All records of the Subject.", _ALL),
    ],
)
grant_share = operation(
    "grantShare",
    "Let somebody see a Subject's data",
    {JSON: shapes.ShareRow},
    request=shapes.ShareRequest,
    parameters=[IDEMPOTENCY_KEY, *_OF_SUBJECT],
    faults=[HTTPStatus.CONFLICT],
)
list_shares = operation("listShares", "List a Subject's shares", {JSON: shapes.ShareList}, parameters=_OF_SUBJECT)
revoke_share = operation(
    "revokeShare",
    "Take a share back",
    {JSON: shapes.DeletedCount},
    parameters=[*_OF_SUBJECT, query("with", "Who may not see the data any more.", required=True)],
)
read_observation = operation(
    "readObservation",
    "Show a reading as a FHIR Observation",
    {_FHIR_JSON: shapes.Observation},
    parameters=[in_path("resource", "A reading's `fhir_resource_id`."), *_OF_SUBJECT],
    faults=[HTTPStatus.NOT_FOUND],
)
search_observations = operation(
    "searchObservations",
    "Search a Subject's readings as FHIR Observations",
    {_FHIR_JSON: shapes.SearchBundle},
    parameters=[
        *_OF_SUBJECT,
        query("code", "LOINC codes, comma-separated, each plain or as `http://loinc.org|code`."),
        query("date", "A date or date-time, after one of `eq`, `ge`, `gt`, `le` and `lt`."),
        query("_count", "How many.", _LIMIT),
        query("_offset", "How many to leave out.", _OFFSET),
    ],
)
