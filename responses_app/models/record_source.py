"""Which health records a stored tool result came from, so that it goes when one of them goes."""

from django.db import models

from responses_app.models.response import Response


class RecordSource(models.Model):
    """The records of one Subject (``owner_id``, a plain number: it outlives the Subject) behind one tool result.

    ``record_ids`` is a JSON list of public ids; fewer than ``count`` when there are many. ``share_id``, a plain number
    too, is the share that let the response's Subject see them. ``gone_at`` is set once the result has been taken out
    of the row.
    """

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="record_sources")
    call_id = models.CharField(max_length=64)
    owner_id = models.BigIntegerField()
    count = models.PositiveIntegerField()
    record_ids = models.TextField()
    share_id = models.BigIntegerField(null=True)
    expires_at = models.DateTimeField(null=True)
    gone_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner_id"], name="record_source_by_owner"),
            models.Index(
                fields=["expires_at"],
                name="record_source_by_expiry",
                condition=models.Q(gone_at__isnull=True, expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"Records behind {self.call_id}"
