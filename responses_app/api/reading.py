"""What the doors that start a turn read of a request beside its body."""

from collections.abc import Mapping
from typing import Any, cast

from rest_framework.request import Request

from mirobody_site.tenancy.http import read_json_object
from mirobody_site.tenancy.idempotency import IdempotencyKey, keyed_hash, read_idempotency_key, request_hash
from mirobody_site.tenancy.models import ApiKey
from responses_app.protocol.request import ResponseRequest, ToolNames
from responses_app.services.asking import Asked
from tools_app.registry import DOMAIN_TOOL_NAMES, RESERVED_NAMES

TOOL_NAMES = ToolNames(reserved=RESERVED_NAMES, domain=DOMAIN_TOOL_NAMES)


def key_of(request: Request) -> ApiKey:
    """The key that the request carries."""
    return cast(ApiKey, request.auth)


def account_of(request: Request) -> int:
    """The account whose key the request carries."""
    return key_of(request).account_id


def is_strict(request: Request) -> bool:
    """Whether the header asks that unknown fields are refused."""
    return request.headers.get("X-Mirobody-Strict") == "1"


def wants_side_channel(request: Request, parsed: ResponseRequest) -> bool:
    """The documented switches, and the one client known to throw on events it does not know."""
    throws_on_unknown = (
        request.headers.get("X-Stainless-Helper-Method") == "stream"
        and request.headers.get("X-Stainless-Lang", "").lower() == "js"
    )
    standard = request.headers.get("X-Mirobody-Events", "").lower() == "standard"
    return parsed.stream_options.mirobody_events and not standard and not throws_on_unknown


def asked(request: Request, user: str | None, body: Mapping[str, Any], parsed: ResponseRequest) -> Asked:
    """A request for a turn, with what its retries are known by. Raises ``InvalidRequestError`` for a bad key."""
    key, side_channel = key_of(request), wants_side_channel(request, parsed)
    hashed = request_hash(request, user, body, side_channel)
    return Asked(
        key=key,
        user=user,
        request=parsed,
        side_channel=side_channel,
        equal_to=keyed_hash("twin", f"{key.pk} {hashed}"),
        again=_asks_again(request),
        idempotency_key=read_idempotency_key(request, key.account_id, hashed),
    )


def body_of_action(request: Request) -> dict[str, Any]:
    """The body of a call that SDKs send without one."""
    return read_json_object(request) if request.body else {}


def action_key(request: Request, user: str | None) -> IdempotencyKey | None:
    """The ``Idempotency-Key`` of such a call. Raises ``InvalidRequestError`` for a bad one."""
    hashed = request_hash(request, user, body_of_action(request))
    return read_idempotency_key(request, account_of(request), hashed)


def _asks_again(request: Request) -> bool:
    """Whether the client counts this as a retry."""
    count = request.headers.get("X-Stainless-Retry-Count", "")
    return count.isdecimal() and count.strip("0") != ""
