"""``seed_demo``: a demo account with a synthetic person, and how to ask about her."""

import os
import secrets
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.utils import timezone

from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.services import create_api_key
from tools_app.records.demo import ACCOUNT
from tools_app.records.seeding import seed

DEFAULT_PORT = 8000


class Command(BaseCommand):
    """Seeds once; prints a new key the first time and its prefix later."""

    help = (
        f"Makes the account '{ACCOUNT}' with a synthetic person, alice, two years of her health records, and her "
        "father martin, who shares his with her. Prints a key and commands to copy the first time; run again it keeps "
        "everything. Exit codes: 0 made or there already, 2 wrong arguments. Example: manage.py seed_demo --port 8001"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        default = os.environ.get("PORT", DEFAULT_PORT)
        parser.add_argument("--port", type=int, default=default, help="The server's port, for the printed commands.")

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        key = ApiKey.objects.filter(account__username=ACCOUNT, revoked_at=None).order_by("id").first()
        secret = password = ""
        if key is None:
            key, secret = create_api_key(ACCOUNT)
            password = _new_password(key.account)
        written = seed(key.account_id, timezone.now())
        self.stdout.write(f"Demo account '{ACCOUNT}': {written} records written." if written else "Demo data is there.")
        self.stdout.write(_welcome(port, secret, password) if secret else _welcome_back(port, key.prefix))


def _welcome(port: int, secret: str, password: str) -> str:
    return f"""
{_who_answers()}
{_exports(port, secret)}

# Ask about her data
{_ask('{"model": "mirobody-flash", "user": "alice", "input": "How has my fasting glucose developed?"}')}

# 用中文提问（流式输出）
{_ask('{"model": "mirobody-flash", "user": "alice", "input": "我最近的空腹血糖怎么样？", "stream": true}', "-N ")}

# Hand off to a tool of your own
{_ask(_BOOKING)}

# Or try it in a browser
http://127.0.0.1:{port}/playground   account: {ACCOUNT}   password: {password or "(the one it has)"}

Key and password are shown this once. Others: {_python()} manage.py create_api_key --account {ACCOUNT}
                                              {_python()} manage.py changepassword {ACCOUNT}
"""


def _new_password(account: User) -> str:
    """A password for the pages, given to an account that has none; empty when it has one."""
    if account.has_usable_password():
        return ""
    password = secrets.token_urlsafe(12)
    account.set_password(password)
    account.save(update_fields=["password"])
    return password


def _welcome_back(port: int, prefix: str) -> str:
    return f"""
{_who_answers()}
{_exports(port, prefix + "...")}

The key that starts with {prefix} still works. Another one: {_python()} manage.py create_api_key --account {ACCOUNT}
"""


def _who_answers() -> str:
    if settings.LLM_BASE_URL:
        return "Answers come from the language model at LLM_BASE_URL."
    return "Answers come from the built-in analyst: rules over the records, no language model. LLM_BASE_URL sets one."


def _exports(port: int, secret: str) -> str:
    return f"""
export MIROBODY_API_BASE=http://127.0.0.1:{port}/v1
export MIROBODY_API_KEY={secret}"""


def _ask(body: str, flags: str = "") -> str:
    return f"""curl -s {flags}"$MIROBODY_API_BASE/responses" \\
  -H "Authorization: Bearer $MIROBODY_API_KEY" -H "Content-Type: application/json" \\
  -d '{body}'"""


_BOOKING = """{
    "model": "mirobody-flash", "user": "alice",
    "input": "Check my recent glucose and book a follow-up if it is trending up.",
    "tools": [{"type": "function", "name": "book_appointment",
      "description": "Book a clinic appointment for the end user.",
      "parameters": {"type": "object", "required": ["date"],
        "properties": {"date": {"type": "string", "description": "ISO date"}}}}]
  }"""


def _python() -> str:
    """The interpreter that runs this, as it is called from here."""
    return os.path.relpath(sys.executable)
