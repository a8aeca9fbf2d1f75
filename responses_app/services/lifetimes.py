"""How long turns and stored responses live: durations that several services share."""

from datetime import datetime, timedelta

from django.conf import settings

GRACE_SECONDS = 30
"""How long after its deadline a turn may still take to store its end before it counts as lost."""
UNTAKEN_SECONDS = 15.0
"""A turn that nobody took for so long, while no message waits, may have lost its message with a worker or the broker:
it is sent again."""
KEPT_EVENTS_SECONDS = 60
"""How long an ended turn's events stay in the event log for readers that come late."""


def turn_lifetime() -> float:
    """Seconds within which an accepted turn has ended: a wait in the queue and the turn may each take a deadline."""
    return 2 * float(settings.TURN_DEADLINE_SECONDS) + GRACE_SECONDS


def twin_lifetime() -> float:
    """Seconds for which a request is known to its retries: while its turn runs, and as long as an answer is kept."""
    return turn_lifetime() + KEPT_EVENTS_SECONDS


def expiry(created_at: datetime) -> datetime:
    """When a response outside of any session expires."""
    return created_at + timedelta(days=settings.RESPONSE_TTL_DAYS)
