"""The files a deployment is made of agree: they start the same processes and name settings that exist."""

import re
from pathlib import Path
from typing import Any

import yaml
from honcho.environ import parse_procfile

from mirobody_site.up import web_grace_seconds
from responses_app.services.leases import log_lifetime

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = parse_procfile((ROOT / "Procfile").read_text()).processes
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SETTINGS = (ROOT / "mirobody_site" / "settings.py").read_text()
OF_THE_SERVER = [name for name, service in COMPOSE["services"].items() if service.get("image") == "mirobody"]
# What is no setting of the server: Postgres' own, Python's, and where programs are.
FOREIGN = {"POSTGRES_PASSWORD", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PATH"}


def settings_read() -> set[str]:
    """The environment variables that the server reads."""
    in_python = re.findall(r'env(?:\.\w+)?\(\s*"(\w+)"', SETTINGS)
    in_up = re.findall(r'environ\.(?:get|setdefault)\("([A-Z_]+)"', (ROOT / "mirobody_site" / "up.py").read_text())
    in_procfile = re.findall(r"\$\{(\w+)", "".join(PROCESSES.values()))
    return {*in_python, *in_up, *in_procfile} - FOREIGN - {"DJANGO_SETTINGS_MODULE"}


def test_compose_runs_every_process_of_the_procfile_and_no_other() -> None:
    commands = [COMPOSE["services"][name]["command"] for name in OF_THE_SERVER if name != "migrate"]
    assert sorted(commands) == sorted([name] for name in PROCESSES)


def test_the_image_runs_the_procfiles_web() -> None:
    assert 'ENTRYPOINT ["python", "-m", "mirobody_site.up"]' in DOCKERFILE
    assert re.findall(r'CMD \["(\w+)"\]$', DOCKERFILE, re.MULTILINE) == ["web"]
    assert "web" in PROCESSES


def test_every_process_gives_its_place_up_to_the_program() -> None:
    # Signals reach the program itself, and not a shell that would die of them first.
    assert all(command.startswith("exec python -m ") for command in PROCESSES.values())


def test_nothing_sets_what_nobody_reads() -> None:
    in_image = re.findall(r"([A-Z_]+)=", "\n".join(re.findall(r"^ENV (?:.*\\\n)*.*", DOCKERFILE, re.MULTILINE)))
    in_compose = [name for service in OF_THE_SERVER for name in COMPOSE["services"][service]["environment"]]
    asked_for = re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text())
    assert {*in_image, *in_compose, *asked_for} - FOREIGN <= settings_read()


def test_every_setting_is_explained() -> None:
    explained = (ROOT / "README.md").read_text() + (ROOT / "docs" / "operations.md").read_text()
    assert [name for name in sorted(settings_read()) if f"`{name}`" not in explained] == []


def test_what_the_image_needs_is_let_into_it() -> None:
    let_in = set(re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}
    assert let_in >= packages | {"Procfile", "manage.py", "requirements.txt"}


def test_containers_are_given_the_time_that_turns_are_given() -> None:
    grace = float(re.findall(r'"WORKER_GRACE_SECONDS", default=([\d.]+)', SETTINGS)[0])
    given = {
        name: float(COMPOSE["services"][name]["stop_grace_period"].removesuffix("s")) for name in ("web", "worker")
    }
    assert given["worker"] >= grace + 15
    assert given["web"] >= web_grace_seconds() + 10
    assert f"${{WEB_GRACE_SECONDS:-{web_grace_seconds()}}}" in PROCESSES["web"]


def test_web_outlives_what_callers_of_a_killed_worker_wait_for() -> None:
    assert web_grace_seconds() > log_lifetime(store=True)
