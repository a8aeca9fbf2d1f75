"""Shows the metrics: ``/metrics`` of the web processes, and a port of each worker process where one is set.

Processes that were started with the same ``PROMETHEUS_MULTIPROC_DIR`` share their figures, and any of them shows all.
What is measured is mirobody_site/tenancy/metrics.py.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import redis
from celery import current_app
from celery.signals import worker_ready
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from mirobody_site.workers import live_workers, redis_client

logger = logging.getLogger(__name__)


@require_safe
async def metrics(request: HttpRequest) -> HttpResponse:
    """All figures in Prometheus' text format. With ``METRICS_TOKEN`` set, to ``Authorization: Bearer`` of it alone."""
    if not _may_see(request.headers.get("Authorization", "")):
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(await asyncio.to_thread(_exposition), content_type=CONTENT_TYPE_LATEST)


def _may_see(authorization: str) -> bool:
    expected = f"Bearer {settings.METRICS_TOKEN}"
    return not settings.METRICS_TOKEN or secrets.compare_digest(authorization.encode(), expected.encode())


def _exposition() -> bytes:
    text = generate_latest(_shared_figures() or REGISTRY)
    if settings.REDIS_URL:
        queue = CollectorRegistry()
        queue.register(_Queue())
        text += generate_latest(queue)
    return text


def _shared_figures() -> CollectorRegistry | None:
    """The figures of all processes that share a folder, or ``None`` when this process keeps its own in memory."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if not folder:
        return None
    _forget_dead_processes(Path(folder))
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    return registry


def _forget_dead_processes(folder: Path) -> None:
    """What a process had open ended with it, even if it was killed."""
    for pid in {int(file.stem.rsplit("_", 1)[-1]) for file in folder.glob("gauge_live*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]


class _Queue(Collector):
    """What waits in Redis, and who is there to take it. Left out while Redis does not answer."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            with redis_client() as client:
                waiting, workers = client.llen(current_app.conf.task_default_queue), live_workers(client)
        except redis.RedisError as error:
            logger.warning("queue depth is unknown: %s", type(error).__name__)
            return
        yield GaugeMetricFamily("mirobody_queue_depth", "Turns that wait for a worker.", waiting)
        yield GaugeMetricFamily("mirobody_workers", "Worker processes that live.", workers)


@worker_ready.connect
def _show_own_figures(**_: object) -> None:
    if settings.WORKER_METRICS_PORT:
        start_http_server(settings.WORKER_METRICS_PORT, settings.WORKER_METRICS_HOST)
