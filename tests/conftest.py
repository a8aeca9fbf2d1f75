"""What every test can ask for: the running server and a fresh account on it.

Tests share one database file and are isolated by their accounts, as callers are; nothing is wrapped in a transaction,
since the server's threads have connections of their own.
"""

import os
from collections.abc import Iterator

import httpx
import pytest
from django.conf import settings
from django.db import connections
from django.test.utils import setup_databases, teardown_databases
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from tests.support.server import Account, http_client, make_account, running_server
from tests.support.upstream import upstream

__all__ = ["upstream"]

# How long an example takes says nothing on a machine that does other work as well.
hypothesis_settings.register_profile("without deadline", deadline=None)
hypothesis_settings.load_profile("without deadline")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Gives each test process a database of its own. SQLite's in memory would be another one for each thread."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
    else:
        database["TEST"]["NAME"] = f"test_{database['NAME']}_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The test database, migrated. pytest-django's own makes none for tests without its mark."""
    with django_db_blocker.unblock():
        previous = setup_databases(verbosity=0, interactive=False)
        yield
        teardown_databases(previous, verbosity=0)


@pytest.fixture(scope="session")
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database, open to every thread for the whole session."""
    with django_db_blocker.unblock():
        yield
        connections.close_all()


@pytest.fixture(scope="session")
def server(database: None) -> Iterator[str]:
    """The base URL of the running server, which takes as many requests as tests make."""
    settings.RATE_LIMIT_RPM = 1_000_000
    with running_server() as base_url:
        yield base_url


@pytest.fixture
def account(server: str) -> Account:
    """A fresh account with one key."""
    return make_account(server)


@pytest.fixture
def other_account(server: str) -> Account:
    """Another fresh account, a stranger to the first."""
    return make_account(server)


@pytest.fixture
def api(account: Account) -> Iterator[httpx.Client]:
    """The account's HTTP client."""
    with account.client() as client:
        yield client


@pytest.fixture
def anonymous(server: str) -> Iterator[httpx.Client]:
    """An HTTP client without a key."""
    with http_client(server) as client:
        yield client
