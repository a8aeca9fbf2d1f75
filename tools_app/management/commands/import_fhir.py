"""The door for the shell to the import of FHIR files."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.http import check_user
from tools_app.fhir.documents import BadFile
from tools_app.fhir.importing import Imported, import_file

REFUSED = 1


class Command(BaseCommand):
    """``manage.py import_fhir``."""

    help = (
        "Imports a FHIR R4 file (a Bundle as JSON, or resources or Bundles as NDJSON) of one patient into the records "
        "of one Subject of an account, who is made when missing: Observations as readings, and conditions, "
        "medications, allergies, immunizations, procedures, encounters, reports and documents as clinical records. "
        "All in one transaction; the same file again adds nothing. What is not taken is counted with the reason. "
        "Exit codes: 0 imported (or dry run), 1 nothing was imported: no such account, or a file that cannot be "
        "imported, 2 wrong arguments. Example: manage.py import_fhir alice.json --account demo --user alice --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file")
        parser.add_argument("--account", required=True, help="the account's name")
        parser.add_argument("--user", required=True, help="the Subject's name, exactly as the API is given it")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be imported")
        parser.add_argument("--json", action="store_true", help="print the summary as a JSON object")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        account = User.objects.filter(username=options["account"]).first()
        if account is None:
            raise CommandError("There is no such account.", returncode=REFUSED)
        user, dry_run = options["user"], options["dry_run"]
        try:
            check_user(user)
            imported = import_file(file, account.pk, user, timezone.now(), dry_run=dry_run, track=_tracked)
        except (BadFile, InvalidRequestError) as error:
            raise CommandError(f"{error} Nothing was imported.", returncode=REFUSED) from None
        summary = _summary(imported, "would be imported" if dry_run else "imported")
        self.stdout.write(json.dumps(summary) if options["json"] else _in_words(summary))


def _tracked(items: Sequence[Any]) -> Iterable[Any]:
    """With a progress bar, on a terminal alone."""
    bar: Iterable[Any] = tqdm(items, file=sys.stderr, disable=None, leave=False)
    return bar


def _summary(imported: Imported, status: str) -> dict[str, Any]:
    skipped = sorted(imported.skipped.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    return {
        "status": status,
        "resources": imported.resources,
        "readings": asdict(imported.readings),
        "clinical": {kind: asdict(kept) for kind, kept in sorted(imported.clinical.items())},
        "skipped": [{"type": what, "reason": reason, "count": count} for (what, reason), count in skipped],
    }


def _in_words(summary: dict[str, Any]) -> str:
    readings = summary["readings"]
    lines = [
        f"{summary['status']}: {summary['resources']} resources",
        f"readings: {readings['ingested']} new ({readings['standardized']} with a LOINC code), "
        f"{readings['duplicates']} known",
    ]
    lines += [
        f"{kind}: {kept['added']} new, {kept['changed']} changed, {kept['duplicates']} known"
        for kind, kept in summary["clinical"].items()
    ]
    lines += [f"skipped {one['type']}: {one['count']}, {one['reason']}" for one in summary["skipped"]]
    return "\n".join(lines)
