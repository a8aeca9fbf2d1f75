"""The audit: what operators saw and did. No content and no name of a Subject; rows are written once, by audit.py."""

from django.db import models


class AuditEntry(models.Model):
    """One view of content, one action, or one refusal.

    ``object_id`` and ``actor_id`` are plain values, since the audit outlives what they name. ``figures`` is a JSON
    object of counts. ``reason`` and ``ticket`` are a choice and a reference, never free text, which could hold content.
    """

    class Action(models.TextChoices):
        """What happened."""

        SIGNED_IN = "signed in"
        SIGN_IN_FAILED = "sign-in failed"
        REFUSED = "refused"
        VIEWED = "viewed"
        EXPORTED = "exported"
        CANCELLED = "cancelled"
        DELETED = "deleted"
        ERASED = "erased"
        SWEPT = "swept"
        KEY_CREATED = "key created"
        KEY_REVOKED = "key revoked"
        CHANGED = "changed"

    class Reason(models.TextChoices):
        """Why, where it is asked."""

        PERSON = "person", "The person asked for it"
        ACCOUNT = "account", "The account's owner asked for it"
        SUPPORT = "support", "A support case"
        INCIDENT = "incident", "An incident"
        LEGAL = "legal", "A legal duty"
        MAINTENANCE = "maintenance", "Maintenance or a test"

    happened_at = models.DateTimeField(db_index=True)
    action = models.CharField(max_length=16, choices=Action)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150, blank=True)
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=128, blank=True)
    page = models.CharField(max_length=100, blank=True, help_text="The name of the admin's page.")
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    subject_hash = models.CharField(max_length=64, blank=True)
    figures = models.TextField(default="{}")
    reason = models.CharField(max_length=12, blank=True, choices=Reason)
    ticket = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["actor_name", "-happened_at"], name="audit_by_actor"),
            models.Index(fields=["object_id", "-happened_at"], name="audit_by_object"),
            models.Index(fields=["subject_hash", "-happened_at"], name="audit_by_subject"),
        ]
        permissions = [
            ("read_content", "Can read what people said and their records"),
            ("end_response", "Can cancel and delete responses"),
            ("sweep", "Can sweep what has expired"),
            ("export_subject", "Can export a Subject's data"),
            ("erase_subject", "Can erase a Subject"),
        ]

    def __str__(self) -> str:
        return f"Audit entry {self.pk}"
