"""The client builds of the matrix: what is installed for each, the program that uses it, and how it is run."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.process import ROOT

HERE = Path(__file__).parent
# Where clients are installed; kept between runs, not part of the repository.
INSTALLED = ROOT / ".clients"
INSTALL_SECONDS = 600
PROGRAM_SECONDS = 240


@dataclass(frozen=True)
class Build:
    """A client at one version: its name here and its package's, the group it is installed with, its program."""

    name: str
    package: str
    group: str
    program: str

    @property
    def newest(self) -> bool:
        """Whether it is the last version of its client here."""
        return next(build for build in BUILDS if build.program == self.program) == self

    @property
    def version(self) -> str:
        """The version of its package that its group installs."""
        folder = HERE / "groups" / self.group
        if self.group.startswith("node"):
            return str(json.loads((folder / "package.json").read_text())["dependencies"][self.package])
        lines = (folder / "requirements.txt").read_text().splitlines()
        return next(line.removeprefix(f"{self.package}==") for line in lines if line.startswith(f"{self.package}=="))

    @property
    def source(self) -> str:
        """The text of its program."""
        return (HERE / ("js" if self.program.endswith(".mjs") else "python") / self.program).read_text()

    def told(self, environment: Mapping[str, str]) -> dict[str, Any]:
        """What each scenario of its program came to."""
        folder = installed(self.group)
        command = _python(folder, self.program) if self.group.startswith("python") else _node(folder, self.program)
        run = subprocess.run(
            command,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)} | dict(environment),
            capture_output=True,
            text=True,
            timeout=PROGRAM_SECONDS,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        told: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
        return told


# The versions of one client, newest first.
BUILDS = [
    Build("openai-py-3", "openai", "python-3", "with_openai.py"),
    Build("openai-py-2", "openai", "python-2", "with_openai.py"),
    Build("openai-py-1", "openai", "python-1", "with_openai.py"),
    Build("openai-agents-py", "openai-agents", "python-3", "with_agents.py"),
    Build("langchain-openai", "langchain-openai", "python-3", "with_langchain.py"),
    Build("pydantic-ai", "pydantic-ai-slim", "python-3", "with_pydantic_ai.py"),
    Build("llama-index", "llama-index-llms-openai", "python-2", "with_llama_index.py"),
    Build("agent-framework", "agent-framework-openai", "python-3", "with_agent_framework.py"),
    Build("llm", "llm", "python-3", "with_llm.py"),
    Build("openai-js-7", "openai", "node-3", "with_openai.mjs"),
    Build("openai-js-6", "openai", "node-2", "with_openai.mjs"),
    Build("openai-js-5", "openai", "node-1", "with_openai.mjs"),
    Build("openai-agents-js", "@openai/agents", "node-3", "with_agents.mjs"),
    Build("ai-sdk-7", "@ai-sdk/openai", "node-3", "with_ai_sdk.mjs"),
    Build("ai-sdk-6", "@ai-sdk/openai", "node-2", "with_ai_sdk.mjs"),
    Build("ai-sdk-5", "@ai-sdk/openai", "node-1", "with_ai_sdk.mjs"),
    Build("ai-sdk-open-responses", "@ai-sdk/open-responses", "node-3", "with_open_responses.mjs"),
    Build("langchain-js", "@langchain/openai", "node-3", "with_langchain.mjs"),
]


def installed(group: str) -> Path:
    """The folder of a group, with everything its files in ``groups`` name in it. Installs it when they have changed."""
    given, folder = HERE / "groups" / group, INSTALLED / group
    INSTALLED.mkdir(exist_ok=True)
    with _locked(INSTALLED / f"{group}.lock"):
        stamp = folder / "stamp"
        wanted = _digest(given)
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(given, folder)
            _install_python(folder) if group.startswith("python") else _install_node(folder)
            stamp.write_text(wanted)
    return folder


def _digest(folder: Path) -> str:
    content = b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
    return hashlib.sha256(content + sys.version.encode()).hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock between threads and processes that install the same group."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install_python(folder: Path) -> None:
    _run([sys.executable, "-m", "venv", "venv"], folder)
    # Everything is named with its version, so there is nothing for pip to find out.
    _run(
        ["venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-input", "-r", "requirements.txt"],
        folder,
    )


def _install_node(folder: Path) -> None:
    _run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"], folder)


def _run(command: list[str], folder: Path) -> None:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert run.returncode == 0, run.stderr


def _python(folder: Path, program: str) -> list[str]:
    return [str(folder / "venv/bin/python"), str(HERE / "python" / program)]


def _node(folder: Path, program: str) -> list[str]:
    """Modules are looked for beside the program, so it is run from the folder that has them."""
    for path in (HERE / "js").iterdir():
        shutil.copy(path, folder)
    return ["node", program]
