"""The Django app's registration."""

from django.apps import AppConfig


class ResponsesAppConfig(AppConfig):
    name = "responses_app"
    label = "responses_app"
