"""The data plane's paths, relative to the site's root."""

from django.urls import re_path

from tools_app.api.fhir import ObservationsView, ObservationView
from tools_app.api.shares import SharesView
from tools_app.api.views import DataView

urlpatterns = [
    re_path(r"^v1/data/?$", DataView.as_view()),
    re_path(r"^v1/shares/?$", SharesView.as_view()),
    re_path(r"^v1/fhir/Observation/?$", ObservationsView.as_view()),
    re_path(r"^v1/fhir/Observation/(?P<resource>[^/]+)/?$", ObservationView.as_view()),
]
