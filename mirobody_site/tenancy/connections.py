"""Giving database connections back: who is about to wait for something else must hold none."""

from collections.abc import Callable
from typing import TypeVar

from django.db import close_old_connections

Result = TypeVar("Result")


def released(work: Callable[[], Result]) -> Result:
    """``work``'s result; the connection it took is back in the pool. Not for use inside a transaction."""
    try:
        return work()
    finally:
        close_old_connections()
