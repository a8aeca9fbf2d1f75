"""Operators' door: the audit of shares can be seen. No health record is shown here."""

from django.contrib import admin

from mirobody_site.tenancy.admin import SeenOnly
from tools_app.records.models import ShareEvent


@admin.register(ShareEvent)
class ShareEventAdmin(SeenOnly, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """Grants, revocations and looks, by numbers of Subjects."""

    list_display = ["happened_at", "action", "tool", "account_id", "owner_id", "viewer_id", "share_id"]
    list_filter = ["action", "tool"]
    search_fields = ["=owner_id", "=viewer_id", "=share_id"]
    fields = ["happened_at", "action", "tool", "account_id", "owner_id", "viewer_id", "share_id"]
    ordering = ["-id"]
