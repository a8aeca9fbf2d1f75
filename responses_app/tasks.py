"""The door for Celery: one task a line of business, each calls one service."""

from celery import shared_task

from responses_app.services.dispatch import RUN_TURN
from responses_app.services.sweeping import sweep_expired
from responses_app.services.turns import run_turn


@shared_task(name=RUN_TURN)
def run_turn_task(response_id: str) -> None:
    """Runs the accepted turn of this id; a second delivery finds nothing to do."""
    run_turn(response_id)


@shared_task(name="responses_app.sweep_expired")
def sweep_expired_task() -> None:
    """Takes away what has expired."""
    sweep_expired()
