"""A server process, started as ``make serve`` starts it, with a data folder, demo data and a key of its own."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server: its base URL up to ``/v1``, a key of the account ``demo``, and where it keeps its data."""

    api_base: str
    key: str
    data: Path
    _process: "subprocess.Popen[bytes]"

    @property
    def base_url(self) -> str:
        """The base URL without ``/v1``."""
        return self.api_base.removesuffix("/v1")

    def client(self) -> httpx.Client:
        """A client with the key."""
        return httpx.Client(base_url=self.base_url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)

    def limited_key(self, rpm: int) -> str:
        """A new key of the account ``demo`` that may make this many requests a minute."""
        return self._made_key("demo", f"set_rate_limit(key, {rpm})")

    def spent_key(self) -> str:
        """A key of an account that may spend nothing."""
        return self._made_key("spent", "AccountProfile.objects.create(account=key.account, monthly_cap_usd=0)")

    def _made_key(self, account: str, then: str) -> str:
        """A new key, after a line of Python that knows it as ``key``."""
        program = f"""
from mirobody_site.tenancy.models import AccountProfile
from mirobody_site.tenancy.services import create_api_key, set_rate_limit
key, secret = create_api_key({account!r})
{then}
print(secret)
"""
        return _key_in(_manage(_environment({}, str(self.data)), "shell", "-v", "0", "-c", program))

    def kill(self) -> None:
        """Ends it in the middle of whatever it does."""
        self._process.kill()
        self._process.wait()


@contextmanager
def server_process(settings: Mapping[str, str], seeded: bool = True, root: Path = ROOT) -> Iterator[ServerProcess]:
    """Starts the server with these settings in its environment, and stops it at the end. ``seeded``: with demo data.

    ``root`` is the folder with its code.
    """
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        environment = _environment(settings, folder) | {"PORT": str(port)}
        _manage(environment, "migrate", "--no-input", "--verbosity", "0", root=root)
        made = _manage(environment, *(["seed_demo"] if seeded else ["create_api_key", "--account", "demo"]), root=root)
        command = ["-m", "uvicorn", "mirobody_site.asgi:application", "--port", str(port), "--no-access-log"]
        with subprocess.Popen([sys.executable, *command], cwd=root, env=environment) as process:
            try:
                _wait_until_up(f"http://127.0.0.1:{port}/healthz", process)
                yield ServerProcess(f"http://127.0.0.1:{port}/v1", _key_in(made), Path(folder), process)
            finally:
                process.terminate()


def _environment(settings: Mapping[str, str], folder: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "REDIS_", "DATABASE_"))}
    own = {"DATA_DIR": folder, "ENV_FILE": os.devnull, "RATE_LIMIT_RPM": "1000000"}
    return kept | own | dict(settings)


def _manage(environment: Mapping[str, str], *arguments: str, root: Path = ROOT) -> str:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=root, env=dict(environment), check=True, capture_output=True, text=True).stdout


def _key_in(output: str) -> str:
    found = re.search(r"mb_live_[A-Za-z0-9_-]{20,}", output)
    assert found, "no key was printed"
    return found[0]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server process ended"
        try:
            if httpx.get(url, timeout=30).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server process did not come up")
