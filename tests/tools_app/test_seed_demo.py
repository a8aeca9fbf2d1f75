"""``seed_demo``: a person the documents' examples work on, made once."""

import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from mirobody_site.tenancy.models import ApiKey, Subject
from tests.tools_app.people import Person
from tools_app.contract import ToolContext
from tools_app.records.demo import person, relative
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

SOME_DAYS = [date(2026, 3, 31), date(2028, 2, 29), date(2026, 1, 1), date(2026, 12, 31)]


@pytest.fixture
def no_demo(database: None) -> Iterator[None]:
    """As on a fresh machine: no demo account. One that other tests use is put aside meanwhile."""
    User.objects.filter(username="demo").update(username="demo-put-aside")
    yield
    User.objects.filter(username="demo").delete()
    User.objects.filter(username="demo-put-aside").update(username="demo")


def seed() -> str:
    out = io.StringIO()
    call_command("seed_demo", "--port", "8123", stdout=out)
    return out.getvalue()


def ask(**arguments: Any) -> dict[str, Any]:
    alice = Subject.objects.get(account__username="demo", user_key="alice")
    context = ToolContext(alice.account_id, alice.pk, datetime.now(UTC))
    return run_tool(TOOLS["query_health_data"], context, arguments).data


def test_the_first_run_prints_a_working_key_and_three_commands(no_demo: None, server: str) -> None:
    printed = seed()
    assert "export MIROBODY_API_BASE=http://127.0.0.1:8123/v1\n" in printed
    assert "no language model" in printed
    (key,) = re.findall(r"export MIROBODY_API_KEY=(mb_live_\S+)", printed)
    headers = {"Authorization": f"Bearer {key}"}
    assert httpx.get(f"{server}/v1/data?user=alice", headers=headers).json()["has_more"]

    (password,) = re.findall(r"/playground +account: demo +password: (\S+)", printed)
    assert User.objects.get(username="demo").check_password(password)

    bodies = [json.loads(body) for body in re.findall(r"-d '(.*?)'", printed, re.DOTALL)]
    assert [body["user"] for body in bodies] == ["alice"] * 3
    assert [bool(re.search("[一-鿿]", body["input"])) for body in bodies] == [False, True, False]
    assert [body.get("stream", False) for body in bodies] == [False, True, False]
    assert bodies[2]["tools"][0]["name"] == "book_appointment"


def test_later_runs_keep_everything_and_show_no_secret(no_demo: None) -> None:
    first = seed()
    key = re.findall(r"mb_live_\S+", first)[0]
    password = re.findall(r"password: (\S+)", first)[0]
    before = ask(operation="overview")
    printed = seed()
    assert key not in printed
    assert password not in printed
    assert User.objects.get(username="demo").check_password(password)
    assert ApiKey.objects.get(account__username="demo").prefix in printed
    assert "create_api_key --account demo" in printed
    assert ask(operation="overview") == before


def test_the_glucose_rises_and_the_rest_is_believable(no_demo: None) -> None:
    seed()
    (glucose,) = ask(indicators=["glucose"], operation="trend")["results"]
    assert glucose["trend"]["direction"] == "rising"
    assert glucose["last"]["value"] > 6.5
    assert glucose["count"] == 24
    directions = {
        name: ask(indicators=[name], operation="trend")["results"][0]["trend"]["direction"]
        for name in ("body weight", "systolic blood pressure", "steps", "sodium")
    }
    assert directions == {
        "body weight": "falling",
        "systolic blood pressure": "falling",
        "steps": "stable",
        "sodium": "stable",
    }


def test_the_father_shares_his_data(no_demo: None) -> None:
    seed()
    alice = Subject.objects.get(account__username="demo", user_key="alice")
    members = Person(alice.account_id, "alice").run("list_family_members").data["members"]
    assert members == [{"member": "martin", "display_name": "Martin (father)", "scope": "all"}]
    assert ask(indicators=["空腹血糖"], member="martin")["results"][0]["count"] == 8


@pytest.mark.parametrize("today", SOME_DAYS)
def test_the_records_of_any_day_are_the_same_again_and_never_in_its_future(today: date) -> None:
    assert person(today) == person(today)
    for record in [*person(today), *relative(today)]:
        assert date.fromisoformat(record["time"][:10]) <= today
