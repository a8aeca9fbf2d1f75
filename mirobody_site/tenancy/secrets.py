"""API key secrets: how they are made and what is kept of them."""

import hashlib
import secrets

SECRET_START = "mb_live_"  # noqa: S105 - the public part
PREFIX_LENGTH = 12
_RANDOM_BYTES = 32


def new_secret() -> str:
    """``mb_live_`` and 43 url-safe characters: 256 random bits."""
    return SECRET_START + secrets.token_urlsafe(_RANDOM_BYTES)


def secret_hash(secret: str) -> str:
    """SHA-256, hexadecimal. A secret has 256 random bits, so a slow or salted hash would protect nothing more."""
    return hashlib.sha256(secret.encode()).hexdigest()
