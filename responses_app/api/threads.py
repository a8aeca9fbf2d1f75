"""Runs a service's synchronous database work off the event loop, and gives its connection back."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from mirobody_site.tenancy.connections import released

P = ParamSpec("P")
Result = TypeVar("Result")


async def in_thread(work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """``work``'s result. No connection outlives it: a stream that waits for a model holds none."""

    given_back = partial(released, partial(work, *args, **kwargs))
    result: Result = await sync_to_async(given_back, thread_sensitive=False)()
    return result
