"""API keys: made, with the secret shown once, limited and revoked. Secrets and their hashes are never shown again."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.operators.admin.confirm import Question, page, told
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.roles import ADD_KEY, CHANGE_KEY, may
from mirobody_site.tenancy.models import ApiKey, UsageOfDay
from mirobody_site.tenancy.services import create_api_key, revoke_api_key, set_rate_limit


class NewKey(forms.Form):
    """Whose key, and how it is limited."""

    account = forms.CharField(
        max_length=150, widget=UnfoldAdminTextInputWidget, help_text="It is made when there is none of this name."
    )
    name = forms.CharField(max_length=100, required=False, widget=UnfoldAdminTextInputWidget)
    requests_a_minute = forms.IntegerField(
        min_value=1, required=False, widget=UnfoldAdminIntegerFieldWidget, help_text="Empty: the server's setting."
    )


@admin.register(ApiKey)
class ApiKeyAdmin(SeenOnly):
    """API keys by prefix."""

    list_display = ("prefix", "account", "name", "rate_limit_rpm", "last_used", "created_at", "revoked_at")
    list_select_related = ("account",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    lookups = ("revoked_at__isempty",)
    search_fields = found_by = ("prefix", "name", "account__username")
    fields = ("prefix", "account", "name", "rate_limit_rpm", "last_used", "created_at", "revoked_at")
    readonly_fields = ("prefix", "account", "name", "last_used", "created_at", "revoked_at")
    ordering = ("-id",)
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the last day on which a turn came with the key."""
        days = UsageOfDay.objects.filter(account_id=OuterRef("account_id"), api_key_id=OuterRef("pk"))
        last_day = Subquery(days.order_by("-day").values("day")[:1])
        return cast("QuerySet[Any]", super().get_queryset(request).annotate(last_day=last_day))

    @admin.display(description="Last used")
    def last_used(self, key: Any) -> Any:
        return key.last_day or "never"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request, ADD_KEY)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, CHANGE_KEY)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return may(request, CHANGE_KEY)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Makes a key. Its secret is in this answer, which no cache keeps, and nowhere else."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        question = Question(
            "New API key",
            ["The secret is shown once, on the next page."],
            "Make the key",
            reverse("admin:tenancy_apikey_changelist"),
        )
        form = NewKey(request.POST or None)
        made = _made(form) if form.is_valid() else None
        if made is None:
            return page(request, self, question, form)
        key, secret = made
        record(request, Action.KEY_CREATED, object_type="API key", object_id=str(key.pk))
        facts = {"account": key.account.get_username(), "prefix": key.prefix, "secret, shown once": secret}
        return told(request, self, "API key made", facts)

    @admin.action(description="Revoke selected API keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            record(request, Action.KEY_REVOKED, object_type="API key", object_id=str(key.pk))
            revoke_api_key(key)
        self.message_user(request, f"Revoked: {len(queryset)}", messages.SUCCESS)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        record(request, Action.CHANGED, object_type="API key", object_id=str(obj.pk))
        set_rate_limit(obj, obj.rate_limit_rpm)


def _made(form: NewKey) -> tuple[ApiKey, str] | None:
    """The key and its secret; ``None`` with the form's errors when the names cannot be."""
    given = form.cleaned_data
    try:
        key, secret = create_api_key(given["account"], given["name"])
    except ValidationError as refused:
        form.add_error(None, ValidationError(refused.messages))
        return None
    set_rate_limit(key, given["requests_a_minute"])
    return key, secret
