"""Whether a mixed load with faults leaves nothing behind, loses nothing in silence and runs nothing twice.

Run: python -m bench.soak [MINUTES] (make bench-soak MINUTES=10). Callers take JSON, streams, answers that are not
stored, sessions, handoffs and background responses, and hang up; meanwhile a worker is killed every 30 seconds, Redis
is killed and started again twice, and one worker is asked to end. Ends with 1 on any breach.
"""

import asyncio
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from time import monotonic, sleep

import psycopg
import redis
import uvloop

from bench.figures import machine, table
from bench.scenarios import Caller, Outcomes
from bench.topology import Pace, Size, Topology, running_topology

CALLERS = 16
PACE = Pace(deltas=40, first_delay=0.2, gap=0.05)
SIZE = Size(web=2, workers=2, threads=16)
WARM_UP_SECONDS = 15.0
KILL_EVERY_SECONDS = 30.0
DOWN_SECONDS = 2.0
GRACE_SECONDS = 60.0
QUIET_SECONDS = 90.0
LEFT_BEHIND = {
    "responses that still run": "SELECT count(*) FROM responses_app_response WHERE status IN ('queued', 'in_progress')",
    "session locks held": "SELECT count(*) FROM responses_app_session WHERE locked_by <> ''",
    "claims without an end": "SELECT count(*) FROM responses_app_pendingcall WHERE claimed_until IS NOT NULL",
}
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
STANDING = LEFT_BEHIND | {
    "Postgres connections": _CONNECTIONS,
    "Postgres connections that are in use": f"{_CONNECTIONS} AND state <> 'idle'",
}
POOL = 6
MOST_CONNECTIONS = POOL * (SIZE.web + SIZE.workers)
"""Pools keep what they have opened, so that more than at the beginning may be open, but never more than they hold."""


@dataclass
class Soak:
    """A run of the soak."""

    topology: Topology
    outcomes: Outcomes = field(default_factory=Outcomes)
    faults: Counter[str] = field(default_factory=Counter)
    down: set[str] = field(default_factory=set)
    """The processes that were ended on purpose and are not started again yet."""
    began: dict[str, int] = field(default_factory=dict)

    async def run(self, minutes: float) -> None:
        """Load, with faults once it is warm; then returns when all callers have ended."""
        await self._load(monotonic() + WARM_UP_SECONDS)
        self.began = await asyncio.to_thread(self.standing)
        until = monotonic() + 60 * minutes
        faults = [
            asyncio.ensure_future(fault)
            for fault in (self._kill_workers(until), self._restart_redis(minutes), self._end_worker(minutes))
        ]
        await asyncio.gather(self._load(until), self._watch(until), *faults)

    async def _load(self, until: float) -> None:
        at, key, deltas = self.topology.port, self.topology.key, PACE.deltas
        callers = [Caller(f"caller-{number}", at, key, deltas, self.outcomes) for number in range(CALLERS)]
        await asyncio.gather(*(caller.run(until) for caller in callers))

    async def _kill_workers(self, until: float) -> None:
        while monotonic() + KILL_EVERY_SECONDS < until:
            await asyncio.sleep(KILL_EVERY_SECONDS)
            running = [name for name in self.topology.workers if name not in self.down]
            if running:
                await self._restart(random.choice(running), "worker killed")

    async def _restart_redis(self, minutes: float) -> None:
        for _ in range(2):
            await asyncio.sleep(60 * minutes / 3)
            await self._restart("redis", "Redis killed")

    async def _restart(self, name: str, fault: str) -> None:
        self.faults[fault] += 1
        self.down.add(name)
        await asyncio.to_thread(self.topology.kill, name)
        await asyncio.sleep(DOWN_SECONDS)
        self.topology.start(name)
        self.down.discard(name)

    async def _end_worker(self, minutes: float) -> None:
        """SIGTERM: the worker finishes its turns and ends."""
        await asyncio.sleep(60 * minutes / 2 + KILL_EVERY_SECONDS / 3)
        name = next(name for name in self.topology.workers if name not in self.down)
        self.down.add(name)
        asked = monotonic()
        ended = await asyncio.to_thread(self.topology.terminate, name, GRACE_SECONDS)
        self.faults[f"worker ended by SIGTERM, after {monotonic() - asked:.0f} s"] += 1
        if not ended:
            self.outcomes.breaches["a worker did not end on SIGTERM"] += 1
            await asyncio.to_thread(self.topology.kill, name)
        self.topology.start(name)
        self.down.discard(name)

    async def _watch(self, until: float) -> None:
        """Starts again, and reports, what ended without being asked to."""
        while monotonic() < until:
            await asyncio.sleep(1)
            for name, process in list(self.topology.processes.items()):
                if name not in self.down and process.poll() is not None:
                    self.outcomes.breaches[f"{name} ended by itself"] += 1
                    self.topology.start(name)

    def standing(self) -> dict[str, int]:
        """What the database and Redis hold at this moment."""
        with psycopg.connect(self.topology.database_url) as database:
            found = {name: database.execute(query).fetchone() for name, query in STANDING.items()}
        counts = {name: row[0] for name, row in found.items() if row}
        with redis.Redis.from_url(self.topology.redis_url, protocol=2, decode_responses=True) as client:
            kinds = Counter(_kind_of(key) for key in client.scan_iter(count=1000))
        return counts | {f"Redis keys {kind}": number for kind, number in kinds.items()}

    def settled(self) -> list[str]:
        """Waits until nothing is left behind; says what still is after ``QUIET_SECONDS``."""
        started = monotonic()
        while True:
            found = self.standing()
            left = [f"{name}: {number}" for name, number in found.items() if number > allowed(name)]
            if not left or monotonic() - started > QUIET_SECONDS:
                print(f"Quiet {'' if not left else 'not '}after {monotonic() - started:.0f} s.\n")
                return left
            sleep(2)


def allowed(name: str) -> int:
    """How much may be there of what ``Soak.standing`` names when all is quiet."""
    if name == "Postgres connections":
        return MOST_CONNECTIONS
    # What is there for good (the queue's binding, the workers' signs of life) has no id in its name.
    return int(name.startswith("Redis keys") and "*" not in name and "unacked" not in name)


def _kind_of(key: str) -> str:
    """The key's name, with the ids in it as ``*``."""
    return re.sub(r"[0-9a-f]{12,}", "*", key)


def report(soak: Soak, left: list[str]) -> int:
    """Prints what was seen; the exit code."""
    rows = [(name.replace("_", " "), seen, times) for (name, seen), times in sorted(soak.outcomes.counts.items())]
    print(table(["scenario", "seen", "times"], rows) + "\n")
    print("Faults: " + ", ".join(f"{fault} ({times})" for fault, times in soak.faults.items()) + ".")
    print("Before: " + ", ".join(f"{name} {number}" for name, number in soak.began.items()) + ".")
    counts = soak.topology.provider_counts()
    print(f"Requests to the provider: {counts['requests']}, of {counts['turns']} turns.\n")
    repeated: dict[str, int] = counts["repeated"]
    breaches = [f"{breach} ({times})" for breach, times in sorted(soak.outcomes.breaches.items())]
    breaches += [f"left behind: {what}" for what in left]
    breaches += [f"{len(repeated)} turns ran more than once"] if repeated else []
    print("\n".join(f"BREACH: {breach}" for breach in breaches) or "No breach.")
    return int(bool(breaches))


def main() -> int:
    """The exit code."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with running_topology(PACE, SIZE, {"DATABASE_POOL_SIZE": str(POOL)}) as topology:
        print(f"{machine(topology.database_url, topology.redis_url)}; {minutes:g} minutes\n", flush=True)
        soak = Soak(topology)
        uvloop.run(soak.run(minutes))
        return report(soak, soak.settled())


if __name__ == "__main__":
    sys.exit(main())
