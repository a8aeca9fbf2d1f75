"""Writes of accounts, keys and Subjects."""

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from mirobody_site.tenancy import known_keys
from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.secrets import PREFIX_LENGTH, new_secret, secret_hash


@transaction.atomic
def create_api_key(account: str, name: str = "") -> tuple[ApiKey, str]:
    """A new key of the account of this name, and its secret. The account is made, without a password, when missing.

    The secret is not kept and cannot be shown again. Raises django.core.exceptions.ValidationError for an account or
    key name that is empty, too long or has characters an account name cannot have.
    """
    secret = new_secret()
    key = ApiKey(
        account=_get_or_create_account(account),
        name=name,
        prefix=secret[:PREFIX_LENGTH],
        secret_hash=secret_hash(secret),
    )
    key.full_clean()
    key.save()
    return key, secret


def _get_or_create_account(name: str) -> User:
    username = User.normalize_username(name)
    User(username=username).clean_fields(exclude=["password"])
    account, _ = User.objects.get_or_create(username=username, defaults={"password": make_password(None)})
    return account


def revoke_api_key(key: ApiKey) -> None:
    """Stops the key: in this process from the next request on, everywhere within seconds.

    Revoking twice keeps the first time.
    """
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())
    known_keys.forget()


def set_rate_limit(key: ApiKey, rpm: int | None) -> None:
    """Limits the key's requests a minute; ``None``: to what the setting says. Holds everywhere within seconds."""
    ApiKey.objects.filter(pk=key.pk).update(rate_limit_rpm=rpm)
    known_keys.forget()


def get_or_create_subject(account_id: int, user: str) -> Subject:
    """The account's Subject named ``user`` (``""``: the default one), made when missing; callers may race."""
    subject, _ = Subject.objects.get_or_create(account_id=account_id, user_key=user)
    return subject


def lock_subject(account_id: int, user: str) -> Subject:
    """The same Subject, kept from other writers and from erasure until the transaction ends."""
    while True:
        locked = Subject.objects.select_for_update(no_key=True).filter(account_id=account_id, user_key=user).first()
        # Erased while this waited for it, the row does not bear the name any more.
        if locked is not None:
            return locked
        get_or_create_subject(account_id, user)
