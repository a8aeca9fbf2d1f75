"""API key secrets: how they are made and what is kept of them; and the hash that stands for a Subject's name."""

import hashlib
import hmac
import secrets

from django.conf import settings

SECRET_START = "mb_live_"  # noqa: S105 - the public part
PREFIX_LENGTH = 12
_RANDOM_BYTES = 32


def new_secret() -> str:
    """``mb_live_`` and 43 url-safe characters: 256 random bits."""
    return SECRET_START + secrets.token_urlsafe(_RANDOM_BYTES)


def secret_hash(secret: str) -> str:
    """SHA-256, hexadecimal. A secret has 256 random bits, so a slow or salted hash would protect nothing more."""
    return hashlib.sha256(secret.encode()).hexdigest()


def subject_hash(account: str, user: str) -> str:
    """HMAC-SHA-256 of the names under the server's secret key, hexadecimal.

    Tells whoever knows the names and the key that it is about this Subject, and nobody else anything.
    """
    return hmac.new(settings.SECRET_KEY.encode(), f"{account}\0{user}".encode(), hashlib.sha256).hexdigest()
