"""The HTTP client that MCP servers are asked with: public addresses only, within bounds. What is said is not here.

A name is looked up once for each connection, every answer is checked, and a checked one is connected to, while host
name, SNI and certificate stay the name's. Proxies of the environment are not used.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus

import httpcore2
import httpx2

from tools_app.egress import (
    MOST_ADDRESSES,
    PORTS,
    REDIRECTS,
    AddressRefused,
    EgressError,
    Unreachable,
    checked_answers,
    tls_context,
)

MOST_BYTES = 4 * 1024 * 1024
"""How much one answer may hold."""
MOST_BYTES_TOGETHER = 32 * 1024 * 1024
"""How much all answers that one client gets may hold."""
MOST_REQUESTS = 1000
"""How many requests one client sends: a server that has an answer fetched again and again comes to an end."""
_CONNECT_SECONDS = 5.0
_GOODBYE_SECONDS = 2.0
_MOST_CONNECTIONS = 16
_KEPT_METHOD = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)


@dataclass(slots=True)
class Exchange:
    """What came of the requests that one question to a server took. ``fault`` is in words for whoever asked.

    ``status`` is the last one, ``refused`` whether an address was not public, ``session_gone`` whether the server no
    longer knows the session: then it did nothing.
    """

    fault: str = ""
    status: int = 0
    refused: bool = False
    session_gone: bool = False

    def why_it_failed(self) -> str:
        """In words; nothing when it did not fail, as far as HTTP goes."""
        if self.fault or self.status < HTTPStatus.MULTIPLE_CHOICES:
            return self.fault
        if self.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return f"it refused the credentials with status {self.status}"
        return f"it answered with status {self.status}"


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
"""Set by whoever asks; what sends the request runs in a copy of that context."""


def guarded_client(headers: dict[str, str], seconds: float) -> httpx2.AsyncClient:
    """A client for one server, which is sent ``headers`` with every request; no answer takes longer than ``seconds``.

    The MCP client follows redirects within the server's origin; every other one is a fault here.
    """
    own = {"accept-encoding": "identity", "user-agent": "mirobody"}
    return httpx2.AsyncClient(
        transport=GuardedTransport(seconds),
        headers={**own, **headers},
        timeout=httpx2.Timeout(seconds, connect=_CONNECT_SECONDS),
        max_redirects=5,
        trust_env=False,
    )


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests within the bounds. A fault is an answer without a body, so that it ends no other request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._requests = 0
        self._received = 0
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls_context(), max_connections=_MOST_CONNECTIONS, network_backend=_CheckedNetwork()
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and "last-event-id" not in request.headers:
            # A stream of what the server says unasked: nobody here listens to it.
            return httpx2.Response(HTTPStatus.METHOD_NOT_ALLOWED)
        exchange = current_exchange.get() or Exchange()
        try:
            response = await self._answer(request)
        except AddressRefused:
            exchange.refused = True
            return _failed(exchange, "its address is not public")
        except (TimeoutError, httpcore2.ReadTimeout, httpcore2.WriteTimeout, httpcore2.PoolTimeout):
            return _failed(exchange, "it did not answer in time")
        except (EgressError, httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, OSError):
            return _failed(exchange, "it could not be reached")
        except _Refused as refusal:
            return _failed(exchange, str(refusal))
        exchange.status = response.status_code
        if response.status_code == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
            exchange.session_gone = True
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self._requests += 1
        if self._requests > MOST_REQUESTS:
            raise _Refused("it was asked too often")
        # The end of a session is told, not waited for.
        seconds = min(self._seconds, _GOODBYE_SECONDS) if request.method == "DELETE" else self._seconds
        async with asyncio.timeout(seconds):
            answer = await self._pool.handle_async_request(_core_request(request))
        stream = _BoundedStream(answer, time.monotonic() + seconds, self._count)
        response = httpx2.Response(answer.status, headers=answer.headers, stream=stream)
        try:
            await _check_target(request, response)
            _check_encoding(response)
            if response.headers.get("content-type", "").lower().startswith("application/json"):
                # Read here, where what goes wrong can still become an answer.
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    def _count(self, size: int) -> int:
        self._received += size
        return self._received


class _Refused(Exception):
    """An answer that is not passed on."""


class _BoundedStream(httpx2.AsyncByteStream):
    """A body within the bounds of size and time."""

    def __init__(self, answer: httpcore2.Response, end: float, count: Callable[[int], int]) -> None:
        self._answer = answer
        self._end = end
        self._count = count

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        exchange = current_exchange.get() or Exchange()
        async for chunk in self._answer.aiter_stream():
            size += len(chunk)
            if size > MOST_BYTES:
                exchange.fault = f"its answer is larger than {MOST_BYTES // 1024 // 1024} MB"
                raise _Refused(exchange.fault)
            if self._count(len(chunk)) > MOST_BYTES_TOGETHER:
                exchange.fault = "its answers are too large together"
                raise _Refused(exchange.fault)
            if time.monotonic() > self._end:
                exchange.fault = "it did not answer in time"
                raise _Refused(exchange.fault)
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


class _CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were checked."""

    def __init__(self) -> None:
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        for address in (await _public_addresses(host, port))[:MOST_ADDRESSES]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
        raise httpcore2.ConnectError

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


async def _public_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, in numbers. Raises AddressRefused and Unreachable."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable("Its host is not known.") from None
    answers = checked_answers([(int(family), address) for family, _, _, _, address in found])
    return [str(address[0]) for _, address in answers]


async def _check_target(request: httpx2.Request, response: httpx2.Response) -> None:
    """Whether a redirect, if it is one, leads where the MCP client follows. Raises AddressRefused and Unreachable."""
    if response.status_code not in REDIRECTS or "location" not in response.headers:
        return
    try:
        target = request.url.join(response.headers["location"])
    except (httpx2.InvalidURL, UnicodeError):
        raise _Refused("it redirects to no valid address") from None
    if target.scheme not in PORTS or not target.host:
        raise _Refused("it redirects to no valid address")
    await _public_addresses(target.host, target.port or PORTS[target.scheme])
    if target.host != request.url.host:
        raise _Refused("it redirects to another host")
    if response.status_code not in _KEPT_METHOD and request.method != "GET":
        raise _Refused("it redirects in a way that loses what was sent")


def _check_encoding(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise _Refused("it answers in an encoding that it was not asked for")


def _failed(exchange: Exchange, fault: str) -> httpx2.Response:
    exchange.fault, exchange.status = fault, 0
    return httpx2.Response(HTTPStatus.BAD_GATEWAY)


def _core_request(request: httpx2.Request) -> httpcore2.Request:
    url = httpcore2.URL(
        scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
    )
    return httpcore2.Request(
        method=request.method,
        url=url,
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )
