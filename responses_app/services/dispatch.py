"""Sends an accepted turn to whoever runs it: a Celery worker, or the same task on a thread of this process."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, cast

from celery import current_app
from django.conf import settings
from django.db import connections
from kombu.exceptions import OperationalError

from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.log_context import current_request_id

RUN_TURN = "responses_app.run_turn"
"""The task's name; it lives in tasks.py, above this room."""


def dispatch_turn(response_id: str, *, store: bool) -> None:
    """Has the turn run soon. With a broker the message carries its id, whether it has a row, the request's id and the
    time, alone.

    Sent again it does no harm: a turn is taken once. Raises ``ServerError`` when the broker cannot be reached.
    """
    headers = {"request_id": current_request_id() or "", "sent_at": str(time.time())}
    if not settings.CELERY_BROKER_URL:
        _threads().submit(_run_here, response_id, store, headers)
        return
    try:
        current_app.tasks[RUN_TURN].apply_async((response_id, store), headers=headers)
    except OperationalError as error:
        raise ServerError from error


def messages_waiting() -> int:
    """How many messages the broker holds that no worker has fetched. Raises ``ServerError``."""
    try:
        with current_app.connection_for_write() as connection:
            queue = current_app.amqp.queues[current_app.conf.task_default_queue]
            # Redis keeps no empty queue: one that is only looked up would be missing.
            declared = cast(Any, queue(connection.default_channel).queue_declare())
    except OperationalError as error:
        raise ServerError from error
    return int(declared.message_count)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.TURN_THREADS, thread_name_prefix="turn")


def _run_here(response_id: str, store: bool, headers: dict[str, str]) -> None:
    try:
        current_app.tasks[RUN_TURN].apply((response_id, store), headers=headers)
    finally:
        connections.close_all()
