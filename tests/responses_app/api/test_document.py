"""The OpenAPI document (wire contract, section 1): served without a key, whole, and the one that is committed."""

import json
import re
from typing import Any

import httpx
import pytest
from django.urls import get_resolver

from tests.support.process import ROOT

Json = dict[str, Any]

UNDESCRIBED = {"/v1/openapi.json", "/v1/docs"}
"""The document does not describe itself."""


@pytest.fixture
def document(anonymous: httpx.Client) -> Json:
    answer = anonymous.get("/v1/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    told: Json = answer.json()
    return told


def routes(patterns: Any, before: str = "") -> list[str]:
    """The templates of all paths, as the document writes them."""
    found: list[str] = []
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            found += routes(pattern.url_patterns, path)
        else:
            named = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", path)
            found.append("/" + named.replace("^", "").removesuffix("$").removesuffix("/?").replace("\\", ""))
    return found


def operations(document: Json) -> list[tuple[str, str, Json]]:
    return [(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]


def test_the_committed_document_is_the_one_that_is_served(document: Json) -> None:
    committed = json.loads((ROOT / "docs" / "openapi.json").read_text())
    assert committed == document, "run: make openapi"


def test_it_tells_of_every_path(document: Json) -> None:
    served = {path for path in routes(get_resolver().url_patterns) if path.startswith("/v1/")}
    assert set(document["paths"]) == served - UNDESCRIBED


def test_every_operation_tells_its_errors_and_its_headers(document: Json) -> None:
    envelope = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorEnvelope"}}}
    assert all(one["content"] == envelope for one in document["components"]["responses"].values())
    for path, method, one in operations(document):
        statuses = set(one["responses"])
        assert {"200", "400", "500"} <= statuses, (path, method)
        assert "X-Request-Id" in one["responses"]["200"]["headers"]
        assert ("401" in statuses) == ("security" in one) == ("429" in statuses)
        assert ("413" in statuses) == ("requestBody" in one)
        assert all("$ref" in answer for status, answer in one["responses"].items() if status != "200")
    assert document["components"]["securitySchemes"]["ApiKey"]["scheme"] == "bearer"


def test_what_is_done_once_under_a_key_says_so(document: Json) -> None:
    for path, method, one in operations(document):
        named = {parameter["name"] for parameter in one.get("parameters", [])}
        done_once = method == "post" and path != "/v1/responses/input_tokens"
        assert ("Idempotency-Key" in named) == done_once, (path, method)
        assert "409" in one["responses"] or not done_once


def test_a_turn_is_told_as_json_and_as_a_stream(document: Json) -> None:
    answers = document["paths"]["/v1/responses"]["post"]["responses"]["200"]["content"]
    assert {kind: answer["schema"]["$ref"].rsplit("/", 1)[1] for kind, answer in answers.items()} == {
        "application/json": "Response",
        "text/event-stream": "ResponseStream",
    }
    extensions = {"tool_steps", "health_records", "citations", "grounding", "session_id"}
    assert extensions <= set(document["components"]["schemas"]["Response"]["required"])


def test_unions_say_what_tells_their_members_apart(document: Json) -> None:
    schemas = document["components"]["schemas"]
    listed = schemas["CreateResponse"]["properties"]["input"]["oneOf"][1]["items"]
    for union in (listed, schemas["StreamEvent"]):
        assert union["discriminator"]["propertyName"] == "type"
        assert set(union["discriminator"]["mapping"].values()) == {
            member["$ref"] for member in union.get("oneOf", union.get("anyOf"))
        }


def test_what_an_operation_gives_leads_on(document: Json) -> None:
    told = {one["operationId"]: one for _, _, one in operations(document)}
    linked = {
        name: one["responses"]["200"]["links"] for name, one in told.items() if "links" in one["responses"]["200"]
    }
    assert set(linked["createResponse"]) == {"retrieveResponse", "deleteResponse", "cancelResponse", "listInputItems"}
    for links in linked.values():
        for link in links.values():
            named = {f"{one['in']}.{one['name']}" for one in told[link["operationId"]]["parameters"]}
            assert set(link["parameters"]) <= named


def test_the_page_loads_nothing_of_other_hosts(anonymous: httpx.Client) -> None:
    page = anonymous.get("/v1/docs")
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (200, "text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    linked = re.findall(r"(?:src|href|spec-url)=\"([^\"]+)\"", page.text)
    assert "/v1/openapi.json" in linked
    assert all(link.startswith("/") and not link.startswith("//") for link in linked)
    assert all(anonymous.get(link).status_code == 200 for link in linked)
