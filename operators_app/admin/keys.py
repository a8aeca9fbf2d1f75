"""API keys can be seen and revoked. Secrets and their hashes are never shown."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.services import revoke_api_key
from operators_app.admin.base import SeenOnly
from operators_app.audit import Action, record
from operators_app.roles import CHANGE_KEY, may


@admin.register(ApiKey)
class ApiKeyAdmin(SeenOnly):
    """API keys by prefix."""

    list_display = ("prefix", "account", "name", "created_at", "revoked_at")
    list_select_related = ("account",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    lookups = ("revoked_at__isempty",)
    search_fields = ("=prefix", "=name", "=account__username")
    fields = ("prefix", "account", "name", "created_at", "revoked_at")
    ordering = ("-id",)
    actions = ("revoke",)

    @admin.action(description="Revoke selected API keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            record(request, Action.KEY_REVOKED, object_type="API key", object_id=str(key.pk))
            revoke_api_key(key)
        self.message_user(request, f"Revoked: {len(queryset)}", messages.SUCCESS)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return may(request, CHANGE_KEY)
