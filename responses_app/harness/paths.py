"""Paths of the agent's files: their one spelling, and patterns over them."""

from typing import Protocol

import re2

from responses_app.models.harness_file import MAX_PATH_LENGTH
from tools_app.contract import TryDifferently

RECORDS = "/records"
PATH_SCHEMA = {"type": "string", "maxLength": MAX_PATH_LENGTH}
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_PIECES = re2.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")


class Expression(Protocol):
    """What RE2 makes of a pattern."""

    def search(self, text: str) -> object | None:
        """A match anywhere in the text, if there is one."""

    def fullmatch(self, text: str) -> object | None:
        """A match of the whole text, if there is one."""


def normalised(path: str) -> str:
    """The path from the root, without empty and ``.`` segments. Raises TryDifferently for one that leads elsewhere."""
    segments = [segment for segment in path.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise TryDifferently("A path must not hold `..`.")
    if not path.isprintable():
        raise TryDifferently("A path must hold printable characters only.")
    whole = "/" + "/".join(segments)
    if len(whole) > MAX_PATH_LENGTH:
        raise TryDifferently(f"A path is at most {MAX_PATH_LENGTH} characters long.")
    return whole


def is_within(path: str, folder: str) -> bool:
    """Whether the folder, or a folder in it, holds the path."""
    return path.startswith(folder.rstrip("/") + "/")


def is_record(path: str) -> bool:
    """Whether the path belongs to the Subject's clinical documents, which are read-only."""
    return path == RECORDS or is_within(path, RECORDS)


def matcher(pattern: str, folder: str) -> Expression:
    """Of paths that a glob pattern means, relative to the folder; one without ``/`` means names at any depth."""
    relative = pattern.removeprefix("/") if "/" in pattern else f"**/{pattern}"
    base = "" if pattern.startswith("/") else folder.rstrip("/")
    pieces = (_WILD.get(piece) or re2.escape(piece) for piece in _PIECES.findall(relative))
    return compiled(re2.escape(f"{base}/") + "".join(pieces))


def compiled(pattern: str) -> Expression:
    """The pattern for RE2, whose searches take time that grows with the text alone. Raises TryDifferently."""
    options = re2.Options()
    # The engine would write patterns it cannot read to the process's log.
    options.log_errors = False
    try:
        expression: Expression = re2.compile(pattern, options)
    except re2.error:
        raise TryDifferently("The pattern is no valid RE2 regular expression.") from None
    return expression
