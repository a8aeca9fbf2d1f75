"""Filters of the admin's lists whose choices are known, so that no list has to be read for them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest


class StatusFilter(admin.SimpleListFilter):
    """By a response's status; each value is served by an index."""

    title = parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        statuses = ("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")
        return [(status, status.replace("_", " ")) for status in statuses]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() else queryset
