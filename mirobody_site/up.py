"""Runs what the Procfile names, for many callers: all of it side by side until stopped, or one process in its place.

``python -m mirobody_site.up`` migrates the database and runs everything; ``python -m mirobody_site.up NAME`` turns into
the process NAME, as containers want it. What the processes are stands in the Procfile.
"""

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import django
import honcho.manager
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from honcho.environ import expand_processes, parse_procfile
from honcho.printer import Printer

BASE_DIR = Path(__file__).resolve().parent.parent
_END_SECONDS = 5
"""How long after the last turn a stream that reads it may take to its end, and a process to its own."""
_FIGURES = "mirobody-metrics-"


def main(names: Sequence[str]) -> int:
    """The exit status: 2 for settings or names that cannot work, else that of the process that ended first."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")
    django.setup()
    commands: dict[str, str] = parse_procfile((BASE_DIR / "Procfile").read_text()).processes
    wrong = [*missing_settings(), *(f"the Procfile names no process {name}." for name in names if name not in commands)]
    if wrong:
        sys.stderr.write("\n  * ".join(["This cannot start:", *wrong]) + "\n")
        return 2
    # The processes are to use this interpreter and its packages.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    os.chdir(BASE_DIR)
    os.environ.setdefault("WEB_GRACE_SECONDS", str(web_grace_seconds()))
    # Processes that run side by side show their figures as one; an earlier run's would be added to them.
    _forget_figures_of_the_dead()
    figures = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=f"{_FIGURES}{os.getpid()}-")
    if names:
        os.execv("/bin/sh", ["sh", "-c", commands[names[0]]])  # noqa: S606 - it is a shell's command line
    try:
        call_command("migrate", interactive=False, verbosity=0)
        return _run_all(commands)
    finally:
        shutil.rmtree(figures, ignore_errors=True)


def web_grace_seconds() -> int:
    """How long ``web`` lets open requests go on: until the turns that they read have ended, or are told to be lost if
    their worker was killed."""
    # Django has to be set up first.
    from responses_app.services.leases import log_lifetime  # noqa: PLC0415

    last_told: float = max(settings.WORKER_GRACE_SECONDS, log_lifetime(store=True))
    return math.ceil(last_told) + _END_SECONDS


def _forget_figures_of_the_dead() -> None:
    """A process that took this one's place leaves its folder behind, and so does one that was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FIGURES}*-*"):
        pid = folder.name.removeprefix(_FIGURES).partition("-")[0]
        if pid.isdigit() and not _lives(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Somebody else's.
        return True
    return True


def missing_settings() -> list[str]:
    """What several processes need and defaults cannot give, a line each."""
    wrong = []
    if connection.vendor != "postgresql":
        wrong.append("DATABASE_URL must name a Postgres database: postgres://USER:PASSWORD@HOST:5432/NAME")
    if not settings.REDIS_URL:
        wrong.append("REDIS_URL must name a Redis server: redis://HOST:6379/0")
    if not os.environ.get("DJANGO_SECRET_KEY"):
        wrong.append(
            "DJANGO_SECRET_KEY must be a long random text, the same for all processes: openssl rand -base64 48"
        )
    return wrong


def _run_all(commands: dict[str, str]) -> int:
    # honcho counts from the first process that ends, and has no option for it.
    honcho.manager.KILL_WAIT = int(os.environ["WEB_GRACE_SECONDS"]) + 2 * _END_SECONDS
    # A line that is JSON stays it.
    manager = honcho.manager.Manager(Printer(sys.stdout, prefix=settings.LOG_FORMAT == "text"))
    concurrency = {"web": 1, "beat": 1, "worker": int(os.environ.get("WORKER_PROCESSES", "1"))}
    # Web shows the workers' figures; a port of their own would show them twice.
    extra = {"PYTHONUNBUFFERED": "1", "WORKER_METRICS_PORT": "0"}
    for process in expand_processes(commands, concurrency):
        manager.add_process(process.name, process.cmd, env=os.environ | extra)
    manager.loop()
    return int(manager.returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
