"""How a bench prints its figures: quantiles and Markdown tables."""

import platform
from collections.abc import Iterable, Sequence
from os import cpu_count

import psycopg
import redis

_TWO_DIGITS = 10


def quantile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(values: Sequence[float]) -> str:
    """Median and 95th percentile of seconds, in milliseconds."""
    if not values:
        return ""
    return f"{_short(1000 * quantile(values, 0.5))} / {_short(1000 * quantile(values, 0.95))}"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < _TWO_DIGITS else f"{value:.0f}"


def megabytes(size: int) -> str:
    """Bytes as whole megabytes."""
    return f"{size / 1e6:.0f} MB"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def machine(database_url: str, redis_url: str) -> str:
    """Cores and versions, in a sentence."""
    with psycopg.connect(database_url) as connection:
        postgres = connection.info.server_version
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        redis_version = client.info("server")["redis_version"]
    python = platform.python_version()
    return f"{cpu_count()} cores, Python {python}, Postgres {postgres // 10000}.{postgres % 100}, Redis {redis_version}"
