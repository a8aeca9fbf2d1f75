"""Web, worker and beat processes of the product on a Redis of their own, each of which a test may end and start."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis

from tests.support.deployment import inherited
from tests.support.process import ROOT
from tests.support.redis_server import free_port
from tests.support.server import http_client
from tests.support.waiting import wait_until

Json = dict[str, Any]
CALLERS = 256
READY = "ready."
"""What a worker's log says once it takes work."""


@dataclass
class Part:
    """One program: how it is started, where it writes, and its process."""

    command: list[str]
    environment: Mapping[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self, **settings: str) -> None:
        """Starts it, with these settings beside the installation's."""
        self.log.write_text("")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env={**self.environment, **settings}, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """Ends it in the middle of whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    @property
    def running(self) -> "subprocess.Popen[bytes]":
        assert self.process is not None
        return self.process

    @property
    def output(self) -> str:
        """What it has written since it was started."""
        return self.log.read_text(errors="replace")


@dataclass
class Installation:
    """The parts by name (``redis``, ``web``, ``beat``, ``worker1`` ...), and callers of it."""

    base_url: str
    redis_url: str
    database_url: str
    environment: Mapping[str, str]
    folder: Path
    parts: dict[str, Part] = field(default_factory=dict)
    callers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(CALLERS))
    client: httpx.Client = field(init=False)

    def start_worker(self, name: str, **settings: str) -> Part:
        """Starts a worker. Does not wait."""
        part = self.parts.setdefault(name, self._part(name, [sys.executable, "-m", "mirobody_site.up", "worker"]))
        part.start(**settings)
        return part

    def wait_for_worker(self, name: str) -> None:
        """Returns once the worker takes work."""
        part = self.parts[name]
        wait_until(lambda: READY in part.output or part.running.poll() is not None)
        assert part.running.poll() is None, part.output

    def start_redis(self) -> None:
        """Starts Redis, empty, and returns once it answers."""
        self.parts["redis"].start()
        with self.redis() as client:
            wait_until(lambda: _answers(client))

    def redis(self) -> redis.Redis:
        """A client to look into Redis with."""
        return redis.Redis.from_url(self.redis_url, protocol=2, decode_responses=True)

    def ask(self, text: str, **fields: Any) -> "Future[httpx.Response]":
        """Asks on a thread of its own; the answer is whole, a stream's too."""
        return self.post({"input": text, **fields})

    def post(self, body: Json) -> "Future[httpx.Response]":
        """Posts a request on a thread of its own."""
        return self.callers.submit(self.client.post, "/v1/responses", json=body)

    def response(self, response_id: str) -> Json:
        """A stored response as it is now."""
        found: Json = self.client.get(f"/v1/responses/{response_id}").raise_for_status().json()
        return found

    def count(self, query: str) -> int:
        """The number that a query of the database gives."""
        with psycopg.connect(self.database_url) as connection:
            row = connection.execute(query).fetchone()  # type: ignore[call-overload]
        assert row is not None
        return int(row[0])

    def _part(self, name: str, command: list[str]) -> Part:
        return Part(command, self.environment, self.folder / f"{name}.log")


@contextmanager
def installation(database_url: str, **settings: str) -> Iterator[Installation]:
    """Redis, web and beat, started and ready, with these settings; no worker yet. All is gone at the end."""
    with tempfile.TemporaryDirectory() as name:
        folder, port, redis_port = Path(name), free_port(), free_port()
        redis_url = f"redis://127.0.0.1:{redis_port}/0"
        environment = inherited() | {
            "DATA_DIR": name,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "DJANGO_SECRET_KEY": secrets.token_hex(32),
            "PORT": str(port),
            "WEB_CONCURRENCY": "1",
            **settings,
        }
        site = Installation(f"http://127.0.0.1:{port}", redis_url, database_url, environment, folder)
        options = ["--bind", "127.0.0.1", "--port", str(redis_port), "--save", "", "--appendonly", "no", "--dir", name]
        site.parts["redis"] = site._part("redis", ["redis-server", *options])
        for part in ("web", "beat"):
            site.parts[part] = site._part(part, [sys.executable, "-m", "mirobody_site.up", part])
        try:
            site.start_redis()
            _manage(environment, "migrate", "--no-input", "--verbosity", "0")
            site.parts["web"].start()
            site.parts["beat"].start()
            key = _manage(environment, "create_api_key", "--account", "demo").split()[-1]
            with http_client(site.base_url, {"Authorization": f"Bearer {key}"}) as site.client:
                site.client.timeout = httpx.Timeout(90)
                wait_until(lambda: _serves(site.base_url))
                yield site
        finally:
            for part in site.parts.values():
                part.kill()
            site.callers.shutdown()


def _manage(environment: Mapping[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=dict(environment), check=True, capture_output=True, text=True).stdout


def _serves(base_url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{base_url}/healthz", trust_env=False).is_success
    return False


def _answers(client: redis.Redis) -> bool:
    with suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


def tell_to_stop(part: Part) -> None:
    """Sends SIGTERM. Does not wait."""
    os.kill(part.running.pid, signal.SIGTERM)


def hold_open(client: httpx.Client, body: Json) -> socket.socket:
    """A connection on which a request for a response was sent as ``client`` sends them; nothing reads its answer."""
    text = json.dumps(body).encode()
    url = client.base_url
    headers = {"Host": url.netloc.decode(), "Authorization": client.headers["Authorization"]}
    headers |= {"Content-Type": "application/json", "Content-Length": str(len(text))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    opened = socket.create_connection((url.host, url.port or 0))
    opened.sendall(f"POST /v1/responses HTTP/1.1\r\n{head}\r\n".encode() + text)
    return opened
