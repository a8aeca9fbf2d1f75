"""The data plane's doors: who and about whom, parse, one service or selector, render."""

from dataclasses import asdict
from typing import cast
from zoneinfo import ZoneInfo

from django.utils import timezone
from pydantic import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.http import ApiView, named_user, read_json_object
from mirobody_site.tenancy.idempotency import once, read_idempotency_key, request_hash
from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.storage import forget_free_pages
from tools_app.api import described
from tools_app.api.queries import read_flag, read_limit, read_offset, read_period, read_text
from tools_app.api.rows import record_row
from tools_app.api.validation import to_invalid_request
from tools_app.records import services
from tools_app.records.batch import Batch
from tools_app.records.selectors import named_in_part, page_of, records_of, within


class DataView(ApiView):
    """``/v1/data``: a Subject's health records."""

    @described.write_records
    def post(self, request: Request) -> Response:
        body = read_json_object(request)
        user = named_user(request, body.get("user"))
        batch = _batch(body)
        account_id = _account_id(request)
        key = read_idempotency_key(request, account_id, request_hash(request, user, body))
        counts = once(key, user, lambda: asdict(services.ingest(account_id, user or "", batch, timezone.now())))
        return Response({"status": "ok", **counts, "subject": user})

    @described.list_records
    def get(self, request: Request) -> Response:
        user = named_user(request)
        subject = find_subject(_account_id(request), user or "")
        query = request.query_params
        period = read_period(query, ZoneInfo(subject.time_zone if subject else "UTC"))
        indicator, limit, offset = read_text(query, "indicator"), read_limit(query), read_offset(query)
        answer = {"object": "list", "data": [], "has_more": False, "subject": user}
        if subject is None:
            return Response(answer)
        records = within(records_of(subject, timezone.now()), period)
        rows, has_more = page_of(named_in_part(records, indicator) if indicator else records, limit, offset)
        return Response(answer | {"data": [record_row(row) for row in rows], "has_more": has_more})

    @described.delete_records
    def delete(self, request: Request) -> Response:
        user = named_user(request)
        query = request.query_params
        public_id, indicator = read_text(query, "id"), read_text(query, "indicator")
        everything = read_flag(query, "all")
        if sum((public_id is not None, indicator is not None, everything)) != 1:
            raise InvalidRequestError(
                "Say what to delete: exactly one of id, indicator and all=true.", code="missing_required_parameter"
            )
        subject = find_subject(_account_id(request), user or "")
        deleted = _delete(subject, public_id, indicator) if subject else 0
        forget_free_pages()
        return Response({"status": "ok", "deleted": deleted, "subject": user})


def _account_id(request: Request) -> int:
    return cast(ApiKey, request.auth).account_id


def _batch(body: dict[str, object]) -> Batch:
    try:
        return Batch.model_validate(body)
    except ValidationError as error:
        raise to_invalid_request(error) from None


def _delete(subject: Subject, public_id: str | None, indicator: str | None) -> int:
    now = timezone.now()
    if public_id:
        return services.delete_by_id(subject, public_id, now)
    if indicator:
        return services.delete_by_indicator(subject, indicator, now)
    return services.delete_all(subject, now)
