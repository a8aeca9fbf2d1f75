"""The Celery app and every schedule. Tasks live in each app's tasks.py."""

import os
from importlib import import_module

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")

app = Celery("mirobody")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# Connects to the signals of workers.
import_module("mirobody_site.workers")
import_module("mirobody_site.monitoring")
app.conf.beat_schedule = {
    # Expired data is invisible at once; this is how long its bytes may stay.
    # Sweeps that nobody ran in time do not pile up.
    "sweep-expired": {"task": "responses_app.sweep_expired", "schedule": 600.0, "options": {"expires": 600.0}},
    # A lost turn has failed within a minute: its lease of 30 s, this, and a wait in the queue.
    "recover-turns": {"task": "responses_app.recover_turns", "schedule": 10.0, "options": {"expires": 10.0}},
}


@setup_logging.connect
def _keep_logging(**_: object) -> None:
    """Being connected is enough: Celery sets up no logging of its own, and the settings' LOGGING stands."""
