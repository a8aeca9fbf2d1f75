"""The wiring: settings, urls, ASGI, Celery. Loads the Celery app with Django, as shared tasks need it."""

from mirobody_site.celery import app as celery_app

__all__ = ["celery_app"]
