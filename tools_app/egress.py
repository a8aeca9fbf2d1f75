"""The one way out to addresses that come from a caller, a model or a fetched page: public ones only, within bounds.

What is fetched and why is the caller's. The address is looked up once, checked and connected to, at every redirect
anew, so that an answer of the name service that changes cannot lead elsewhere. Proxies of the environment are not used.
"""

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urljoin

import urllib3
from django.conf import settings
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.util import Url, parse_url

PORTS = {"http": 80, "https": 443}
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})

# The only headers that follow a redirect to another origin: whatever else a caller set may be a credential.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
_ATTACHED_TO_BODY = frozenset({"content-type", "content-length", "content-encoding"})
# What says how a message is framed and whom it is for is never a caller's to set.
_OWN = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"})
_CHUNK = 64 * 1024
MOST_ADDRESSES = 4
"""How many answers of a look-up are tried."""
_MOST_URL_CHARACTERS = 8192

# What ``is_global`` lets pass, or does in some versions of Python. Source: IANA's special-purpose registries.
_RESERVED_IPV4 = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_TUNNELS = (IPv6Network("2002::/16"),)
_RESERVED_IPV6 = (IPv6Network("2001:db8::/32"), IPv6Network("3fff::/20"), IPv6Network("2001::/23"))

Address = tuple[str | int | bytes, ...]
"""What a socket connects to: host as a number, port, and for IPv6 flow and scope."""
Resolve = Callable[[str, int], Sequence[tuple[int, Address]]]
"""Looks a name up: the address family and address of each answer. Raises OSError."""


class EgressError(Exception):
    """A request that was refused or failed, in words for whoever asked. Holds nothing of the address or the answer."""


class AddressRefused(EgressError):
    """The address is not one that may be asked: no public host, no http(s), or credentials in it."""


class Unreachable(EgressError):
    """No connection, a broken one, or an answer that is no HTTP."""


class TimedOut(EgressError):
    """The whole took longer than its limit."""


class TooManyRedirects(EgressError):
    """More redirects than are followed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one request: ``seconds`` for all of it, redirects and body included; ``connect_seconds`` for each
    connection; ``redirects`` how many are followed.
    """

    seconds: float = 20.0
    connect_seconds: float = 5.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of an address: what credentials belong to."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask. ``trusted`` is the origin of an address that the operator set: it may be anywhere."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] | None = None
    body: bytes | None = None
    trusted: Origin | None = None


class Reply:
    """An answer whose body has not been read yet. ``url`` is where it came from in the end; header names are in lower
    case.
    """

    def __init__(self, url: str, response: urllib3.BaseHTTPResponse, deadline: "_Deadline") -> None:
        self.url = url
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._deadline = deadline

    def chunks(self) -> Iterator[bytes]:
        """The decoded body in pieces, as they come. Raises TimedOut and Unreachable."""
        if self.headers.get("content-encoding", "").strip().lower() not in ENCODINGS:
            raise Unreachable("The answer is encoded in a way that is not read here.")
        while True:
            with self._deadline.translated():
                chunk = self._response.read1(_CHUNK, decode_content=True)
            if not chunk:
                return
            yield chunk

    def read(self, most: int) -> tuple[bytes, bool]:
        """At most that many bytes of the decoded body, and whether there were more. No more than that is kept."""
        body = bytearray()
        for chunk in self.chunks():
            body += chunk
            if len(body) > most:
                return bytes(body[:most]), True
        return bytes(body), False


@contextmanager
def asked(request: Request, limits: Limits = Limits(), resolve: Resolve | None = None) -> Iterator[Reply]:
    """The answer to the request, redirects followed; its connection is closed at the end. For any thread.

    Raises EgressError. A status is no error. To another origin go no credentials, and never a body.
    """
    with _Deadline(limits.seconds) as deadline:
        resolve = resolve or partial(looked_up, remaining=deadline.remaining)
        for _ in range(limits.redirects + 1):
            url = checked_url(request.url)
            with _exchange(request, url, resolve, limits, deadline) as response:
                target = response.headers.get("location") if response.status in REDIRECTS else None
                if not target:
                    yield Reply(url.url, response, deadline)
                    return
                request = _redirected(request, url, response.status, target)
        raise TooManyRedirects("It redirects too often.")


def checked_url(text: str) -> Url:
    """The address, if its form is one that may be asked. Raises AddressRefused."""
    try:
        url = parse_url(text)
    except LocationParseError:
        raise AddressRefused("That is no valid address.") from None
    if url.scheme not in PORTS or not url.host:
        raise AddressRefused("Only http:// and https:// addresses can be fetched.")
    if url.auth is not None:
        raise AddressRefused("An address with credentials in it is not fetched.")
    return url._replace(fragment=None)


def origin_of(url: Url) -> Origin:
    """The origin of a checked address."""
    scheme = str(url.scheme)
    return Origin(scheme, str(url.host).lower(), url.port or PORTS[scheme])


def is_public(address: str) -> bool:
    """Whether an address in numbers is a host on the public internet, whatever it is wrapped in."""
    try:
        number = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(number, IPv4Address):
        return _is_public_ipv4(number)
    inner = number.ipv4_mapped or (_last_32_bits(number) if number in _NAT64 else None)
    if inner is not None:
        return _is_public_ipv4(inner)
    special = any(number in network for network in (*_TUNNELS, *_RESERVED_IPV6))
    return number in _GLOBAL_UNICAST and number.is_global and not special


def looked_up(host: str, port: int, remaining: Callable[[], float]) -> Sequence[tuple[int, Address]]:
    """The system's answers for a name. Raises OSError, and TimedOut when they take longer than what remains."""
    answers: queue.SimpleQueue[Sequence[tuple[int, Address]] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put([(int(family), address) for family, _, _, _, address in found])
        except (OSError, UnicodeError) as error:
            answers.put(error if isinstance(error, OSError) else OSError())

    # The system's resolver cannot be stopped; a thread that is still in it keeps nobody waiting.
    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    try:
        answer = answers.get(timeout=remaining())
    except queue.Empty:
        raise TimedOut("It did not answer in time.") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def checked_answers(answers: Sequence[tuple[int, Address]], exempt: bool = False) -> Sequence[tuple[int, Address]]:
    """What a look-up gave, all of which has to be public unless ``exempt``. Raises AddressRefused and Unreachable."""
    if not answers:
        raise Unreachable("Its host is not known.")
    allowed = exempt or settings.EGRESS_ALLOW_PRIVATE
    if not allowed and not all(is_public(str(address[0])) for _, address in answers):
        raise AddressRefused("Its host resolves to a non-public address.")
    return answers


@cache
def tls_context() -> ssl.SSLContext:
    """How certificates of foreign hosts are checked."""
    return ssl.create_default_context()


def _is_public_ipv4(address: IPv4Address) -> bool:
    special = any(address in network for network in _RESERVED_IPV4)
    return address.is_global and not (special or address.is_multicast or address.is_reserved)


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def _redirected(request: Request, url: Url, status: int, target: str) -> Request:
    """What to ask next. Raises AddressRefused."""
    try:
        following = checked_url(urljoin(url.url, target))
    except ValueError:
        raise AddressRefused("It redirects to no valid address.") from None
    if len(following.url) > _MOST_URL_CHARACTERS:
        raise AddressRefused("It redirects to an address that is too long.")
    headers = {name.lower(): value for name, value in (request.headers or {}).items()}
    method, body = request.method, request.body
    if method not in ("GET", "HEAD") and status in (301, 302, 303):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if name not in _ATTACHED_TO_BODY}
    if origin_of(following) != origin_of(url):
        if body is not None:
            raise AddressRefused("It redirects what was sent to another host.")
        headers = {name: value for name, value in headers.items() if name in _HARMLESS}
    return Request(following.url, method, headers, body, request.trusted)


@contextmanager
def _exchange(
    request: Request, url: Url, resolve: Resolve, limits: Limits, deadline: "_Deadline"
) -> Iterator[urllib3.BaseHTTPResponse]:
    """One request and its answer, on a connection of its own."""
    origin = origin_of(url)
    addresses = _addresses(origin, resolve, exempt=origin == request.trusted)
    with deadline.translated():
        pool = _pool(origin, partial(deadline.connect, addresses, limits.connect_seconds))
    try:
        with deadline.translated():
            response = pool.urlopen(
                request.method,
                url.request_uri,
                body=request.body,
                headers=_sent(request.headers or {}),
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(connect=limits.connect_seconds, read=limits.seconds),
            )
        try:
            yield response
        finally:
            response.close()
    finally:
        pool.close()


def _sent(headers: Mapping[str, str]) -> dict[str, str]:
    given = {name.lower(): value for name, value in headers.items() if name.lower() not in _OWN}
    return given | {"accept-encoding": "gzip, deflate"}


def _addresses(origin: Origin, resolve: Resolve, exempt: bool) -> Sequence[tuple[int, Address]]:
    """The checked answers for the origin's host. Raises AddressRefused and Unreachable."""
    try:
        answers = resolve(origin.host.strip("[]"), origin.port)
    except OSError:
        raise Unreachable("Its host is not known.") from None
    return checked_answers(answers, exempt)


Connect = Callable[[], socket.socket]


def _pool(origin: Origin, connect: Connect) -> urllib3.HTTPConnectionPool:
    """A pool for one connection to the address that was checked; host name and certificate stay those of the name."""
    if origin.scheme == "http":
        pool = urllib3.HTTPConnectionPool(origin.host, origin.port, maxsize=1)
        pool.ConnectionCls = type("PinnedConnection", (HTTPConnection,), {"_new_conn": lambda _: connect()})
        return pool
    secure = urllib3.HTTPSConnectionPool(origin.host, origin.port, maxsize=1, ssl_context=tls_context())
    secure.ConnectionCls = type("PinnedTlsConnection", (HTTPSConnection,), {"_new_conn": lambda _: connect()})
    return secure


class _Deadline:
    """The end of a request, whatever it waits for: at that time its connection is shut, and reading from it ends."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._passed = False
        self._timer = threading.Timer(seconds, self._shut)
        self._timer.daemon = True

    def __enter__(self) -> "_Deadline":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def remaining(self) -> float:
        """Seconds that are left. Raises TimedOut when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimedOut("It did not answer in time.")
        return left

    def connect(self, addresses: Sequence[tuple[int, Address]], seconds: float) -> socket.socket:
        """A connection to the first of the addresses that takes one. Raises OSError and TimedOut."""
        for family, address in addresses[:MOST_ADDRESSES]:
            with suppress(OSError):
                return self._connected(family, address, seconds)
        raise ConnectionError

    def _connected(self, family: int, address: Address, seconds: float) -> socket.socket:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(min(seconds, self.remaining()))
            connection.connect(address)
            self._watch(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _watch(self, connection: socket.socket) -> None:
        # A second handle on it: TLS takes the first one over.
        with self._lock:
            self._connections.append(connection.dup())
        if self._passed:
            self._shut()

    def _shut(self) -> None:
        with self._lock:
            self._passed = True
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """What goes wrong inside is an EgressError; an end that the deadline brought about is TimedOut."""
        try:
            yield
        except (HTTPError, OSError, ValueError):
            self.remaining()
            raise Unreachable("It could not be fetched.") from None
        self.remaining()
