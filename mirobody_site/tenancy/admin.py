"""Operators' door: keys can be seen and revoked, Subjects seen. Secrets and their hashes are never shown."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.services import revoke_api_key


class SeenOnly:
    """Switches adding, changing and deleting off; what the admin may do are its actions."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(SeenOnly, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """API keys by prefix; ``tenancy.change_apikey`` is needed to revoke them."""

    list_display = ["prefix", "account", "name", "created_at", "revoked_at"]
    list_select_related = ["account"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter)]
    search_fields = ["prefix", "name", "account__username"]
    fields = ["prefix", "account", "name", "created_at", "revoked_at"]
    actions = ["revoke"]

    @admin.action(description="Revoke selected API keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            revoke_api_key(key)
        self.message_user(request, f"Revoked: {len(queryset)}", messages.SUCCESS)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "has_perm", lambda _: False)("tenancy.change_apikey"))


@admin.register(Subject)
class SubjectAdmin(SeenOnly, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """Subjects by account and ``user`` value."""

    list_display = ["id", "account", "user_key", "time_zone", "created_at"]
    list_select_related = ["account"]
    search_fields = ["user_key", "account__username"]
    fields = ["account", "user_key", "display_name", "time_zone", "created_at"]
