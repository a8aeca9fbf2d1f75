"""The door for the shell to one stored turn."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from responses_app.models import Response
from responses_app.protocol.input_listing import listed_input
from responses_app.selectors import live_responses_called, pending_call_ids
from responses_app.services.retrieval import shown_body

REFUSED = 1
Json = dict[str, Any]


class Command(BaseCommand):
    """``manage.py show_response``."""

    help = (
        "Shows stored turns by a response id (resp_...), or by the id of the request that began them (X-Request-Id, as "
        "log lines and answers tell it): whose they are by number, state, times, tools, tokens, what went wrong. "
        "Without content, unless --content asks for it: then also what was said and looked up, which is health data "
        "about a person, so mind where the output goes. Deleted and expired turns are not found. Exit codes: 0 shown, "
        "1 no such response, 2 wrong arguments. Example: manage.py show_response resp_0a1b... --json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", help="a response id or a request id")
        parser.add_argument("--content", action="store_true", help="also input, answer, tool calls and results")
        parser.add_argument("--json", action="store_true", help="print a JSON list of objects, one for each response")

    def handle(self, *args: Any, id: str, content: bool, **options: Any) -> None:  # noqa: A002 - the argument's name
        rows = live_responses_called(id, timezone.now())
        if not rows:
            raise CommandError(
                "There is no such response: never made, not stored, deleted or expired.", returncode=REFUSED
            )
        shown = [_shown(row, content=content) for row in rows]
        self.stdout.write(json.dumps(shown, ensure_ascii=False) if options["json"] else "\n\n".join(map(_words, shown)))


def _shown(row: Response, *, content: bool) -> Json:
    body = json.loads(shown_body(row))
    facts = {
        "id": row.pk,
        "status": body["status"],
        "account": row.account.get_username(),
        "key": row.api_key.prefix,
        "subject": row.subject_id,
        "conversation": row.conversation_id,
        "previous_response_id": row.previous_id,
        "request_id": row.request_id,
        "model": body["model"],
        "background": body["background"],
        "created_at": _time(row.created_at),
        "started_at": _time(row.started_at),
        "ended_at": _time(row.ended_at),
        "expires_at": _time(row.expires_at),
        "tools": [{"name": step["name"], "status": step["status"]} for step in body["tool_steps"]],
        "pending_calls": pending_call_ids(row.pk, timezone.now()),
        "usage": body["usage"],
        "error": (body["error"] or {}).get("code"),
        "incomplete": (body["incomplete_details"] or {}).get("reason"),
    }
    if content:
        facts |= {"input": listed_input(row.pk, json.loads(row.input)), "response": body}
    return facts


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None


def _words(shown: Json) -> str:
    return "\n".join(f"{name}: {text}" for name, text in _lines(shown))


def _lines(shown: Json) -> Iterator[tuple[str, str]]:
    for name, value in shown.items():
        match name, value:
            case _, None | []:
                continue
            case "tools", _:
                yield name, ", ".join(f"{step['name']} ({step['status']})" for step in value)
            case "usage", _:
                yield name, ", ".join(_counts(value))
            case "pending_calls", _:
                yield name, ", ".join(value)
            case (("input" | "response"), _):
                yield name, json.dumps(value, ensure_ascii=False, indent=2)
            case _:
                yield name, str(value)


def _counts(usage: Json) -> Sequence[str]:
    return [f"{count} {name.replace('_', ' ')}" for name, count in usage.items() if isinstance(count, int)]
