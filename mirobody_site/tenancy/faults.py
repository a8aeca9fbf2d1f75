"""How a stranger's exception is described: type and place, never its text, which may hold health content."""

import traceback


def describe_fault(error: BaseException) -> str:
    """``ValueError at module.py:12 function < caller.py:3 main``: the innermost frames first, at most eight."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    places = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in reversed(frames)]
    return f"{type(error).__name__} at {' < '.join(places) or 'unknown place'}"
