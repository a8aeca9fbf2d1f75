"""llmprobe, a public conformance command line, finds no breach of a MUST on the Responses surface."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.matrix.builds import installed
from tests.support.process import ServerProcess
from tests.support.upstream import Step, Upstream

PROBE_SECONDS = 240

pytestmark = [pytest.mark.matrix, pytest.mark.newest]


def test_no_must_is_broken_on_responses(scripted_server: ServerProcess, upstream: Upstream, tmp_path: Path) -> None:
    upstream.script_for_text("Write a long essay about the sea.", Step(text=["The"], finish="length"))
    report = tmp_path / "report.json"
    options = ["--quick", "--no-bench", "--no-save", "--no-color", "--save", str(report)]
    subprocess.run(
        [
            "node_modules/.bin/llmprobe",
            scripted_server.api_base,
            "-k",
            scripted_server.key,
            "-m",
            "mirobody-flash",
            *options,
        ],
        cwd=installed("node-3"),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        timeout=PROBE_SECONDS,
        check=False,  # it fails over surfaces that this API does not have
    )
    results = [one for one in json.loads(report.read_text())["conformance"]["results"] if one["surface"] == "responses"]
    failures = [(one["id"], failure) for one in results for failure in one["failures"] if failure["severity"] == "MUST"]
    assert failures == []
    assert {one["id"] for one in results if one["outcome"] == "pass"} == {
        "responses-basic",
        "responses-streaming",
        "responses-finish-length",
        "responses-errors",
    }
