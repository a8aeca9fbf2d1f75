"""Finding marked text in everything the server keeps: rows of every table, the database's files, Redis.

markers = Markers()
post(input=markers["input"], instructions=markers["instructions"])
assert markers.in_rows() == {"input", "instructions"}
"""

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import redis
from django.db import connection


class Markers(dict[str, str]):
    """Texts that stand nowhere else, each named for the field it is sent in; made when first asked for.

    Lower-case letters and digits: no store changes them by folding, escaping or encoding.
    """

    def __missing__(self, field: str) -> str:
        self[field] = f"m{secrets.token_hex(9)}"
        return self[field]

    def in_text(self, text: str | bytes) -> set[str]:
        """The fields whose markers the text holds."""
        data = text.encode() if isinstance(text, str) else text
        return {field for field, marker in self.items() if marker.encode() in data}

    def in_rows(self) -> set[str]:
        """The fields whose markers any value of any row of the database holds."""
        return self.in_text("\n".join(row for _, row in all_rows()))

    def where(self) -> dict[str, list[str]]:
        """The tables that hold each marker: for whoever wants to know where something is left."""
        found: dict[str, list[str]] = {}
        for table, row in all_rows():
            for field in self.in_text(row):
                found.setdefault(field, []).append(table)
        return found

    def in_database_files(self) -> set[str]:
        """The fields whose markers stand in the bytes of an SQLite database and its log; none for a database server."""
        if connection.vendor != "sqlite":
            return set()
        return self.in_files(files_of(Path(connection.settings_dict["NAME"])))

    def in_files(self, paths: Iterable[Path]) -> set[str]:
        """The fields whose markers stand in the bytes of any of the files."""
        return set().union(*(self.in_text(path.read_bytes()) for path in paths))

    def in_redis(self, client: redis.Redis) -> set[str]:
        """The fields whose markers stand in any key or value."""
        return self.in_text(b"\n".join(_redis_texts(client)))


def all_rows() -> Iterator[tuple[str, str]]:
    """Every row of the database as its table and text."""
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f'SELECT * FROM "{table}"')
            yield from ((table, "\x1f".join(map(str, row))) for row in cursor.fetchall())


def files_of(database: Path) -> list[Path]:
    """An SQLite database's file with its log and whatever else stands beside it under its name."""
    return sorted(database.parent.glob(f"{database.name}*"))


def _redis_texts(client: redis.Redis) -> Iterator[bytes]:
    for key in client.scan_iter():
        yield key
        yield _redis_value(client, key)


def _redis_value(client: Any, key: bytes) -> bytes:
    match client.type(key):
        case b"stream":
            return repr(client.xrange(key)).encode()
        case b"string":
            return bytes(client.get(key) or b"")
        case b"list":
            return b"\n".join(client.lrange(key, 0, -1))
        case b"hash":
            return b"\n".join(b"%b %b" % pair for pair in client.hgetall(key).items())
        case b"none":
            return b""
        case kind:
            raise AssertionError(f"nothing here is known to write a {kind!r} to Redis: {key!r}")
