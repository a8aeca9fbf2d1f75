"""Subjects: by number and hash, by name for those who may read content; their circle, export and erasure."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html_join

from mirobody_site.operators.admin.base import SeenOnly, audit_list, kind_of
from mirobody_site.operators.admin.confirm import Question, TypedName, Why, page, told
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.downloads import in_chunks
from mirobody_site.operators.roles import ERASE_SUBJECT, EXPORT_SUBJECT, READ_CONTENT, may
from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.storage import forget_free_pages
from responses_app.services.erasure import count_of, erase_subject, receipt
from responses_app.services.export import exported_fhir, exported_json
from tools_app.records.selectors import shares_of

_NAMES = ("user_key", "display_name")
_HASH_DIGITS = 64
_EXPORTS = {"json": exported_json, "fhir": exported_fhir}


@admin.register(Subject)
class SubjectAdmin(SeenOnly):
    """Subjects of all accounts."""

    list_select_related = ("account",)
    search_fields = ("=id",)
    search_help_text = "A Subject's number, hash or, for those who may read content, name"
    change_form_outer_before_template = "operators/links.html"
    ordering = ("-id",)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        named = ("user_key",) if may(request, READ_CONTENT) else ()
        return ("id", "account", "short_hash", *named, "time_zone", "created_at")

    def get_fields(self, request: HttpRequest, obj: Subject | None = None) -> tuple[str, ...]:
        named = _NAMES if may(request, READ_CONTENT) else ()
        return ("account", "key_hash", *named, "time_zone", "created_at", "circle")

    @admin.display(description="Hash")
    def short_hash(self, subject: Subject) -> str:
        return f"{subject.key_hash[:12]}…"

    @admin.display(description="Circle")
    def circle(self, subject: Subject) -> str:
        """Who sees the Subject's records and whose it sees, by number."""
        lines = [_share_line(share, subject) for share in shares_of(subject)]
        return format_html_join("\n", "<p>{}</p>", ((line,) for line in lines)) or "shares with nobody"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Subject], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Whole values only, each of an indexed column."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if len(term) == _HASH_DIGITS:
            return queryset.filter(key_hash=term), False
        if term.isascii() and term.isdigit():
            return queryset.filter(pk=term), False
        return queryset.filter(user_key=term) if may(request, READ_CONTENT) else queryset.none(), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        if may(request, READ_CONTENT):
            audit_list(request, Subject, shown)
        return shown

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<path:object_id>/erase/", view(self.erase_view), name="tenancy_subject_erase"),
            path("<path:object_id>/export/", view(self.export_view), name="tenancy_subject_export"),
        ]
        return [*own, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if may(request, READ_CONTENT):
            record(request, Action.VIEWED, object_type=kind_of(Subject), object_id=unquote(object_id)[:64])
        links = _links(request, unquote(object_id))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "operators_links": links})

    def erase_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Says what will go, asks for the name, erases with the service of ``purge_subject``, shows its receipt."""
        subject = self._subject(request, object_id, ERASE_SUBJECT, READ_CONTENT)
        counts = count_of(subject)
        lines = [
            f"{counts.records} records and {counts.conversations} conversations will be erased for good.",
            "So will sessions, shares in both directions, values in other people's results, and the name itself.",
            "Backups keep what they hold; see docs/operations.md.",
        ]
        question = Question(f"Erase Subject {subject.pk}?", lines, "Erase for good", _url("change", subject.pk))
        form = TypedName(request.POST or None, expected=subject.user_key or "@default")
        if not form.is_valid():
            return page(request, self, question, form)
        figures = {"records": counts.records, "conversations": counts.conversations}
        self._record(request, Action.ERASED, subject, form, figures)
        try:
            erased = erase_subject(subject)
        except NotFoundError:
            raise Http404 from None
        forget_free_pages()
        return told(request, self, "Erased", receipt("erased", erased, subject.key_hash))

    def export_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """All that is kept of the Subject as a file: ``?form=json`` or ``fhir``."""
        subject = self._subject(request, object_id, EXPORT_SUBJECT, READ_CONTENT)
        kind = request.GET.get("form", "json")
        if kind not in _EXPORTS:
            raise Http404
        lines = ["The file holds everything that is kept of this person. It is yours to protect."]
        question = Question(f"Export Subject {subject.pk} as {kind}?", lines, "Export", _url("change", subject.pk))
        form = Why(request.POST or None)
        if not form.is_valid():
            return page(request, self, question, form)
        self._record(request, Action.EXPORTED, subject, form, {})
        content_type = "application/fhir+json" if kind == "fhir" else "application/json"
        pieces = in_chunks(_EXPORTS[kind](subject, timezone.now()))
        answer = StreamingHttpResponse(pieces, content_type=content_type)
        answer["Content-Disposition"] = f'attachment; filename="subject-{subject.pk}-{kind}.json"'
        return answer

    def _subject(self, request: HttpRequest, object_id: str, *rights: str) -> Subject:
        if not all(may(request, right) for right in rights):
            raise PermissionDenied
        number = unquote(object_id)
        found = Subject.objects.filter(pk=number, erased_at=None).first() if number.isdecimal() else None
        if found is None:
            raise Http404
        return found

    def _record(
        self, request: HttpRequest, action: Action, subject: Subject, form: Why, figures: dict[str, int]
    ) -> None:
        about = {"object_type": "subject", "object_id": str(subject.pk), "subject_hash": subject.key_hash}
        record(request, action, figures=figures, **about, **form.for_audit)


def _share_line(share: Any, subject: Subject) -> str:
    days = f"{share.start or '…'} to {share.end or '…'}" if share.start or share.end else "any day"
    if share.subject_id == subject.pk:
        return f"Subject {share.with_subject_id} sees its {share.scope} ({days})"
    return f"sees {share.scope} of Subject {share.subject_id} ({days})"


def _url(name: str, pk: int | str) -> str:
    return reverse(f"admin:tenancy_subject_{name}", args=[pk])


def _links(request: HttpRequest, pk: str) -> list[tuple[str, str]]:
    if not pk.isdecimal():
        return []
    of_subject = f"?subject__id__exact={pk}"
    links = [(reverse("admin:responses_app_response_changelist") + of_subject, "Responses")]
    if may(request, READ_CONTENT):
        links += [
            (reverse("admin:responses_app_conversation_changelist") + of_subject, "Conversations"),
            (reverse("admin:tools_app_healthrecord_changelist") + of_subject, "Health records"),
            (reverse("admin:tools_app_clinicalrecord_changelist") + of_subject, "Clinical records"),
        ]
    if may(request, EXPORT_SUBJECT):
        links += [(_url("export", pk) + f"?form={kind}", f"Export as {kind}") for kind in _EXPORTS]
    if may(request, ERASE_SUBJECT):
        links.append((_url("erase", pk), "Erase"))
    return links
