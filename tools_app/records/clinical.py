"""The rows of clinical records: conditions, medications, documents and so on. Readings are in models.py."""

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from mirobody_site.tenancy.models import Subject
from tools_app.records.models import Retention

CLINICAL_PREFIX = "clin_"
CLINICAL_NEWEST_FIRST = (
    models.F("local_date").desc(nulls_last=True),
    models.F("instant").desc(nulls_last=True),
    "-id",
)
MAX_DISPLAY_LENGTH = 500
MAX_CODE_LENGTH = 100
MAX_SYSTEM_LENGTH = 300
MAX_SOURCE_ID_LENGTH = 400


def new_clinical_id() -> str:
    """A fresh clinical record id, ``clin_`` and 32 hexadecimal digits."""
    return f"{CLINICAL_PREFIX}{uuid.uuid4().hex}"


class ClinicalKind(models.TextChoices):
    """What a clinical record is about."""

    CONDITION = "condition"
    MEDICATION = "medication"
    ALLERGY = "allergy"
    IMMUNIZATION = "immunization"
    PROCEDURE = "procedure"
    ENCOUNTER = "encounter"
    REPORT = "report"
    DOCUMENT = "document"


class DatePrecision(models.TextChoices):
    """How exactly a clinical time is known."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    INSTANT = "instant"


class ClinicalRecordQuerySet(models.QuerySet["ClinicalRecord"]):
    """Conditions that every reader shares."""

    def live(self, now: datetime) -> "ClinicalRecordQuerySet":
        """Records that have not expired at ``now`` (aware). Expired ones are invisible, swept or not."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))


class ClinicalRecord(models.Model):
    """One clinical fact about one Subject, as its source states it. What the source leaves open is blank or null.

    ``codes`` is a JSON list of ``{"system", "code", "display"}``, the first of which is also in columns; ``search`` is
    all that free words are looked for in, normalised. ``local_date`` is the first day it may be about, ``last_date``
    the last one; without a last date it has none at all, or still goes on.
    """

    public_id = models.CharField(max_length=37, unique=True, default=new_clinical_id)
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="clinical_records")
    kind = models.CharField(max_length=12, choices=ClinicalKind)
    display = models.CharField(max_length=MAX_DISPLAY_LENGTH)
    code_system = models.CharField(max_length=MAX_SYSTEM_LENGTH, blank=True)
    code = models.CharField(max_length=MAX_CODE_LENGTH, blank=True)
    codes = models.TextField(default="[]")
    search = models.TextField()
    status = models.CharField(max_length=40, blank=True)

    time = models.CharField(
        max_length=40, blank=True, help_text="ISO 8601: an instant with offset, a day, month, year."
    )
    precision = models.CharField(max_length=7, blank=True, choices=DatePrecision)
    instant = models.DateTimeField(null=True, help_text="For order; null where no time of day is known.")
    local_date = models.DateField(null=True)
    end_time = models.CharField(max_length=40, blank=True)
    last_date = models.DateField(null=True)

    text = models.TextField(blank=True)
    source = models.CharField(max_length=200, blank=True)
    source_id = models.CharField(max_length=MAX_SOURCE_ID_LENGTH, blank=True, help_text="Its id where it came from.")
    retention = models.CharField(max_length=9, choices=Retention)
    expires_at = models.DateTimeField(null=True)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of what makes two of them the same one.")
    created_at = models.DateTimeField()

    objects = ClinicalRecordQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "fingerprint"], name="clinical_record_once")]
        indexes = [
            models.Index(fields=["subject", "kind", "local_date"], name="clinical_record_by_kind"),
            models.Index(fields=["expires_at"], condition=Q(expires_at__isnull=False), name="clinical_by_expiry"),
        ]

    def __str__(self) -> str:
        return self.public_id
