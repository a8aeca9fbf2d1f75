"""The answer to an HTTP/1.1 request, read as it arrives, its faults named. Not here: what its body says."""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import monotonic, time

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from responses_app.llm import faults
from responses_app.llm.connections import Connection
from responses_app.llm.faults import ConnectionFault, ProviderError
from responses_app.llm.patience import Patience

MAX_HEAD_BYTES = 65_536
MAX_ANSWER_BYTES = 256 * 1024 * 1024
# What may still come after an answer's last word: the end of its body. Nobody waits for it longer than this.
REST_SECONDS = 0.005
MAX_REST_BYTES = 65_536


class StaleConnectionError(Exception):
    """A kept connection ended before a byte of the answer came: it had been closed before the request was sent."""


class _Message:
    """What the parser has found of the newest message. An interim one (1xx) is replaced by the next."""

    def __init__(self) -> None:
        self.count = 0
        self.body: list[bytes] = []
        self._start()

    def _start(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.has_head = False
        self.over = False

    def on_message_begin(self) -> None:
        self.count += 1
        self._start()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        self.over = True


class Reply:
    """The answer to a request that was sent on ``connection``. ``status`` and headers are there once it is made."""

    def __init__(self, connection: Connection, patience: Patience, read_seconds: float) -> None:
        """Waits for the head. Raises ``StaleConnectionError``, ``ProviderError``."""
        self.connection = connection
        self._patience = patience
        self._read_seconds = read_seconds
        self._message = _Message()
        self._parser = HttpResponseParser(self._message)
        self._received = 0
        self._broken: ProviderError | None = None
        while not self._has_head():
            self._read_head()

    @property
    def status(self) -> int:
        return self._parser.get_status_code()

    @property
    def retry_after(self) -> float | None:
        """The seconds of a ``Retry-After`` header: a number or an HTTP date."""
        header = self._message.headers.get(b"retry-after", b"").decode("latin-1")
        try:
            return max(0.0, float(header))
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(header).timestamp() - time())
        except ValueError:
            return None

    def body(self) -> Iterator[bytes]:
        """The body as it arrives, what came together in one piece. Ends where the body or the connection does.

        Raises ``ConnectionFault``, and ``ProviderError`` for what is no HTTP or has no end.
        """
        while True:
            if self._message.body:
                piece = b"".join(self._message.body)
                self._message.body.clear()
                yield piece
            if self._broken is not None:
                raise self._broken
            if self._message.over or not self._read():
                return
            if self._received > MAX_ANSWER_BYTES:
                raise ProviderError(faults.UNREADABLE)

    def is_read_to_the_end(self) -> bool:
        """Whether the connection can serve another request. Reads the rest of the body, if that has arrived."""
        end, most = monotonic() + REST_SECONDS, self._received + MAX_REST_BYTES
        while not self._message.over:
            left = end - monotonic()
            if left <= 0 or self._received > most or self._broken or not self._read_rest(left):
                return False
            self._message.body.clear()
        return self._broken is None and self._message.count == 1 and self._is_kept_open()

    def _has_head(self) -> bool:
        return self._message.has_head and self.status >= HTTPStatus.OK

    def _is_kept_open(self) -> bool:
        # The parser's own word on this holds only until the message is over.
        closes = b"close" in self._message.headers.get(b"connection", b"").lower()
        return self._parser.get_http_version() == "1.1" and not closes

    def _read_head(self) -> None:
        try:
            arrived = self._receive(self._read_seconds)
        except TimeoutError:
            raise ProviderError(faults.TIMED_OUT) from None
        except OSError:
            arrived = b""
        if not arrived:
            if self.connection.reused and not self._received:
                raise StaleConnectionError
            raise ProviderError(faults.UNREACHABLE, may_pass=True)
        self._parse(arrived)
        if not self._has_head() and (self._broken or self._received > MAX_HEAD_BYTES):
            raise ProviderError(faults.UNREADABLE)

    def _read(self) -> bool:
        """Whether there was more."""
        try:
            arrived = self._receive(self._read_seconds)
        except TimeoutError:
            raise ConnectionFault(faults.TIMED_OUT) from None
        except OSError:
            raise ConnectionFault(faults.BROKE_OFF) from None
        self._parse(arrived)
        return bool(arrived)

    def _read_rest(self, seconds: float) -> bool:
        try:
            arrived = self._receive(seconds)
        except (OSError, ProviderError):
            return False
        self._parse(arrived)
        return bool(arrived)

    def _receive(self, seconds: float) -> bytes:
        arrived = self.connection.receive(self._patience, seconds)
        self._received += len(arrived)
        return arrived

    def _parse(self, arrived: bytes) -> None:
        # What was right before a mistake is read first.
        try:
            if arrived:
                self._parser.feed_data(arrived)
        except (HttpParserError, HttpParserUpgrade):
            self._broken = ProviderError(faults.UNREADABLE)
