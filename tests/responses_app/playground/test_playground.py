"""The playground in a browser: what a developer does before writing code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.responses_app.playground.conftest import Developer
from tests.support.browser import screenshot, visit

HANDOFF = "Check my recent glucose and book a follow-up if it is trending up."


def ask(page: Page, question: str) -> None:
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Ask").click()


def test_a_developer_asks_watches_and_follows_a_number_to_its_record(
    browser: Browser, server: str, developer: Developer
) -> None:
    with visit(browser, server) as page:
        developer.log_in(page)
        expect(page.get_by_label("Newest records").get_by_role("row").nth(5)).to_be_visible()
        ask(page, "How has my fasting glucose developed?")
        turn = page.locator("article.turn")
        expect(turn.locator(".steps")).to_contain_text("query_health_data")
        expect(turn.locator(".steps")).to_contain_text("✓")
        expect(turn.locator("figure.vis-chart canvas")).to_be_visible()
        number = turn.locator("a.figure").first
        number.click()
        expect(page.get_by_label("Evidence").locator(".named").first).to_be_visible()
        expect(page.locator("#grounding")).to_contain_text("stand in what tools gave")
        screenshot(page, "playground-answer")


def test_a_handoff_is_filled_in_and_resumed(browser: Browser, server: str, developer: Developer) -> None:
    with visit(browser, server) as page:
        developer.log_in(page)
        page.get_by_text("Instructions and tools of your own").click()
        page.get_by_role("button", name="Put an example in").click()
        page.get_by_role("button", name="Ask").click()
        page.get_by_label("Output of book_appointment").fill("Booked: Mon 09:30, Dr. Chen")
        screenshot(page, "playground-handoff")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("article.turn .answer").last).to_contain_text("Booked: Mon 09:30, Dr. Chen")


def test_a_handoff_of_a_response_that_is_not_stored_is_resumed_by_its_transcript(
    browser: Browser, server: str, developer: Developer
) -> None:
    with visit(browser, server) as page:
        developer.log_in(page)
        page.get_by_label("store").uncheck()
        page.get_by_text("Instructions and tools of your own").click()
        page.get_by_role("button", name="Put an example in").click()
        page.get_by_role("button", name="Ask").click()
        page.get_by_label("Output of book_appointment").fill("Booked: Mon 09:30, Dr. Chen")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("article.turn .answer").last).to_contain_text("Booked: Mon 09:30, Dr. Chen")


def test_records_are_pasted_for_a_new_subject_and_asked_about(
    browser: Browser, server: str, developer: Developer
) -> None:
    with visit(browser, server) as page:
        developer.log_in(page)
        page.get_by_label("Name (user)").fill("bob")
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_label("Newest records")).to_have_text("No records.")
        page.get_by_label("Records to write").fill(
            "indicator\tvalue\tunit\tdate\nfasting glucose\t5,4\tmmol/L\t2026-11-02\n空腹血糖\t97\tmg/dL\t2026-11-20"
        )
        page.get_by_role("button", name="Write").click()
        expect(page.locator("#written")).to_have_text("2 written, 2 with a code, 0 known before.")
        ask(page, "What is my latest fasting glucose?")
        expect(page.locator("article.turn .answer")).to_contain_text("97")


def test_a_refusal_is_said_and_names_the_field(browser: Browser, server: str, developer: Developer) -> None:
    # Chromium itself notes every refused request on its console.
    with visit(browser, server, expected="400 (Bad Request)") as page:
        developer.log_in(page)
        page.get_by_label("Records to write").fill("pulse, -3, /min, 2026-11-02")
        page.get_by_role("button", name="Write").click()
        expect(page.get_by_role("alert")).to_contain_text("records[0].value")


def test_what_a_model_or_a_name_holds_stays_text(browser: Browser, server: str, developer: Developer) -> None:
    hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
    with visit(browser, server) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        developer.log_in(page)
        page.get_by_label("Name (user)").fill(hostile)
        page.get_by_role("button", name="Show").click()
        page.get_by_label("Records to write").fill(f"{hostile}, 5.4, mmol/L, 2026-11-02")
        page.get_by_role("button", name="Write").click()
        expect(page.get_by_label("Newest records")).to_contain_text(hostile)
        ask(page, f"{hostile} What is my latest {hostile}?")
        expect(page.locator("article.turn [role=status]")).to_contain_text("completed")
        page.reload()
        expect(page.get_by_label("Name (user)")).to_have_value(hostile)
        assert page.locator("img").count() == 0


def test_the_same_call_is_shown_as_code_that_runs(
    browser: Browser, server: str, developer: Developer, tmp_path: Path
) -> None:
    with visit(browser, server) as page:
        developer.log_in(page)
        ask(page, "What's my latest weight?")
        expect(page.locator("article.turn [role=status]")).to_contain_text("completed")
        environment = {"PATH": os.environ["PATH"], "MIROBODY_API_KEY": developer.account.key}
        curl = page.locator("#snippet").inner_text()
        ran = subprocess.run(["sh", "-c", curl], env=environment, capture_output=True, text=True, check=True)
        assert "event: response.completed" in ran.stdout
        page.get_by_role("button", name="Python").click()
        script = tmp_path / "snippet.py"
        script.write_text(page.locator("#snippet").inner_text())
        ran = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        assert "response.completed" in ran.stdout
        page.get_by_role("button", name="JavaScript").click()
        expect(page.locator("#snippet")).to_contain_text("client.responses.create(")


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_the_screen_and_hinders_nobody(browser: Browser, server: str, developer: Developer, width: int) -> None:
    with visit(browser, server, width=width) as page:
        developer.log_in(page)
        ask(page, "How has my fasting glucose developed?")
        expect(page.locator("article.turn figure canvas")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        serious = [
            (each["id"], each["nodes"][0]["html"])
            for each in Axe().run(page).response["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious
        screenshot(page, f"playground-{width}")


def test_it_is_used_by_keyboard_alone(browser: Browser, server: str, developer: Developer) -> None:
    with visit(browser, server) as page:
        page.goto("/playground")
        page.keyboard.type(developer.name)
        page.keyboard.press("Tab")
        page.keyboard.type(developer.password)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Conversation").wait_for()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.keyboard.press("Control+A")
        page.keyboard.type("What is my latest weight?")
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Ask":
                break
        page.keyboard.press("Enter")
        expect(page.locator("article.turn [role=status]")).to_contain_text("completed")
