"""The door for the shell to the diagnosis of an installation."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from mirobody_site.operators.diagnosis import Finding, findings

WRONG = 1


class Command(BaseCommand):
    """``manage.py doctor``."""

    help = (
        "Looks whether this installation can work, with the settings of this shell: settings, database, migrations, "
        "Redis and that it keeps nothing, a live worker, what beat should have done, the clocks, and the model "
        "provider, which is asked one short question for each tier (it bills some tokens). Says what to do about "
        "whatever is wrong, changes nothing, shows no content. Exit codes: 0 it can work (warnings may remain), 1 "
        "something failed, 2 wrong arguments. Example: manage.py doctor --json"
    )
    # What they find is told with the rest.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as a JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = []
        for finding in findings():
            found.append(finding)
            if not options["json"]:
                self.stdout.write(_line(finding))
        failed = any(finding.state == "failed" for finding in found)
        if options["json"]:
            report = {"status": "failed" if failed else "ok", "findings": [asdict(finding) for finding in found]}
            self.stdout.write(json.dumps(report, ensure_ascii=False))
        if failed:
            sys.exit(WRONG)


def _line(finding: Finding) -> str:
    advice = f"\n{'':21}{finding.advice}" if finding.advice else ""
    return f"{finding.state:8} {finding.check:11} {finding.message}{advice}"
