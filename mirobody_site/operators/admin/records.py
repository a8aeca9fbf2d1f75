"""Health records, clinical records, shares and the audit of shares."""

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from mirobody_site.operators.admin.base import ContentAdmin, SeenOnly
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord, Share, ShareEvent


class _OfSubjects(ContentAdmin):
    """Rows found by their own id or their Subject's number."""

    search_fields = ("=public_id",)
    search_help_text = "A record's id, or the number of a Subject"
    lookups = ("subject__id__exact",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        by = {"subject_id": term} if term.isascii() and term.isdigit() else {"public_id": term}
        return queryset.filter(**by), False


@admin.register(HealthRecord)
class HealthRecordAdmin(_OfSubjects):
    """Readings as written and as understood."""

    list_display = ("public_id", "subject_id", "time", "indicator", "text", "loinc_code", "source", "retention")
    fields = (
        *("public_id", "measurement_id", "subject_id", "indicator", "value", "unit", "time", "end_time", "source"),
        *("number", "comparator", "ucum_unit", "loinc_code", "canonical_name", "canonical_number", "canonical_unit"),
        *("reference_low", "reference_high", "reference_text", "abnormal", "abnormal_source"),
        *("retention", "session_id", "expires_at", "created_at"),
    )
    ordering = ("-id",)


@admin.register(ClinicalRecord)
class ClinicalRecordAdmin(_OfSubjects):
    """Conditions, medications, documents and so on."""

    list_display = ("public_id", "subject_id", "kind", "time", "display", "code", "status", "source", "retention")
    fields = (
        *("public_id", "subject_id", "kind", "display", "code_system", "code", "status", "time", "end_time", "text"),
        *("source", "source_id", "retention", "expires_at", "created_at"),
    )
    ordering = ("-id",)


@admin.register(Share)
class ShareAdmin(SeenOnly):
    """Who lets whom see its records, by numbers of Subjects."""

    list_display = ("id", "subject_id", "with_subject_id", "scope", "start", "end", "created_at")
    fields = ("subject_id", "with_subject_id", "scope", "start", "end", "created_at")
    list_filter = ("scope",)
    lookups = ("scope__exact", "subject__id__exact", "with_subject__id__exact")
    ordering = ("-id",)


@admin.register(ShareEvent)
class ShareEventAdmin(SeenOnly):
    """Grants, revocations and looks, by numbers of Subjects."""

    list_display = ("happened_at", "action", "tool", "account_id", "owner_id", "viewer_id", "share_id")
    list_filter = ("action",)
    lookups = ("action__exact",)
    search_fields = found_by = ("owner_id", "viewer_id")
    search_help_text = "The number of a Subject"
    fields = ("happened_at", "action", "tool", "account_id", "owner_id", "viewer_id", "share_id")
    ordering = ("-id",)
