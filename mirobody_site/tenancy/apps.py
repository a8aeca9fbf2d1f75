"""The Django app's registration."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    name = "mirobody_site.tenancy"
    label = "tenancy"
