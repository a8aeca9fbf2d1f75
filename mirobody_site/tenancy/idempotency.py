"""``Idempotency-Key``: which requests were made under a key, so that a repeated one is answered and not done again.

Of a request its keyed hash is kept, of its answer an id or numbers: an answer is made again from what is stored, and
goes with it. Source: the wire contract, section 1.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.request import Request

from mirobody_site.tenancy.errors import ConflictError, InvalidRequestError
from mirobody_site.tenancy.models import RememberedRequest
from mirobody_site.tenancy.selectors import find_subject

HEADER = "Idempotency-Key"
MAX_KEY_LENGTH = 255
REMEMBERED = timedelta(hours=24)


class AlreadyRemembered(Exception):
    """Another request under the same key was first."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A key that a request came with, and the request itself, as keyed hashes."""

    account_id: int
    key_hash: str
    request_hash: str


def request_hash(request: Request | HttpRequest, user: str | None, body: Mapping[str, Any], *more: object) -> str:
    """What two requests have in common that are the same to this server: path, Subject, parsed body, and ``more``."""
    given = {name: value for name, value in body.items() if name != "user" and value is not None}
    parts = [request.path.rstrip("/"), user or "", given, *more]
    return keyed_hash("request", json.dumps(parts, sort_keys=True))


def keyed_hash(kind: str, text: str) -> str:
    """64 hexadecimal digits that tell nothing of ``text`` to whoever has not the server's secret key."""
    return salted_hmac(f"mirobody.{kind}", text, algorithm="sha256").hexdigest()


def read_idempotency_key(request: Request | HttpRequest, account_id: int, hashed: str) -> IdempotencyKey | None:
    """The request's key, if it has one; ``hashed`` is its ``request_hash``. Raises ``InvalidRequestError``."""
    key: str | None = request.headers.get(HEADER)
    if key is None:
        return None
    if len(key) > MAX_KEY_LENGTH:
        message = f"{HEADER} must be at most {MAX_KEY_LENGTH} characters."
        raise InvalidRequestError(message, code="value_too_long", param=HEADER)
    if not (key and key.isascii() and key.isprintable()):
        raise InvalidRequestError(f"{HEADER} must be printable ASCII characters.", param=HEADER)
    return IdempotencyKey(account_id, keyed_hash("idempotency", f"{account_id} {key}"), hashed)


def find_remembered(key: IdempotencyKey) -> RememberedRequest | None:
    """What is remembered of the same request. Raises ``ConflictError`` when the key was used for another one."""
    row = _live(key, timezone.now()).first()
    if row is not None and row.request_hash != key.request_hash:
        raise idempotency_conflict(f"This {HEADER} was used for another request.")
    return row


def idempotency_conflict(message: str) -> ConflictError:
    """409 that is not worth repeating, as clients would do by themselves."""
    return ConflictError(message, code="idempotency_conflict", param=HEADER, headers={"X-Should-Retry": "false"})


def remember(key: IdempotencyKey, subject_id: int | None, answer: str) -> None:
    """Remembers the request for a day, with what its answer can be made from. Waits for another transaction that is at
    the same key, and raises ``AlreadyRemembered`` when that was first. For use inside a transaction."""
    now = timezone.now()
    RememberedRequest.objects.filter(account_id=key.account_id, key_hash=key.key_hash, expires_at__lte=now).delete()
    row = RememberedRequest(
        account_id=key.account_id,
        key_hash=key.key_hash,
        request_hash=key.request_hash,
        subject_id=subject_id,
        answer=answer,
        expires_at=now + REMEMBERED,
    )
    RememberedRequest.objects.bulk_create([row], ignore_conflicts=True)
    mine = {"request_hash": key.request_hash, "answer": answer, "expires_at": row.expires_at}
    if not _live(key, now).filter(**mine).exists():
        raise AlreadyRemembered


def forget_answers(answers: Collection[str]) -> None:
    """Nothing is remembered of the requests whose answers these were."""
    RememberedRequest.objects.filter(answer__in=answers).delete()


def forget_expired(now: datetime) -> int:
    """Forgets what was remembered for a day; how many."""
    return RememberedRequest.objects.filter(expires_at__lte=now).delete()[0]


def once(key: IdempotencyKey | None, user: str | None, work: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
    """The numbers that ``work`` gives, or gave under this key before. ``user`` is whom it writes about.

    What ``work`` raises is passed on, and nothing is remembered. Raises ``ConflictError``.
    """
    if key is None:
        return work()
    while True:
        row = find_remembered(key)
        if row is not None:
            return _numbers(row)
        try:
            return _done_first(key, user, work)
        except AlreadyRemembered:
            continue


@transaction.atomic
def _done_first(key: IdempotencyKey, user: str | None, work: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
    remember(key, None, "")
    numbers = work()
    subject = find_subject(key.account_id, user or "")
    answer = json.dumps(dict(numbers))
    RememberedRequest.objects.filter(account_id=key.account_id, key_hash=key.key_hash).update(
        answer=answer, subject=subject
    )
    return numbers


def _numbers(row: RememberedRequest) -> Mapping[str, int]:
    numbers: Mapping[str, int] = json.loads(row.answer)
    return numbers


def _live(key: IdempotencyKey, now: datetime) -> "QuerySet[RememberedRequest]":
    return RememberedRequest.objects.filter(account_id=key.account_id, key_hash=key.key_hash, expires_at__gt=now)
