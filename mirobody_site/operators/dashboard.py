"""The admin's first page in figures: what turns did in the last two weeks, and what waits now. No content.

Every figure comes from rows that are few or from an index; counts stop at a bound.
"""

import json
import logging
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

import redis
from celery import current_app
from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from mirobody_site.operators.roles import may
from mirobody_site.tenancy.models import UsageOfDay
from mirobody_site.workers import live_workers, redis_client
from responses_app.models import PendingCall, Response
from responses_app.rendering.charts import chart_html

DAYS = 14
SAMPLE = 200
"""So many turns of a day are looked at for how long turns take: the day's last ones."""
BOUND = 1000
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of now. ``href`` leads to the rows behind it."""

    label: str
    value: str
    href: str = ""


def filled(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The first page's context with its figures and charts, for those who may see usage and responses."""
    if not (may(request, "tenancy.view_usageofday") and may(request, "responses_app.view_response")):
        return context
    now = timezone.now()
    return {**context, "figures": _figures(now), "charts": _charts(now)}


def _figures(now: datetime) -> list[Figure]:
    running = Response.objects.running()
    waiting = PendingCall.objects.free(now).filter(response__in=Response.objects.live(now))
    expiring = Response.objects.live(now).filter(expires_at__lt=now + timedelta(days=1))
    responses = reverse("admin:responses_app_response_changelist")
    return [
        Figure("Turns that run", _bounded(running), f"{responses}?status=in_progress"),
        Figure("of these not begun", _bounded(running.filter(started_at=None)), f"{responses}?status=queued"),
        Figure("Open handoffs", _bounded(waiting), reverse("admin:responses_app_pendingcall_changelist")),
        Figure("Expire within a day", _bounded(expiring)),
        *_queue(),
    ]


def _bounded(rows: QuerySet[Any]) -> str:
    count = rows.order_by()[: BOUND + 1].count()
    return str(count) if count <= BOUND else f"more than {BOUND}"


def _queue() -> list[Figure]:
    """What waits in Redis, and who is there to take it; unknown while Redis does not answer."""
    if not settings.REDIS_URL:
        return []
    try:
        with redis_client() as client:
            depth, workers = client.llen(current_app.conf.task_default_queue), live_workers(client)
    except redis.RedisError as error:
        logger.warning("queue depth is unknown: %s", type(error).__name__)
        return [Figure("Queue depth", "unknown")]
    return [Figure("Queue depth", str(depth)), Figure("Workers", str(workers))]


def _charts(now: datetime) -> list[SafeString]:
    days = [now.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    used = _used(days)
    failed = _failed(days)
    turns = {"turns": {day: row["turns"] for day, row in used.items()}, "failed": failed}
    tokens = {
        "in": {day: row["input"] for day, row in used.items()},
        "out": {day: row["output"] for day, row in used.items()},
    }
    cost = {"": {day: row["cost"] / 1_000_000 for day, row in used.items()}}
    return [
        _chart("Turns a day", "column", days, turns),
        _chart("Seconds a turn takes", "line", days, _seconds(days)),
        _chart("Tokens a day", "column", days, tokens),
        _chart("USD a day, by catalogue prices", "column", days, cost),
    ]


def _used(days: list[date]) -> dict[date, Any]:
    rows = UsageOfDay.objects.filter(day__gte=days[0]).order_by().values("day")
    sums = rows.annotate(
        turns=Sum("turns"), input=Sum("input_tokens"), output=Sum("output_tokens"), cost=Sum("cost_micro_usd")
    )
    return {row["day"]: row for row in sums}


def _failed(days: list[date]) -> dict[date, int]:
    failed = Response.objects.filter(status="failed", created_at__gte=_start(days[0])).order_by()
    by_day = failed.annotate(day=TruncDate("created_at")).values("day").annotate(count=Count("pk"))
    return {row["day"]: row["count"] for row in by_day}


def _seconds(days: list[date]) -> dict[str, dict[date, float]]:
    median, slow = {}, {}
    for day in days:
        took = sorted(_sample(day))
        if took:
            median[day] = round(statistics.median(took), 3)
            slow[day] = round(took[int(len(took) * 0.95)], 3)
    return {"median": median, "95 of 100 within": slow}


def _sample(day: date) -> Iterable[float]:
    """How long the day's last turns took, in seconds."""
    of_day = Response.objects.filter(created_at__gte=_start(day), created_at__lt=_start(day + timedelta(days=1)))
    newest = of_day.order_by("-created_at", "-pk").values_list("started_at", "ended_at")[:SAMPLE]
    return ((ended - started).total_seconds() for started, ended in newest if started and ended)


def _start(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=timezone.get_default_timezone())


def _chart(title: str, kind: str, days: list[date], series: dict[str, dict[date, Any]]) -> SafeString:
    points = [
        {"time": day.isoformat(), "value": values.get(day, 0 if kind == "column" else None), "group": name}
        for name, values in series.items()
        for day in days
    ]
    drawn = chart_html(json.dumps({"type": kind, "title": title, "data": points}))
    return mark_safe(drawn or "")  # noqa: S308 -- chart_html escapes what it writes
