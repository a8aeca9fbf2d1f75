"""Probes for operators and orchestrators, without a key: is the process alive, can it reach what it needs."""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from mirobody_site.tenancy.faults import describe_fault
from mirobody_site.workers import live_workers, redis_client

CHECK_SECONDS = 2.0
logger = logging.getLogger(__name__)


@require_safe
async def alive(request: HttpRequest) -> JsonResponse:
    """200 as long as the process serves requests."""
    return JsonResponse({"status": "ok"})


@require_safe
async def ready(request: HttpRequest) -> JsonResponse:
    """200 when all that a turn needs is there within ``CHECK_SECONDS``; else 503 naming what is not.

    That is the database and, where they are set up, Redis and a live worker.
    """
    checks = {"database": _check_database}
    if settings.REDIS_URL:
        checks["redis"] = _check_redis
    if settings.REDIS_URL and settings.CELERY_BROKER_URL:
        checks["workers"] = _check_workers
    answers = await asyncio.gather(*(_passes(check) for check in checks.values()))
    outcome = {name: "ok" if passed else "failed" for name, passed in zip(checks, answers, strict=True)}
    if all(answers):
        return JsonResponse({"status": "ok", "checks": outcome})
    return JsonResponse({"status": "unavailable", "checks": outcome}, status=HTTPStatus.SERVICE_UNAVAILABLE)


async def _passes(check: Callable[[], None]) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await asyncio.to_thread(check)
    except Exception as exception:  # noqa: BLE001 - whatever it is, the part is not ready
        logger.warning("%s failed: %s", check.__name__, describe_fault(exception))
        return False
    return True


def _check_database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()


def _check_redis() -> None:
    with redis_client() as client:
        client.ping()


def _check_workers() -> None:
    with redis_client() as client:
        if not live_workers(client):
            raise RuntimeError("no worker lives")
