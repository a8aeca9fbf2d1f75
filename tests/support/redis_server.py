"""A Redis of the tests' own: a fresh server on 127.0.0.1 that keeps nothing and ends with the tests."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import redis


@dataclass(frozen=True)
class RedisServer:
    """A running server and a client to look into it with."""

    url: str
    client: redis.Redis
    process: "subprocess.Popen[bytes]"


@contextmanager
def running_redis_server(port: int | None = None) -> Iterator[RedisServer]:
    """Starts a server, on ``port`` if that is given, and kills it at the end. A machine without ``redis-server`` fails
    the test and says so."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.fail("redis-server is not installed; these tests need it (Debian: apt-get install redis-server)")
    with tempfile.TemporaryDirectory() as directory:
        port = port or free_port()
        process = subprocess.Popen(
            [
                binary,
                "--bind",
                "127.0.0.1",
                "--port",
                str(port),
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                directory,
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            url = f"redis://127.0.0.1:{port}/0"
            client = redis.Redis.from_url(url, protocol=2)
            _wait_until_it_answers(client, process)
            yield RedisServer(url, client, process)
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def shared_redis_server() -> Iterator[RedisServer]:
    """One server for all tests of a process."""
    with running_redis_server() as server:
        yield server


@pytest.fixture
def redis_server(shared_redis_server: RedisServer) -> RedisServer:
    """The shared server, empty."""
    shared_redis_server.client.flushall()
    return shared_redis_server


def free_port() -> int:
    """A port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(client: redis.Redis, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            client.ping()
        except redis.ConnectionError:
            continue
        return
    pytest.fail(f"redis-server ended at once with exit status {process.returncode}")
