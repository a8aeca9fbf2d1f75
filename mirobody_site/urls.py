"""The map from paths to doors. Each app's api/urls.py holds its own paths."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from mirobody_site import health, monitoring

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(r"^healthz/?$", health.alive),
    re_path(r"^readyz/?$", health.ready),
    re_path(r"^metrics/?$", monitoring.metrics),
    path("admin/", admin.site.urls),
    re_path(r"^playground", include("responses_app.playground.urls")),
    path("", include("tools_app.api.urls")),
    path("v1/", include("responses_app.api.urls")),
]
