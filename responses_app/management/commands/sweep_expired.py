"""The door for the shell to the sweep."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from responses_app.services.sweeping import sweep_expired


class Command(BaseCommand):
    """``manage.py sweep_expired``."""

    help = (
        "Takes away what has expired: stored responses, health records, and stored tool results whose records are "
        "gone. Expired data is invisible at once, swept or not. Safe to stop, and to run twice at once; a Celery beat "
        "runs it every ten minutes. Exit codes: 0 swept, 2 wrong arguments. Example: manage.py sweep_expired --json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the counts as a JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        counts = asdict(sweep_expired())
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        for name, count in counts.items():
            self.stdout.write(f"{name}: {count}")
