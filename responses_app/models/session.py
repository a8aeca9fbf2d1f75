"""A session: a named conversation of one Subject that never expires, and the lock on its turns."""

from datetime import datetime

from django.db import models
from django.db.models import Q

from mirobody_site.tenancy.models import Subject
from responses_app.models.conversation import Conversation


class SessionQuerySet(models.QuerySet["Session"]):
    """Queries every reader shares."""

    def unlocked(self, now: datetime) -> "SessionQuerySet":
        """Those no turn holds. A lock that outlived its turn's deadline counts as none."""
        return self.filter(Q(locked_by="") | Q(locked_until__lte=now))


class Session(models.Model):
    """``name`` is the caller's ``session_id``. ``locked_by`` is the response whose turn runs (empty: none)."""

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="sessions")
    name = models.CharField(max_length=128)
    conversation = models.OneToOneField(Conversation, on_delete=models.CASCADE, related_name="session")
    locked_by = models.CharField(max_length=37, blank=True, default="")
    locked_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "name"], name="session_unique_per_subject")]
        indexes = [models.Index(fields=["name"], name="session_by_name")]

    def __str__(self) -> str:
        return f"Session {self.pk}"
