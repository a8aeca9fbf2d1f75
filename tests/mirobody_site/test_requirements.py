"""requirements.txt names all that the server imports; what tests and checks bring along does not count."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_OTHERS = """
import importlib.abc, os, sys

class Others(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OTHERS:
            raise ModuleNotFoundError(f"{name} is not in requirements.txt")

OTHERS = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Others())
os.environ["DJANGO_SETTINGS_MODULE"] = "mirobody_site.settings"
import mirobody_site.asgi, mirobody_site.celery, mirobody_site.up, responses_app.tasks
import celery.concurrency.thread, celery.worker, celery.beat, kombu.transport.redis, psycopg_pool, uvicorn.loops.uvloop
from django.core.management import call_command
call_command("check")
"""


def needed() -> set[str]:
    """The distributions that requirements.txt installs, with what they need themselves."""
    found: set[str] = set()
    waiting = [
        Requirement(line.partition("#")[0])
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if line.partition("#")[0].strip()
    ]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        one = waiting.pop()
        key = canonicalize_name(one.name), frozenset(one.extras)
        if key in seen:
            continue
        seen.add(key)
        found.add(key[0])
        waiting += [need for need in map(Requirement, _needs(one.name)) if _holds(need, one.extras)]
    return found


def _needs(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def _holds(need: Requirement, extras: set[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ["", *extras])


def test_the_server_starts_on_what_is_named() -> None:
    installed = needed()
    others = {
        module
        for module, distributions in packages_distributions().items()
        if not installed & {canonicalize_name(name) for name in distributions}
    } - {"pip", "setuptools", "pkg_resources"}
    assert "pytest" in others
    command = [sys.executable, "-c", WITHOUT_OTHERS, ",".join(sorted(others))]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
