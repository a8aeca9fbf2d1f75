"""Servers on loopback that stand for foreign hosts: each answers as a test says, and keeps what it was asked.

``127.0.0.2`` stands for a public address, ``127.0.0.1`` for this machine.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from tools_app.egress import Address

PUBLIC, PRIVATE = "127.0.0.2", "127.0.0.1"
Answer = Callable[[socket.socket, "Asked"], None]


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Host:
    """A running server. ``answer`` may be changed at any time."""

    port: int
    answer: Answer
    asked: list[Asked] = field(default_factory=list)


def replies(status: str, body: bytes = b"", **headers: str) -> Answer:
    """Answers with this; ``_`` in a header's name stands for ``-``."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "", ""]).encode()
    return lambda connection, asked: connection.sendall(head + body)


def redirects(target: str, status: str = "302 Found") -> Answer:
    """Sends the caller elsewhere."""
    return replies(status, Location=target)


def by_path(**answers: Answer) -> Answer:
    """Another answer for each path."""
    return lambda connection, asked: answers[asked.line.split()[1].strip("/")](connection, asked)


def drips(head: bytes, drop: bytes = b"x") -> Answer:
    """Says something, and then one drop after the other, without an end."""

    def answer(connection: socket.socket, asked: Asked) -> None:
        connection.sendall(head)
        for _ in count():
            connection.sendall(drop)
            threading.Event().wait(0.02)

    return answer


@contextmanager
def host(address: str, answer: Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Host]:
    """A server for as long as the block runs."""
    with socket.create_server((address, port)) as listener:
        running = Host(listener.getsockname()[1], answer)
        thread = threading.Thread(target=_accept, args=(listener, running, tls))
        thread.start()
        yield running
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listener: socket.socket, running: Host, tls: ssl.SSLContext | None) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, running, tls), daemon=True).start()


def _serve(connection: socket.socket, running: Host, tls: ssl.SSLContext | None) -> None:
    try:
        with tls.wrap_socket(connection, server_side=True) if tls else connection as wire:
            asked = _read(wire)
            running.asked.append(asked)
            running.answer(wire, asked)
    except OSError:
        return


def _read(connection: socket.socket) -> Asked:
    with connection.makefile("rb") as reader:
        line = reader.readline().decode().strip()
        headers = {}
        while text := reader.readline().decode().strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        return Asked(line, headers, reader.read(int(headers.get("content-length", 0))))


class Names:
    """A name service of the test's own. A name with several answers gives them in turn, the last one for ever."""

    def __init__(self, **names: Sequence[Sequence[str]]) -> None:
        self.answers = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.lookups: list[str] = []

    def __call__(self, name: str, port: int) -> Sequence[tuple[int, Address]]:
        self.lookups.append(name)
        if name not in self.answers:
            raise socket.gaierror
        answers = self.answers[name]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, (address, port)) for address in found]
