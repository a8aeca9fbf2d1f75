"""The event log's contract: one writer, the turn, and many readers. Not here: where frames are kept, SSE syntax."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

IDLE_SECONDS = 15.0
"""How long a reader waits without a frame before it is told that there is none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON caller's last word: HTTP ``status``, the whole ``body``, UTF-8 JSON, and when to try again, if told."""

    status: int
    body: bytes
    retry_after: str = ""


class Piece(NamedTuple):
    """What a reader is given at once: whole ``frames``, joined, and the number of the ``last`` of them.

    Without frames it says that none came for a while; ``last`` is then the number before the next one.
    """

    frames: bytes
    last: int


class LogGone(Exception):
    """There is no such log: never opened, expired, discarded or, for who wants to write, finished.

    Also raised for a reader whose next frame was trimmed away.
    """


class EventLog(Protocol):
    """Frames of running and just finished responses, by response id.

    The writer's calls are synchronous, may come from any thread and never wait for a reader. The readers' are
    asynchronous, may come from any event loop and cost a coroutine each, no thread and no connection of their own.
    Frames are whole SSE frames as ``sse.encode_event`` makes them, numbered without a gap by their
    ``sequence_number``; what a reader is given always ends at the end of a frame.

    A log holds at most ``history.MAX_BYTES`` of frames: of a longer one the oldest are trimmed away. A reader that has
    read them does not notice; one that would need them gets ``LogGone`` and can have the stored response.

    Every call that says nothing else raises ``ServerError`` when the log cannot be reached.
    """

    def open(self, response_id: str, lifetime: float, frames: Sequence[bytes] = ()) -> None:
        """Starts the log with ``frames``, numbered from 0; readers may wait from here on. One that is there stays.

        Unless it is finished or extended before, it vanishes ``lifetime`` seconds later, whoever still waits.
        """
        ...

    def extend(self, response_ids: Collection[str], lifetime: float) -> None:
        """These logs vanish ``lifetime`` seconds from now. Nothing happens to those that are gone or finished."""
        ...

    def begin(self, response_id: str) -> None:
        """This process writes the log from now on. Costs nothing, waits for nothing, and raises nothing."""
        ...

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        """Adds ``frames``, the first of which has the number ``first_sequence``. Does not wait until they are kept.

        A fault, ``LogGone`` or ``ServerError``, may be raised by a later call only, by ``finish`` at the latest; after
        it nothing more can be written.
        """
        ...

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        """Adds the last frames and the answer; both stay readable for ``keep`` more seconds. Waits, some seconds at
        most, until all is kept. Raises ``LogGone``."""
        ...

    def so_far(self, response_id: str) -> bytes:
        """All frames of a log that is not finished, joined; nothing when it is gone, or its first ones were trimmed."""
        ...

    def outcome(self, response_id: str) -> Answer | None:
        """How a finished log ended; ``None`` while it is not. Does not wait. Raises ``LogGone``."""
        ...

    def discard(self, response_id: str) -> None:
        """Takes the log away at once, finished or not; its readers get ``LogGone``. Nothing happens when it is gone."""
        ...

    def discard_ended(self, response_id: str) -> None:
        """Takes a finished log away; who waits in it is still told its end.

        Nothing happens to one that is not finished: it goes by itself, once its readers know the end.
        """
        ...

    def request_stop(self, response_id: str) -> None:
        """Asks the writer to end the turn. Nothing happens when the log is gone."""
        ...

    def stop_requested(self, response_id: str) -> bool:
        """Whether the writer was asked to end the turn. Costs nothing, and raises nothing; the answer may be half a
        second old."""
        ...

    async def adiscard(self, response_id: str) -> None:
        """``discard`` for an event loop."""
        ...

    async def arequest_stop(self, response_id: str) -> None:
        """``request_stop`` for an event loop."""
        ...

    def read(
        self, response_id: str, starting_after: int | None = None, idle: float = IDLE_SECONDS
    ) -> AsyncGenerator[Piece, None]:
        """The frames after number ``starting_after``, or all, then new ones as they come, to the last.

        An empty piece comes for every ``idle`` seconds without frames. Raises ``LogGone`` at the first step or at any
        later one.
        """
        ...

    async def answer(self, response_id: str) -> Answer:
        """Waits for the end. Raises ``LogGone``."""
        ...
