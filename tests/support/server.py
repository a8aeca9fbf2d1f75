"""The real ASGI application behind a real server on a free port of this machine, and an account that calls it."""

import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn

from mirobody_site.asgi import application
from mirobody_site.tenancy.services import create_api_key

TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Account:
    """A caller with an account of its own: its id, one of its keys, and the server it calls."""

    id: int
    key: str
    base_url: str

    def client(self, **headers: str) -> httpx.Client:
        """An HTTP client that sends the key; ``headers`` are sent as well."""
        return http_client(self.base_url, {"Authorization": f"Bearer {self.key}", **headers})


def http_client(base_url: str, headers: Mapping[str, str] | None = None) -> httpx.Client:
    """An HTTP client without a key. It loads no certificates, which takes most of a start, and uses no proxy."""
    return httpx.Client(base_url=base_url, headers=headers, timeout=TIMEOUT_SECONDS, verify=False, trust_env=False)


def make_account(base_url: str) -> Account:
    """A fresh account with one key on the server at ``base_url``."""
    key, secret = create_api_key(f"account-{secrets.token_hex(8)}")
    return Account(id=key.account_id, key=secret, base_url=base_url)


@contextmanager
def running_server() -> Iterator[str]:
    """Serves the application until left; gives its base URL. Connections wait in the socket's queue until it is up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(application, lifespan="off", log_config=None, timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server")
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()
