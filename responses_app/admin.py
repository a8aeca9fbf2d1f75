"""The door for operators: stored responses by their ids and states, without content, and the sweep."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from responses_app.models import Response
from responses_app.services.sweeping import sweep_expired


@admin.register(Response)
class ResponseAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """Metadata only: no column that holds what somebody said."""

    list_display = ("id", "status", "created_at", "expires_at", "deleted_at")
    list_filter = ("status",)
    search_fields = ("=id",)
    fields = readonly_fields = ("id", "status", "created_at", "started_at", "lease_until", "expires_at", "deleted_at")
    show_full_result_count = False
    actions = ("sweep_now",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Response | None = None) -> bool:
        return False

    @admin.action(description="Sweep everything that has expired now")
    def sweep_now(self, request: HttpRequest, _: QuerySet[Response]) -> None:
        swept = sweep_expired()
        messages.success(
            request,
            f"Swept {swept.responses} responses and {swept.records} records; {swept.results} responses lost results.",
        )
