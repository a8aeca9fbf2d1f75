"""The Django app's registration."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    name = "mirobody_site.tenancy"
    verbose_name = "Accounts, keys, Subjects"
    label = "tenancy"

    def ready(self) -> None:
        from mirobody_site.tenancy import log  # noqa: PLC0415 - apps are imported before settings are complete

        log.log_unhandled_exceptions()
