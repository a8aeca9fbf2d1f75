"""Reading a live stream event by event, while the server still writes it.

with open_stream(api, {"input": "Hi [[gated]]"}) as live:
    live.until("response.output_text.delta")   # returns as soon as the first token is there
    gate.set()
    stream = live.check()                      # the rest, and the grammar of the whole
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.support.grammar import DONE, Stream, check_stream, parse_frames

Json = dict[str, Any]


class LiveStream:
    """The open answer to a streaming request. ``raw`` is what has been read of it so far."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.raw = bytearray()
        self._received = response.iter_raw()
        self._read_to = 0
        self._waiting: deque[Json] = deque()

    def __iter__(self) -> Iterator[Json]:
        """The events not given yet, each as soon as it has come."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if not self._receive():
                return

    def next(self) -> Json:
        """The next event. Fails when the stream ends first."""
        for event in self:
            return event
        raise AssertionError("the stream ended")

    def until(self, kind: str) -> list[Json]:
        """The events up to and with the next one of this type. Fails when the stream ends first."""
        events: list[Json] = []
        for event in self:
            events.append(event)
            if event["type"] == kind:
                return events
        raise AssertionError(f"the stream ended without {kind}: {[event['type'] for event in events]}")

    def check(self) -> Stream:
        """Reads to the end and checks the grammar of the whole stream."""
        while self._receive():
            pass
        return check_stream(bytes(self.raw))

    def _receive(self) -> bool:
        data = next(self._received, b"")
        searched = max(self._read_to, len(self.raw) - 1)
        self.raw += data
        end = self.raw.rfind(b"\n\n", searched) + 2
        if end > 1:
            self._waiting += parse_frames(bytes(self.raw[self._read_to : end]).removesuffix(DONE))
            self._read_to = end
        return bool(data)


@contextmanager
def open_stream(client: httpx.Client, body: Json, **headers: str) -> Iterator[LiveStream]:
    """The live stream of ``POST /v1/responses`` with ``stream`` on. Fails unless it is a 200 event stream."""
    with client.stream("POST", "/v1/responses", json={**body, "stream": True}, headers=headers) as response:
        if response.status_code != 200:
            raise AssertionError(f"{response.status_code}: {response.read().decode()}")
        assert response.headers["content-type"].split(";")[0] == "text/event-stream"
        yield LiveStream(response)
