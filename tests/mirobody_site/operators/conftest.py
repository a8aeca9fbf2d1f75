"""What tests of the operators' side share: people of each role, and an account whose data they look at."""

import secrets
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from tests.responses_app.api.conftest import Script, script, scripted_model

__all__ = ["Script", "script", "scripted_model"]

ROLES = ("support", "operator", "administrator")
SignIn = Callable[[str], Client]


def sign_in(role: str) -> Client:
    """A browser's session of somebody new with the role; ``superuser`` and ``caller`` (no operator) too."""
    name = f"{role}-{secrets.token_hex(6)}"
    if role == "superuser":
        user = User.objects.create_superuser(name)
    else:
        user = User.objects.create_user(name, is_staff=role != "caller")
    if role in ROLES:
        user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    client.name = name  # type: ignore[attr-defined]
    return client


@pytest.fixture
def signed_in(database: None) -> SignIn:
    """Signs somebody of a role in."""
    return sign_in
