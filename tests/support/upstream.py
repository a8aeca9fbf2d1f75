"""A scripted OpenAI-compatible chat-completions provider for tests: a real HTTP server on a free port of 127.0.0.1.

What it answers depends on the request's content alone, never on the order of calls: the last user message names the
script as ``[[name]]``; the step is the number of assistant messages with tool calls, or corrections of an answer, after
that message.

    upstream.script("two-rounds",
        Step(calls=[Call("query_health_data", {"indicators": ["HbA1c"]})]),
        Step(text=["Your HbA1c ", "is fine."]))
    post({"input": "How is my HbA1c? [[two-rounds]]"})
    assert upstream.requests("[[two-rounds]]")[1].tool_outputs == [...]

A user message without a script is answered with ``DEFAULT_ANSWER``. Everything a step writes can be cut, delayed or
broken: see ``Step`` and the pieces ``Gate`` (a plain ``threading.Event``), ``Hang``, ``Cut`` and ``Raw``.
"""

import itertools
import json
import re
import select
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from responses_app.engine.bare_turn import CORRECTION

DEFAULT_ANSWER = "A short answer."
SECRET = "words-of-the-provider-that-must-not-leak"
GATE_SECONDS = 30.0


@dataclass(frozen=True)
class Hang:
    """Writes nothing more until the client goes away. As a step's very first piece not even the headers are sent."""


@dataclass(frozen=True)
class Cut:
    """Breaks the connection. As a step's very first piece not even the headers are sent."""


@dataclass(frozen=True)
class Raw:
    """Bytes written as they stand, frame and line ends included."""

    data: bytes


Gate = threading.Event
"""A piece at which the stream waits until the test calls ``set()``."""

Piece = str | Gate | Hang | Cut | Raw


@dataclass(frozen=True)
class Call:
    """A tool call. ``arguments`` is a JSON value, or the exact text when it is a string.

    ``fragments``: over how many chunks the arguments go. ``id``: made from the script's name unless given.
    ``with_index=False`` leaves the index out; ``repeat_name`` gives id and name again with every fragment.
    """

    name: str
    arguments: Any = field(default_factory=dict)
    id: str | None = None
    fragments: int = 1
    index: int | None = None
    with_index: bool = True
    repeat_name: bool = False


@dataclass(frozen=True)
class Usage:
    """The figures of the usage chunk, in tokens."""

    prompt: int = 1000
    completion: int = 50
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Step:
    """One answer of the provider: reasoning, then text, then calls, each with control pieces in between where wanted.

    ``text`` may be a function of the request, e.g. ``lambda request: [request.tool_outputs[-1]]``.
    ``finish``: the finish_reason, ``"auto"`` (``tool_calls`` with calls, else ``stop``) or ``None`` for none at all.
    ``status`` other than 200 answers with that error, ``headers`` and ``error_body`` (a body full of ``SECRET`` unless
    given); with ``heals_after=n`` only the first n requests of equal content do. ``write_size`` writes that many bytes
    at a time, ``splits`` cuts the body at these positions.
    """

    text: Iterable[Piece] | Callable[["Request"], Iterable[Piece]] = ()
    reasoning: Sequence[Piece] = ()
    reasoning_field: str = "reasoning_content"
    calls: Sequence[Call | Gate | Hang | Cut | Raw] = ()
    interleaved: bool = False
    usage: Usage | None = field(default_factory=Usage)
    usage_with_finish: bool = False
    finish: str | None = "auto"
    done: bool = True
    line_end: bytes = b"\n"
    space: bool = True
    comments: bool = False
    write_size: int | None = None
    splits: Sequence[int] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error_body: Any = None
    heals_after: int | None = None


@dataclass(frozen=True)
class Request:
    """A request as it arrived. ``gone`` is set once the client has been seen to close the connection."""

    body: dict[str, Any]
    headers: dict[str, str]
    gone: threading.Event = field(default_factory=threading.Event, compare=False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        """The text of the first system message, or ``""``."""
        return next((text_of(m) for m in self.messages if m["role"] == "system"), "")

    @property
    def user_text(self) -> str:
        """The text of the last user message."""
        return text_of(self.messages[self._last_user]) if self._last_user >= 0 else ""

    @property
    def step(self) -> int:
        """How many assistant messages with tool calls, or corrections of an answer, follow the last user message."""
        return sum(bool(m.get("tool_calls")) or _is_correction(m) for m in self.turn)

    @property
    def turn(self) -> list[dict[str, Any]]:
        """The messages after the last user message."""
        return self.messages[self._last_user + 1 :]

    @property
    def tool_outputs(self) -> list[str]:
        """The contents of the tool messages after the last user message."""
        return [text_of(m) for m in self.turn if m["role"] == "tool"]

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def _last_user(self) -> int:
        """Where the user's last message with any text is: images of a tool's output come in one without."""
        asked = (i for i, m in enumerate(self.messages) if m["role"] == "user" and text_of(m) and not _is_correction(m))
        return max(asked, default=-1)


def _is_correction(message: dict[str, Any]) -> bool:
    return message["role"] == "user" and text_of(message).startswith(CORRECTION)


def text_of(message: dict[str, Any]) -> str:
    """A chat message's text, its text parts joined."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


ScriptedStep = Step | Callable[[Request], Step]


def _step(scripted: ScriptedStep, request: Request) -> Step:
    return scripted if isinstance(scripted, Step) else scripted(request)


class Upstream:
    """The server. ``url`` is what ``LLM_BASE_URL`` is set to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: dict[str, tuple[tuple[ScriptedStep, ...], bool]] = {}
        self._requests: list[Request] = []
        self._seen: Counter[str] = Counter()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def script(self, name: str, *steps: ScriptedStep, repeat_last: bool = False) -> str:
        """Registers (or replaces) a script and gives its mark ``[[name]]``.

        A step may be a function of the request, for what depends on more of it. One past the end is answered with a
        text that says so.
        """
        with self._lock:
            self._scripts[name] = (steps, repeat_last)
        return f"[[{name}]]"

    def script_for_text(self, user_text: str, *steps: Step) -> None:
        """Registers a script for a last user message of exactly this text, for callers whose text is not the test's."""
        with self._lock:
            self._scripts[user_text] = (steps, False)

    def requests(self, text: str) -> list[Request]:
        """All requests so far whose last user message contains ``text``, in order of arrival, refused ones included."""
        with self._lock:
            return [request for request in self._requests if text in request.user_text]

    def _record(self, request: Request) -> int:
        """Keeps the request and says how many of equal content came before it."""
        content = json.dumps(request.body, sort_keys=True)
        with self._lock:
            self._requests.append(request)
            self._seen[content] += 1
            return self._seen[content] - 1

    def _step_for(self, request: Request) -> Step:
        mark = re.search(r"\[\[([\w.-]+)\]\]", request.user_text)
        name = mark[1] if mark else request.user_text
        if not mark and name not in self._scripts:
            return Step(text=[DEFAULT_ANSWER])
        steps, repeat_last = self._scripts.get(name, ((), False))
        if request.step < len(steps):
            return _step(steps[request.step], request)
        if steps and repeat_last:
            return _step(steps[-1], request)
        return Step(text=[f"(script {name} has no step {request.step})"])


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """The scripted provider, one for the whole test session; give each script a name of its own."""
    server = Upstream()
    server.start()
    yield server
    server.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is no fault of a test."""


class _Gone(Exception):
    """The client closed the connection, or the script cuts it."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/chat/completions":
            self._error(404, {})
            return
        request = Request(json.loads(raw), {name.lower(): value for name, value in self.headers.items()})
        seen_before = self.server.upstream._record(request)
        step = self.server.upstream._step_for(request)
        if step.status != 200 and (step.heals_after is None or seen_before < step.heals_after):
            self._error(step.status, step.headers, step.error_body)
            return
        try:
            self._answer(step, request)
        except (_Gone, OSError):
            request.gone.set()
            self.close_connection = True

    def _error(self, status: int, headers: dict[str, str], error_body: Any = None) -> None:
        default = {"error": {"message": f"Refused: {SECRET}", "type": SECRET, "code": SECRET}}
        body = error_body if isinstance(error_body, bytes) else json.dumps(error_body or default).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, step: Step, request: Request) -> None:
        writer = _Writer(self, step)
        for piece in pieces_of(step, request):
            match piece:
                case bytes():
                    writer.write(piece)
                case Gate():
                    self._wait(piece)
                case Hang():
                    self._wait_until_gone()
                case Cut():
                    self._cut()
        writer.end()

    def _wait_until_gone(self) -> None:
        while self.connection.recv(1, socket.MSG_PEEK):
            select.select([], [], [], 0.01)
        raise _Gone

    def _wait(self, gate: threading.Event) -> None:
        waited = 0.0
        while not gate.wait(0.01):
            waited += 0.01
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _Gone
            if waited > GATE_SECONDS:
                raise _Gone

    def _cut(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        raise _Gone


class _Writer:
    """The chunked body: headers with the first byte, every write its own HTTP chunk."""

    def __init__(self, handler: _Handler, step: Step) -> None:
        self._handler = handler
        self._step = step
        self._position = 0
        self._started = False

    def write(self, data: bytes) -> None:
        self._start()
        for part in self._parts(data):
            self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self._handler.wfile.flush()
        self._position += len(data)

    def end(self) -> None:
        self._start()
        self._handler.wfile.write(b"0\r\n\r\n")

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "text/event-stream")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def _parts(self, data: bytes) -> Iterable[bytes]:
        if self._step.write_size:
            size = self._step.write_size
            return [data[i : i + size] for i in range(0, len(data), size)]
        inside = [split - self._position for split in self._step.splits]
        cuts = sorted({0, len(data), *(cut for cut in inside if 0 < cut < len(data))})
        return [data[start:end] for start, end in itertools.pairwise(cuts)]


def pieces_of(step: Step, request: Request) -> Iterator[bytes | Gate | Hang | Cut]:
    """What a step writes: SSE frames as bytes, with the control pieces between them."""
    role = _frame(step, _chunk(delta={"role": "assistant", "content": ""}))
    for piece in _pieces(step, request):
        if role and isinstance(piece, bytes):
            yield role
            role = b""
        yield piece


def _pieces(step: Step, request: Request) -> Iterator[bytes | Gate | Hang | Cut]:
    text = step.text(request) if callable(step.text) else step.text
    yield from _deltas(step, step.reasoning, step.reasoning_field)
    yield from _deltas(step, text, "content")
    for fragment in _call_fragments(step, request):
        yield _frame(step, _chunk(delta={"tool_calls": [fragment]})) if isinstance(fragment, dict) else fragment
    yield from _ending(step)


def body_of(step: Step) -> bytes:
    """The whole body of a step without control pieces, to find positions for ``splits``."""
    empty = Request({"messages": []}, {})
    return b"".join(piece for piece in pieces_of(step, empty) if isinstance(piece, bytes))


def _deltas(step: Step, pieces: Iterable[Piece], name: str) -> Iterator[bytes | Gate | Hang | Cut]:
    for piece in pieces:
        match piece:
            case str():
                yield _frame(step, _chunk(delta={name: piece}))
            case Raw():
                yield piece.data
            case _:
                yield piece


def _call_fragments(step: Step, request: Request) -> Iterator[dict[str, Any] | bytes | Gate | Hang | Cut]:
    lists: list[list[Any]] = []
    for position, call in enumerate(step.calls):
        if isinstance(call, Call):
            number = call.index if call.index is not None else position
            name = f"call_{request.step}_{number}"
            lists.append(_fragments(call, number, call.id if call.id is not None else name))
        else:
            lists.append([call.data if isinstance(call, Raw) else call])
    if not step.interleaved:
        yield from (fragment for fragments in lists for fragment in fragments)
        return
    for turn in range(max(map(len, lists), default=0)):
        yield from (fragments[turn] for fragments in lists if turn < len(fragments))


def _fragments(call: Call, index: int, call_id: str) -> list[dict[str, Any]]:
    text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    size = max(1, -(-len(text) // call.fragments))
    parts = [text[i : i + size] for i in range(0, len(text), size)] or [""]
    fragments: list[dict[str, Any]] = []
    for number, part in enumerate(parts):
        fragment: dict[str, Any] = {"index": index} if call.with_index else {}
        fragment["function"] = {"arguments": part}
        if number == 0 or call.repeat_name:
            fragment |= {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": part}}
        fragments.append(fragment)
    return fragments


def _ending(step: Step) -> Iterator[bytes]:
    has_calls = any(isinstance(call, Call) for call in step.calls)
    finish = ("tool_calls" if has_calls else "stop") if step.finish == "auto" else step.finish
    usage = _usage(step.usage) if step.usage else None
    if finish is not None:
        extra = {"usage": usage} if step.usage_with_finish else {}
        yield _frame(step, _chunk(delta={}, finish=finish) | extra)
    if usage is not None and not step.usage_with_finish:
        yield _frame(step, {**_chunk(delta={}), "choices": [], "usage": usage})
    if step.done:
        yield _line(step, b"[DONE]")


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
    }


def _frame(step: Step, value: dict[str, Any]) -> bytes:
    return _line(step, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _line(step: Step, data: bytes) -> bytes:
    comment = b": keep-alive" + step.line_end * 2 if step.comments else b""
    return b"data:" + (b" " if step.space else b"") + data + step.line_end * 2 + comment
