"""Connections to the provider: opened, read and written without ever blocking for long, kept for the next inference.

Every wait is the inference's own ``Patience``. Not here: what goes over a connection.
"""

import os
import select
import socket
import ssl
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from functools import cache, partial
from ipaddress import ip_address
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

from responses_app.llm.patience import Patience

READ_SIZE = 65_536
# Shorter than what servers and load balancers grant, most of which close after a minute or more.
IDLE_SECONDS = 30.0

_Result = TypeVar("_Result")
_Address = tuple[socket.AddressFamily, Any]


class Connection:
    """A connection that one inference uses at a time. Methods raise ``OSError``, ``TimeoutError`` when nothing moved
    for ``seconds``, and as ``Patience.check`` does."""

    def __init__(self, family: socket.AddressFamily = socket.AF_INET) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(self._socket, select.POLLOUT)
        self._more_may_be_there = False
        self.reused = False
        self.idle_since = 0.0

    def connect(self, address: Any, patience: Patience, seconds: float) -> None:
        """Connects to a socket address."""
        with suppress(BlockingIOError):
            self._socket.connect(address)
        self._wait(self._writable, patience, seconds)
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))

    def secure(self, host: str, patience: Patience, seconds: float) -> None:
        """Goes on under TLS, once the peer has proved to be ``host``."""
        wrapped = _tls().wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
        self._socket = wrapped
        self._retried(wrapped.do_handshake, self._readable, patience, seconds)

    def send(self, data: bytes, patience: Patience, seconds: float) -> None:
        """Sends it all."""
        rest = memoryview(data)
        while rest:
            patience.check()
            piece = rest[:READ_SIZE]
            sent = self._retried(partial(self._socket.send, piece), self._writable, patience, seconds)
            rest = rest[sent:]

    def receive(self, patience: Patience, seconds: float) -> bytes:
        """All that has arrived, up to some ``READ_SIZE``; waits for the first byte. ``b""``: nothing more will come."""
        patience.check()
        # A model writes slower than it is read: mostly there is nothing yet, and trying would be in vain.
        if not self._more_may_be_there:
            self._wait(self._readable, patience, seconds)
        received = self._retried(partial(self._socket.recv, READ_SIZE), self._readable, patience, seconds)
        if received and isinstance(self._socket, ssl.SSLSocket):
            received += self._more(READ_SIZE - len(received))
        self._more_may_be_there = len(received) >= READ_SIZE
        return received

    def is_alive(self) -> bool:
        """Whether the other side has kept an idle connection open, and silent as it has to be."""
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._socket.close()

    def _more(self, size: int) -> bytes:
        """TLS gives one record at a time, however many have arrived."""
        pieces: list[bytes] = []
        # A fault met here is met again by the next read.
        with suppress(OSError):
            while size > 0 and (piece := self._socket.recv(size)):
                pieces.append(piece)
                size -= len(piece)
        return b"".join(pieces)

    def _retried(
        self, operation: Callable[[], _Result], ready: select.poll, patience: Patience, seconds: float
    ) -> _Result:
        while True:
            try:
                return operation()
            except ssl.SSLWantReadError:
                awaited = self._readable
            except ssl.SSLWantWriteError:
                awaited = self._writable
            except BlockingIOError:
                awaited = ready
            self._wait(awaited, patience, seconds)

    def _wait(self, ready: select.poll, patience: Patience, seconds: float) -> None:
        if not patience.wait(lambda left: ready.poll(left * 1000), seconds):
            raise TimeoutError


class Pool:
    """A provider's connections: idle ones, the last used first, and new ones. Any number may be open at once; one that
    idled too long is closed.

    Threads share it. A forked process begins anew: a connection, and a lookup under way, belong to one process.
    """

    def __init__(self) -> None:
        self._begin()

    def take(self) -> Connection | None:
        """A connection that idled and was alive a moment ago, or none."""
        if self._process != os.getpid():
            self._begin()
        self._close_expired()
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_alive():
                    connection.reused = True
                    return connection
                connection.close()
        return None

    def open(self, host: str, port: int, patience: Patience, seconds: float) -> Connection:
        """A connection to the first address of the host that accepts one. Raises ``OSError``, ``TimeoutError`` after
        ``seconds``, and as ``Patience.check`` does."""
        end = monotonic() + seconds
        addresses = self._lookups.addresses(host, port, patience, seconds)
        failed = OSError("a host without addresses")
        for number, (family, address) in enumerate(addresses):
            share = max(0.0, end - monotonic()) / (len(addresses) - number)
            try:
                return _connected(family, address, patience, share)
            except OSError as error:
                failed = error
        raise failed

    def give_back(self, connection: Connection) -> None:
        """Keeps a connection on which everything has been read."""
        connection.idle_since = monotonic()
        self._close_expired()
        self._idle.append(connection)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._idle: deque[Connection] = deque()
        self._lookups = Lookups()

    def _close_expired(self) -> None:
        # A deque needs no lock; one that another thread empties meanwhile has nothing to close.
        with suppress(IndexError):
            while self._idle[0].idle_since < monotonic() - IDLE_SECONDS:
                self._idle.popleft().close()


class Lookups:
    """Name lookups. They block and cannot be ended, so they run on a thread, one for all who ask for the same host."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[tuple[str, int], Future[list[_Address]]] = {}

    def addresses(self, host: str, port: int, patience: Patience, seconds: float) -> list[_Address]:
        """The addresses of a host. Raises ``OSError``, ``TimeoutError``, and as ``Patience.check`` does."""
        if _is_numeric(host):
            return _look_up(host, port)
        found = self._lookup(host, port)
        if not patience.wait(lambda left: wait_for([found], left).done, seconds):
            raise TimeoutError
        return found.result()

    def _lookup(self, host: str, port: int) -> Future[list[_Address]]:
        with self._lock:
            found = self._running.get((host, port))
            if found is None:
                found = self._running[host, port] = Future()
                Thread(target=self._run, args=(host, port, found), name="name lookup", daemon=True).start()
            return found

    def _run(self, host: str, port: int, found: Future[list[_Address]]) -> None:
        try:
            addresses = _look_up(host, port)
        except OSError as error:
            self._forget(host, port)
            found.set_exception(error)
        else:
            self._forget(host, port)
            found.set_result(addresses)

    def _forget(self, host: str, port: int) -> None:
        with self._lock:
            self._running.pop((host, port), None)


def _connected(family: socket.AddressFamily, address: Any, patience: Patience, seconds: float) -> Connection:
    connection = Connection(family)
    try:
        connection.connect(address, patience, seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _look_up(host: str, port: int) -> list[_Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def _is_numeric(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
