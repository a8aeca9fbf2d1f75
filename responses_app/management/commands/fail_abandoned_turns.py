"""The door for the shell to lost_turns: what the embedded server runs before it starts."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from responses_app.services.lost_turns import fail_turns_of_a_dead_process


class Command(BaseCommand):
    """``manage.py fail_abandoned_turns``."""

    help = (
        "Marks every response that is still in progress as failed and gives its handoff back. "
        "For a server that runs turns in its own process, before it starts: no turn can be running then. "
        "Does nothing when CELERY_BROKER_URL is set, since workers may be running turns."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.CELERY_BROKER_URL:
            return
        failed = fail_turns_of_a_dead_process()
        if failed:
            self.stdout.write(f"{failed} response(s) that an earlier process left unfinished have failed.")
