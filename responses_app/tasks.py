"""The door for Celery: one task a line of business, each calls one service."""

import time

from celery import Task, shared_task
from celery.signals import worker_init, worker_shutting_down

from mirobody_site.tenancy.log_context import log_context
from mirobody_site.tenancy.metrics import TURN_QUEUE_SECONDS
from responses_app.services.dispatch import RUN_TURN, dispatch_turn
from responses_app.services.draining import drain, stopping
from responses_app.services.recovery import recover_turns
from responses_app.services.sweeping import sweep_expired
from responses_app.services.turns import run_turn
from responses_app.services.warming import warm_up


@shared_task(name=RUN_TURN, bind=True)
def run_turn_task(self: "Task[[str, bool], None]", response_id: str, store: bool) -> None:
    """Runs the accepted turn of this id; a second delivery finds nothing to do. A worker that is told to stop sends
    those that it had fetched back to the others."""
    sent = self.request.headers or {}
    TURN_QUEUE_SECONDS.observe(max(0.0, time.time() - float(sent.get("sent_at", time.time()))))
    with log_context(request_id=sent.get("request_id"), response_id=response_id, task_id=self.request.id):
        if stopping():
            dispatch_turn(response_id, store=store)
            return
        run_turn(response_id, store=store)


@shared_task(name="responses_app.recover_turns")
def recover_turns_task() -> None:
    """Makes good what died."""
    recover_turns()


@shared_task(name="responses_app.sweep_expired")
def sweep_expired_task() -> None:
    """Takes away what has expired."""
    sweep_expired()


@worker_init.connect
def load_first(**_: object) -> None:
    """A worker takes no turn before it has loaded what turns need."""
    warm_up()


@worker_shutting_down.connect
def stop_worker(**_: object) -> None:
    """A worker that is told to stop takes no more turns, and ends those it runs within the grace time."""
    drain()
