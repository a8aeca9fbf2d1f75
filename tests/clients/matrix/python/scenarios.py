"""What the Python client programs have in common: where the server is, and telling what each scenario came to."""

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable
from typing import Any

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]
USED_UP_KEY = os.environ["USED_UP_KEY"]
SPENT_KEY = os.environ["SPENT_KEY"]
WRONG_KEY = "mb_live_not-a-key-of-anybody"
MODEL = "mirobody-flash"
USER = os.environ["USER_NAME"]

TEXT = "My name is Ada. [[matrix-text]]"
TOOL = "Book both days. [[matrix-tool]]"
RECALL = "What was said? [[matrix-recall]]"
RECORD = "What do I weigh? [[matrix-record]]"
CUT = "Say something. [[matrix-cut]]"
PLACE = "Where do I live? [[matrix-place]]"
PLACE_BY_TOOL = "Where do I live? [[matrix-place-by-tool]]"

# The bare model, whose answers can be given a form.
MODEL_MODE = {"mode": "model"}

_scenarios: dict[str, Callable[[], Any]] = {}


def scenario(function: Callable[[], Any]) -> Callable[[], Any]:
    """Makes the function, a coroutine function too, a scenario of its name. What it returns is what it came to."""
    _scenarios[function.__name__] = function
    return function


def tell() -> None:
    """Runs every scenario, and prints one JSON object of what each returned or raised."""
    told = {name: _outcome(function) for name, function in _scenarios.items()}
    sys.stdout.write("\n" + json.dumps(told) + "\n")


def _outcome(function: Callable[[], Any]) -> Any:
    try:
        result = function()
        return asyncio.run(result) if inspect.iscoroutine(result) else result
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what its user sees
        return {"raised": type(error).__name__, "text": str(error)}
