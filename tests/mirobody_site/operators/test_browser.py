"""The operator's day in a browser, on a live server."""

import re
import secrets
from collections.abc import Iterator

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, Page, expect

from tests.mirobody_site.operators.conftest import Script
from tests.responses_app.api.conftest import create, write_record
from tests.support.browser import running_browser, screenshot, visit
from tests.support.server import Account
from tests.support.upstream import Call, Step

PASSWORD = "a-Long-0ne-indeed"
CHART = (
    '```vis-chart\n{"type": "line", "title": "Weight", '
    '"data": [{"time": "2026-01-02", "value": 70}, {"time": "2026-02-02", "value": 71}]}\n```'
)
SERIOUS = {"serious", "critical"}


@pytest.fixture
def administrator(account: Account) -> str:
    """The name of somebody who may do everything of the roles."""
    user = User.objects.create_user(f"admin-{secrets.token_hex(6)}", password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name="administrator"))
    return user.username


@pytest.fixture
def traced(api: httpx.Client, account: Account, script: Script) -> str:
    """The request id of a turn of Eve's that looked her weight up and drew it."""
    write_record(api, "weight", "71 kg", user=f"eve-{account.id}", source="scale")
    look = Step(reasoning=["Look it up."], calls=[Call("query_health_data", {})])
    trace = f"trace-{account.id}"
    answer = Step(text=[f"Your weight is **71 kg**.\n\n{CHART}"])
    create(api, headers={"X-Request-Id": trace}, input=f"My weight? {script(look, answer)}", user=f"eve-{account.id}")
    return trace


@pytest.fixture
def browser(traced: str, administrator: str) -> Iterator[Browser]:
    """A browser. Made after what uses the database: Playwright keeps an event loop running in its thread."""
    with running_browser() as running:
        yield running


def log_in(page: Page, name: str) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("figure.vis-chart canvas").first).to_be_visible()


def to_the_timeline(page: Page, trace: str) -> None:
    page.goto("/admin/responses_app/response/")
    page.locator("#searchbar").fill(trace)
    page.keyboard.press("Enter")
    page.locator("#result_list a", has_text="resp_").click()
    page.get_by_role("link", name="Timeline").click()


def test_an_operators_day(browser: Browser, server: str, account: Account, administrator: str, traced: str) -> None:
    with visit(browser, server) as page:
        log_in(page, administrator)
        screenshot(page, "admin-first-page")
        to_the_timeline(page, traced)
        expect(page.locator(".answer strong")).to_have_text("71 kg")
        expect(page.locator("figure.vis-chart canvas")).to_be_visible()
        page.locator("details.step summary").click()
        expect(page.locator("details.step table")).to_contain_text("scale")
        screenshot(page, "admin-timeline")

        page.goto("/admin/tenancy/apikey/add/")
        page.locator("[name=account]").fill(f"new-{administrator}")
        page.get_by_role("button", name="Make the key").click()
        secret = re.search(r"mb_live_[\w-]{43}", page.content())
        assert secret is not None
        with httpx.Client(base_url=server, headers={"Authorization": f"Bearer {secret[0]}"}, trust_env=False) as made:
            assert made.get("/v1/data").status_code == 200

        page.goto("/admin/tenancy/subject/")
        page.locator("#searchbar").fill(f"eve-{account.id}")
        page.keyboard.press("Enter")
        page.locator("#result_list a").first.click()
        page.get_by_role("link", name="Erase").click()
        expect(page.get_by_text("1 records and 1 conversations will be erased")).to_be_visible()
        page.get_by_label(f"Type eve-{account.id} to confirm").fill(f"eve-{account.id}")
        screenshot(page, "admin-erasure")
        page.get_by_role("button", name="Erase for good").click()
        expect(page.get_by_text("subject_hash")).to_be_visible()

        page.goto("/admin/operators/auditentry/")
        expect(page.locator("#result_list")).to_contain_text("Erased")
        expect(page.locator("#result_list")).to_contain_text("Key Created")
        screenshot(page, "admin-audit")


def test_on_a_phone_by_keyboard_and_for_everybody(
    browser: Browser, server: str, administrator: str, traced: str
) -> None:
    with visit(browser, server, width=390) as page:
        log_in(page, administrator)
        to_the_timeline(page, traced)
        step = page.locator("details.step")
        step.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(step.locator("pre").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        screenshot(page, "admin-timeline-390")
        found = Axe().run(page, {"include": [["#content"]]}).response["violations"]
        assert [fault["id"] for fault in found if fault["impact"] in SERIOUS] == []
