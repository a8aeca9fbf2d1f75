"""The agent's own files in a conversation, as each turn left them."""

from django.db import models

from responses_app.models.response import Response

MAX_PATH_LENGTH = 256


class HarnessFile(models.Model):
    """One file that a turn wrote or changed, whole. It holds for all that continues from there until written again.

    Rows are never changed, so that the branches of a conversation do not see each other's files.
    """

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="harness_files")
    path = models.CharField(max_length=MAX_PATH_LENGTH)
    content = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "path"], name="harness_file_once_a_turn")]

    def __str__(self) -> str:
        return f"File {self.pk}"
