"""The Django app's registration."""

from importlib import import_module

from django.apps import AppConfig


class ResponsesAppConfig(AppConfig):
    name = "responses_app"
    verbose_name = "Agent API"
    label = "responses_app"

    def ready(self) -> None:
        # The web process finds the task by its name; Celery itself loads task modules in workers only.
        import_module("responses_app.tasks")
