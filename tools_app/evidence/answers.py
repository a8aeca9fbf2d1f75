"""Values of a service's JSON answer by name, whatever stands there. What the names mean is the services' modules'."""

import re
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

_YEAR = re.compile(r"[0-9]{4}")


def object_in(holder: Json, name: str) -> Json:
    """The object of that name; an empty one in the place of anything else."""
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(holder: Json, name: str) -> list[Json]:
    """The objects of a list; an empty list in the place of anything else."""
    return [one for one in _list_in(holder, name) if isinstance(one, dict)]


def texts_in(holder: Json, name: str) -> list[str]:
    """The texts and numbers of a list, or the single one that stands in its place."""
    value = holder.get(name)
    return [text for text in map(_text, value if isinstance(value, list) else [value]) if text]


def text_in(holder: Json, name: str) -> str:
    """A text, or a number as text; blank in the place of anything else."""
    return _text(holder.get(name))


def count_in(holder: Json, name: str, otherwise: int) -> int:
    """A whole number that counts something, or ``otherwise``."""
    value = holder.get(name)
    return value if isinstance(value, int) and value >= 0 else otherwise


def year_of(text: str) -> int | None:
    """The year that a date begins with, if there is one."""
    found = _YEAR.match(text)
    return int(found[0]) if found else None


def _list_in(holder: Json, name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    try:
        # Half of a pair that stands alone is no character.
        return str(value).encode("utf-8", "replace").decode().strip()
    except ValueError:
        return ""
