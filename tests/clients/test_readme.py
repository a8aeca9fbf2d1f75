"""The README's commands, run by a shell against a server on its defaults, say what the README says they say."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import ROOT, ServerProcess

README = (ROOT / "README.md").read_text()
COMMAND_SECONDS = 60

# A machine with Python and make alone need not have curl; this does what the README asks of it.
CURL = """\
import sys, urllib.error, urllib.request
url, headers, data = "", {}, None
words = iter(sys.argv[1:])
for word in words:
    if word == "-H":
        name, _, value = next(words).partition(": ")
        headers[name] = value
    elif word == "-d":
        data = next(words).encode()
    elif not word.startswith("-"):
        url = word
try:
    answer = urllib.request.urlopen(urllib.request.Request(url, data, headers))
except urllib.error.HTTPError as error:
    answer = error
sys.stdout.buffer.write(answer.read())
"""


def blocks() -> list[tuple[str, str]]:
    """The README's fenced blocks, in order: language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run, with ``curl`` and ``python3`` beside them."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "curl.py").write_text(CURL)
    for name, target in (("curl", f'"{folder}/curl.py" "$@"'), ("python3", '"$@"')):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {target}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def run(command: str, folder: Path, server: ServerProcess) -> str:
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "MIROBODY_API_BASE": server.api_base,
        "MIROBODY_API_KEY": server.key,
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_values(text: str) -> str:
    """The text with what differs from day to day left out: ids, dates and numbers."""
    return re.sub(r"[0-9a-f]{32}|[\d.]+", "#", text).strip()


def test_the_first_block_is_the_two_commands() -> None:
    commands = [line.split("#")[0].strip() for line in blocks()[0][1].splitlines()]
    assert commands == ["make serve", "make test"]


def test_every_command_prints_what_the_readme_shows(analyst_server: ServerProcess, folder: Path) -> None:
    shown = blocks()
    commands = [index for index, (_, text) in enumerate(shown) if text.startswith("curl")]
    assert len(commands) == 8
    for index in commands:
        printed = run(shown[index][1], folder, analyst_server)
        assert without_values(printed) == without_values(shown[index + 1][1])
