"""Whether one worker process takes 100 turns at once: all of them at a provider that thinks for 3 s end within 6 s.

Run: python -m bench.slow_provider. Ends with 1 when one is not answered, or not in time.
"""

import asyncio
import sys
from time import monotonic

import uvloop

from bench.client import Reply, connect
from bench.figures import milliseconds
from bench.throughput import PATHS, WrongAnswer
from bench.topology import Pace, Size, Topology, running_topology

TURNS = 100
THINKING_SECONDS = 3.0
MOST_SECONDS = 6.0
DELTAS = 20
PATH = next(path for path in PATHS if not path.direct and not path.stream)


async def ask_all(topology: Topology) -> tuple[float, list[Reply]]:
    """How long all turns together took, and their answers."""
    connections = [await connect(topology.port) for _ in range(TURNS)]
    started = monotonic()
    asked = [connection.ask(PATH.request(number, topology.key)) for number, connection in enumerate(connections)]
    replies = await asyncio.gather(*asked)
    return monotonic() - started, list(replies)


def wrong_of(reply: Reply) -> str | None:
    """What is wrong with an answer."""
    try:
        PATH.text(reply)
    except WrongAnswer as error:
        return str(error)
    return None


def main() -> int:
    """The exit code."""
    with running_topology(Pace(DELTAS, first_delay=THINKING_SECONDS), Size(threads=TURNS)) as topology:
        seconds, replies = uvloop.run(ask_all(topology))
        counts = topology.provider_counts()
    wrong = [wrong for reply in replies if (wrong := wrong_of(reply))]
    print(f"- turns answered: {TURNS - len(wrong)} of {TURNS}, all within {seconds:.1f} s")
    print(f"- ms from request to answer, median / p95: {milliseconds([reply.seconds for reply in replies])}")
    print(f"- turns the provider saw at the same moment: {counts['most_streams']}")
    for breach in sorted(set(wrong)):
        print(f"BREACH: {wrong.count(breach)} answers: {breach}")
    if seconds >= MOST_SECONDS:
        print(f"BREACH: over {MOST_SECONDS} s")
    return int(bool(wrong) or seconds >= MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
