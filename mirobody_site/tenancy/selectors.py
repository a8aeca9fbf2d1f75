"""Reads of keys and Subjects. Nothing here writes."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet

from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.secrets import secret_hash

UTC = ZoneInfo("UTC")


def find_live_key(secret: str) -> ApiKey | None:
    """The key with this secret and its account, or ``None`` when unknown or revoked or the account is not active."""
    live = ApiKey.objects.select_related("account__profile").filter(revoked_at=None, account__is_active=True)
    return live.filter(secret_hash=secret_hash(secret)).first()


def live_keys(account: str) -> QuerySet[ApiKey]:
    """The account's keys that were not revoked, oldest first."""
    return ApiKey.objects.filter(account__username=account, revoked_at=None).order_by("pk")


def live_keys_called(account: str, text: str) -> Sequence[ApiKey]:
    """Those of them that ``text`` means: the beginning that is shown of a key, a whole secret, or a key's number."""
    if text.isascii() and text.isdigit():
        return list(live_keys(account).filter(pk=text))
    return list(live_keys(account).filter(Q(prefix=text.rstrip("…")) | Q(secret_hash=secret_hash(text))))


def time_zone_of(subject_id: int | None) -> ZoneInfo:
    """The Subject's time zone; UTC for one that has never been written to."""
    subject = Subject.objects.filter(pk=subject_id).first() if subject_id is not None else None
    return ZoneInfo(subject.time_zone) if subject else UTC


def find_subject(account_id: int, user: str) -> Subject | None:
    """The account's Subject named exactly ``user`` (``""``: the default one), or ``None`` when never written to."""
    # No name holds U+0000, which Postgres refuses even to look for.
    if "\x00" in user:
        return None
    return Subject.objects.filter(account_id=account_id, user_key=user).first()
