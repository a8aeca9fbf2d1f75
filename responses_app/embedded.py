"""What a server without workers does by itself besides running turns: it sweeps, on a thread of its own."""

import logging
import threading

from django.db import close_old_connections

from responses_app.services.sweeping import sweep_expired

log = logging.getLogger(__name__)

SWEEP_SECONDS = 600.0


def sweep_regularly() -> None:
    """Starts the thread; it ends with the process."""
    threading.Thread(target=_sweep_for_ever, name="sweep", daemon=True).start()


def _sweep_for_ever() -> None:
    pause = threading.Event()
    while not pause.wait(SWEEP_SECONDS):
        try:
            sweep_expired()
        except Exception:
            log.exception("sweep failed; it is tried again in %d s", SWEEP_SECONDS)
        finally:
            close_old_connections()
