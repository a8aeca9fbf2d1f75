"""Pages that ask before something is done: what will happen, why, and, where it cannot be undone, the name typed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin import ModelAdmin, site
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from mirobody_site.operators.models import AuditEntry


class Why(forms.Form):
    """Why something is done: nothing that could hold content."""

    reason = forms.ChoiceField(choices=AuditEntry.Reason.choices, widget=UnfoldAdminSelectWidget)
    ticket = forms.RegexField(
        r"^[A-Za-z0-9._#/-]{1,64}$",
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="A reference to where it was asked for, such as a ticket's number. No names.",
        error_messages={"invalid": "Letters, digits and ._#/- only, 64 at most."},
    )

    @property
    def for_audit(self) -> dict[str, str]:
        """What the audit keeps of it."""
        return {"reason": self.cleaned_data["reason"], "ticket": self.cleaned_data["ticket"]}


class TypedName(Why):
    """The same, with the name of what goes."""

    typed = forms.CharField(
        strip=False, max_length=300, widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: Any, expected: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._expected = expected
        self.fields["typed"].label = f"Type {expected} to confirm"

    def clean_typed(self) -> str:
        """Raises ``ValidationError`` for anything but the name."""
        if self.cleaned_data["typed"] != self._expected:
            raise forms.ValidationError("That is not the name; nothing was done.")
        return self._expected


@dataclass(frozen=True, slots=True)
class Question:
    """What a page asks. ``lines`` say what will happen; ``back`` is where to go otherwise."""

    title: str
    lines: Sequence[str]
    button: str
    back: str


def page(request: HttpRequest, model_admin: "ModelAdmin[Any]", question: Question, form: forms.Form) -> HttpResponse:
    """The page with the form, as it stands."""
    context = {**site.each_context(request), "opts": model_admin.opts, "title": question.title}
    return TemplateResponse(request, "operators/confirm.html", context | {"question": question, "form": form})


def told(request: HttpRequest, model_admin: "ModelAdmin[Any]", title: str, facts: dict[str, Any]) -> HttpResponse:
    """A page that says once what was done."""
    context = {**site.each_context(request), "opts": model_admin.opts, "title": title, "facts": facts}
    return TemplateResponse(request, "operators/told.html", context)
