"""What an installation needs, looked at piece by piece: each finding says what is wrong and what to do. Mends nothing.

Messages hold no address, credential, content or exception's text.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Literal

import redis
from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from mirobody_site.up import missing_settings
from mirobody_site.workers import live_workers, redis_client
from responses_app.engine.conversation import Message
from responses_app.engine.ports import ModelCall, Sampling
from responses_app.llm.backends import model_backend
from responses_app.llm.faults import ProviderError
from responses_app.models import Response

State = Literal["ok", "warning", "failed"]
PROVIDER_SECONDS = 60.0
PROVIDER_TOKENS = 16
QUESTION = "Answer with OK."
CLOCK_SECONDS = 2.0
UNSWEPT = timedelta(hours=1)
LOST = timedelta(minutes=5)
MIN_SECRET = 32
_STARTS = {
    "worker": "Start one: python -m mirobody_site.up worker (or make up, or docker compose up).",
    "beat": "Start it: python -m mirobody_site.up beat. In a server without workers the web process does this.",
}
_BY_STATUS = {
    401: "Check LLM_API_KEY.",
    403: "Check LLM_API_KEY and what it may use.",
    404: "Check that LLM_BASE_URL ends where /chat/completions begins, and the models' names.",
    429: "Wait, or raise the limit at the provider.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one check. ``advice`` says what to do; empty when nothing is to be done."""

    check: str
    state: State
    message: str
    advice: str = ""


def findings() -> Iterator[Finding]:
    """Every check's findings, in order. A check that breaks is a finding itself."""
    for name, check in _CHECKS.items():
        try:
            yield from check()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what was looked for
            yield Finding(name, "failed", f"cannot be looked at: {type(error).__name__}", _REACHING.get(name, ""))


_REACHING = {
    "database": "Start the database server, or correct DATABASE_URL.",
    "migrations": "Mend the database first.",
    "redis": "Start Redis, or correct REDIS_URL.",
    "worker": "Mend Redis first.",
    "beat": "Mend the database and its migrations first.",
    "clock": "Mend what failed above first.",
    "provider": "Correct LLM_BASE_URL, LLM_API_KEY and the proxy of the environment.",
}


def _settings() -> Iterator[Finding]:
    wrong = [Finding("settings", "failed", line, "Set it in the environment or .env.") for line in _missing()]
    wrong += [
        Finding("settings", "failed", f"{message.id}: {message.msg}", str(message.hint or ""))
        for message in run_checks()
        if message.level >= ERROR
    ]
    wrong += _careless()
    yield from wrong or [Finding("settings", "ok", "nothing is missing")]


def _missing() -> list[str]:
    """Several processes are meant as soon as there is a broker."""
    return missing_settings() if settings.CELERY_BROKER_URL else []


def _careless() -> Iterator[Finding]:
    if settings.DEBUG:
        yield Finding("settings", "warning", "DJANGO_DEBUG is on: error pages show content.", "Turn it off.")
    if "*" in settings.ALLOWED_HOSTS:
        yield Finding("settings", "warning", "DJANGO_ALLOWED_HOSTS allows every host.", "Name the hosts callers use.")
    if len(settings.SECRET_KEY) < MIN_SECRET:
        yield Finding("settings", "warning", "DJANGO_SECRET_KEY is short.", "Make one: openssl rand -base64 48")


def _database() -> Iterator[Finding]:
    started = monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()" if connection.vendor == "sqlite" else "SHOW server_version")
        version = cursor.fetchone()[0]
    took = (monotonic() - started) * 1000
    yield Finding("database", "ok", f"{connection.display_name} {version} answered in {took:.0f} ms")


def _migrations() -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        yield Finding("migrations", "failed", f"{len(waiting)} wait to be applied", "Run: python manage.py migrate")
    else:
        yield Finding("migrations", "ok", "all are applied")


def _redis() -> Iterator[Finding]:
    if not settings.REDIS_URL:
        yield Finding("redis", "ok", "not used: events and limits are in the web process' memory")
        return
    with redis_client() as client:
        started = monotonic()
        client.ping()
        took = (monotonic() - started) * 1000
        yield Finding("redis", "ok", f"answered in {took:.0f} ms")
        yield from _redis_keeping(client)


def _redis_keeping(client: redis.Redis) -> Iterator[Finding]:
    try:
        kept = {name: client.config_get(name).get(name) for name in ("save", "appendonly", "maxmemory-policy")}
    except redis.ResponseError:
        # Hosted servers keep their configuration to themselves.
        return
    if kept["save"] or kept["appendonly"] == "yes":
        advice = "Set save to nothing and appendonly to no (docs/operations.md)."
        yield Finding("redis", "warning", "it writes to the disk, content of turns that are not stored too", advice)
    if kept["maxmemory-policy"] not in (None, "noeviction"):
        yield Finding("redis", "warning", "it throws out running turns when full", "Set maxmemory-policy noeviction.")


def _worker() -> Iterator[Finding]:
    if not settings.CELERY_BROKER_URL:
        yield Finding("worker", "ok", "not used: the web process runs the turns")
        return
    with redis_client() as client:
        count = live_workers(client)
    if count:
        yield Finding("worker", "ok", f"{count} live")
    else:
        yield Finding("worker", "failed", "none lives: turns would wait for ever", _STARTS["worker"])


def _beat() -> Iterator[Finding]:
    """It leaves no sign of life; what it should have done does."""
    now = timezone.now()
    lost = Response.objects.running().filter(lease_until__lt=now - LOST).count()
    unswept = Response.objects.filter(expires_at__lt=now - UNSWEPT).exists()
    if lost:
        yield Finding("beat", "warning", f"{lost} turns lost their runner and were not ended", _STARTS["beat"])
    if unswept:
        advice = f"{_STARTS['beat']} Or run manage.py sweep_expired from cron."
        yield Finding("beat", "warning", "expired responses were not swept for an hour", advice)
    if not lost and not unswept:
        yield Finding("beat", "ok", "nothing waits for it")


def _clock() -> Iterator[Finding]:
    apart = {name: abs((_now() - there()).total_seconds()) for name, there in _clocks().items()}
    wrong = {name: seconds for name, seconds in apart.items() if seconds > CLOCK_SECONDS}
    for name, seconds in wrong.items():
        advice = "Set the clocks of all machines by NTP."
        yield Finding("clock", "failed", f"{seconds:.0f} s apart from that of {name}", advice)
    newest = Response.objects.order_by("-created_at", "-pk").values_list("created_at", flat=True).first()
    if newest and newest > _now() + timedelta(seconds=CLOCK_SECONDS):
        yield Finding("clock", "failed", "the newest response lies in the future", "Set this machine's clock by NTP.")
    elif not wrong:
        yield Finding("clock", "ok", f"as that of {' and '.join(apart)}" if apart else "not behind the newest response")


def _clocks() -> dict[str, Callable[[], datetime]]:
    clocks: dict[str, Callable[[], datetime]] = {}
    if connection.vendor != "sqlite":
        clocks["the database"] = _database_now
    if settings.REDIS_URL:
        clocks["Redis"] = _redis_now
    return clocks


def _now() -> datetime:
    return timezone.now()


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _redis_now() -> datetime:
    with redis_client() as client:
        seconds, microseconds = client.time()
    return datetime.fromtimestamp(seconds + microseconds / 1e6, UTC)


def _provider() -> Iterator[Finding]:
    if not settings.LLM_BASE_URL:
        advice = "For a language model set LLM_BASE_URL, LLM_API_KEY and the models' names."
        yield Finding("provider", "ok", "none: the built-in analyst answers, which is no language model", advice)
        return
    tiers = {"mirobody-flash": settings.LLM_MODEL_FLASH, "mirobody-expert": settings.LLM_MODEL_EXPERT}
    for tier, model in tiers.items():
        yield _asked(tier, model)


def _asked(tier: str, model: str) -> Finding:
    started = monotonic()
    call = ModelCall(
        model=tier,
        system="",
        entries=[Message("user", QUESTION)],
        tools=[],
        tool_choice="auto",
        timeout=PROVIDER_SECONDS,
        today=timezone.now().date().isoformat(),
        sampling=Sampling(max_output_tokens=PROVIDER_TOKENS, retry_when_limited=False),
    )
    try:
        for _ in model_backend().stream(call):
            pass
    except ProviderError as error:
        said = f" It says: {error.for_caller.message}" if error.for_caller else ""
        advice = _BY_STATUS.get(error.provider_status or 0, _REACHING["provider"])
        return Finding("provider", "failed", f"{tier} ({model}): {error.message}{said}", advice)
    return Finding("provider", "ok", f"{tier} ({model}) answered in {monotonic() - started:.1f} s")


_CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "settings": _settings,
    "database": _database,
    "migrations": _migrations,
    "redis": _redis,
    "worker": _worker,
    "beat": _beat,
    "clock": _clock,
    "provider": _provider,
}
