"""The Django app's registration."""

from django.apps import AppConfig


class ToolsAppConfig(AppConfig):
    name = "tools_app"
    verbose_name = "Health data"
    label = "tools_app"
