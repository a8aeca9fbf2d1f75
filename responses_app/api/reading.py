"""What the doors that start a turn read of a request beside its body."""

from typing import cast

from rest_framework.request import Request

from mirobody_site.tenancy.models import ApiKey
from responses_app.protocol.request import ResponseRequest, ToolNames
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
