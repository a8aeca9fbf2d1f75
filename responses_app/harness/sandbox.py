"""Runs Python that a model wrote, in a process of its own that sees no file, network or environment, within bounds.

The interpreter is Monty (pydantic-monty): code gets at nothing but what it is given. What code is run is eval.py's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from functools import cache
from typing import Any

from pydantic_monty import (
    Monty,
    MontyConversionError,
    MontyCrashedError,
    MontyRuntimeError,
    MontySyntaxError,
    ResourceLimits,
)

from tools_app.contract import ToolFailed

SECONDS = 5.0
MAX_VALUE_CHARACTERS = 20_000
MAX_OUTPUT_CHARACTERS = 10_000
MAX_DEPTH = 32
_MAX_ERROR_CHARACTERS = 2_000
_PROCESSES = 4
_LIMITS = ResourceLimits(
    max_feed_duration_secs=SECONDS,
    max_memory=64 * 1024 * 1024,
    max_recursion_depth=200,
    max_suspensions=100,
    max_total_sleep_secs=0.0,
)
_GRACE_SECONDS = 1.0
"""Some single operations do not look at the clock: then the process is killed this much later."""
_WAIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What code gave: the value of its last expression as JSON, what it printed, or why it ended early."""

    value: Any = None
    output: str = ""
    error: str | None = None


class _OutputFull(Exception):
    """Ends code that prints without end."""


@dataclass(slots=True)
class _Output:
    """What code prints, up to a bound."""

    text: str = ""
    full: bool = field(default=False)

    def take(self, stream: str, printed: str) -> None:
        """Raises once there is too much of it."""
        self.text = (self.text + printed)[: MAX_OUTPUT_CHARACTERS + 1]
        if len(self.text) > MAX_OUTPUT_CHARACTERS:
            self.full = True
            raise _OutputFull


def run_python(code: str, variables: Mapping[str, Any]) -> Ran:
    """Runs ``code`` with the JSON values ``variables`` as its globals.

    Raises ToolFailed when every process is busy.
    """
    output = _Output()
    try:
        with _pool().checkout(script_name="code.py", limits=_LIMITS, os_policy={"sleep": "zero"}) as session:
            value = session.feed_run(code, inputs=dict(variables), print_callback=output.take)
        return _ran(value, output)
    except (MontyRuntimeError, MontySyntaxError) as error:
        return _failed("It printed too much." if output.full else error.display(), output)
    except MontyConversionError as error:
        return _failed(str(error), output)
    except MontyCrashedError as error:
        why = "took too long" if error.timed_out else "needed too much memory"
        return _failed(f"It {why} and was ended.", output)
    except TimeoutError:
        raise ToolFailed("All sandboxes are busy; try again later.") from None


def _ran(value: Any, output: _Output) -> Ran:
    try:
        text = _bounded_json(value)
    except (TypeError, ValueError, RecursionError):
        return _failed("The last expression's value is no plain JSON value; make it one, or print it.", output)
    if len(text) > MAX_VALUE_CHARACTERS:
        return _failed(f"The value is too long: at most {MAX_VALUE_CHARACTERS} characters as JSON.", output)
    plain = json.loads(text)
    if _nests_deeper(plain, MAX_DEPTH):
        return _failed(f"The value nests too deep: at most {MAX_DEPTH} levels.", output)
    return Ran(plain, output.text)


def _bounded_json(value: Any) -> str:
    """The value as JSON, or its beginning if it is too long.

    Piece by piece: what holds the same object many times is small in memory and without end as text.
    """
    pieces: list[str] = []
    length = 0
    for piece in json.JSONEncoder(allow_nan=False, default=_plain).iterencode(value):
        pieces.append(piece)
        length += len(piece)
        if length > MAX_VALUE_CHARACTERS:
            break
    return "".join(pieces)


def _nests_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_nests_deeper(each, levels - 1) for each in inner)


def _plain(value: Any) -> Any:
    match value:
        case set() | frozenset():
            return list(value)
        case date() | time():
            return value.isoformat()
        case _:
            raise TypeError


def _failed(error: str, output: _Output) -> Ran:
    return Ran(output=output.text[:MAX_OUTPUT_CHARACTERS], error=error[-_MAX_ERROR_CHARACTERS:])


@cache
def _pool() -> Monty:
    """Processes are started when needed and used once, so that nothing of one Subject's is left for the next."""
    return Monty(
        min_processes=0,
        max_processes=_PROCESSES,
        checkout_timeout=_WAIT_SECONDS,
        request_timeout=SECONDS + _GRACE_SECONDS,
        feed_duration_limit_grace=_GRACE_SECONDS,
        max_checkouts_per_worker=1,
    ).__enter__()
