"""How many turns a second the server takes and what each costs, beside asking the same provider without it.

Run: python -m bench.throughput (make bench). Callers that ask again as soon as they are answered, over connections that
stay open; every response is stored, of one of a hundred Subjects, and read from a provider without delay in 50 deltas.
Every answer is checked after the time is taken. Ends with 1 when one is not right.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from time import monotonic

import uvloop

from bench.client import Reply, connect, post
from bench.figures import machine, megabytes, milliseconds, table
from bench.processes import Usage
from bench.topology import Pace, Size, Topology, running_topology
from bench.upstream import STAMP_DIGITS, answer_text

DELTAS = 50
CONCURRENCIES = (1, 16, 64)
SECONDS = 4.0
WARM_UP_SECONDS = 1.0
SUBJECTS = 100
KINDS = ("web", "worker", "redis")
QUESTION = "How did I sleep last week, and what should I change?"
DONE = b"data: [DONE]\n\n"
HEAD = [
    "path",
    "callers",
    "responses/s",
    "of direct",
    "ms median / p95",
    "ms to first event",
    "ms from the provider's first token to the reader",
    *(f"CPU s of {kind} for 1,000" for kind in KINDS),
]


class WrongAnswer(Exception):
    """An answer that is not what the provider said."""


@dataclass(frozen=True)
class Path:
    """One way to ask: where, the body of a request by its number, the text that an answer of this kind holds."""

    name: str
    direct: bool
    stream: bool

    def request(self, number: int, key: str) -> bytes:
        """The bytes of the request with this number."""
        if self.direct:
            messages = [{"role": "user", "content": QUESTION}]
            usage = {"stream_options": {"include_usage": True}} if self.stream else {}
            return post("/v1/chat/completions", {"model": "m", "messages": messages, "stream": self.stream, **usage})
        user = f"user-{number % SUBJECTS}"
        return post("/v1/responses", {"input": QUESTION, "user": user, "stream": self.stream}, key)

    def text(self, reply: Reply) -> str:
        """The text of an answer. Raises ``WrongAnswer``."""
        if reply.status != HTTPStatus.OK or not reply.complete:
            raise WrongAnswer(f"status {reply.status}, complete: {reply.complete}")
        return (_stream_text if self.stream else _json_text)(self.direct, reply.body)

    @property
    def delta(self) -> bytes:
        """What stands in a stream before its first text."""
        return b'"content":"0' if self.direct else b"event: response.output_text.delta\n"


PATHS = [
    Path("provider, JSON", direct=True, stream=False),
    Path("provider, stream", direct=True, stream=True),
    Path("server, JSON", direct=False, stream=False),
    Path("server, stream", direct=False, stream=True),
]


def _json_text(direct: bool, body: bytes) -> str:
    answer = json.loads(body)
    return str(answer["choices"][0]["message"]["content"] if direct else answer["output_text"])


def _stream_text(direct: bool, body: bytes) -> str:
    if not body.endswith(DONE):
        raise WrongAnswer("the stream does not end with [DONE]")
    frames = body[: -len(DONE)].decode().split("\n\n")[:-1]
    events = [json.loads(frame.partition("data: ")[2]) for frame in frames]
    if direct:
        return "".join(choice["delta"].get("content", "") for event in events for choice in event["choices"])
    if events[-1]["type"] != "response.completed":
        raise WrongAnswer(f"the stream ends with {events[-1]['type']}")
    if [event["sequence_number"] for event in events] != list(range(len(events))):
        raise WrongAnswer("the stream's numbers have a gap")
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    if text != events[-1]["response"]["output_text"]:
        raise WrongAnswer("the deltas are not the final text")
    return text


@dataclass(frozen=True)
class Measured:
    """Some seconds of one path with so many callers, and the CPU seconds of each kind of process in them."""

    path: Path
    callers: int
    seconds: float
    replies: list[Reply]
    cpu: Mapping[str, float]

    @property
    def rate(self) -> float:
        return len(self.replies) / self.seconds

    def row(self, direct_rate: float) -> list[str]:
        """Its line of the table. Raises ``WrongAnswer``."""
        passed_on = [self._passed_on(reply, self._stamp(reply)) for reply in self.replies]
        streamed = [reply.first_byte for reply in self.replies] if self.path.stream else []
        costs = [f"{1000 * seconds / len(self.replies):.2f}" for seconds in self.cpu.values()]
        return [
            self.path.name,
            str(self.callers),
            f"{self.rate:.0f}",
            f"{100 * self.rate / direct_rate:.1f} %",
            milliseconds([reply.seconds for reply in self.replies]),
            milliseconds(streamed),
            milliseconds(passed_on) if self.path.stream else "",
            *(["", "", ""] if self.path.direct else costs),
        ]

    def _stamp(self, reply: Reply) -> int:
        text = self.path.text(reply)
        if text[STAMP_DIGITS:] != answer_text(DELTAS):
            raise WrongAnswer("the text is not the provider's")
        return int(text[:STAMP_DIGITS])

    def _passed_on(self, reply: Reply, stamp: int) -> float:
        return (reply.arrival_of(self.path.delta) - stamp) / 1e9 if self.path.stream else 0.0


async def ask_for(seconds: float, callers: int, port: int, requests: Iterator[bytes]) -> list[Reply]:
    """The answers to callers that each ask one request after the other for so long."""
    replies: list[Reply] = []
    until = monotonic() + seconds

    async def one() -> None:
        connection = await connect(port)
        while monotonic() < until:
            if not connection.open:
                connection = await connect(port)
            replies.append(await connection.ask(next(requests)))
        connection.transport.close()

    await asyncio.gather(*(one() for _ in range(callers)))
    return replies


def measure(topology: Topology, path: Path, callers: int) -> Measured:
    """One line's figures, after a warm-up."""
    port = topology.provider_port if path.direct else topology.port
    requests = (path.request(number, topology.key) for number in count())
    uvloop.run(ask_for(WARM_UP_SECONDS, callers, port, requests))
    before, started = _usage(topology), monotonic()
    replies = uvloop.run(ask_for(SECONDS, callers, port, requests))
    seconds = monotonic() - started
    after = _usage(topology)
    cpu = {kind: after[kind].cpu - before[kind].cpu for kind in KINDS}
    return Measured(path, callers, seconds, replies, cpu)


def _usage(topology: Topology) -> dict[str, Usage]:
    return {kind: topology.usage(kind) for kind in KINDS}


def _printed(topology: Topology, show: Callable[[str], None] = print) -> int:
    show(machine(topology.database_url, topology.redis_url) + "\n")
    show(table(HEAD, []))
    rates: dict[tuple[bool, int], float] = {}
    exit_code = 0
    for path in PATHS:
        for callers in CONCURRENCIES:
            measured = measure(topology, path, callers)
            direct_rate = rates.setdefault((path.stream, callers), measured.rate)
            try:
                show("| " + " | ".join(measured.row(direct_rate)) + " |")
            except WrongAnswer as error:
                exit_code = 1
                show(f"| {path.name} | {callers} | wrong: {error} |")
    usages = _usage(topology).items()
    show("\nMemory after it: " + ", ".join(f"{kind} {megabytes(used.rss)}" for kind, used in usages) + ".")
    return exit_code


def main() -> int:
    """The exit code."""
    with running_topology(Pace(DELTAS), Size()) as topology:
        return _printed(topology)


if __name__ == "__main__":
    sys.exit(main())
