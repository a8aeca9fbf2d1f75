"""A stored response: what its turn was asked, what it added to its conversation, and the object that GET returns."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from mirobody_site.tenancy.models import ApiKey, Subject
from responses_app.models.conversation import Conversation

RUNNING = ("queued", "in_progress")
"""The states of a response whose turn has not ended."""
ENDED_ILL = ("failed", "incomplete", "cancelled")
"""The states of a response whose turn did not end by itself."""


class ResponseQuerySet(models.QuerySet["Response"]):
    """Queries every reader shares."""

    def running(self) -> "ResponseQuerySet":
        """Those whose turn has not ended."""
        return self.filter(status__in=RUNNING)

    def live(self, now: datetime) -> "ResponseQuerySet":
        """Neither deleted nor expired: the only ones a caller can reach, swept or not."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), deleted_at__isnull=True)


class Response(models.Model):
    """One turn of a conversation.

    The JSON columns are plain text: it is written once, read whole, and may hold U+0000, which Postgres' jsonb refuses.
    ``request`` is the effective request without its input, ``input`` the input items, ``added`` the entries the turn
    added after them, ``body`` the response object. ``started_at`` is when a runner took the turn; a turn that still
    runs past ``lease_until``, which its runner keeps ahead of the clock, has lost it. ``deleted_at`` marks one that is
    gone for its caller but whose entries a live response still continues from. ``request_id`` is that of the call that
    made it, ``ended_at`` when its turn did.
    """

    id = models.CharField(primary_key=True, max_length=37)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="responses", db_index=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="responses")
    previous = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="continuations")
    status = models.CharField(max_length=16)
    side_channel = models.BooleanField()
    request = models.TextField()
    input = models.TextField()
    added = models.TextField()
    body = models.TextField()
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    request_id = models.CharField(max_length=128, blank=True)

    objects = ResponseQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["expires_at"], name="response_expiry"),
            models.Index(fields=["lease_until"], name="response_running", condition=Q(status__in=RUNNING)),
            models.Index(fields=["-created_at", "-id"], name="response_newest"),
            models.Index(fields=["subject", "-created_at", "-id"], name="response_newest_of_subject"),
            models.Index(
                fields=["status", "-created_at"], name="response_unfinished", condition=Q(status__in=ENDED_ILL)
            ),
            models.Index(fields=["request_id"], name="response_by_request"),
        ]

    def __str__(self) -> str:
        return self.id
