"""The Celery app and every schedule. Tasks live in each app's tasks.py."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")

app = Celery("mirobody")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    # Expired data is invisible at once; this is how long its bytes may stay.
    "sweep-expired": {"task": "responses_app.sweep_expired", "schedule": 600.0},
}
