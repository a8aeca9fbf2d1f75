"""The Django app's registration."""

from django.apps import AppConfig


class ToolsAppConfig(AppConfig):
    name = "tools_app"
    label = "tools_app"
