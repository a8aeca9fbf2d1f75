"""A conversation: the tree of responses that continue one another."""

from django.db import models

from mirobody_site.tenancy.models import Subject


class Conversation(models.Model):
    """What deletion takes away as a whole once its last live response is gone."""

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="conversations")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"Conversation {self.pk}"
