"""How long turns and stored responses live: durations that several services share."""

from datetime import datetime, timedelta

from django.conf import settings

GRACE_SECONDS = 30
"""How long after its deadline a turn may still take to store its end before it counts as lost."""


def turn_lifetime() -> float:
    """Seconds within which an accepted turn has ended: a wait in the queue and the turn may each take a deadline."""
    return 2 * float(settings.TURN_DEADLINE_SECONDS) + GRACE_SECONDS


def expiry(created_at: datetime) -> datetime:
    """When a response outside of any session expires."""
    return created_at + timedelta(days=settings.RESPONSE_TTL_DAYS)
