"""A process that is told to stop: its turns may go on for the grace time, then they are broken off. Starts no thread
before it is told."""

import logging
import threading

from django.conf import settings

log = logging.getLogger(__name__)

_stopping = threading.Event()
_given_up = threading.Event()


def drain() -> None:
    """Gives the turns that run here the grace time (``WORKER_GRACE_SECONDS``) to end; then ``given_up`` is true."""
    _stopping.set()
    log.info("stopping: running turns have %g s to end", settings.WORKER_GRACE_SECONDS)
    timer = threading.Timer(settings.WORKER_GRACE_SECONDS, _given_up.set)
    timer.daemon = True
    timer.start()


def stopping() -> bool:
    """Whether no turn is to begin in this process any more."""
    return _stopping.is_set()


def given_up() -> bool:
    """Whether the turns of this process are to end now, whatever they have said."""
    return _given_up.is_set()
