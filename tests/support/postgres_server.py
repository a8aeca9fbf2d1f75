"""A Postgres cluster of the tests' own, which they may stop and start."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.redis_server import free_port
from tests.support.waiting import wait_until

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def is_installed() -> bool:
    """Whether the programs of a Postgres server are here."""
    return _program("initdb") is not None


@dataclass
class PostgresServer:
    """A cluster in a folder, and its port. It keeps what it holds while it is stopped."""

    folder: Path
    port: int
    _user: str | None
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Returns once it takes connections."""
        options = ["-F", "-p", str(self.port), "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1"]
        self._process = subprocess.Popen(
            [str(_program("postgres")), "-D", str(self.folder / "data"), *options],
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers)

    def stop(self) -> None:
        """Ends every connection and the server at once."""
        if self._process is not None:
            self._process.send_signal(3)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def running_postgres_server() -> Iterator[PostgresServer]:
    """A fresh cluster, started; stopped and gone at the end."""
    # Postgres does not run as root.
    user = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        command = [str(_program("initdb")), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        server = PostgresServer(folder, free_port(), user)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _program(name: str) -> Path | None:
    found = shutil.which(name)
    return Path(found) if found else next((path / name for path in reversed(_PROGRAMS) if (path / name).exists()), None)
