"""Paths under ``/playground``."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, re_path

from responses_app.playground import views

urlpatterns: list[URLPattern] = [
    re_path(r"^$|^/$", views.index, name="playground"),
    re_path(r"^/login/?$", views.Login.as_view(), name="playground-login"),
    re_path(r"^/logout/?$", LogoutView.as_view(next_page="playground-login"), name="playground-logout"),
    re_path(r"^/key/?$", views.make_key, name="playground-key"),
    re_path(r"^/answer/?$", views.show_answer, name="playground-answer"),
]
