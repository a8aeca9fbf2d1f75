"""The doors for people: guessing is slowed down, cookies and headers are strict."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from mirobody_site.operators.models import AuditEntry

ROOT = Path(__file__).resolve().parents[3]
PASSWORD = "a-Long-0ne-indeed"


@pytest.fixture
def operator(database: None) -> User:
    cache.clear()
    return User.objects.create_user(f"op-{secrets.token_hex(6)}", password=PASSWORD, is_staff=True)


@pytest.mark.parametrize("door", ["/admin/login/", "/playground/login"])
def test_guessing_is_slowed_down(operator: User, door: str) -> None:
    def attempt(name: str, password: str, address: str = "203.0.113.9") -> int:
        form = {"username": name, "password": password}
        return Client().post(door, form, REMOTE_ADDR=address).status_code

    assert [attempt(operator.username, "wrong") for _ in range(6)] == [200, 200, 200, 200, 429, 429]
    assert attempt(operator.username, PASSWORD) == 429
    assert attempt(operator.username, PASSWORD, "203.0.113.10") == 302
    assert attempt("somebody-else", "wrong") == 200
    failed = AuditEntry.objects.filter(actor_name=operator.username, action="sign-in failed")
    assert failed.count() >= 5


def test_signing_in_is_remembered_strictly(operator: User, anonymous: httpx.Client) -> None:
    page = anonymous.get("/admin/login/")
    token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    form = {"username": operator.username, "password": PASSWORD, "csrfmiddlewaretoken": token}
    answer = anonymous.post("/admin/login/?next=https://evil.example/", data=form)
    assert answer.status_code == 302
    assert "evil" not in answer.headers["location"]
    cookie = next(text for text in answer.headers.get_list("set-cookie") if text.startswith("sessionid="))
    assert {"HttpOnly", "SameSite=Lax", "Max-Age=43200"} <= {part.strip() for part in cookie.split(";")}
    assert anonymous.post("/admin/login/", data={**form, "csrfmiddlewaretoken": ""}).status_code == 403


def test_pages_have_strict_headers(anonymous: httpx.Client) -> None:
    headers = anonymous.get("/admin/login/").headers
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_deployment_over_https_passes_djangos_checks(tmp_path: Path) -> None:
    given = {
        "DATA_DIR": str(tmp_path),
        "ENV_FILE": os.devnull,
        "DJANGO_SECRET_KEY": secrets.token_urlsafe(50),
        "DJANGO_ALLOWED_HOSTS": "health.example",
        "HTTPS_ONLY": "1",
    }
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    checked = subprocess.run(
        command, cwd=ROOT, env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_a_weak_password_is_refused(database: None) -> None:
    administrator = Client()
    administrator.force_login(User.objects.create_superuser(f"root-{secrets.token_hex(6)}"))
    name = f"weak-{secrets.token_hex(6)}"
    for password in ("short-1", "password1234", name):
        form = {"username": name, "usable_password": "true", "password1": password, "password2": password}
        assert administrator.post("/admin/auth/user/add/", form).status_code == 200
    assert not User.objects.filter(username=name).exists()
