"""JSON values with something else in one place, for whatever reads what others wrote."""

import copy
from collections.abc import Iterator
from typing import Any


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where anything stands in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*place, name)
        yield from places(one, (*place, name))


def with_odd(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """The value with something else in one place."""
    name, *rest = place
    changed: Any = copy.copy(value)
    changed[name] = with_odd(value[name], tuple(rest), odd) if rest else odd
    return changed
