"""Leases of running turns: whoever runs one keeps its lease ahead of the clock; past it the turn counts as lost.

Not here: what becomes of a lost turn (lost_turns.py).
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from mirobody_site.tenancy.errors import ApiError
from mirobody_site.tenancy.faults import describe_fault
from responses_app.models import PendingCall, Response, Session
from responses_app.streaming.backends import event_log

log = logging.getLogger(__name__)

LEASE_SECONDS = 30.0
"""How long a turn may be without a sign of life from its runner."""
_TOLD_SECONDS = 30.0
"""How much longer the events of a stored turn stay, for whoever ends it once its runner is lost."""
_RENEW_SECONDS = 10.0
_RETRY_SECONDS = 1.0


def lease_end(now: datetime) -> datetime:
    """Until when a lease that is taken or renewed now holds."""
    return now + timedelta(seconds=LEASE_SECONDS)


def log_lifetime(*, store: bool) -> float:
    """Seconds from a sign of life until the event log of a turn vanishes. One that leaves no row has nobody else to
    end it."""
    return LEASE_SECONDS + _TOLD_SECONDS if store else LEASE_SECONDS


@contextmanager
def leased(response_id: str, *, store: bool) -> Iterator[None]:
    """Keeps the lease of a turn that this process has taken, with the claim and the session's lock that it holds, and
    the life of its event log, until left."""
    _KEEPER.add(response_id, store)
    try:
        yield
    finally:
        _KEEPER.remove(response_id)


def renew(running: Mapping[str, bool]) -> None:
    """One renewal for the turns that this process runs, each with whether it is stored. Raises ``DatabaseError`` and,
    last, ``ServerError``."""
    until = lease_end(timezone.now())
    response_ids = sorted(running)
    Response.objects.running().filter(pk__in=response_ids).update(lease_until=until)
    PendingCall.objects.filter(claimed_by__in=response_ids, claimed_until__isnull=False).update(claimed_until=until)
    Session.objects.filter(locked_by__in=response_ids).update(locked_until=until)
    for store in (True, False):
        ids = [response_id for response_id in response_ids if running[response_id] == store]
        event_log().extend(ids, log_lifetime(store=store))


class _Keeper:
    """The turns this process runs, and the one thread that renews their leases; it starts with the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, bool] = {}
        self._thread: threading.Thread | None = None

    def add(self, response_id: str, store: bool) -> None:
        with self._lock:
            self._running[response_id] = store
            # A thread does not survive a fork.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._renew_for_ever, name="leases", daemon=True)
                self._thread.start()

    def remove(self, response_id: str) -> None:
        with self._lock:
            self._running.pop(response_id, None)

    def _renew_for_ever(self) -> None:
        pause = threading.Event()
        wait = _RENEW_SECONDS
        while not pause.wait(wait):
            wait = _RENEW_SECONDS if self._renewed() else _RETRY_SECONDS

    def _renewed(self) -> bool:
        with self._lock:
            running = dict(self._running)
        if not running:
            return True
        try:
            renew(running)
        except (DatabaseError, ApiError) as error:
            log.warning("leases of %d turns could not be renewed: %s", len(running), describe_fault(error))
            return False
        finally:
            close_old_connections()
        return True


_KEEPER = _Keeper()
