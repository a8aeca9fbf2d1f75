"""The door for Celery: one task a line of business, each calls one service."""

from celery import shared_task
from celery.signals import worker_shutting_down

from responses_app.services.dispatch import RUN_TURN
from responses_app.services.draining import drain
from responses_app.services.recovery import recover_turns
from responses_app.services.sweeping import sweep_expired
from responses_app.services.turns import run_turn


@shared_task(name=RUN_TURN)
def run_turn_task(response_id: str, store: bool) -> None:
    """Runs the accepted turn of this id; a second delivery finds nothing to do."""
    run_turn(response_id, store=store)


@shared_task(name="responses_app.recover_turns")
def recover_turns_task() -> None:
    """Makes good what died."""
    recover_turns()


@shared_task(name="responses_app.sweep_expired")
def sweep_expired_task() -> None:
    """Takes away what has expired."""
    sweep_expired()


@worker_shutting_down.connect
def stop_worker(**_: object) -> None:
    """A worker that is told to stop takes no more turns, and ends those it runs within the grace time."""
    drain()
