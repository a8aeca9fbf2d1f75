"""The whole product as ``make up`` runs it, on a Postgres database and a Redis of its own."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
from django.conf import settings
from psycopg import sql

from tests.support.process import ROOT
from tests.support.redis_server import free_port, running_redis_server
from tests.support.waiting import wait_until

STOP_SECONDS = 90


@dataclass(frozen=True)
class Deployment:
    """Running processes: where they serve, and the environment they were started with."""

    base_url: str
    environment: Mapping[str, str]
    process: "subprocess.Popen[bytes]"
    _output: Path
    _mark: str

    def make_key(self) -> str:
        """A new API key."""
        command = [sys.executable, "manage.py", "create_api_key", "--account", "demo"]
        made = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True, text=True)
        return made.stdout.split()[-1]

    def ready(self) -> bool:
        """Whether it says so."""
        try:
            return httpx.get(f"{self.base_url}/readyz").is_success
        except httpx.TransportError:
            return False

    @property
    def output(self) -> str:
        """All that the processes have written."""
        return self._output.read_text()

    @property
    def log_lines(self) -> list[dict[str, Any]]:
        """The lines of it that are JSON objects."""
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]

    def living_processes(self) -> list[int]:
        """The ids of all processes that were started for it, at whatever remove, and live."""
        return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit() and self._owns(folder)]

    def _owns(self, folder: Path) -> bool:
        try:
            return self._mark.encode() in (folder / "environ").read_bytes()
        except OSError:
            return False

    def stop(self) -> None:
        """Sends SIGTERM, as an operator or ``make`` does on Ctrl-C. Does not wait."""
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def deployment(**given: str) -> Iterator[Deployment]:
    """Starts everything with the settings ``given``, waits until it is ready, and kills at the end what is left."""
    mark = f"DEPLOYMENT_MARK={secrets.token_hex(8)}"
    with (
        tempfile.TemporaryDirectory() as folder,
        running_redis_server() as redis_server,
        empty_database() as database_url,
    ):
        environment = inherited() | {
            "DATA_DIR": folder,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_server.url,
            "DJANGO_SECRET_KEY": secrets.token_hex(32),
            "PORT": str(free_port()),
            "LOG_FORMAT": "json",
            **given,
        }
        output = Path(folder) / "output"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "mirobody_site.up"],
                cwd=ROOT,
                env=environment | dict([mark.split("=")]),
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        running = Deployment(f"http://127.0.0.1:{environment['PORT']}", environment, process, output, mark)
        try:
            wait_until(lambda: process.poll() is not None or running.ready())
            assert process.poll() is None, running.output
            yield running
        finally:
            for pid in running.living_processes():
                os.kill(pid, signal.SIGKILL)
            process.wait()


def inherited() -> dict[str, str]:
    """What processes of the product take over from the tests' environment."""
    return {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "RATE_LIMIT_RPM": "1000000"}


@contextmanager
def empty_database() -> Iterator[str]:
    """The URL of an empty database on the Postgres that the settings name."""
    place = settings.DATABASES["default"]
    login = {"host": place["HOST"], "port": place["PORT"] or 5432, "user": place["USER"], "password": place["PASSWORD"]}
    name = f"test_up_{secrets.token_hex(6)}"
    with psycopg.connect(**login, dbname="postgres", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            user = f"{quote(login['user'], safe='')}:{quote(login['password'], safe='')}"
            yield f"postgres://{user}@{login['host']}:{login['port']}/{name}"
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
