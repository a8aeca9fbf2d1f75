"""Seals text so that only this server opens it, for one account and purpose: reasoning that a caller may replay as
``encrypted_content``, credentials on their way to a turn."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


def seal(account_id: int, text: str, purpose: str = "reasoning") -> str:
    """An opaque token of ``text`` that only this server opens, for this account and purpose."""
    return _cipher(account_id, purpose).encrypt(text.encode()).decode()


def unseal(account_id: int, token: str, purpose: str = "reasoning") -> str | None:
    """The text that ``seal`` hid; ``None`` for anything else."""
    try:
        return _cipher(account_id, purpose).decrypt(token.encode()).decode()
    except (InvalidToken, UnicodeError):
        return None


def _cipher(account_id: int, purpose: str) -> Fernet:
    material = f"{purpose}:{account_id}:{settings.SECRET_KEY}".encode()
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(material).digest()))
