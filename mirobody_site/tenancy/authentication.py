"""Who calls: the API key of the Authorization header. Making and revoking keys is in services.py."""

import re

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from mirobody_site.tenancy import known_keys
from mirobody_site.tenancy.errors import AuthenticationError
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.selectors import find_live_key

_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)


class ApiKeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer mb_live_…``. Sets ``request.user`` to the account and ``request.auth`` to the key.

    Raises AuthenticationError: ``missing_api_key`` without a well-formed header, ``invalid_api_key`` for a key that is
    unknown or revoked, or whose account is switched off.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey]:
        secret = _secret(request)
        if secret is None:
            raise AuthenticationError(
                "No API key was given. Send it as a header: Authorization: Bearer mb_live_…", code="missing_api_key"
            )
        key = known_keys.get(secret) or known_keys.remember(secret, find_live_key(secret))
        if key is None:
            raise AuthenticationError("The API key is not valid.", code="invalid_api_key")
        return key.account, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def known_key(request: Request) -> ApiKey | None:
    """The request's key if it was found within the last seconds: telling it asks no database."""
    secret = _secret(request)
    return known_keys.get(secret) if secret is not None else None


def _secret(request: Request) -> str | None:
    header = _BEARER.fullmatch(request.headers.get("Authorization", ""))
    return header[1] if header else None
