"""The door for the shell to the end of an API key."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.selectors import live_keys, live_keys_called
from mirobody_site.tenancy.services import revoke_api_key

REFUSED = 1


class Command(BaseCommand):
    """``manage.py revoke_api_key``."""

    help = (
        "Stops one API key of an account, for good: its next request is answered 401, on other processes within two "
        "seconds. Turns that it began run to their end, and what they stored stays. Exit codes: 0 revoked, 1 no such "
        "key or more than one (nothing was revoked; the account's live keys are listed), 2 wrong arguments. Example: "
        "manage.py revoke_api_key --account demo mb_live_Ab3x"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "key",
            help="its beginning as create_api_key and the admin show it, its number, or, leaked, the whole secret",
        )
        parser.add_argument("--account", required=True, help="the account's name")
        parser.add_argument("--json", action="store_true", help="print what was revoked as a JSON object")

    def handle(self, *args: Any, key: str, account: str, **options: Any) -> None:
        found = live_keys_called(account, key)
        if len(found) != 1:
            raise _refusal(account, len(found))
        (revoked,) = found
        revoke_api_key(revoked)
        row = _row(revoked)
        self.stdout.write(json.dumps({"status": "revoked"} | row) if options["json"] else f"revoked: {_line(row)}")


def _refusal(account: str, count: int) -> CommandError:
    why = "More than one live key is meant" if count else "There is no such live key of this account"
    keys = [_line(_row(key)) for key in live_keys(account)]
    return CommandError("\n".join([f"{why}. Nothing was revoked. Live keys: {len(keys)}", *keys]), returncode=REFUSED)


def _row(key: ApiKey) -> dict[str, Any]:
    created = key.created_at.isoformat(timespec="seconds")
    return {"id": key.pk, "prefix": key.prefix, "name": key.name, "created_at": created}


def _line(row: dict[str, Any]) -> str:
    return f"{row['id']}  {row['prefix']}…  made {row['created_at']}  {row['name']}".rstrip()
