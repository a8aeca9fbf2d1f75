"""The door for the shell to what turns used."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from datetime import date
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from mirobody_site.tenancy.usage import GROUPINGS, usage_by

REFUSED = 1
MICRO_USD = 1_000_000


class Command(BaseCommand):
    """``manage.py usage_report``."""

    help = (
        "Sums up what turns used, by account, key, Subject or day (days are those of UTC): turns, model calls, tokens, "
        "and cost in USD at the prices of MODEL_CATALOGUE. cached is a part of input, reasoning of output. A Subject "
        "is told by its number, which names nobody; 0 was never written to. Holds no content. Exit codes: 0 told, 1 "
        "no such account, 2 wrong arguments. Example: manage.py usage_report --account demo --by day"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", help="only this account")
        parser.add_argument(
            "--by", choices=sorted(GROUPINGS), default="account", help="a row for each; default account"
        )
        parser.add_argument("--from", dest="first", type=_day, help="first day, as 2026-11-01; default: of this month")
        parser.add_argument("--to", dest="last", type=_day, help="last day, inclusive; default: today")
        parser.add_argument("--json", action="store_true", help="print the rows as a JSON object")

    def handle(self, *args: Any, account: str | None, by: str, **options: Any) -> None:
        if account is not None and not User.objects.filter(username=account).exists():
            raise CommandError("There is no such account.", returncode=REFUSED)
        today = timezone.now().date()
        first, last = options["first"] or today.replace(day=1), options["last"] or today
        rows = [_shown(row, by) for row in usage_by(by, first, last, account)]
        if options["json"]:
            self.stdout.write(json.dumps({"from": first.isoformat(), "to": last.isoformat(), "by": by, "rows": rows}))
            return
        self.stdout.write(f"{first} to {last}, by {by}:" if rows else f"{first} to {last}: nothing was used.")
        for line in _table(rows):
            self.stdout.write(line)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("must be a day as 2026-11-01") from None


def _shown(row: dict[str, Any], by: str) -> dict[str, Any]:
    cost = row.pop("cost_micro_usd")
    return {name: str(value) if name == "day" else value for name, value in row.items()} | {
        "cost_usd": cost / MICRO_USD
    }


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Columns as wide as what stands in them, numbers to the right."""
    if not rows:
        return []
    lines = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def _cell(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)
