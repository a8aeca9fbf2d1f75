"""Who calls (ApiKey) and about whom (Subject). Accounts are Django users. Reads: selectors; writes: services."""

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models

from mirobody_site.tenancy.secrets import subject_hash


class AccountProfile(models.Model):
    """What an operator sets for an account: how much its turns may cost in a month of UTC (``None``: any amount)."""

    account = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="profile")
    monthly_cap_usd = models.DecimalField(
        max_digits=12, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(Decimal(0))]
    )

    def __str__(self) -> str:
        return f"Profile {self.pk}"


class ApiKey(models.Model):
    """A developer's key. The secret is shown once at creation; a SHA-256 of it and a short prefix are kept.

    ``rate_limit_rpm``: requests a minute; ``None`` for the setting ``RATE_LIMIT_RPM``.
    """

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=20)
    secret_hash = models.CharField(max_length=64, unique=True)
    rate_limit_rpm = models.PositiveIntegerField(
        "requests a minute", null=True, blank=True, validators=[MinValueValidator(1)]
    )
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.prefix}…"


class UsageOfDay(models.Model):
    """What an account's turns about one Subject used on one day, by the key they came with.

    ``subject_number`` is the Subject's id as a plain number (0: never written to), which names nobody once that is
    erased. ``cached_tokens`` are a part of ``input_tokens``, ``reasoning_tokens`` of ``output_tokens``.
    """

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    subject_number = models.BigIntegerField()
    day = models.DateField()
    turns = models.BigIntegerField(default=0)
    model_calls = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    cost_micro_usd = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "usage of days"
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "api_key", "subject_number"], name="usage_once_a_day"),
        ]
        indexes = [models.Index(fields=["-day", "-id"], name="usage_newest")]

    def __str__(self) -> str:
        return f"Usage {self.pk}"


class Subject(models.Model):
    """One isolated person of an account, named by the caller's ``user`` value.

    ``user_key`` is compared exactly as sent; the empty string is the account's default Subject. ``erased_at`` is set
    while an erasure is under way: then the key is a made-up one, and nothing reaches the Subject any more.
    ``key_hash`` stands for the name where names are not shown, as in receipts of erasures.
    """

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subjects")
    user_key = models.CharField(max_length=256, blank=True)
    key_hash = models.CharField(max_length=64, db_index=True, editable=False)
    display_name = models.CharField(max_length=200, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    created_at = models.DateTimeField(auto_now_add=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "user_key"], name="subject_unique_per_account")]

    def __str__(self) -> str:
        return f"Subject {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new Subject is given its hash; later changes of its columns are updates."""
        self.key_hash = self.key_hash or subject_hash(self.account.get_username(), self.user_key)
        super().save(*args, **kwargs)


class RememberedRequest(models.Model):
    """A request that was made under an ``Idempotency-Key``: keyed hashes, never what was said.

    ``answer``: the id of the response it made, or a JSON object of numbers.
    """

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, null=True, on_delete=models.CASCADE, related_name="+")
    key_hash = models.CharField(max_length=64)
    request_hash = models.CharField(max_length=64)
    answer = models.CharField(max_length=200)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "key_hash"], name="remembered_once_a_key")]
        indexes = [models.Index(fields=["answer"], name="remembered_by_answer")]

    def __str__(self) -> str:
        return f"Remembered request {self.pk}"
