"""The paths of the Agent API, under /v1/. A trailing slash changes nothing."""

from django.urls import re_path

from responses_app.api.compaction import CompactView, InputTokensView
from responses_app.api.completions import CompletionsView
from responses_app.api.conversations import SessionView, SubjectView
from responses_app.api.document import DocumentPageView, DocumentView
from responses_app.api.models import ModelsView, ModelView
from responses_app.api.views import CancelView, InputItemsView, ResponsesView, ResponseView

urlpatterns = [
    re_path(r"^responses/?$", ResponsesView.as_view()),
    re_path(r"^responses/compact/?$", CompactView.as_view()),
    re_path(r"^responses/input_tokens/?$", InputTokensView.as_view()),
    re_path(r"^responses/(?P<response_id>[^/]+)/?$", ResponseView.as_view()),
    re_path(r"^responses/(?P<response_id>[^/]+)/cancel/?$", CancelView.as_view()),
    re_path(r"^responses/(?P<response_id>[^/]+)/input_items/?$", InputItemsView.as_view()),
    re_path(r"^openapi\.json/?$", DocumentView.as_view()),
    re_path(r"^docs/?$", DocumentPageView.as_view()),
    re_path(r"^models/?$", ModelsView.as_view()),
    re_path(r"^models/(?P<model>[^/]+)/?$", ModelView.as_view()),
    re_path(r"^chat/completions/?$", CompletionsView.as_view()),
    # A name may hold an escaped slash, which Django sees as a plain one.
    re_path(r"^sessions/(?P<session_id>.+)$", SessionView.as_view()),
    re_path(r"^subjects/(?P<user>.+)$", SubjectView.as_view()),
]
