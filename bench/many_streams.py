"""Whether one web process holds 1,000 streams open at once, a token every 200 ms in each, for 20 seconds.

Run: python -m bench.many_streams (make bench-streams). Ends with 1 when a stream is not complete and grammatical, the
provider did not see all of them at the same moment, or a limit below is passed.
"""

import asyncio
import itertools
import sys
import time
from dataclasses import dataclass, field
from functools import partial

import uvloop

from bench.client import Reply, connect, post
from bench.figures import machine, megabytes, milliseconds, quantile
from bench.processes import Usage
from bench.topology import Pace, Size, Topology, running_topology
from bench.upstream import STAMP_DIGITS, answer_text
from tests.support.grammar import GrammarError, check_stream

STREAMS = 1000
DELTAS = 100
GAP = 0.2
SIZE = Size(web=1, workers=2, threads=500)
OPENING_SECONDS = 10.0
"""The streams are opened one after the other within this time, all before the first ends."""
MOST_GAP_SECONDS = 0.4
MOST_WEB_BYTES = 400e6
MOST_WEB_THREADS = 100
DELTA = b"event: response.output_text.delta\n"
QUESTION = "Tell me about my last year."


@dataclass
class Seen:
    """The most that each kind of process used at once, and the breaches."""

    most: dict[str, Usage] = field(default_factory=dict)
    breaches: list[str] = field(default_factory=list)

    def require(self, holds: bool, breach: str) -> None:
        if not holds:
            self.breaches.append(breach)


async def open_streams(topology: Topology, seen: Seen) -> list[Reply]:
    """Opens all streams and reads them to their ends."""
    readers = asyncio.gather(*(_stream(topology, number) for number in range(STREAMS)))
    while not readers.done():
        await asyncio.wait({readers}, timeout=2.0)
        for kind in ("web", "worker", "redis"):
            used = await asyncio.to_thread(topology.usage, kind)
            seen.most[kind] = max(used, seen.most.get(kind, used), key=lambda each: each.rss)
    return await readers


async def _stream(topology: Topology, number: int) -> Reply:
    await asyncio.sleep(OPENING_SECONDS * number / STREAMS)
    connection = await connect(topology.port)
    body = {"input": QUESTION, "user": f"user-{number}", "stream": True}
    reply = await connection.ask(post("/v1/responses", body, topology.key))
    connection.transport.close()
    return reply


def breach_of(reply: Reply) -> str | None:
    """What is wrong with one stream."""
    if not reply.complete:
        return "broken off"
    try:
        stream = check_stream(reply.body)
    except GrammarError as error:
        return f"status {reply.status}, {error}"
    if stream.types[-1] != "response.completed":
        return f"ends with {stream.types[-1]}, {(stream.error or {}).get('code')}"
    return None if stream.text[STAMP_DIGITS:] == answer_text(DELTAS) else "another text than the provider's"


def gaps(reply: Reply) -> list[float]:
    """The seconds between the arrivals of one token and the next."""
    tokens = [at for at, piece in reply.arrivals for _ in range(piece.count(DELTA))]
    return [(later - earlier) / 1e9 for earlier, later in itertools.pairwise(tokens)]


def judge(topology: Topology, replies: list[Reply], seen: Seen) -> None:
    """Prints what was seen and notes the breaches."""
    wrong = [breach for reply in replies if (breach := breach_of(reply))]
    counts = topology.provider_counts()
    between = [gap for reply in replies for gap in gaps(reply)] or [0.0]
    web = seen.most["web"]
    print(f"- streams complete and grammatical: {STREAMS - len(wrong)} of {STREAMS}")
    print(f"- streams the provider saw at the same moment: {counts['most_streams']}")
    print(f"- ms between two tokens at the reader, median / p95: {milliseconds(between)}")
    print(f"- ms to the first event, median / p95: {milliseconds([r.first_byte for r in replies if r.arrivals])}")
    for kind, used in seen.most.items():
        sizes = f"{megabytes(used.rss)}, {used.processes} processes, {used.threads} threads"
        print(f"- {kind}, at the most: {sizes}; CPU {topology.usage(kind).cpu:.0f} s")
    for breach in sorted(set(wrong)):
        seen.require(False, f"{wrong.count(breach)} streams: {breach}")
    seen.require(counts["most_streams"] == STREAMS, "the provider did not see all streams at the same moment")
    seen.require(quantile(between, 0.5) <= MOST_GAP_SECONDS, f"median between tokens over {MOST_GAP_SECONDS} s")
    seen.require(web.rss < MOST_WEB_BYTES, f"web over {megabytes(int(MOST_WEB_BYTES))}")
    seen.require(web.threads <= MOST_WEB_THREADS, f"web has over {MOST_WEB_THREADS} threads")


def main() -> int:
    """The exit code."""
    seen = Seen()
    started = time.monotonic()
    with running_topology(Pace(DELTAS, gap=GAP), SIZE) as topology:
        print(machine(topology.database_url, topology.redis_url) + "\n")
        replies = uvloop.run(partial(open_streams, topology, seen)())
        judge(topology, replies, seen)
    print(
        "".join(f"\nBREACH: {breach}" for breach in seen.breaches) or "\nNo breach.",
        f"{time.monotonic() - started:.0f} s",
    )
    return int(bool(seen.breaches))


if __name__ == "__main__":
    sys.exit(main())
