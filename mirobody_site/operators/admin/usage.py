"""What turns used can be seen, by account, key, Subject's number and day."""

from django.contrib import admin

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.tenancy.models import UsageOfDay


@admin.register(UsageOfDay)
class UsageAdmin(SeenOnly):
    """Usage, newest first."""

    list_display = ("day", "account", "api_key", "subject_number", "turns", "model_calls", "cost_micro_usd")
    list_select_related = ("account", "api_key")
    search_fields = found_by = ("account__username", "api_key__prefix")
    fields = (
        "day",
        "account",
        "api_key",
        "subject_number",
        "turns",
        "model_calls",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "reasoning_tokens",
        "cost_micro_usd",
    )
    ordering = ("-day", "-id")
