"""The audit's pages: seen and searched by administrators, changed by nobody."""

from django.contrib import admin

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.operators.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(SeenOnly):
    """Who saw or did what, newest first."""

    list_display = ("happened_at", "actor_name", "action", "object_type", "object_id", "reason", "address")
    list_filter = ("action", "reason")
    lookups = ("action__exact", "reason__exact")
    search_fields = found_by = ("actor_name", "object_id", "subject_hash", "request_id", "ticket")
    search_help_text = "A name, an id, a Subject's hash, a request id or a ticket, whole"
    fields = readonly_fields = (
        *("happened_at", "actor_name", "action", "object_type", "object_id", "subject_hash", "figures"),
        *("reason", "ticket", "address", "request_id", "page"),
    )
    ordering = ("-happened_at",)
