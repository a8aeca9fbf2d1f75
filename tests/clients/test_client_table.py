"""The README's table of clients says what the programs of the client matrix do, for the versions that they run with."""

import re

import pytest

from tests.clients.matrix.builds import BUILDS, Build
from tests.support.process import ROOT

TABLE = re.search(r"^\| client \| versions .*?\n\n", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
assert TABLE
ROWS = [re.split(r"\s*\|\s*", line.strip("| ")) for line in TABLE[0].strip().splitlines()[2:]]


def described(row: list[str]) -> list[Build]:
    """The builds that a row is about, newest first. A package's name may stand for one of PyPI and one of npm."""
    package, place = re.findall(r"^`([^`]+)`(?: \((\w+)\))?", row[0])[0]
    group = {"PyPI": "python", "npm": "node"}.get(place, "")
    return [build for build in BUILDS if build.package == package and build.group.startswith(group)]


def test_every_client_that_is_run_is_in_the_table() -> None:
    assert [build for row in ROWS for build in described(row)] == BUILDS


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_says_what_the_program_does(row: list[str]) -> None:
    _, versions, *cells = row
    assert versions.split(", ") == [build.version for build in described(row)]
    (source,) = {build.source for build in described(row)}
    for code in re.findall("`([^`]+)`", " ".join(cells)):
        assert code in " ".join(source.split()), code
