"""``manage.py doctor``: what is wrong is named with what to do, whatever else works, and by the exit code."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from mirobody_site.workers import KEY
from responses_app.models import Response
from tests.support.clock import Clock, clock
from tests.support.commands import manage
from tests.support.process import ROOT
from tests.support.redis_server import RedisServer, free_port, redis_server, shared_redis_server
from tests.support.upstream import Step, Upstream

__all__ = ["clock", "redis_server", "shared_redis_server"]

CHECKS = ["settings", "database", "migrations", "redis", "worker", "beat", "clock", "provider"]
Found = dict[str, list[tuple[str, str]]]


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, Found]:
    """The exit code, and of each check the states with message and advice."""
    capsys.readouterr()
    code = manage("doctor", "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["status"] == "failed") == (code == 1)
    found: Found = {}
    for one in report["findings"]:
        found.setdefault(one["check"], []).append((one["state"], f"{one['message']} {one['advice']}"))
    return code, found


def states(found: Found) -> dict[str, set[str]]:
    return {check: {state for state, _ in each} for check, each in found.items()}


def told(found: Found, check: str, state: str) -> str:
    return "\n".join(text for which, text in found[check] if which == state)


@pytest.fixture(autouse=True)
def _fresh(database: None) -> None:
    """No other test's turns."""
    Response.objects.all().delete()


@pytest.fixture
def redis_used(settings: Settings, redis_server: RedisServer) -> RedisServer:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = redis_server.url
    return redis_server


def test_a_server_on_its_defaults_is_well(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    settings.LLM_BASE_URL = ""
    code, found = doctor(capsys)
    assert code == 0
    assert list(states(found)) == CHECKS
    assert all(each == {"ok"} for each in states(found).values())
    assert "no language model" in told(found, "provider", "ok")
    assert manage("doctor") == 0
    assert len(capsys.readouterr().out.splitlines()) == 9


def test_the_provider_is_asked_for_each_tier(
    settings: Settings, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.LLM_BASE_URL, settings.LLM_MODEL_FLASH, settings.LLM_MODEL_EXPERT = upstream.url, "small", "large"
    code, found = doctor(capsys)
    assert code == 0
    assert [text.split(" answered")[0] for _, text in found["provider"]] == [
        "mirobody-flash (small)", "mirobody-expert (large)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "LLM_API_KEY"), (404, "LLM_BASE_URL ends where"), (429, "raise the limit")]
)
def test_a_provider_that_refuses(
    settings: Settings, upstream: Upstream, status: int, advice: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    mark = upstream.script(f"doctor-{status}", Step(status=status, error_body={"error": {"message": "No."}}))
    monkeypatch.setattr("mirobody_site.operators.diagnosis.QUESTION", mark)
    settings.LLM_BASE_URL, settings.LLM_API_KEY = upstream.url, "sk-the-key-of-the-provider"
    code, found = doctor(capsys)
    assert code == 1
    assert advice in told(found, "provider", "failed")
    assert "sk-the-key" not in str(found)


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/v1", "ftp://provider.example"])
def test_a_provider_that_is_not_there(settings: Settings, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings.LLM_BASE_URL = url.format(port=free_port())
    code, found = doctor(capsys)
    assert code == 1
    assert "Correct LLM_BASE_URL" in told(found, "provider", "failed")
    assert states(found)["database"] == {"ok"}


def test_redis_and_workers(redis_used: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(capsys)
    assert code == 1
    assert "DJANGO_SECRET_KEY must be" in told(found, "settings", "failed")
    assert ("DATABASE_URL must name" in told(found, "settings", "failed")) == (connection.vendor == "sqlite")
    assert "Start one" in told(found, "worker", "failed")
    redis_used.client.zadd(KEY, {"a": timezone.now().timestamp(), "gone": 1})
    assert told(doctor(capsys)[1], "worker", "ok") == "1 live "


def test_a_redis_that_keeps_what_it_is_told(redis_used: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    redis_used.client.config_set("save", "60 1")
    redis_used.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        _, found = doctor(capsys)
    finally:
        redis_used.client.config_set("save", "")
        redis_used.client.config_set("maxmemory-policy", "noeviction")
    assert "writes to the disk" in told(found, "redis", "warning")
    assert "maxmemory-policy noeviction" in told(found, "redis", "warning")
    assert states(doctor(capsys)[1])["redis"] == {"ok"}


def test_a_redis_that_is_away(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = f"redis://:secret-of-redis@127.0.0.1:{free_port()}/0"
    code, found = doctor(capsys)
    assert code == 1
    assert "Start Redis" in told(found, "redis", "failed")
    assert states(found)["worker"] == states(found)["clock"] == {"failed"}
    assert "secret-of-redis" not in str(found)


def test_clocks_that_differ(redis_used: RedisServer, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    assert states(doctor(capsys)[1])["clock"] == {"ok"}
    clock.stand_at(timezone.now() + timedelta(minutes=10))
    _, found = doctor(capsys)
    assert "that of Redis" in told(found, "clock", "failed")


def test_a_clock_that_was_set_back(api: httpx.Client, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    assert api.post("/v1/responses", json={"input": "Hello"}).status_code == 200
    clock.stand_at(timezone.now() - timedelta(days=1))
    _, found = doctor(capsys)
    assert "in the future" in told(found, "clock", "failed")


def test_what_beat_left_undone(api: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert api.post("/v1/responses", json={"input": "Hello"}).status_code == 200
    long_ago = timezone.now() - timedelta(days=1)
    lost, unswept = Response.objects.all()
    Response.objects.filter(pk=lost.pk).update(status="in_progress", lease_until=long_ago)
    Response.objects.filter(pk=unswept.pk).update(expires_at=long_ago)
    code, found = doctor(capsys)
    assert code == 0
    assert "1 turns lost their runner" in told(found, "beat", "warning")
    assert "sweep_expired" in told(found, "beat", "warning")


def test_careless_settings(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    settings.DEBUG, settings.ALLOWED_HOSTS, settings.SECRET_KEY = True, ["*"], "short"
    code, found = doctor(capsys)
    assert code == 0
    for name in ("DJANGO_DEBUG", "DJANGO_ALLOWED_HOSTS", "DJANGO_SECRET_KEY"):
        assert name in told(found, "settings", "warning")


def test_a_database_without_tables(tmp_path: Path) -> None:
    """As a shell runs it on a fresh machine."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=ROOT,
        env=environment | {"DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "Run: python manage.py migrate" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
