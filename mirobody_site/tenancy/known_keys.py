"""Keys found a moment ago, so that not every request asks the database. Not here: what makes a key valid."""

import time

from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.secrets import secret_hash

KNOWN_SECONDS = 2.0
"""How long a revoked key may still be taken by a process that saw it just before."""
_MOST = 10_000

_known: dict[str, tuple[ApiKey, float]] = {}
"""By the secret's hash: the key, and until when it may be taken, on the monotonic clock."""


def get(secret: str) -> ApiKey | None:
    """The live key with this secret, when it was found within ``KNOWN_SECONDS``."""
    key, until = _known.get(secret_hash(secret), (None, 0.0))
    return key if time.monotonic() < until else None


def remember(secret: str, key: ApiKey | None) -> ApiKey | None:
    """``key`` as it is, and a live one is known from now on."""
    if key is not None:
        if len(_known) >= _MOST:
            _known.clear()
        _known[secret_hash(secret)] = key, time.monotonic() + KNOWN_SECONDS
    return key


def forget() -> None:
    """Every key is looked up again."""
    _known.clear()
