"""Shell door for making an API key."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from mirobody_site.tenancy.services import create_api_key


class Command(BaseCommand):
    """Makes a key, and its account when missing; the last line of the output is the key alone."""

    help = (
        "Makes an API key, and its account when that is missing. The last line printed is the key alone, for scripts; "
        "it is kept nowhere and shown this once. Exit codes: 0 made, 1 a name that cannot be, 2 wrong arguments. "
        "Example: export MIROBODY_API_KEY=$(manage.py create_api_key --account demo --name laptop | tail -1)"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", required=True, help="the account's name")
        parser.add_argument("--name", default="", help="what the key is for")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            key, secret = create_api_key(options["account"], options["name"])
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        self.stdout.write(f"Key {key.prefix}… of account {key.account.get_username()}. It is shown this once:")
        self.stdout.write(secret)
