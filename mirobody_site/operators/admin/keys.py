"""API keys can be seen, limited and revoked. Secrets and their hashes are never shown."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.roles import CHANGE_KEY, may
from mirobody_site.tenancy.models import ApiKey
from mirobody_site.tenancy.services import revoke_api_key, set_rate_limit


@admin.register(ApiKey)
class ApiKeyAdmin(SeenOnly):
    """API keys by prefix."""

    list_display = ("prefix", "account", "name", "rate_limit_rpm", "created_at", "revoked_at")
    list_select_related = ("account",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    lookups = ("revoked_at__isempty",)
    search_fields = ("=prefix", "=name", "=account__username")
    fields = ("prefix", "account", "name", "rate_limit_rpm", "created_at", "revoked_at")
    readonly_fields = ("prefix", "account", "name", "created_at", "revoked_at")
    ordering = ("-id",)
    actions = ("revoke",)

    @admin.action(description="Revoke selected API keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            record(request, Action.KEY_REVOKED, object_type="API key", object_id=str(key.pk))
            revoke_api_key(key)
        self.message_user(request, f"Revoked: {len(queryset)}", messages.SUCCESS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, CHANGE_KEY)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        record(request, Action.CHANGED, object_type="API key", object_id=str(obj.pk))
        set_rate_limit(obj, obj.rate_limit_rpm)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return may(request, CHANGE_KEY)
