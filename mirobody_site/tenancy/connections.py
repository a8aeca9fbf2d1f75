"""Giving database connections back: who is about to wait for something else must hold none."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections

P = ParamSpec("P")
Result = TypeVar("Result")


def released(work: Callable[[], Result]) -> Result:
    """``work``'s result; the connection it took is back in the pool. Not for use inside a transaction."""
    try:
        return work()
    finally:
        close_old_connections()


async def in_thread(work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """``work``'s result, worked out off the event loop. No connection outlives it: a stream that waits for a model
    holds none."""
    given_back = partial(released, partial(work, *args, **kwargs))
    result: Result = await sync_to_async(given_back, thread_sensitive=False)()
    return result
