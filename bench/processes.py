"""Processes of a bench: how they start and end, and what they use (CPU, memory, threads). Linux."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PPID, _TIMES, _THREADS, _RSS = 1, slice(11, 15), 17, 21
"""Where the fields stand in /proc/PID/stat after the command's name."""


@dataclass(frozen=True)
class Usage:
    """What a process and all its descendants use: seconds of CPU since their start, bytes of memory, threads."""

    processes: int = 0
    cpu: float = 0.0
    rss: int = 0
    threads: int = 0


def usage_of(pids: Sequence[int]) -> Usage:
    """The sum over these processes and their descendants."""
    stats = _all_stats()
    tree = list(_tree(pids, stats))
    return Usage(
        processes=len(tree),
        cpu=sum(int(ticks) for pid in tree for ticks in stats[pid][_TIMES]) / _TICKS,
        rss=sum(int(stats[pid][_RSS]) for pid in tree) * _PAGE,
        threads=sum(int(stats[pid][_THREADS]) for pid in tree),
    )


def _all_stats() -> dict[int, list[str]]:
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                stats[int(path.name)] = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
    return stats


def _tree(pids: Sequence[int], stats: Mapping[int, list[str]]) -> Iterator[int]:
    for pid in pids:
        if pid in stats:
            yield pid
            yield from _tree([child for child, fields in stats.items() if int(fields[_PPID]) == pid], stats)


@dataclass
class Command:
    """How one process of the bench is started; ``log`` is the file that takes what it prints."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[bytes]"]:
        """The started process; it and all its descendants are killed at the end."""
        process = self.start()
        try:
            yield process
        finally:
            kill(process)

    def start(self) -> "subprocess.Popen[bytes]":
        """Starts it in a process group of its own."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.arguments,
                env=dict(self.environment),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kills its whole process group, if it still runs."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
