"""The Django app's registration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class OperatorsConfig(AppConfig):
    name = "mirobody_site.operators"
    label = "operators"
    verbose_name = "Operators"

    def ready(self) -> None:
        from mirobody_site.operators import signing_in  # noqa: PLC0415 - needs the apps' models
        from mirobody_site.operators.roles import keep_groups  # noqa: PLC0415

        post_migrate.connect(keep_groups, sender=self)
        signing_in.audit_sign_ins()
