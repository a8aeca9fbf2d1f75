"""The server as it runs in production, for one bench: Redis, a Postgres database, web and worker processes, a provider.

Everything is its own, on free ports of this machine, and gone at the end: processes killed, database dropped.
"""

import os
import resource
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis
from psycopg import sql

from bench.processes import Command, Usage, kill, usage_of

ROOT = Path(__file__).resolve().parent.parent
POSTGRES_URL = os.environ.get("POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/postgres")
START_SECONDS = 60.0


@dataclass(frozen=True)
class Pace:
    """How the provider answers: how many deltas, after how many seconds the first, how many between two."""

    deltas: int
    first_delay: float = 0.0
    gap: float = 0.0


@dataclass(frozen=True)
class Size:
    """How many web and worker processes there are, and how many turns each worker runs at once; as ``make up``."""

    web: int = 2
    workers: int = 1
    threads: int = 32


Process = subprocess.Popen[bytes]


@dataclass
class Topology:
    """A running server. ``workers``, ``web``, ``redis`` and ``provider`` may be killed and started again by name."""

    port: int
    provider_port: int
    redis_port: int
    database_url: str
    key: str
    folder: Path
    commands: dict[str, Command] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def redis_url(self) -> str:
        return f"redis://127.0.0.1:{self.redis_port}/0"

    @property
    def workers(self) -> list[str]:
        """The names of the worker processes."""
        return [name for name in self.commands if name.startswith("worker")]

    def start(self, name: str) -> None:
        """Starts a process that is not running."""
        self.processes[name] = self.commands[name].start()

    def kill(self, name: str) -> None:
        """Ends a process in the middle of whatever it does."""
        kill(self.processes[name])

    def terminate(self, name: str, seconds: float) -> bool:
        """Asks a process to end and waits so long for it. Whether it has ended."""
        self.processes[name].terminate()
        try:
            self.processes[name].wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def usage(self, kind: str) -> Usage:
        """What the processes whose name begins with ``kind`` use."""
        return usage_of([process.pid for name, process in self.processes.items() if name.startswith(kind)])

    def provider_counts(self) -> dict[str, Any]:
        """What the provider has seen."""
        counts: dict[str, Any] = httpx.get(f"http://127.0.0.1:{self.provider_port}/stats", trust_env=False).json()
        return counts

    def wait_for_workers(self) -> None:
        """Returns once every worker waits for work."""
        with redis.Redis.from_url(self.redis_url, protocol=2) as client:
            self._wait(lambda: _waiting(client) >= len(self.workers))

    def wait_for_web(self) -> None:
        """Returns once the web process answers."""
        self._wait(lambda: httpx.get(f"{self.base_url}/healthz", timeout=2, trust_env=False).is_success)

    def wait_for_redis(self) -> None:
        """Returns once Redis answers."""
        with redis.Redis.from_url(self.redis_url, protocol=2) as client:
            self._wait(client.ping)

    def wait_for_provider(self) -> None:
        """Returns once the provider answers."""
        self._wait(lambda: bool(self.provider_counts()))

    def _wait(self, ready: Callable[[], object]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            ended = [name for name, process in self.processes.items() if process.poll() is not None]
            if ended:
                raise RuntimeError(f"{ended[0]} ended:\n{self.log_tail(ended[0])}")
            try:
                if ready():
                    return
            except (httpx.TransportError, redis.ConnectionError):
                pass
            time.sleep(0.05)
        raise RuntimeError("the server did not come up:\n" + "\n".join(map(self.log_tail, self.processes)))

    def log_tail(self, name: str) -> str:
        """The last lines that a process printed."""
        lines = self.commands[name].log.read_text(errors="replace").splitlines()
        return "\n".join([f"--- {name}", *lines[-20:]])


def _waiting(client: redis.Redis) -> int:
    """How many connections wait for a message of the broker."""
    return sum(connection["cmd"] == "brpop" for connection in client.client_list())


@contextmanager
def running_topology(pace: Pace, size: Size, settings: Mapping[str, str] | None = None) -> Iterator[Topology]:
    """Starts everything and waits until it is up; ``settings`` are added to the environment of web and workers."""
    _raise_open_files()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database_url = stack.enter_context(_database())
        port, provider_port, redis_port = (_free_port() for _ in range(3))
        topology = Topology(port, provider_port, redis_port, database_url, "", folder)
        environment = _environment(topology, settings or {})
        _manage(environment, "migrate", "--no-input", "--verbosity", "0")
        topology.key = _manage(environment, "create_api_key", "--account", "bench").split()[-1]
        topology.commands = _commands(topology, pace, size, environment)
        stack.callback(_end, topology)
        for name in topology.commands:
            topology.start(name)
        topology.wait_for_redis()
        topology.wait_for_provider()
        topology.wait_for_web()
        topology.wait_for_workers()
        yield topology


def _commands(topology: Topology, pace: Pace, size: Size, environment: Mapping[str, str]) -> dict[str, Command]:
    port, provider_port = topology.redis_port, topology.provider_port
    paced = f"--deltas {pace.deltas} --first-delay {pace.first_delay} --gap {pace.gap}"
    lines = {
        "redis": f"redis-server --bind 127.0.0.1 --port {port} --save '' --appendonly no --dir {topology.folder}",
        "provider": f"{sys.executable} -m bench.upstream --port {provider_port} {paced}",
        # The Procfile's own commands.
        "web": f"{sys.executable} -m mirobody_site.up web",
        "beat": f"{sys.executable} -m mirobody_site.up beat",
        **{f"worker{number}": f"{sys.executable} -m mirobody_site.up worker" for number in range(size.workers)},
    }
    own = {"WEB_CONCURRENCY": size.web, "WORKER_THREADS": size.threads, "PORT": topology.port}
    environment = {**environment, **{name: str(value) for name, value in own.items()}}
    return {
        name: Command(shlex.split(line), environment, ROOT, topology.folder / f"{name}.log")
        for name, line in lines.items()
    }


def _environment(topology: Topology, settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {
        "ENV_FILE": os.devnull,
        "DATA_DIR": str(topology.folder),
        "DJANGO_SECRET_KEY": secrets.token_urlsafe(50),
        "DATABASE_URL": topology.database_url,
        "REDIS_URL": topology.redis_url,
        "LLM_BASE_URL": f"http://127.0.0.1:{topology.provider_port}/v1",
        "LLM_API_KEY": "none",
        "RATE_LIMIT_RPM": "100000000",
    }
    return kept | own | dict(settings)


def _manage(environment: Mapping[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    made = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"{arguments[0]} failed:\n{made.stderr}")
    return made.stdout


@contextmanager
def _database() -> Iterator[str]:
    """The URL of a fresh database beside ``POSTGRES_URL``."""
    name = f"bench_{secrets.token_hex(4)}"
    identifier = sql.Identifier(name)
    with psycopg.connect(POSTGRES_URL, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        try:
            yield f"{POSTGRES_URL.rpartition('/')[0]}/{name}"
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))


def _end(topology: Topology) -> None:
    for process in topology.processes.values():
        kill(process)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _raise_open_files() -> None:
    """As many open files as may be, for this process and those it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
