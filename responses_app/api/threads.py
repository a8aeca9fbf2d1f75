"""Runs a service's synchronous database work off the event loop, and gives its connection back."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections

P = ParamSpec("P")
Result = TypeVar("Result")


async def in_thread(work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """``work``'s result. No connection outlives it: a stream that waits for a model holds none."""

    def run() -> Result:
        try:
            return work(*args, **kwargs)
        finally:
            close_old_connections()

    result: Result = await sync_to_async(run, thread_sensitive=False)()
    return result
