"""What the database keeps of deleted rows, and how that goes. Which rows are deleted is others' business."""

from django.conf import settings
from django.db import connection

_PATIENCE_MILLISECONDS = 100


def forget_free_pages() -> None:
    """SQLite keeps what was written in its log until a checkpoint; others at work put it off to the next one.

    To be called outside of a transaction, after a deletion.
    """
    if connection.vendor != "sqlite":
        return
    patience = int(settings.DATABASES["default"]["OPTIONS"]["timeout"] * 1000)
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute(f"PRAGMA busy_timeout = {patience}")
