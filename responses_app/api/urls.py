"""The paths of the Agent API, under /v1/. A trailing slash changes nothing."""

from django.urls import re_path

from responses_app.api.views import ResponsesView, ResponseView

urlpatterns = [
    re_path(r"^responses/?$", ResponsesView.as_view()),
    re_path(r"^responses/(?P<response_id>[^/]+)/?$", ResponseView.as_view()),
]
