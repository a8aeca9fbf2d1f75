"""The door of shares: who lets whom see its data."""

from typing import cast

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.http import ApiView, check_user, named_user, read_json_object
from mirobody_site.tenancy.idempotency import idempotency_conflict, once, read_idempotency_key, request_hash
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.selectors import find_subject
from mirobody_site.tenancy.storage import forget_free_pages
from tools_app.api import described
from tools_app.api.queries import read_day
from tools_app.api.rows import share_row
from tools_app.records.models import Share
from tools_app.records.selectors import shares_of
from tools_app.records.sharing import grant, revoke
from tools_app.tools.family import DEFAULT_SUBJECT


class SharesView(ApiView):
    """``/v1/shares``."""

    @described.grant_share
    def post(self, request: Request) -> Response:
        """``user`` lets ``with`` see its data. Takes the place of what it let the same one see before."""
        body = {name: value for name, value in read_json_object(request).items() if value is not None}
        user, with_user = named_user(request, body.get("user")) or "", _with(body.get("with"))
        if user == with_user:
            raise InvalidRequestError("with must be another one than user.", param="with")
        scope, days = _scope(body.get("scope")), (read_day(body, "start"), read_day(body, "end"))
        if days[0] and days[1] and days[1] < days[0]:
            raise InvalidRequestError("end lies before start.", param="end")
        account_id = _account_id(request)
        key = read_idempotency_key(request, account_id, request_hash(request, user, body))
        made = once(key, user, lambda: {"share": grant(account_id, user, with_user, scope, days, timezone.now()).pk})
        share = Share.objects.select_related("subject", "with_subject").filter(pk=made["share"]).first()
        if share is None:
            # Giving it again is for whoever knows that it was taken back.
            raise idempotency_conflict("The share that was made under this Idempotency-Key is gone.")
        return Response(share_row(share, timezone.now()))

    @described.list_shares
    def get(self, request: Request) -> Response:
        """The shares that the Subject gave and received, oldest first."""
        user = named_user(request)
        subject = find_subject(_account_id(request), user or "")
        rows = [share_row(share, timezone.now()) for share in shares_of(subject)] if subject else []
        return Response({"object": "list", "data": rows, "subject": user})

    @described.revoke_share
    def delete(self, request: Request) -> Response:
        """Takes back what ``user`` lets ``with`` see."""
        user, with_user = named_user(request), _with(request.query_params.get("with"))
        subject, viewer = (find_subject(_account_id(request), name) for name in (user or "", with_user))
        deleted = revoke(subject, viewer, timezone.now()) if subject and viewer else 0
        forget_free_pages()
        return Response({"status": "ok", "deleted": deleted, "subject": user})


def _account_id(request: Request) -> int:
    return cast(ApiKey, request.auth).account_id


def _with(name: object) -> str:
    """The other Subject's key; ``@default`` is the account's default one."""
    if name is None or name == "":
        raise InvalidRequestError("with is required.", code="missing_required_parameter", param="with")
    if not isinstance(name, str):
        raise InvalidRequestError("with must be a string.", code="invalid_type", param="with")
    try:
        check_user(name)
    except InvalidRequestError as error:
        raise InvalidRequestError(error.message.replace("user", "with", 1), code=error.code, param="with") from None
    return "" if name == DEFAULT_SUBJECT else name


def _scope(value: object) -> Share.Scope:
    if value is None:
        raise InvalidRequestError("scope is required.", code="missing_required_parameter", param="scope")
    if not isinstance(value, str):
        raise InvalidRequestError("scope must be a string.", code="invalid_type", param="scope")
    if value not in Share.Scope.values:
        raise InvalidRequestError(f"scope must be one of {', '.join(Share.Scope.values)}.", param="scope")
    return Share.Scope(value)
