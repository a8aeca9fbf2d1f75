"""The door for the shell to the erasure of a Subject."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.secrets import subject_hash
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.services.erasure import Erased, count_of, erase_subject, receipt

NOT_CONFIRMED = 3


class Command(BaseCommand):
    """``manage.py purge_subject``."""

    help = (
        "Erases one Subject of an account: health records, conversations, sessions, shares in both directions, its "
        "values in other people's stored tool results, and the mapping of the name itself. Cannot be undone. Prints a "
        "receipt with counts, time and a keyed hash of the name. Exit codes: 0 erased (or dry run), 1 no such Subject "
        "or account, 2 wrong arguments, 3 not confirmed. Example: manage.py purge_subject --account demo --user alice "
        "--dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", required=True, help="the account's name")
        whom = parser.add_mutually_exclusive_group(required=True)
        whom.add_argument("--user", help="the Subject's name, exactly as the API was given it")
        whom.add_argument("--default", action="store_true", help="the account's default Subject")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--json", action="store_true", help="print the receipt as a JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        user = "" if options["default"] else options["user"]
        subject = Subject.objects.filter(account__username=options["account"], user_key=user, erased_at=None).first()
        if subject is None:
            raise _no_such_subject()
        before = count_of(subject)
        if options["dry_run"]:
            self._report(options, user, before, "would be erased")
            return
        if not options["yes"]:
            self._confirm(user, before)
        try:
            with _progress(before) as bar:
                erased = erase_subject(subject, bar.update)
        except NotFoundError:
            raise _no_such_subject() from None
        forget_free_pages()
        self._report(options, user, erased, "erased")

    def _confirm(self, user: str, before: Erased) -> None:
        expected = user or "@default"
        self.stderr.write(
            f"{before.records} record(s) and {before.conversations} conversation(s) will be erased for good."
        )
        self.stderr.write(f"Type {expected} to confirm: ", ending="")
        if sys.stdin.readline().rstrip("\n") != expected:
            raise CommandError("Not confirmed; nothing was erased.", returncode=NOT_CONFIRMED)

    def _report(self, options: dict[str, Any], user: str, counts: Erased, what: str) -> None:
        told = receipt(what, counts, subject_hash(options["account"], user))
        if options["json"]:
            self.stdout.write(json.dumps(told))
            return
        for name, value in told.items():
            self.stdout.write(f"{name}: {value}")


def _progress(before: Erased) -> Any:
    """A bar on a terminal alone, moved by every batch."""
    total = before.records + before.conversations
    return tqdm(total=total, file=sys.stderr, disable=None, leave=False, mininterval=0, miniters=1, unit=" rows")


def _no_such_subject() -> CommandError:
    return CommandError("There is no such account or Subject.", returncode=1)
