"""The calls of client tools that a handoff waits for, and who answers them."""

from datetime import datetime

from django.db import models
from django.db.models import Q

from responses_app.models.response import Response


class PendingCallQuerySet(models.QuerySet["PendingCall"]):
    """Queries every reader shares."""

    def free(self, now: datetime) -> "PendingCallQuerySet":
        """Neither answered nor being answered. A claim that outlived its turn's deadline counts as none."""
        return self.filter(Q(claimed_by="") | Q(claimed_until__lte=now))


class PendingCall(models.Model):
    """One call of a handoff.

    ``claimed_by`` is the response that answers it (empty: none). ``claimed_until`` is that turn's deadline while it
    runs and ``None`` once it ended well: then the claim stands for good.
    """

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="pending_calls")
    call_id = models.CharField(max_length=64)
    claimed_by = models.CharField(max_length=37, blank=True, default="", db_index=True)
    claimed_until = models.DateTimeField(null=True)

    objects = PendingCallQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "call_id"], name="pending_call_unique")]

    def __str__(self) -> str:
        return self.call_id
