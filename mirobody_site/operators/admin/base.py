"""What the admin's lists and pages share: nothing is edited, no table is counted, content needs its right."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.contrib.admin import ShowFacets
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.paginator import InfinitePaginator

from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.roles import READ_CONTENT, may

if TYPE_CHECKING:
    # Unfold has no types; its classes are subclasses of these.
    from django.contrib.admin import ModelAdmin
else:
    from unfold.admin import ModelAdmin
    from unfold.views import ChangeList

PAGE = 50


class FixedOrder(ChangeList):
    """A list in its own order, which an index serves; an order in its address is ignored."""

    def get_ordering_field(self, field_name: Any) -> None:
        return None


class SeenOnly(ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """A list and pages that can only be looked at; what the admin may do are its actions."""

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = PAGE
    list_max_show_all = 0
    actions: tuple[str, ...] = ()
    sortable_by = ()
    lookups: tuple[str, ...] = ()
    """What a list's address may filter by, beside its filters."""
    found_by: tuple[str, ...] = ()
    """The columns whose whole values are searched, one after another."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FixedOrder

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Those whose first column of ``found_by`` that knows the term has it. Django's own search can use no index."""
        term = search_term.strip()
        return (self._found(queryset, term) if term else queryset), False

    def _found(self, queryset: QuerySet[Any], term: str) -> QuerySet[Any]:
        for column in self.found_by:
            # A word is no number.
            with suppress(ValueError):
                found = queryset.filter(**{column: term})
                if found.exists():
                    return found
        return queryset.none()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what is named. Django lets any column of the list's own table be asked for, content be guessed so."""
        return lookup in self.lookups

    def must_see(self, request: HttpRequest) -> None:
        """Raises ``PermissionDenied`` unless the request may see this kind of thing."""
        if not self.has_view_permission(request):
            raise PermissionDenied


class ContentAdmin(SeenOnly):
    """The same for rows that hold content: every list and page is for those with the right, and is audited."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, READ_CONTENT) and super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may(request, READ_CONTENT) and super().has_module_permission(request)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        audit_list(request, self.model, shown)
        return shown

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if self.has_view_permission(request):
            record(request, Action.VIEWED, object_type=kind_of(self.model), object_id=unquote(object_id)[:64])
        return super().change_view(request, object_id, form_url, extra_context)


def kind_of(model: type[Model]) -> str:
    """What the audit calls rows of ``model``."""
    return str(model._meta.verbose_name)


def audit_list(request: HttpRequest, model: type[Model], shown: ChangeList) -> None:
    """Writes that a page of a list with content was seen, and how many rows it had."""
    figures = {"rows": len(shown.result_list), "page": shown.page_num}
    record(request, Action.VIEWED, object_type=f"list of {model._meta.verbose_name_plural}", figures=figures)
