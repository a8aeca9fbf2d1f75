"""The event log's contract: one writer, the turn, and many readers. Not here: where frames are kept, SSE syntax."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON caller's last word: HTTP ``status`` and the whole ``body``, UTF-8 JSON."""

    status: int
    body: bytes


class LogGone(Exception):
    """There is no such log: never opened, expired, discarded or, for who wants to write, finished."""


class EventLog(Protocol):
    """Frames of running and just finished responses, by response id.

    The writer's calls are synchronous, may come from any thread and never wait for a reader. The readers' are
    asynchronous, may come from any event loop and cost a coroutine each, no thread and no database connection.
    Frames are whole SSE frames as ``sse.encode_event`` makes them, numbered without a gap by their
    ``sequence_number``; what a reader is given always ends at the end of a frame.

    Every call raises ``ServerError`` when the log cannot be reached.
    """

    def open(self, response_id: str, lifetime: float) -> None:
        """Starts the log, once for a response; readers may wait from here on.

        Unless it is finished before, it vanishes ``lifetime`` seconds later, whoever still waits.
        """
        ...

    def extend(self, response_ids: Sequence[str], lifetime: float) -> None:
        """Lets these logs vanish ``lifetime`` seconds from now. Nothing happens to those that are finished or gone."""
        ...

    def append(self, response_id: str, first_sequence: int, frames: Sequence[bytes]) -> None:
        """Adds ``frames``, the first of which has the number ``first_sequence``. Raises ``LogGone``."""
        ...

    def finish(
        self, response_id: str, first_sequence: int, frames: Sequence[bytes], answer: Answer, keep: float
    ) -> None:
        """Adds the last frames and the answer; both stay readable for ``keep`` more seconds. Raises ``LogGone``."""
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
        """Whether the writer was asked to end the turn. Cheap enough to be asked once per piece of model output;
        the answer may be half a second old."""
        ...

    def read(self, response_id: str, starting_after: int | None = None) -> AsyncGenerator[bytes, None]:
        """The frames after number ``starting_after``, or all, then new ones as they come, to the last.

        An item holds one or more whole frames. Raises ``LogGone`` at the first step or at any later one.
        """
        ...

    async def answer(self, response_id: str) -> Answer:
        """Waits for the end. Raises ``LogGone``."""
        ...
