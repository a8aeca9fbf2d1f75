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
# After the workers' grace come the end of the streams that read them, and of the processes.
_KILL_AFTER_GRACE_SECONDS = 15


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
    # Streams end after the turns that they read.
    os.environ.setdefault("WEB_GRACE_SECONDS", str(math.ceil(settings.WORKER_GRACE_SECONDS) + 5))
    # Processes that run side by side show their figures as one; an earlier run's would be added to them.
    figures = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="mirobody-metrics-")
    if names:
        os.execv("/bin/sh", ["sh", "-c", commands[names[0]]])  # noqa: S606 - it is a shell's command line
    try:
        call_command("migrate", interactive=False, verbosity=0)
        return _run_all(commands)
    finally:
        shutil.rmtree(figures, ignore_errors=True)


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
    honcho.manager.KILL_WAIT = settings.WORKER_GRACE_SECONDS + _KILL_AFTER_GRACE_SECONDS
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
