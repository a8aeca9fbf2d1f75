"""What operators may do: the rights, and the three groups that hold them. Who belongs to a group is set in the admin.

The groups are brought back to this table at every ``migrate``. A superuser has every right.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db.models import Q
from django.http import HttpRequest

READ_CONTENT = "operators.read_content"
END_RESPONSE = "operators.end_response"
SWEEP = "operators.sweep"
EXPORT_SUBJECT = "operators.export_subject"
ERASE_SUBJECT = "operators.erase_subject"
ADD_KEY = "tenancy.add_apikey"
CHANGE_KEY = "tenancy.change_apikey"

_SUPPORT = (
    "responses_app.view_response",
    "responses_app.view_session",
    "responses_app.view_pendingcall",
    "tenancy.view_subject",
    "tenancy.view_apikey",
    "tenancy.view_usageofday",
)
_OPERATOR = (
    *_SUPPORT,
    READ_CONTENT,
    END_RESPONSE,
    SWEEP,
    EXPORT_SUBJECT,
    "responses_app.view_conversation",
    "tools_app.view_healthrecord",
    "tools_app.view_clinicalrecord",
    "tools_app.view_share",
    "tools_app.view_shareevent",
)
_ADMINISTRATOR = (
    *_OPERATOR,
    ERASE_SUBJECT,
    ADD_KEY,
    CHANGE_KEY,
    "operators.view_auditentry",
    "auth.add_user",
    "auth.change_user",
    "auth.view_user",
    "auth.view_group",
    "tenancy.add_accountprofile",
    "tenancy.change_accountprofile",
    "tenancy.view_accountprofile",
)
GROUPS = {"support": _SUPPORT, "operator": _OPERATOR, "administrator": _ADMINISTRATOR}


def keep_groups(**_: Any) -> None:
    """Makes the groups and gives each its rights. Runs after ``migrate`` has made the permissions."""
    for name, rights in GROUPS.items():
        group, _created = Group.objects.get_or_create(name=name)
        group.permissions.set(_permissions(rights))


def _permissions(rights: Iterable[str]) -> list[Permission]:
    wanted = Q()
    for right in rights:
        app, codename = right.split(".")
        wanted |= Q(content_type__app_label=app, codename=codename)
    return list(Permission.objects.filter(wanted))


def may(request: HttpRequest, right: str) -> bool:
    """Whether the request's user has the right."""
    return bool(getattr(request.user, "has_perm", lambda _: False)(right))
