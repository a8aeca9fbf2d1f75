"""Waits for states of other threads and processes."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60


def wait_until(condition: Callable[[], bool]) -> None:
    """Returns as soon as ``condition`` holds; fails when it does not come to."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the state did not come"
        time.sleep(0.01)
