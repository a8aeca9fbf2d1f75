"""A conversation's files in memory for one turn, within bounds. Rows are read and kept elsewhere, tools too."""

import threading
from collections.abc import Callable, Mapping

from responses_app.harness.paths import RECORDS, is_record
from tools_app.contract import NotPermitted, ToolFailed, TryDifferently

MAX_FILES = 100
MAX_FILE_BYTES = 1024 * 1024
MAX_BYTES = 5 * MAX_FILE_BYTES


class FileSpace:
    """Files by path. ``load`` gives those of the turns before and is called once, when a tool first looks.

    For any number of threads: tools of one step run side by side.
    """

    def __init__(self, load: Callable[[], Mapping[str, str]]) -> None:
        self._lock = threading.Lock()
        self._load = load
        self._files: dict[str, str] | None = None
        self._changed: set[str] = set()
        self._closed = False

    def every(self) -> dict[str, str]:
        """Every file, by path in order."""
        with self._lock:
            return dict(sorted(self._loaded().items()))

    def read(self, path: str) -> str:
        """Raises TryDifferently when there is no such file."""
        with self._lock:
            return self._existing(path)

    def write(self, path: str, content: str) -> None:
        """The whole file, new or in place of the old. Raises TryDifferently, ToolFailed or NotPermitted."""
        with self._lock:
            self._keep(path, content)

    def replace(self, path: str, old: str, new: str, everywhere: bool) -> int:
        """How often ``old`` was replaced. Unless ``everywhere`` it has to stand there exactly once.

        Raises TryDifferently, ToolFailed or NotPermitted.
        """
        with self._lock:
            content = self._existing(path)
            found = content.count(old)
            if not found:
                raise TryDifferently("`old_string` is not in the file; read the file and copy it exactly.")
            if found > 1 and not everywhere:
                raise TryDifferently(
                    f"`old_string` is in the file {found} times: give more of its surroundings, or set `replace_all`."
                )
            if len(content) + found * (len(new) - len(old)) > MAX_FILE_BYTES:
                raise ToolFailed(f"A file holds at most {MAX_FILE_BYTES} bytes.")
            self._keep(path, content.replace(old, new))
            return found

    def close(self) -> dict[str, str]:
        """The files that were written in this turn. What a tool that is late writes after that is not kept."""
        with self._lock:
            self._closed = True
            return {path: self._loaded()[path] for path in sorted(self._changed)} if self._changed else {}

    def _existing(self, path: str) -> str:
        content = self._loaded().get(path)
        if content is None:
            raise TryDifferently("There is no such file; `ls` and `glob` tell which there are.")
        return content

    def _keep(self, path: str, content: str) -> None:
        if is_record(path):
            raise NotPermitted(f"What is under {RECORDS} is read-only.")
        if path == "/":
            raise TryDifferently("`file_path` must name a file.")
        if "\0" in content:
            raise TryDifferently("A file must not hold the character U+0000.")
        if self._closed:
            raise ToolFailed("The turn is over.")
        files = self._loaded() | {path: content}
        if len(files) > MAX_FILES:
            raise ToolFailed(f"There are {MAX_FILES} files already; write to one of them.")
        size = _size(content)
        if size > MAX_FILE_BYTES:
            raise ToolFailed(f"A file holds at most {MAX_FILE_BYTES} bytes.")
        if size + sum(_size(other) for name, other in files.items() if name != path) > MAX_BYTES:
            raise ToolFailed(f"All files together hold at most {MAX_BYTES} bytes.")
        self._files = files
        self._changed.add(path)

    def _loaded(self) -> dict[str, str]:
        if self._files is None:
            self._files = dict(self._load())
        return self._files


def _size(content: str) -> int:
    return len(content.encode())
