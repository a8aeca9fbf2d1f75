"""The demo account over HTTP, as the questions need it. The questions and what is right stand in their own files."""

import io
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import httpx
import pytest
from django.core.management import call_command

from mirobody_site.tenancy.services import create_api_key

PERSON = "alice"
PAGE = 200


@pytest.fixture(scope="session")
def demo(server: str) -> Iterator[httpx.Client]:
    """A client of the running server with a key of the demo account, whose data is seeded."""
    call_command("seed_demo", stdout=io.StringIO())
    _, secret = create_api_key("demo")
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=server, headers=headers, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def today() -> date:
    """The day the questions are asked on."""
    return datetime.now(UTC).date()


@pytest.fixture(scope="session")
def rows(demo: httpx.Client) -> list[dict[str, Any]]:
    """Every row of the person the questions are about, as GET /v1/data gives them."""
    found: list[dict[str, Any]] = []
    more = True
    while more:
        page = demo.get("/v1/data", params={"user": PERSON, "limit": PAGE, "offset": len(found)}).raise_for_status()
        found += page.json()["data"]
        more = page.json()["has_more"]
    return found


@pytest.fixture(scope="session")
def ask(demo: httpx.Client) -> Any:
    """Asks a question as the person and returns the answer's text; the turn must have completed."""

    def ask_question(question: str) -> str:
        body = {"model": "mirobody-flash", "user": PERSON, "input": question}
        response = demo.post("/v1/responses", json=body)
        assert response.status_code == 200, response.text
        assert response.json()["status"] == "completed", response.json()["error"]
        return str(response.json()["output_text"])

    return ask_question
