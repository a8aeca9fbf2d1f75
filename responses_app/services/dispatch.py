"""Sends an accepted turn to whoever runs it: a Celery worker, or the same task on a thread of this process."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

from celery import current_app
from django.conf import settings
from django.db import connections

RUN_TURN = "responses_app.run_turn"
"""The task's name; it lives in tasks.py, above this room."""


def dispatch_turn(response_id: str) -> None:
    """Has the turn run soon. With a broker the message carries the id alone."""
    task = current_app.tasks[RUN_TURN]
    if settings.CELERY_BROKER_URL:
        task.apply_async((response_id,))
    else:
        _threads().submit(_run_here, response_id)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.TURN_THREADS, thread_name_prefix="turn")


def _run_here(response_id: str) -> None:
    try:
        current_app.tasks[RUN_TURN].apply((response_id,))
    finally:
        connections.close_all()
