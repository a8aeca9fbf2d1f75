"""Seals reasoning into the opaque ``encrypted_content`` that a caller may replay, bound to its account."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


def seal(account_id: int, text: str) -> str:
    """An opaque token of ``text`` that only this server opens, for this account."""
    return _cipher(account_id).encrypt(text.encode()).decode()


def unseal(account_id: int, token: str) -> str | None:
    """The text that ``seal`` hid; ``None`` for anything else."""
    try:
        return _cipher(account_id).decrypt(token.encode()).decode()
    except (InvalidToken, UnicodeError):
        return None


def _cipher(account_id: int) -> Fernet:
    material = f"reasoning:{account_id}:{settings.SECRET_KEY}".encode()
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(material).digest()))
