"""Stopping work in the middle: the database refuses a statement as it would when the process dies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection


class Interrupted(Exception):
    """What the statement raises."""


@contextmanager
def interrupted_at(statement: str, occurrence: int) -> Iterator[None]:
    """Fails this thread's ``occurrence``-th SQL statement that starts with ``statement``; expects it to come."""
    left = occurrence

    def execute(run: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        nonlocal left
        left -= sql.startswith(statement)
        if left == 0:
            raise Interrupted
        return run(sql, *arguments)

    with connection.execute_wrapper(execute), pytest.raises(Interrupted):
        yield
