"""Stored responses by their ids and states, sessions and handoffs, without content; cancelling, deleting, the sweep."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.operators.admin.confirm import Question, Why, page, told
from mirobody_site.operators.admin.filters import StatusFilter
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.roles import END_RESPONSE, READ_CONTENT, SWEEP, may
from mirobody_site.operators.search import responses_for
from mirobody_site.tenancy.errors import ApiError
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.models import PendingCall, Response, Session
from responses_app.models.response import RUNNING
from responses_app.services.cancellation import cancel
from responses_app.services.deletion import delete_responses
from responses_app.services.retrieval import shown_body
from responses_app.services.sweeping import sweep_expired

CONTENT = ("request", "input", "added", "body")
_LIST = "admin:responses_app_response_changelist"


@admin.register(Response)
class ResponseAdmin(SeenOnly):
    """Metadata only: no column that holds what somebody said."""

    list_display = ("id", "status", "account", "subject_id", "created_at", "expires_at", "deleted_at")
    list_select_related = ("account",)
    list_filter = (StatusFilter, "created_at")
    list_before_template = change_form_outer_before_template = "operators/links.html"
    search_fields = ("=id",)
    search_help_text = "An id of a response, item, call, request or session; a Subject's number or hash"
    lookups = (
        *("conversation__id__exact", "subject__id__exact", "status", "created_at__gte", "created_at__lt"),
        "created_at__isnull",
    )
    fields = (
        *("id", "status", "account", "api_key", "subject_id", "conversation_id", "previous_id", "request_id"),
        *("created_at", "started_at", "ended_at", "lease_until", "expires_at", "deleted_at"),
    )
    ordering = ("-created_at", "-id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the columns that hold content."""
        return super().get_queryset(request).defer(*CONTENT)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Response], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return responses_for(queryset, search_term.strip()), False

    def get_urls(self) -> list[URLPattern]:
        pages: list[tuple[str, Callable[..., HttpResponse], str]] = [
            ("sweep/", self.sweep_view, "sweep"),
            ("<path:object_id>/cancel/", self.cancel_view, "cancel"),
            ("<path:object_id>/remove/", self.remove_view, "remove"),
            ("<path:object_id>/object/", self.object_view, "object"),
        ]
        view = self.admin_site.admin_view
        own = [path(where, view(what), name=f"responses_app_response_{name}") for where, what, name in pages]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        links = [(reverse("admin:responses_app_response_sweep"), "Sweep now")] if may(request, SWEEP) else []
        return super().changelist_view(request, {**(extra_context or {}), "operators_links": links})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = self._links(request, unquote(object_id))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "operators_links": links})

    def _links(self, request: HttpRequest, response_id: str) -> list[tuple[str, str]]:
        row = self.get_queryset(request).filter(pk=response_id).first()
        if row is None or row.deleted_at is not None:
            return []
        timeline = reverse("admin:responses_app_conversation_change", args=[row.conversation_id])
        links = []
        if may(request, READ_CONTENT):
            links += [(f"{timeline}?turn={row.pk}#{row.pk}", "Timeline"), (_url("object", row), "The whole object")]
        if may(request, END_RESPONSE):
            links += [(_url("cancel", row), "Cancel")] if row.status in RUNNING else []
            links += [(_url("remove", row), "Delete")]
        return links

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Cancels a running turn."""
        row = self._row(request, object_id, END_RESPONSE)
        question = Question(
            f"Cancel {row.pk}?", ["What its turn has said so far stays."], "Cancel the turn", _url("change", row)
        )
        form = Why(request.POST or None)
        if not form.is_valid():
            return page(request, self, question, form)
        self._record(request, Action.CANCELLED, row, form)
        try:
            cancel(row.account_id, row.pk, None)
        except ApiError as refused:
            messages.error(request, refused.message)
        else:
            messages.success(request, "It was asked to stop.")
        return HttpResponseRedirect(question.back)

    def remove_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Deletes a response, as its caller could."""
        row = self._row(request, object_id, END_RESPONSE)
        lines = [
            "It is gone for reads and for chaining at once; if its turn still runs, it is stopped.",
            "What a later turn continues from stays until that one goes.",
        ]
        question = Question(f"Delete {row.pk}?", lines, "Delete the response", _url("change", row))
        form = Why(request.POST or None)
        if not form.is_valid():
            return page(request, self, question, form)
        self._record(request, Action.DELETED, row, form)
        gone = delete_responses([row])
        forget_free_pages()
        messages.success(request, "Deleted." if gone else "It was deleted already.")
        return HttpResponseRedirect(reverse(_LIST))

    def object_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The whole response object, as its caller gets it."""
        row = self._row(request, object_id, READ_CONTENT)
        record(request, Action.VIEWED, object_type="response", object_id=row.pk, subject_hash=row.subject.key_hash)
        live = Response.objects.live(timezone.now()).filter(pk=row.pk).first()
        if live is None:
            raise Http404
        text = json.dumps(json.loads(shown_body(live)), indent=2, ensure_ascii=False)
        return HttpResponse(text, content_type="text/plain; charset=utf-8")

    def sweep_view(self, request: HttpRequest) -> HttpResponse:
        """Sweeps what has expired."""
        if not may(request, SWEEP):
            raise PermissionDenied
        lines = ["What has expired is out of reach already; its rows go now instead of within ten minutes."]
        question = Question("Sweep what has expired?", lines, "Sweep now", reverse(_LIST))
        form = Why(request.POST or None)
        if not form.is_valid():
            return page(request, self, question, form)
        entry = record(request, Action.SWEPT, **form.for_audit)
        swept = asdict(sweep_expired())
        return told(request, self, "Swept", {**swept, "audit entry": entry.pk})

    def _row(self, request: HttpRequest, object_id: str, right: str) -> Response:
        if not may(request, right):
            raise PermissionDenied
        row = Response.objects.defer(*CONTENT).select_related("subject").filter(pk=unquote(object_id)).first()
        if row is None:
            raise Http404
        return row

    def _record(self, request: HttpRequest, action: Action, row: Response, form: Why) -> None:
        about = {"object_type": "response", "object_id": row.pk, "subject_hash": row.subject.key_hash}
        record(request, action, **about, **form.for_audit)


def _url(name: str, row: Response) -> str:
    return reverse(f"admin:responses_app_response_{name}", args=[quote(row.pk)])


@admin.register(Session)
class SessionAdmin(SeenOnly):
    """Sessions by number. Their names are found, and not shown."""

    list_display = ("id", "subject_id", "conversation_id", "locked_by", "locked_until", "created_at")
    search_fields = ("=id",)
    search_help_text = "A session's number or whole name"
    lookups = ("subject__id__exact",)
    fields = list_display
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("name")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Session], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        by_number = term.isascii() and term.isdigit()
        return queryset.filter(pk=int(term)) if by_number else queryset.filter(name=term), False


@admin.register(PendingCall)
class PendingCallAdmin(SeenOnly):
    """Calls of client tools that were handed off, and which response answered them."""

    list_display = ("call_id", "response_id", "claimed_by", "claimed_until")
    search_fields = found_by = ("response_id",)
    search_help_text = "A response's id"
    fields = list_display
    ordering = ("-id",)
