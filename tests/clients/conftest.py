"""Server processes for real clients: one answers with the built-in analyst, one has the scripted model behind it."""

from collections.abc import Iterator

import pytest

from tests.support.process import ServerProcess, server_process
from tests.support.upstream import Upstream, upstream

__all__ = ["upstream"]


@pytest.fixture(scope="session")
def analyst_server() -> Iterator[ServerProcess]:
    """A server on its defaults: no key, no services."""
    with server_process({}) as server:
        yield server


@pytest.fixture(scope="session")
def scripted_server(upstream: Upstream) -> Iterator[ServerProcess]:
    """A server whose model provider is the scripted one."""
    with server_process({"LLM_BASE_URL": upstream.url, "LLM_API_KEY": "any"}) as server:
        yield server
