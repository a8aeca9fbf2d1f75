"""An HTTP/1.1 client of one endpoint: connections opened, kept and tunnelled through a proxy. Not here: retries."""

from time import monotonic

from responses_app.llm import faults
from responses_app.llm.connections import Connection, Pool
from responses_app.llm.endpoint import Endpoint, Proxy
from responses_app.llm.faults import ProviderError
from responses_app.llm.patience import Patience
from responses_app.llm.reply import Reply, StaleConnectionError

CONNECT_SECONDS = 5.0


class Client:
    """Sends requests to one endpoint. Shared by threads.

    ``api_key`` may be empty; ``read_seconds`` is how long one read or write may wait. Raises ``ValueError`` for a key
    that is no header value.
    """

    def __init__(self, endpoint: Endpoint, api_key: str, read_seconds: float) -> None:
        self._endpoint = endpoint
        self._read_seconds = read_seconds
        self._head = _head(endpoint, api_key)
        self._pool = Pool()

    def post(self, body: bytes, patience: Patience) -> Reply:
        """The answer to a JSON body, to be given to ``finish`` or ``abandon``. Raises ``ProviderError``."""
        patience.check()
        kept = self._pool.take()
        if kept is not None:
            try:
                return self._ask(kept, body, patience)
            except StaleConnectionError:
                pass
        return self._ask(self._open(patience), body, patience)

    def finish(self, reply: Reply) -> None:
        """Keeps the connection of an answer that was read to its end."""
        if reply.is_read_to_the_end():
            self._pool.give_back(reply.connection)
        else:
            self.abandon(reply)

    def abandon(self, reply: Reply) -> None:
        """Ends an answer that was not read to its end."""
        reply.connection.close()

    def _ask(self, connection: Connection, body: bytes, patience: Patience) -> Reply:
        try:
            self._send(connection, body, patience)
            return Reply(connection, patience, self._read_seconds)
        except BaseException:
            connection.close()
            raise

    def _send(self, connection: Connection, body: bytes, patience: Patience) -> None:
        try:
            connection.send(self._head + b"%d\r\n\r\n" % len(body) + body, patience, self._read_seconds)
        except TimeoutError:
            raise ProviderError(faults.TIMED_OUT) from None
        except OSError:
            # A provider that refuses a request half-way says why before it closes: that is read next.
            pass

    def _open(self, patience: Patience) -> Connection:
        try:
            return self._connected(patience, monotonic() + CONNECT_SECONDS)
        except TimeoutError:
            raise ProviderError(faults.TIMED_OUT, may_pass=True) from None
        except OSError:
            raise ProviderError(faults.UNREACHABLE, may_pass=True) from None

    def _connected(self, patience: Patience, end: float) -> Connection:
        to = self._endpoint
        nearest = to.proxy or to
        connection = self._pool.open(nearest.host, nearest.port, patience, _until(end))
        try:
            if to.proxy and to.secure:
                _tunnel(connection, to, to.proxy, patience, end)
            if to.secure:
                connection.secure(to.host, patience, _until(end))
        except BaseException:
            connection.close()
            raise
        return connection


def _tunnel(connection: Connection, to: Endpoint, proxy: Proxy, patience: Patience, end: float) -> None:
    """Has the proxy connect through to the endpoint. Raises ``ProviderError``, ``OSError``."""
    host = f"[{to.host}]" if ":" in to.host else to.host
    lines = [f"CONNECT {host}:{to.port} HTTP/1.1", f"Host: {host}:{to.port}", *_proxy_authorization(proxy), "", ""]
    connection.send("\r\n".join(lines).encode("ascii"), patience, _until(end))
    status = Reply(connection, patience, _until(end)).status
    if status not in range(200, 300):
        raise OSError("the proxy refused the tunnel")


def _head(to: Endpoint, api_key: str) -> bytes:
    """The request's head up to the value of its last header, ``Content-Length``."""
    if not (api_key.isascii() and api_key.isprintable()):
        raise ValueError("LLM_API_KEY must be printable ASCII")
    lines = [
        f"POST {to.target} HTTP/1.1",
        f"Host: {to.authority}",
        "User-Agent: mirobody",
        "Accept: text/event-stream",
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        *([f"Authorization: Bearer {api_key}"] if api_key else []),
        *(_proxy_authorization(to.proxy) if to.proxy and not to.secure else []),
        "Content-Length: ",
    ]
    return "\r\n".join(lines).encode("ascii")


def _proxy_authorization(proxy: Proxy) -> list[str]:
    return [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []


def _until(end: float) -> float:
    return max(0.0, end - monotonic())
