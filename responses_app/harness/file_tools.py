"""The tools over files and the documents of the Subject: ls, read_file, write_file, edit_file, glob, grep."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from responses_app.engine.ports import ToolOutcome
from responses_app.harness.file_space import FileSpace
from responses_app.harness.paths import (
    PATH_SCHEMA,
    RECORDS,
    compiled,
    is_record,
    is_within,
    matcher,
    normalised,
)
from responses_app.harness.record_files import RecordFiles
from responses_app.harness.tool import HarnessTool, merged
from tools_app.contract import Arguments, RecordsUsed, TryDifferently

DEFAULT_LINES = 500
MAX_LINES = 2000
MAX_CHARACTERS = 40_000
MAX_MATCHES = 100
MATCH_CHARACTERS = 300
SEARCHED_CHARACTERS = 20_000_000
SEARCHED_LINES = 100_000
"""The expression is begun anew at each line, which costs more than its characters when lines are short."""
PATTERN_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 500}


@dataclass(frozen=True, slots=True)
class Files:
    """All that file tools see: the agent's own files, and the Subject's documents."""

    own: FileSpace
    records: RecordFiles

    def read(self, path: str) -> tuple[str, tuple[RecordsUsed, ...]]:
        """A file's content and the records it quotes. Raises TryDifferently when there is none."""
        if not is_record(path):
            return self.own.read(path), ()
        document = self.records.read(path)
        return document.content, document.used

    def texts(self, folder: str) -> Iterator[tuple[str, str, tuple[RecordsUsed, ...]]]:
        """Path, content and records of every file in the folder, or of the one file of that name."""
        for path, content in self.own.every().items():
            if path == folder or is_within(path, folder):
                yield path, content, ()
        if folder in ("/", RECORDS):
            yield from ((document.path, document.content, document.used) for document in self.records.texts())
        elif is_record(folder):
            yield folder, *self.read(folder)


def file_tools(files: Files) -> Sequence[HarnessTool]:
    """The six tools."""
    return [
        _tool(
            "ls",
            "Lists a folder of this conversation's files. /records holds the Subject's documents, read-only.",
            partial(_ls, files),
            path=PATH_SCHEMA,
        ),
        _tool(
            "read_file",
            "Reads a file by lines.",
            partial(_read_file, files),
            required=["file_path"],
            file_path=PATH_SCHEMA,
            offset={"type": "integer", "minimum": 0, "description": "Lines to skip."},
            limit={"type": "integer", "minimum": 1, "maximum": MAX_LINES},
        ),
        _tool(
            "write_file",
            "Writes a whole text file, kept for this conversation: notes and drafts.",
            partial(_write_file, files.own),
            required=["file_path", "content"],
            file_path=PATH_SCHEMA,
            content={"type": "string"},
        ),
        _tool(
            "edit_file",
            "Replaces an exact string in a file; it must be there once unless replace_all.",
            partial(_edit_file, files.own),
            required=["file_path", "old_string", "new_string"],
            file_path=PATH_SCHEMA,
            old_string={"type": "string", "minLength": 1},
            new_string={"type": "string"},
            replace_all={"type": "boolean"},
        ),
        _tool(
            "glob",
            "Finds files by name, such as **/*.md.",
            partial(_glob, files),
            required=["pattern"],
            pattern=PATTERN_SCHEMA,
            path=PATH_SCHEMA,
        ),
        _tool(
            "grep",
            "Finds lines that hold a text, in files and documents.",
            partial(_grep, files),
            required=["pattern"],
            pattern=PATTERN_SCHEMA,
            path=PATH_SCHEMA,
            glob=PATTERN_SCHEMA,
            regex={"type": "boolean", "description": "The pattern is an RE2 regular expression."},
        ),
    ]


def _tool(
    name: str,
    description: str,
    run: Callable[[Arguments], ToolOutcome],
    required: Sequence[str] = (),
    **properties: dict[str, Any],
) -> HarnessTool:
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    return HarnessTool(name, description, parameters | ({"required": list(required)} if required else {}), run)


def _folder(arguments: Arguments) -> str:
    return normalised(arguments.get("path", "/"))


def _ls(files: Files, arguments: Arguments) -> ToolOutcome:
    folder = _folder(arguments)
    if is_record(folder):
        return _ls_records(files.records, folder)
    own = files.own.every()
    if folder != "/" and not any(is_within(path, folder) for path in own):
        raise TryDifferently("There is no such folder.")
    folders = {f"{RECORDS}/"} if folder == "/" else set()
    entries: list[dict[str, Any]] = []
    base = folder.rstrip("/") + "/"
    for path, content in own.items():
        name, inside, _ = path.removeprefix(base).partition("/")
        if is_within(path, folder) and inside:
            folders.add(f"{base}{name}/")
        elif is_within(path, folder):
            entries.append({"path": path, "bytes": len(content.encode())})
    return ToolOutcome({"folders": sorted(folders), "files": entries, "truncated": False}, own_words=True)


def _ls_records(records: RecordFiles, folder: str) -> ToolOutcome:
    if folder != RECORDS:
        raise TryDifferently("There is no such folder.")
    documents, more = records.newest()
    entries = [{"path": one.path, "title": one.title, "time": one.time or None} for one in documents]
    used = merged(used for one in documents for used in one.used)
    return ToolOutcome({"folders": [], "files": entries, "truncated": more}, records=used)


def _read_file(files: Files, arguments: Arguments) -> ToolOutcome:
    path = normalised(arguments["file_path"])
    content, used = files.read(path)
    lines = content.splitlines(keepends=True)
    offset = int(arguments.get("offset", 0))
    shown = lines[offset : offset + int(arguments.get("limit", DEFAULT_LINES))]
    text, count = _within_bounds(shown)
    more = offset + count < len(lines)
    data = {"path": path, "content": text, "lines": len(lines), "next_offset": offset + count if more else None}
    cut = count == 1 and len(text) < len(shown[0])
    data |= {"line_truncated": True} if cut else {}
    return ToolOutcome(data, records=used, own_words=not is_record(path))


def _within_bounds(lines: Sequence[str]) -> tuple[str, int]:
    """As many whole lines as fit and their number; of a first line that is too long alone its beginning."""
    length = 0
    for number, line in enumerate(lines):
        length += len(line)
        if length > MAX_CHARACTERS:
            count = max(number, 1)
            return "".join(lines[:count])[:MAX_CHARACTERS], count
    return "".join(lines), len(lines)


def _write_file(own: FileSpace, arguments: Arguments) -> ToolOutcome:
    path = normalised(arguments["file_path"])
    own.write(path, arguments["content"])
    return ToolOutcome({"path": path, "bytes": len(arguments["content"].encode())}, own_words=True)


def _edit_file(own: FileSpace, arguments: Arguments) -> ToolOutcome:
    path = normalised(arguments["file_path"])
    everywhere = bool(arguments.get("replace_all", False))
    count = own.replace(path, arguments["old_string"], arguments["new_string"], everywhere)
    return ToolOutcome({"path": path, "replaced": count}, own_words=True)


def _glob(files: Files, arguments: Arguments) -> ToolOutcome:
    meant = matcher(arguments["pattern"], _folder(arguments))
    documents, more = files.records.newest()
    found = [path for path in files.own.every() if meant.fullmatch(path)]
    documents = [one for one in documents if meant.fullmatch(one.path)]
    used = merged(used for one in documents for used in one.used)
    return ToolOutcome(
        {"paths": found + [one.path for one in documents], "truncated": more}, records=used, own_words=bool(found)
    )


def _grep(files: Files, arguments: Arguments) -> ToolOutcome:
    holds = _finder(arguments["pattern"], is_expression=bool(arguments.get("regex")))
    folder = _folder(arguments)
    meant = matcher(arguments["glob"], folder) if "glob" in arguments else None
    matches: list[dict[str, Any]] = []
    used: list[RecordsUsed] = []
    searched, lines_left = 0, SEARCHED_LINES
    for path, content, records in files.texts(folder):
        if meant and not meant.fullmatch(path):
            continue
        lines = content.splitlines()
        found = list(islice(_matches(holds, path, lines[:lines_left]), MAX_MATCHES + 1 - len(matches)))
        searched, lines_left = searched + len(content), max(0, lines_left - len(lines))
        matches += found
        used += records if found else ()
        if len(matches) > MAX_MATCHES or searched > SEARCHED_CHARACTERS or not lines_left:
            return _found(matches[:MAX_MATCHES], used, truncated=True)
    return _found(matches, used, truncated=False)


def _found(matches: list[dict[str, Any]], used: list[RecordsUsed], truncated: bool) -> ToolOutcome:
    own_words = any(not is_record(match["path"]) for match in matches)
    return ToolOutcome({"matches": matches, "truncated": truncated}, records=merged(used), own_words=own_words)


def _finder(pattern: str, is_expression: bool) -> Callable[[str], bool]:
    """Whether a line holds the text, or a match of the expression."""
    if not is_expression:
        return lambda line: pattern in line
    expression = compiled(pattern)
    return lambda line: expression.search(line) is not None


def _matches(holds: Callable[[str], bool], path: str, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if holds(line):
            yield {"path": path, "line": number, "text": line[:MATCH_CHARACTERS]}
