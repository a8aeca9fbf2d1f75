"""What the documents tell to type works: every block is run as a reader would, and says what stands below it."""

import ast
import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.clients.test_readme import folder, without_values
from tests.support.process import ROOT, ServerProcess, server_process
from tests.support.upstream import Call, Step, Upstream

__all__ = ["folder"]

DOCS = ROOT / "docs"
TYPED = ["quick-start", "concepts", "api", "security"]
COMMAND_SECONDS = 120
WITHOUT_SERVER = ("make ",)

Block = tuple[str, str]


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks, in order: language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def document(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


@pytest.fixture(scope="module")
def here(folder: Path) -> Path:
    """The reader's folder: ``manage.py`` and ``.venv/bin/python`` stand in it as after ``make serve``."""
    (folder / "manage.py").symlink_to(ROOT / "manage.py")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return folder


def run(language: str, text: str, here: Path, server: ServerProcess) -> str:
    own = {
        "PATH": f"{here}:{os.environ['PATH']}",
        "MIROBODY_API_BASE": server.api_base,
        "MIROBODY_API_KEY": server.key,
        "DATA_DIR": str(server.data),
        "ENV_FILE": os.devnull,
    }
    if language == "python":
        return run_python(text, own)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "REDIS_", "DATA"))}
    done = subprocess.run(
        ["/bin/sh", "-c", text],
        cwd=here,
        env=inherited | own,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_python(text: str, environment: dict[str, str]) -> str:
    """What the snippet prints. A process of its own would load the client's package each time anew."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        for name, value in environment.items():
            patch.setenv(name, value)
        exec(compile(text, "document", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def steps(name: str) -> Iterator[tuple[Block, str | None]]:
    """Each block that is typed, and what is to come of it where the document shows it."""
    blocks = blocks_of(document(name))
    for index, (language, text) in enumerate(blocks):
        if language in ("sh", "python") and not text.startswith(WITHOUT_SERVER):
            following = blocks[index + 1] if index + 1 < len(blocks) else ("sh", "")
            yield (language, text), None if following[0] else following[1]


@pytest.mark.parametrize("name", TYPED)
def test_what_is_typed_says_what_is_shown(name: str, analyst_server: ServerProcess, here: Path) -> None:
    typed = list(steps(name))
    assert typed
    for (language, text), shown in typed:
        printed = run(language, text, here, analyst_server)
        if shown is not None:
            assert without_values(printed) == without_values(shown)


def test_the_chinese_guide_has_the_same_blocks() -> None:
    assert blocks_of(document("api.zh")) == blocks_of(document("api"))


@pytest.mark.parametrize("guide", ["api", "api.zh"])
def test_the_guide_names_every_door(guide: str) -> None:
    text = document(guide)
    for path in json.loads((DOCS / "openapi.json").read_text())["paths"]:
        *_, last = [part for part in path.split("/") if "{" not in part]
        assert re.search(rf"/{last}\b", text), path


def documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.glob("*.md"))]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" in target:
            continue
        name, _, place = target.partition("#")
        led_to = (path.parent / name).resolve() if name else path
        assert led_to.exists(), target
        if place:
            headings = re.findall(r"^#+ (.*)$", led_to.read_text(), re.MULTILINE)
            assert place in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings], target


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_commands_and_their_flags_are_there(path: Path) -> None:
    known = get_commands()
    for name, rest in re.findall(r"manage\.py (\w+)([^`\n]*)", path.read_text()):
        assert name in known, name
        app = known[name]
        command = load_command_class(app, name) if isinstance(app, str) else app
        flags = command.create_parser("manage.py", name)._option_string_actions
        assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= set(flags), (name, rest)


def test_the_readme_leads_to_every_document() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [path.name for path in DOCS.glob("*.md") if f"docs/{path.name}" not in readme] == []


class Extended:
    """A copy of the repository with what ``docs/extending.md`` adds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("manage.py", "mirobody_site", "responses_app", "tools_app", "templates"):
            source = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__")
            _ = shutil.copytree(source, root / name, ignore=ignored) if source.is_dir() else shutil.copy(source, root)
        tool, registered, settings, backend, reached, analyte, code = [
            text for _, text in blocks_of(document("extending"))
        ]
        self.settings = dict(line.split("=", 1) for line in settings.splitlines())
        (root / "tools_app/tools/count_health_records.py").write_text(tool)
        (root / "responses_app/llm/echo.py").write_text(backend)
        self._insert("tools_app/registry.py", registered, before='    "query_health_data"')
        self._insert("responses_app/llm/backends.py", reached, before="    models = {")
        for table, line in (("analytes.csv", analyte), ("codes.csv", code)):
            with (root / "tools_app/standardization" / table).open("a") as file:
                file.write(line)

    def _insert(self, path: str, text: str, before: str) -> None:
        """The first line above all imports of the project, the others where the document says."""
        file = self.root / path
        first, rest = text.split("\n", 1)
        whole = file.read_text()
        assert before in whole
        whole = whole.replace(before, rest + before, 1)
        file.write_text(whole.replace("\nfrom ", f"\n{first}\nfrom ", 1))
        ast.parse(file.read_text())


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    return Extended(tmp_path_factory.mktemp("extended"))


def test_the_tool_and_the_analyte_of_extending_are_used(extended: Extended, upstream: Upstream) -> None:
    mark = upstream.script("extended", Step(calls=[Call("count_health_records")]), Step(text=["Counted."]))
    assert set(extended.settings) == {"LLM_BASE_URL", "LLM_API_KEY", "LLM_MODEL_FLASH", "LLM_MODEL_EXPERT"}
    settings = extended.settings | {"LLM_BASE_URL": upstream.url, "BUILTIN_TOOLS": "count_health_records"}
    with server_process(settings, seeded=False, root=extended.root) as server, server.client() as api:
        record = {"indicator": "瘦素", "value": "12.5 ng/mL", "time": "2026-03-01"}
        body = {"user": "bob", "retention": "permanent", "records": [record]}
        assert api.post("/v1/data", json=body).json()["standardized"] == 1
        (row,) = api.get("/v1/data", params={"user": "bob"}).json()["data"]
        assert (row["loinc_code"], row["canonical_name"], row["parsed_unit"]) == ("21365-2", "Leptin", "ng/mL")
        answer = api.post("/v1/responses", json={"user": "bob", "input": mark}).json()
        assert [step["result"] for step in answer["tool_steps"]] == [{"count": 1, "since": "2026-03-01"}]
        assert upstream.requests(mark)[0].body["model"] == extended.settings["LLM_MODEL_FLASH"]
        assert api.delete("/v1/data", params={"user": "bob", "all": "true"}).status_code == 200
        (gone,) = api.get(f"/v1/responses/{answer['id']}").json()["tool_steps"]
        assert gone["result"] == {"gone": True, "records": 1}


def test_the_back_end_of_extending_answers(extended: Extended, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=extended.root,
        env=environment | {"LLM_BASE_URL": "echo:", "DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    found = [one for one in json.loads(done.stdout)["findings"] if one["check"] == "provider"]
    assert [one["state"] for one in found] == ["ok", "ok"]


def test_the_analyte_of_extending_clashes_with_no_name() -> None:
    *_, analyte, _code = [text for _, text in blocks_of(document("extending"))]
    rows = list(csv.DictReader((ROOT / "tools_app/standardization/analytes.csv").open(encoding="utf-8")))
    (new,) = csv.DictReader([",".join(rows[0]) + "\n", analyte])
    columns = ("english", "chinese", "abbreviations")
    names = {name.casefold() for row in rows for column in columns for name in row[column].split("|")}
    assert not names & {name.casefold() for column in columns for name in new[column].split("|")}
    assert new["analyte"] not in {row["analyte"] for row in rows}
