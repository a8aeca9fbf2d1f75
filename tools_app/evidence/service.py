"""Asks a public service that the operator named, through egress.py. What is asked is the services' own modules'."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from tools_app.contract import ToolFailed, TryDifferently
from tools_app.egress import AddressRefused, EgressError, Limits, Request, asked, checked_url, origin_of

MAX_BYTES = 8 * 1024 * 1024
_LIMITS = Limits(seconds=15.0, connect_seconds=5.0, redirects=3)
_HEADERS = {"Accept": "application/json, application/xml;q=0.9, */*;q=0.1", "User-Agent": "mirobody"}


def get(name: str, base: str, path: str, query: Mapping[str, str | int]) -> bytes | None:
    """The body of an answer; ``None`` when there is no such thing (404).

    ``name`` is the service's, for messages; ``base`` the address the operator set. Raises ToolFailed when the service
    cannot answer now, and TryDifferently when it refuses the query.
    """
    try:
        url = f"{base.rstrip('/')}/{path}" + (f"?{urlencode(query)}" if query else "")
        trusted = origin_of(checked_url(base))
        with asked(Request(url, headers=_HEADERS, trusted=trusted), _LIMITS) as reply:
            if reply.status == HTTPStatus.NOT_FOUND:
                return None
            if reply.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
                raise TryDifferently(f"{name} does not understand the query; use plain words.")
            if reply.status != HTTPStatus.OK:
                raise ToolFailed(f"{name} is not available now.")
            body, more = reply.read(MAX_BYTES)
    except AddressRefused:
        raise ToolFailed(f"{name} is not set up right on this server.") from None
    except EgressError:
        raise ToolFailed(f"{name} did not answer.") from None
    if more:
        raise ToolFailed(f"The answer of {name} is too large.")
    return body


def get_json(name: str, base: str, path: str, query: Mapping[str, str | int]) -> dict[str, Any] | None:
    """The same as a JSON object. Raises ToolFailed for anything else as well."""
    body = get(name, base, path, query)
    if body is None:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise unreadable(name)
    return value


def unreadable(name: str) -> ToolFailed:
    """What to raise when a service's answer is not what it should be."""
    return ToolFailed(f"The answer of {name} could not be read.")
