"""The caller of a bench: cheap keep-alive HTTP connections that note when each piece of an answer came."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import cast

import httptools


@dataclass(slots=True)
class Reply:
    """One answer. Times are ``monotonic_ns``; ``arrivals`` are the times and bytes of the body's pieces as they came.

    ``complete``: the whole answer came; else the connection broke off.
    """

    sent: int
    status: int = 0
    ended: int = 0
    complete: bool = False
    arrivals: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.arrivals)

    @property
    def seconds(self) -> float:
        """From the request to the end of the answer."""
        return (self.ended - self.sent) / 1e9

    @property
    def first_byte(self) -> float:
        """Seconds from the request to the first byte of the body."""
        return (self.arrivals[0][0] - self.sent) / 1e9

    def arrival_of(self, text: bytes) -> int:
        """When the piece came that completed the first ``text``."""
        seen = b""
        for at, piece in self.arrivals:
            seen += piece
            if text in seen:
                return at
            seen = seen[-len(text) :]
        raise ValueError("the answer does not hold the text")


class Connection(asyncio.Protocol):
    """One keep-alive connection, for one request at a time."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._reply = Reply(0)
        self._now = 0
        self._done: asyncio.Future[None] | None = None
        self.open = False

    async def ask(self, request: bytes) -> Reply:
        """Sends the request and gives its answer, complete or not."""
        self._done = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._reply = reply = Reply(monotonic_ns())
        self.transport.write(request)
        await self._done
        return reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.open = True

    def data_received(self, data: bytes) -> None:
        self._now = monotonic_ns()
        self._parser.feed_data(data)

    def connection_lost(self, exception: Exception | None) -> None:
        self.open = False
        self._finish()

    def on_body(self, piece: bytes) -> None:
        self._reply.arrivals.append((self._now, piece))

    def on_message_complete(self) -> None:
        self._reply.status = self._parser.get_status_code()
        self._reply.complete = True
        self.open = self._parser.should_keep_alive()
        self._finish()

    def _finish(self) -> None:
        self._reply.ended = monotonic_ns()
        if self._done is not None and not self._done.done():
            self._done.set_result(None)


async def connect(port: int) -> Connection:
    """A connection to this machine's ``port``."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


def post(path: str, body: Mapping[str, object], key: str = "none") -> bytes:
    """The bytes of a request."""
    data = json.dumps(body, separators=(",", ":")).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


def get(path: str, key: str = "none", method: str = "GET") -> bytes:
    """The bytes of a request without a body."""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
