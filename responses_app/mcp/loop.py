"""The event loop that MCP servers are talked to on: one a process, on a thread of its own. What runs there is not here.

Turns run on threads and wait for it; the web tier's own loop stays free of what servers send.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_LOOK_UP_THREADS = 32
_STARTING = threading.Lock()


def started(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """The work, begun. Cancelling the future cancels it."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


def _loop() -> asyncio.AbstractEventLoop:
    with _STARTING:
        return _running_loop()


@cache
def _running_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(_LOOK_UP_THREADS, thread_name_prefix="mcp-look-up"))
    threading.Thread(target=loop.run_forever, name="mcp", daemon=True).start()
    return loop
