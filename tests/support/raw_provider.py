"""A model provider at the level of its sockets, for what the scripted one cannot do: each connection runs a function.

    def serve(peer: Peer) -> None:
        peer.request()
        peer.send(ANSWER)

    with raw_provider(serve) as provider:
        ask(provider.url)
    assert provider.connections == 1

A connection is closed when its function is over.
"""

import datetime
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PATIENCE_SECONDS = 20.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """An HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(text: str) -> bytes:
    """The SSE frame of a piece of text."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
ANSWER = HEAD + chunk(delta("Fine.")) + chunk(FINISH + DONE) + LAST_CHUNK
"""A whole answer that says "Fine."."""


class Peer:
    """One connection, as the provider has it. Methods raise ``OSError`` once the client is gone."""

    def __init__(self, connection: socket.socket, provider: "RawProvider") -> None:
        self.socket = connection
        self.provider = provider

    def request(self) -> bytes:
        """The next request, whole; its head is kept in the provider's ``heads``."""
        head, body = self._read_past(b"\r\n\r\n")
        self.provider.heads.append(head.decode("latin-1"))
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            body += self._receive()
        return body

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def is_left(self) -> None:
        """Returns once the client has closed the connection."""
        with suppress(ConnectionError):
            while self.socket.recv(65_536):
                pass
        self.provider.left.release()

    def secure(self, context: ssl.SSLContext) -> None:
        """Goes on under TLS."""
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def _read_past(self, mark: bytes) -> tuple[bytes, bytes]:
        received = b""
        while mark not in received:
            received += self._receive()
        head, _, rest = received.partition(mark)
        return head, rest

    def _receive(self) -> bytes:
        received = self.socket.recv(65_536)
        if not received:
            raise ConnectionError
        return received


Serve = Callable[[Peer], None]


@dataclass
class RawProvider:
    """What the test sees. ``heads`` are the requests' heads in order; ``left`` counts ``is_left``."""

    port: int
    connections: int = 0
    heads: list[str] = field(default_factory=list)
    left: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def secure_url(self) -> str:
        return f"https://127.0.0.1:{self.port}/v1"


@contextmanager
def raw_provider(serve: Serve) -> Iterator[RawProvider]:
    """Serves every connection by ``serve`` on a thread of its own until left."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        provider = RawProvider(listener.getsockname()[1])
        open_connections: list[socket.socket] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.settimeout(PATIENCE_SECONDS)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    provider.connections += 1
                    open_connections.append(connection)
                    threading.Thread(target=run, args=(connection,), daemon=True).start()

        def run(connection: socket.socket) -> None:
            peer = Peer(connection, provider)
            with suppress(OSError):
                serve(peer)
            with suppress(OSError):
                peer.socket.shutdown(socket.SHUT_RDWR)
            peer.socket.close()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield provider
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in open_connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def unanswered_port() -> Iterator[int]:
    """A port of this machine that leaves connection attempts without an answer: its queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.connect(listener.getsockname())
        try:
            yield listener.getsockname()[1]
        finally:
            for one in waiting:
                one.close()


def make_certificate(folder: Path, address: str = "127.0.0.1") -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context for an address, and the file of the certificate that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "provider")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path, key_path = folder / "certificate.pem", folder / "key.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key_path)
    return context, path
