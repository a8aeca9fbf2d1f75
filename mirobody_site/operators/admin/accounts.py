"""Accounts and groups: administrators make operators and set their groups. What a group may is in roles.py."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from mirobody_site.operators.admin.base import SeenOnly
from mirobody_site.operators.audit import Action, record
from mirobody_site.tenancy import known_keys
from mirobody_site.tenancy.models import AccountProfile

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin
else:
    from unfold.admin import ModelAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class AccountAdmin(UserAdmin, ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """Accounts of callers and of operators. None is deleted here: its Subjects would go without a receipt."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "is_staff", "is_active", "is_superuser", "last_login", "date_joined")
    search_fields = ("=username",)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("What it may do", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Times", {"fields": ("last_login", "date_joined")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A superuser is changed by a superuser alone; an administrator could otherwise become one."""
        if isinstance(obj, User) and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        own = ("last_login", "date_joined")
        return own if request.user.is_superuser else (*own, "is_superuser")

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        _audit_change(request, obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        _audit_change(request, obj)
        return super().log_change(request, obj, message)


@admin.register(AccountProfile)
class ProfileAdmin(ModelAdmin):  # type: ignore[type-arg]  # generic for type checkers only
    """What accounts may spend in a month."""

    list_display = ("account", "monthly_cap_usd")
    list_select_related = ("account",)
    search_fields = ("=account__username",)
    fields = ("account", "monthly_cap_usd")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("account",) if obj else ()

    def save_model(self, request: HttpRequest, obj: AccountProfile, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        record(request, Action.CHANGED, object_type="account", object_id=str(obj.account_id))
        known_keys.forget()


@admin.register(Group)
class RoleAdmin(SeenOnly):
    """The groups and their rights, as roles.py sets them."""

    list_display = ("name",)
    fields = ("name", "permissions")
    ordering = ("name",)


def _audit_change(request: HttpRequest, obj: Model) -> None:
    record(request, Action.CHANGED, object_type="account", object_id=str(obj.pk))
