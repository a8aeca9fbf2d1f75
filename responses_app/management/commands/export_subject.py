"""The door for the shell to the export of a Subject."""

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.models import Subject
from responses_app.services.export import exported_fhir, exported_json

REFUSED = 1
FORMATS = {"json": exported_json, "fhir": exported_fhir}


class Command(BaseCommand):
    """``manage.py export_subject``."""

    help = (
        "Writes what is kept of one Subject of an account into a file: health content and everything that was said, "
        "so keep the file as you keep the database. As JSON: the Subject, readings, clinical records, shares, and "
        "stored responses with their inputs and the agent's files. As FHIR: a R4 Bundle of the records alone, which "
        "import_fhir reads. The file is made for its owner alone and appears whole or not at all. Exit codes: 0 "
        "exported, 1 nothing was exported: no such account or Subject, or the file cannot be written, 2 wrong "
        "arguments. Example: manage.py export_subject --account demo --user alice --format fhir alice.json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the file to write, which must not exist yet; - for standard output")
        parser.add_argument("--account", required=True, help="the account's name")
        whom = parser.add_mutually_exclusive_group(required=True)
        whom.add_argument("--user", help="the Subject's name, exactly as the API was given it")
        whom.add_argument("--default", action="store_true", help="the account's default Subject")
        parser.add_argument("--format", choices=sorted(FORMATS), default="json", help="json (the default) or fhir")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        user = "" if options["default"] else options["user"]
        subject = Subject.objects.filter(account__username=options["account"], user_key=user, erased_at=None).first()
        if subject is None:
            raise _no_such_subject()
        pieces = FORMATS[options["format"]](subject, timezone.now(), _tracked)
        try:
            if file == "-":
                self._print(pieces)
            else:
                _write(Path(file), pieces)
        except NotFoundError:
            raise _no_such_subject() from None
        except OSError as error:
            raise CommandError(
                f"The file cannot be written: {error.strerror}. Nothing was exported.", returncode=REFUSED
            ) from None

    def _print(self, pieces: Iterator[str]) -> None:
        for piece in pieces:
            self.stdout.write(piece, ending="")


def _write(path: Path, pieces: Iterator[str]) -> None:
    """Into a file beside it first, readable by its owner alone; linked to its name once it is whole."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            written.writelines(pieces)
        os.link(beside, path)
    finally:
        os.unlink(beside)


def _tracked(rows: Iterable[Any]) -> Iterable[Any]:
    """With a count of what was written, on a terminal alone."""
    bar: Iterable[Any] = tqdm(rows, file=sys.stderr, disable=None, leave=False, unit=" rows")
    return bar


def _no_such_subject() -> CommandError:
    return CommandError("There is no such account or Subject. Nothing was exported.", returncode=REFUSED)
