"""How long one inference may wait: every wait of it goes through here. Not here: what is waited for.

A waiting thread looks up a few times a second, so that a stop and the deadline end it in whatever phase it is. No other
thread has to watch it, or could end a wait that is no longer its own.
"""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic, sleep

from mirobody_site.tenancy.errors import ApiError
from responses_app.llm import faults
from responses_app.llm.faults import ConnectionFault, InferenceStopped

LOOK_SECONDS = 0.25


class Patience:
    """The patience with one inference, ``seconds`` long. ``stop_requested`` tells that nobody waits for it any more."""

    def __init__(self, seconds: float, stop_requested: Callable[[], bool]) -> None:
        self._deadline = monotonic() + seconds
        self._stop_requested = stop_requested
        self._next_look = monotonic() + LOOK_SECONDS

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._deadline - monotonic()

    def check(self) -> None:
        """Raises ``ConnectionFault`` past the deadline, ``InferenceStopped`` within half a second of a stop."""
        now = monotonic()
        if now >= self._deadline:
            raise ConnectionFault(faults.TIMED_OUT)
        if now >= self._next_look:
            self._look()

    def wait(self, ready: Callable[[float], object], seconds: float) -> bool:
        """Whether ``ready``, which waits up to as many seconds as it is told, gave a true value within ``seconds``.

        Raises as ``check``.
        """
        limit = monotonic() + seconds
        while True:
            self.check()
            until = min(limit, self._deadline, self._next_look)
            if ready(max(0.0, until - monotonic())):
                return True
            if monotonic() >= limit:
                return False

    def sleep(self, seconds: float) -> None:
        """Waits for nothing but time. Raises as ``check``."""
        self.wait(sleep, seconds)

    def _look(self) -> None:
        stop = False
        # A fault of asking ends no answer: it is asked again.
        with suppress(ApiError, OSError):
            stop = self._stop_requested()
        self._next_look = monotonic() + LOOK_SECONDS
        if stop:
            raise InferenceStopped
