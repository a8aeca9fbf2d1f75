"""Subjects: by number and hash; by name for those who may read content."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from mirobody_site.operators.admin.base import SeenOnly, audit_list, kind_of
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.roles import READ_CONTENT, may
from mirobody_site.tenancy.models import Subject

_NAMES = ("user_key", "display_name")


@admin.register(Subject)
class SubjectAdmin(SeenOnly):
    """Subjects of all accounts."""

    list_select_related = ("account",)
    search_fields = ("=id",)
    search_help_text = "A Subject's number, hash or, for those who may read content, name"
    ordering = ("-id",)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        named = ("user_key",) if may(request, READ_CONTENT) else ()
        return ("id", "account", "short_hash", *named, "time_zone", "created_at")

    def get_fields(self, request: HttpRequest, obj: Subject | None = None) -> tuple[str, ...]:
        named = _NAMES if may(request, READ_CONTENT) else ()
        return ("account", "key_hash", *named, "time_zone", "created_at")

    @admin.display(description="Hash")
    def short_hash(self, subject: Subject) -> str:
        return f"{subject.key_hash[:12]}…"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Subject], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Whole values only, each of an indexed column."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if len(term) == 64:  # noqa: PLR2004 - a SHA-256's digits
            return queryset.filter(key_hash=term), False
        if term.isascii() and term.isdigit():
            return queryset.filter(pk=term), False
        return queryset.filter(user_key=term) if may(request, READ_CONTENT) else queryset.none(), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        if may(request, READ_CONTENT):
            audit_list(request, Subject, shown)
        return shown

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if may(request, READ_CONTENT):
            record(request, Action.VIEWED, object_type=kind_of(Subject), object_id=unquote(object_id)[:64])
        return super().change_view(request, object_id, form_url, extra_context)
