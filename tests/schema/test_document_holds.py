"""The server does what its OpenAPI document says: Schemathesis asks it, and checks every answer.

Within the suite a little and always the same; ``make test-schema`` asks for minutes, in all of Schemathesis' phases.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.process import ROOT, ServerProcess, server_process

EXAMPLES = os.environ.get("SCHEMA_EXAMPLES", "12")
SEED = os.environ.get("SCHEMA_SEED", "1")
PHASES = os.environ.get("SCHEMA_PHASES", "fuzzing")
MANY = 100
MOST_SECONDS = 3600
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
    "use_after_free",
)
"""Left out is only what the contract decides otherwise: ``null`` and unknown fields are accepted, and what is not the
caller's does not exist."""

CONFIGURATION = """\
[parameters]
"header.X-Mirobody-User" = ""
"query.user" = ""
"""
"""The body alone names the Subject; different names in different places are a 400."""

MUST_SUCCEED = ("/v1/responses", "/v1/chat/completions", "/v1/data", "/v1/shares", "/v1/models")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Every exchange of a run that found nothing wrong."""
    with server_process({"LOG_LEVEL": "ERROR"}, seeded=False) as server:
        return exchanges(server, tmp_path_factory.mktemp("schemathesis"))


def exchanges(server: ServerProcess, folder: Path) -> list[dict[str, Any]]:
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    document, har = ROOT / "docs" / "openapi.json", folder / "exchanges.har"
    command = [
        *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
        *("--config-file", str(folder / "schemathesis.toml"), "run", str(document), "--url", server.base_url),
        *("--header", f"Authorization: Bearer {server.key}", "--checks", ",".join(CHECKS), "--continue-on-failure"),
        *("--phases", PHASES, "--max-examples", EXAMPLES, "--seed", SEED, "--no-shrink", "--warnings", "off"),
        *("--request-timeout", "60", "--suppress-health-check", "all"),
        *("--report", "har", "--report-har-path", str(har)),
    ]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    print(run.stdout)  # noqa: T201 - the figures of the long run
    entries: list[dict[str, Any]] = json.loads(har.read_text())["log"]["entries"]
    return entries


def test_every_answer_is_as_described(report: list[dict[str, Any]]) -> None:
    assert len(report) > 20 * int(EXAMPLES)
    assert not [entry for entry in report if entry["response"]["status"] >= 500]


def test_what_the_document_allows_is_mostly_done(report: list[dict[str, Any]]) -> None:
    done = Counter(urlsplit(entry["request"]["url"]).path for entry in report if entry["response"]["status"] == 200)
    assert all(done[path] for path in MUST_SUCCEED), done


@pytest.mark.skipif(int(EXAMPLES) < MANY, reason="a few examples may hold no stream")
def test_streams_were_among_them(report: list[dict[str, Any]]) -> None:
    kinds = Counter(entry["response"]["content"]["mimeType"] for entry in report)
    assert kinds["text/event-stream"], kinds
