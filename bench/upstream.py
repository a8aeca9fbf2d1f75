"""A scripted provider in a process of its own: streams chat completions at a set pace, cheaply, and counts.

Run: python -m bench.upstream --port 9000 --deltas 50 --first-delay 0 --gap 0 (seconds).

Every answer is ``answer_text`` of its number of deltas; the first delta is the time of its sending (``STAMP_DIGITS``
digits of ``time.monotonic_ns()``, the same clock in every process of a machine). A mark ``[[kind:id]]`` in the request
says more: the last one counts, the requests of each id are counted, and the kind ``handoff`` is answered by a call of
the tool ``TOOL``. ``GET /stats`` tells the counts.
"""

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import cast

import uvloop

STAMP_DIGITS = 20
TOOL = "book_appointment"
_MARK = re.compile(rb"\[\[(\w+):([\w-]+)\]\]")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_STREAM = re.compile(rb'"stream": ?true')
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_USAGE = {"prompt_tokens": 400, "completion_tokens": 60, "total_tokens": 460}
_HEAD = {
    "id": "chatcmpl-Bq0Yw8s3nV5mT1xK7uRzJ4hL2pDfG",
    "object": "chat.completion.chunk",
    "created": 1780000000,
    "model": "scripted",
    "service_tier": "default",
    "system_fingerprint": "fp_0a1b2c3d4e",
}


def answer_text(deltas: int) -> str:
    """What an answer of so many deltas says after its stamp."""
    return "".join(_words(deltas))


def _words(deltas: int) -> list[str]:
    return [f" word{number}" for number in range(1, deltas)]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _frame(**fields: object) -> bytes:
    return _chunk(b"data: " + json.dumps(_HEAD | fields, separators=(",", ":")).encode() + b"\n\n")


def _delta(delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    return _frame(choices=[{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])


def _json_answer(body: object) -> bytes:
    data = json.dumps(body).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
    return head + data


class Script:
    """The bytes of every answer, made once, and the pace they are sent at in seconds."""

    def __init__(self, deltas: int, first_delay: float, gap: float) -> None:
        self.first_delay, self.gap = first_delay, gap
        self._opening = _STREAM_HEAD + _delta({"role": "assistant", "content": ""})
        self._stamped = _delta({"content": "0" * STAMP_DIGITS})
        self._texts = [_delta({"content": word}) for word in _words(deltas)]
        self._call_ending = self._ending("tool_calls")
        self._text_ending = self._ending("stop")
        message = {"role": "assistant", "content": "0" * STAMP_DIGITS + answer_text(deltas)}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        self._whole = _json_answer(_HEAD | {"object": "chat.completion", "choices": [choice], "usage": _USAGE})

    def whole(self) -> bytes:
        """An answer that is no stream."""
        return self._now(self._whole)

    def text(self) -> Iterator[bytes]:
        """A stream of text, a write at a time."""
        yield self._opening + self._now(self._stamped)
        yield from self._texts
        yield self._text_ending

    def call(self) -> Iterator[bytes]:
        """A stream that calls the client tool, a write at a time."""
        call = {"index": 0, "id": "call_0", "type": "function", "function": {"name": TOOL, "arguments": ""}}
        yield self._opening + _delta({"tool_calls": [call]})
        yield _delta({"tool_calls": [{"index": 0, "function": {"arguments": '{"date": '}}]})
        yield _delta({"tool_calls": [{"index": 0, "function": {"arguments": '"2026-12-07"}'}}]})
        yield self._call_ending

    @staticmethod
    def _ending(reason: str) -> bytes:
        usage = _frame(choices=[], usage=_USAGE)
        return _delta({}, reason) + usage + _chunk(b"data: [DONE]\n\n") + _LAST_CHUNK

    @staticmethod
    def _now(answer: bytes) -> bytes:
        return answer.replace(b"0" * STAMP_DIGITS, b"%0*d" % (STAMP_DIGITS, time.monotonic_ns()), 1)


class Counts:
    """What was seen: connections, streams under way, requests, and the requests of each marked id."""

    def __init__(self) -> None:
        self.connections = self.most_connections = 0
        self.streams = self.most_streams = 0
        self.requests = 0
        self.of_id: Counter[str] = Counter()

    def connected(self, step: int) -> None:
        self.connections += step
        self.most_connections = max(self.most_connections, self.connections)

    def streaming(self, step: int) -> None:
        self.streams += step
        self.most_streams = max(self.most_streams, self.streams)

    def as_json(self) -> dict[str, object]:
        figures = {name: value for name, value in vars(self).items() if name != "of_id"}
        return figures | {
            "turns": len(self.of_id),
            "repeated": {name: times for name, times in self.of_id.items() if times > 1},
        }


class Connection(asyncio.Protocol):
    """One caller's connection; it asks for one answer after the other."""

    _transport: asyncio.Transport

    def __init__(self, script: Script, counts: Counts) -> None:
        self._script, self._counts = script, counts
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._timer: asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._counts.connected(1)

    def connection_lost(self, exception: Exception | None) -> None:
        self._counts.connected(-1)
        if self._timer is not None:
            self._timer.cancel()
            self._counts.streaming(-1)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        size = int(length[1]) if length else 0
        if not end or len(rest) < size:
            return
        self._received = rest[size:]
        self._answer(head, rest[:size])

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._transport.write(_json_answer(self._counts.as_json()))
            return
        self._counts.requests += 1
        kind = self._kind(body)
        if not _STREAM.search(body):
            self._transport.write(self._script.whole())
            return
        pieces = self._script.call() if kind == b"handoff" else self._script.text()
        self._counts.streaming(1)
        self._schedule(self._loop.time() + self._script.first_delay, pieces)

    def _kind(self, body: bytes) -> bytes:
        marks = _MARK.findall(body)
        if not marks:
            return b""
        kind, name = marks[-1]
        self._counts.of_id[name.decode()] += 1
        return bytes(kind)

    def _schedule(self, due: float, pieces: Iterator[bytes]) -> None:
        step = partial(self._step, due, pieces)
        # A write for every piece, so that they leave one by one even without a pause.
        self._timer = self._loop.call_at(due, step) if due > self._loop.time() else self._loop.call_soon(step)

    def _step(self, due: float, pieces: Iterator[bytes]) -> None:
        piece = next(pieces)
        self._transport.write(piece)
        if not piece.endswith(_LAST_CHUNK):
            self._schedule(due + self._script.gap, pieces)
            return
        self._timer = None
        self._counts.streaming(-1)


async def _serve(port: int, script: Script) -> None:
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(script, counts), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--deltas", type=int, default=50)
    parser.add_argument("--first-delay", type=float, default=0.0)
    parser.add_argument("--gap", type=float, default=0.0)
    given = parser.parse_args()
    uvloop.run(_serve(given.port, Script(given.deltas, given.first_delay, given.gap)))


if __name__ == "__main__":
    main()
