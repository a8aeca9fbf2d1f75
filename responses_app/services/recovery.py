"""Makes good what died: turns without a living runner fail, turns whose message was lost are sent again."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from responses_app.models import Response
from responses_app.services.dispatch import dispatch_turn, messages_waiting
from responses_app.services.lifetimes import UNTAKEN_SECONDS
from responses_app.services.lost_turns import fail_lost_turns

log = logging.getLogger(__name__)

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Recovered:
    """How many turns failed because their runner died, and how many were sent again."""

    failed: int
    sent_again: int


def recover_turns() -> Recovered:
    """One look at all turns that have not ended. May be run at any time, by several at once.

    Raises ``ServerError`` when the broker cannot be reached.
    """
    recovered = Recovered(fail_lost_turns(), _send_again() if settings.CELERY_BROKER_URL else 0)
    if recovered.failed or recovered.sent_again:
        log.warning("%d turns had lost their runner, %d were sent again", recovered.failed, recovered.sent_again)
    return recovered


def _send_again() -> int:
    sent_before = timezone.now() - timedelta(seconds=UNTAKEN_SECONDS)
    untaken = Response.objects.running().filter(started_at=None, created_at__lt=sent_before, deleted_at=None)
    ids = list(untaken.order_by("created_at").values_list("pk", flat=True)[:_BATCH])
    # While messages wait, the turn's own may be among them.
    if not ids or messages_waiting():
        return 0
    for response_id in ids:
        dispatch_turn(response_id, store=True)
    return len(ids)
