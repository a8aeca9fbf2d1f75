"""Ends an answer that nobody waits for while its reader is stuck in a silent connection. Not here: who decides that."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import httpx2

from mirobody_site.tenancy.errors import ApiError

LOOK_SECONDS = 0.5


@contextmanager
def breaks_off(answer: httpx2.Response, stop_requested: Callable[[], bool]) -> Iterator[None]:
    """Until left, looks twice a second whether to stop; then shuts the connection, so that its read fails at once.

    A blocked read can be ended in no other way than from another thread.
    """
    connection: socket.socket = answer.extensions["network_stream"].get_extra_info("socket")
    over = Event()

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            # A fault of asking, or of a connection that ended meanwhile, is met by the reader too.
            with suppress(ApiError, OSError):
                if stop_requested():
                    connection.shutdown(socket.SHUT_RDWR)
                    return

    watcher = Thread(target=watch, name="breaking off", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        # The connection may serve another inference from here on.
        watcher.join()
