"""What the pool of connections does when Postgres is away. Not here: Django."""

from collections import deque
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool
from psycopg_pool.pool import WaitingClient


def fail_waiting(pool: "ConnectionPool[Any]") -> None:
    """Called when a new connection could not be made. Whoever waits for one is told, unless others are in use and
    will be given back."""
    if pool.get_stats()["pool_size"]:
        return
    waiting: deque[WaitingClient[Any]] = deque()
    with pool._lock:
        waiting, pool._waiting = pool._waiting, waiting
    for client in waiting:
        client.fail(psycopg.OperationalError("The database cannot be reached."))


OPTIONS: dict[str, Any] = {
    # The next one who needs a connection tries again: the pool's own attempts would come ever more seldom.
    "reconnect_timeout": 0.0,
    "reconnect_failed": fail_waiting,
}
