"""A developer who logs in to the playground in a browser, with the demo's records in their account."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Browser, Page

from tests.support.browser import running_browser
from tests.support.server import Account
from tools_app.records.seeding import seed


@dataclass(frozen=True, slots=True)
class Developer:
    """Who logs in: the account and its password."""

    account: Account
    name: str
    password: str

    def log_in(self, page: Page) -> None:
        """From the playground's address to the page itself."""
        page.goto("/playground")
        page.get_by_label("Account").fill(self.name)
        page.get_by_label("Password").fill(self.password)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Conversation").wait_for()


@pytest.fixture
def developer(account: Account) -> Developer:
    """An account with a password and the demo people."""
    password = secrets.token_urlsafe(12)
    user = User.objects.get(pk=account.id)
    user.set_password(password)
    user.save()
    seed(account.id, timezone.now())
    return Developer(account, user.username, password)


@pytest.fixture
def browser(developer: Developer) -> Iterator[Browser]:
    """A browser. Made after what uses the database: Playwright keeps an event loop running in its thread."""
    with running_browser() as browser:
        yield browser
