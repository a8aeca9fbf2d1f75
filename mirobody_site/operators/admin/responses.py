"""Stored responses by their ids and states, sessions and handoffs, without content; and the sweep."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.roles import SWEEP, may
from responses_app.models import PendingCall, Response, Session
from responses_app.services.sweeping import sweep_expired


@admin.register(Response)
class ResponseAdmin(SeenOnly):
    """Metadata only: no column that holds what somebody said."""

    list_display = ("id", "status", "account_id", "subject_id", "created_at", "expires_at", "deleted_at")
    search_fields = ("=id",)
    lookups = ("conversation__id__exact", "subject__id__exact")
    fields = (
        *("id", "status", "account_id", "subject_id", "conversation_id", "previous_id"),
        *("created_at", "started_at", "lease_until", "expires_at", "deleted_at"),
    )
    actions = ("sweep_now",)

    @admin.action(description="Sweep everything that has expired now", permissions=["sweep"])
    def sweep_now(self, request: HttpRequest, _: QuerySet[Response]) -> None:
        swept = sweep_expired()
        record(request, Action.SWEPT, figures={"responses": swept.responses, "records": swept.records})
        messages.success(
            request,
            f"Swept {swept.responses} responses and {swept.records} records; {swept.results} responses lost results.",
        )

    def has_sweep_permission(self, request: HttpRequest) -> bool:
        return may(request, SWEEP)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the columns that hold content."""
        return super().get_queryset(request).defer("request", "input", "added", "body")


@admin.register(Session)
class SessionAdmin(SeenOnly):
    """Sessions by number. Their names are found, and not shown."""

    list_display = ("id", "subject_id", "conversation_id", "locked_by", "locked_until", "created_at")
    search_fields = ("=id",)
    lookups = ("subject__id__exact",)
    fields = list_display
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("name")


@admin.register(PendingCall)
class PendingCallAdmin(SeenOnly):
    """Calls of client tools that were handed off, and which response answered them."""

    list_display = ("call_id", "response_id", "claimed_by", "claimed_until")
    search_fields = ("=response__id",)
    fields = list_display
    ordering = ("-id",)
