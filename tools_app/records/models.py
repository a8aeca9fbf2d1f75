"""The rows: a Subject's health records, and who lets whom see them. Reads: selectors.py, writes: services.py."""

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from mirobody_site.tenancy.models import Subject

NEWEST_FIRST = ("-local_date", "-instant", "-id")
OLDEST_FIRST = ("local_date", "instant", "id")
MAX_INDICATOR_LENGTH = 200
RECORD_PREFIX = "rec_"


def new_public_id() -> str:
    """A fresh record id, ``rec_`` and 32 hexadecimal digits."""
    return f"{RECORD_PREFIX}{uuid.uuid4().hex}"


class Retention(models.TextChoices):
    """How long a record is kept, in the words of the API."""

    PERMANENT = "permanent"
    ONE_HOUR = "1h"
    TWO_HOURS = "2h"
    SIX_HOURS = "6h"
    ONE_DAY = "1d"
    SESSION = "session"


class Precision(models.TextChoices):
    """How exactly the caller gave a time."""

    DAY = "day"
    INSTANT = "instant"


class Comparator(models.TextChoices):
    """What stands before a number that is only a bound."""

    LESS = "<"
    LESS_OR_EQUAL = "<="
    MORE = ">"
    MORE_OR_EQUAL = ">="


class Abnormality(models.TextChoices):
    """How a reading lies to its reference range."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    ABNORMAL = "abnormal"


class AbnormalSource(models.TextChoices):
    """Who says so: the caller, or the comparison with the reference range."""

    GIVEN = "given"
    COMPUTED = "computed"


class HealthRecordQuerySet(models.QuerySet["HealthRecord"]):
    """Conditions that every reader shares."""

    def live(self, now: datetime) -> "HealthRecordQuerySet":
        """Records that have not expired at ``now`` (aware). Expired ones are invisible, swept or not."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))

    def comparable(self) -> "HealthRecordQuerySet":
        """Readings with a number in their analyte's unit that is no mere bound: those that may enter an aggregate."""
        return self.filter(canonical_number__isnull=False, comparator="")


class HealthRecord(models.Model):
    """One reading of one Subject, as written and as understood. What was not understood is blank or null, not a guess.

    A blood pressure written ``120/80`` is two rows with the same ``indicator``, ``value`` and ``measurement_id`` and
    different codes.
    """

    public_id = models.CharField(max_length=36, default=new_public_id)
    measurement_id = models.CharField(max_length=36, help_text="The same in all rows that one written record gave.")
    # Several indexes begin with the Subject already.
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="health_records", db_index=False)

    indicator = models.CharField(max_length=MAX_INDICATOR_LENGTH, help_text="The name as written.")
    value = models.CharField(max_length=1000, help_text="The value as written.")
    unit = models.CharField(max_length=100, blank=True, help_text="The unit as written beside the value.")
    name = models.CharField(max_length=400, help_text="The written name, normalised for comparison.")

    number = models.FloatField(null=True, help_text="The number that was read, in the written unit.")
    comparator = models.CharField(max_length=2, blank=True, choices=Comparator)
    ucum_unit = models.CharField(max_length=100, blank=True)
    loinc_code = models.CharField(max_length=16, blank=True)
    analyte = models.CharField(max_length=100, blank=True, help_text="What is measured, whatever the unit.")
    canonical_name = models.CharField(max_length=200, blank=True)
    canonical_number = models.FloatField(null=True, help_text="The number in the unit in which it may be compared.")
    canonical_unit = models.CharField(max_length=100, blank=True)

    time = models.CharField(max_length=40, help_text="ISO 8601 with the offset it was written with, or a date.")
    instant = models.DateTimeField(help_text="For order. A date counts from its midnight in the Subject's zone.")
    precision = models.CharField(max_length=7, choices=Precision)
    local_date = models.DateField(help_text="The Subject's day.")
    # The day again, as a plain number: sums over days (slopes) are then the same SQL on every database.
    day = models.IntegerField(help_text="local_date as a proleptic Gregorian ordinal.")
    end_time = models.CharField(max_length=40, blank=True)
    end_instant = models.DateTimeField(null=True)

    reference_low = models.FloatField(null=True, help_text="In the written unit.")
    reference_high = models.FloatField(null=True, help_text="In the written unit.")
    reference_text = models.CharField(max_length=500, blank=True)
    abnormal = models.CharField(max_length=8, blank=True, choices=Abnormality)
    abnormal_source = models.CharField(max_length=8, blank=True, choices=AbnormalSource)

    source = models.CharField(max_length=200, blank=True, help_text="The caller's own tag.")
    retention = models.CharField(max_length=9, choices=Retention)
    session_id = models.CharField(max_length=128, blank=True)
    expires_at = models.DateTimeField(null=True)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of what makes two readings the same one.")
    created_at = models.DateTimeField()

    objects = HealthRecordQuerySet.as_manager()

    class Meta:
        # Every index is work for each reading that goes in: a unique field would make a second one, for LIKE.
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="health_record_public_id"),
            models.UniqueConstraint(fields=["subject", "fingerprint"], name="health_record_once"),
        ]
        indexes = [
            models.Index(fields=["subject", "local_date", "instant"], name="health_record_by_time"),
            # With all that figures are made of, so that the rows themselves need not be read.
            models.Index(
                fields=["subject", "analyte", "local_date", "instant"],
                include=["id", "day", "canonical_number", "comparator", "abnormal", "expires_at", "source"],
                name="health_record_by_analyte",
            ),
            models.Index(
                fields=["subject", "name", "local_date", "instant"],
                condition=Q(analyte=""),
                name="health_record_by_name",
            ),
            models.Index(fields=["expires_at"], condition=Q(expires_at__isnull=False), name="health_record_by_expiry"),
            models.Index(
                fields=["subject", "session_id"], condition=~Q(session_id=""), name="health_record_by_session"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def text(self) -> str:
        """The reading as written, with its unit."""
        return self.value if self.value.endswith(self.unit) else f"{self.value} {self.unit}"


class RecordRemoval(models.Model):
    """That records of a Subject were deleted, for whoever has kept what they said: which ones is seen by looking.

    ``erased``: the Subject itself is gone. ``share_id``: no record went, but this share was revoked or ends earlier.
    ``owner_id`` and ``share_id`` are plain numbers, since the note outlives what they name.
    """

    owner_id = models.BigIntegerField()
    erased = models.BooleanField(default=False)
    share_id = models.BigIntegerField(null=True)
    removed_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner_id", "removed_at"], name="record_removal_by_owner"),
            models.Index(fields=["removed_at"], name="record_removal_by_time"),
        ]

    def __str__(self) -> str:
        return f"Removal {self.pk}"


class Share(models.Model):
    """``subject`` lets ``with_subject`` see its records of ``scope``.

    It holds from ``start`` to ``end``, days of the Subject who shares, both in; each open when null.
    """

    class Scope(models.TextChoices):
        """What is shared. Whatever is not known here shows nothing."""

        ALL = "all"
        READINGS = "readings"
        CLINICAL = "clinical"

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="shares_given")
    with_subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="shares_received")
    scope = models.CharField(max_length=20, choices=Scope, default=Scope.ALL)
    start = models.DateField(null=True, blank=True)
    end = models.DateField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "with_subject"], name="share_once")]

    def __str__(self) -> str:
        return f"Share {self.pk}"


class ShareEvent(models.Model):
    """The audit of shares: who let whom see its data or took that back, and each look a tool had. No names, no content.

    All ids are plain numbers, since the audit outlives Subjects and shares.
    """

    class Action(models.TextChoices):
        """What happened."""

        GRANTED = "granted"
        REVOKED = "revoked"
        ACCESSED = "accessed"

    account_id = models.BigIntegerField()
    share_id = models.BigIntegerField()
    owner_id = models.BigIntegerField()
    viewer_id = models.BigIntegerField()
    action = models.CharField(max_length=8, choices=Action)
    tool = models.CharField(max_length=64, blank=True)
    happened_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner_id", "happened_at"], name="share_event_by_owner"),
            models.Index(fields=["viewer_id", "happened_at"], name="share_event_by_viewer"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.share_id}"
