"""SQL over querysets as derived tables, for what the ORM cannot say: figures over window functions and over groups.

Only the outer SELECT is written here and in its callers; which rows it sees is always an ORM queryset. The SQL keeps to
what PostgreSQL and SQLite share.
"""

from collections.abc import Iterator
from datetime import date, datetime
from string import Formatter
from typing import Any

from django.db import connection
from django.db.models import QuerySet

Source = QuerySet[Any, Any] | float | int


def select(sql: str, **sources: Source) -> list[tuple[Any, ...]]:
    """The rows of a SELECT in which ``{name}`` stands for a queryset, as a derived table, or for a number.

    A queryset's columns have the names it was given by ``values()``.
    """
    text: list[str] = []
    parameters: list[Any] = []
    for part, given in _parts(sql, sources):
        text.append(part)
        parameters += given
    with connection.cursor() as cursor:
        cursor.execute("".join(text), parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def as_period(value: Any) -> Any:
    """A calendar period as the ORM gives it: what ``select`` gives of an expression over dates is a text or a time."""
    if isinstance(value, str):
        return date.fromisoformat(value[:10])
    return value.date() if isinstance(value, datetime) else value


def _parts(sql: str, sources: dict[str, Source]) -> Iterator[tuple[str, list[Any]]]:
    for literal, name, _, _ in Formatter().parse(sql):
        yield literal.replace("%", "%%"), []
        if name is not None:
            yield _placed(sources[name])


def _placed(source: Source) -> tuple[str, list[Any]]:
    if not isinstance(source, QuerySet):
        return "%s", [source]
    # A slice needs its order; without one an order only costs.
    rows = source if source.query.is_sliced else source.order_by()
    inner, parameters = rows.query.get_compiler(connection=connection).as_sql()
    return f"({inner})", list(parameters)
