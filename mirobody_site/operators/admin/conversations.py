"""Conversations as timelines, and one response as its whole object. Every look is audited."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from mirobody_site.operators.admin.base import ContentAdmin
from mirobody_site.operators.audit import Action, record
from mirobody_site.operators.timeline import timeline_of
from responses_app.models import Conversation


@admin.register(Conversation)
class ConversationAdmin(ContentAdmin):
    """Conversations, newest first; the page of one is its timeline."""

    list_display = ("id", "subject_id", "created_at")
    search_fields = found_by = ("id",)
    search_help_text = "A conversation's number"
    lookups = ("subject__id__exact",)
    ordering = ("-id",)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A page of the timeline. ``?turn=`` shows the page with this response, ``?branch=`` only what leads to it."""
        conversation = self._conversation(request, object_id)
        subject = conversation.subject
        record(
            request,
            Action.VIEWED,
            object_type="conversation",
            object_id=str(conversation.pk),
            subject_hash=subject.key_hash,
        )
        page = request.GET.get("page", "")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 1  # noqa: PLR2004 - digits
        timeline = timeline_of(conversation, number, request.GET.get("turn"), request.GET.get("branch"))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Conversation {conversation.pk}",
            "conversation": conversation,
            "subject": subject,
            "session": getattr(conversation, "session", None),
            "timeline": timeline,
        }
        return TemplateResponse(request, "operators/timeline.html", context)

    def _conversation(self, request: HttpRequest, object_id: str) -> Conversation:
        self.must_see(request)
        number = unquote(object_id)
        found = None
        if number.isascii() and number.isdigit():
            found = Conversation.objects.select_related("subject__account", "session").filter(pk=int(number)).first()
        if found is None:
            raise Http404
        return found
