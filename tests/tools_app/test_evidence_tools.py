"""Searching and reading medical evidence, against stand-ins for the public services."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import Settings

from tests.tools_app.evidence_services import (
    FULL_TEXT,
    OPEN,
    TRIAL,
    Json,
    Services,
    article,
    as_json,
    evidence_services,
)
from tests.tools_app.foreign_hosts import PRIVATE, drips, host, redirects, replies
from tests.tools_app.odd_json import places, with_odd
from tools_app.contract import ToolContext, ToolFailed, ToolRefusal, ToolResult, TryDifferently
from tools_app.egress import Limits
from tools_app.evidence import europe_pmc, service
from tools_app.registry import TOOLS
from tools_app.runner import run_tool
from tools_app.tools.text_pages import PAGE_CHARACTERS

REFS = ["lit:PMC9000001", "lit:36000002", "lit:PPR500001", "guide:36000003", "trial:NCT05000001"]


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    with evidence_services() as running:
        settings.EUROPE_PMC_URL = running.europe_pmc
        settings.CLINICAL_TRIALS_URL = running.clinical_trials
        yield running


def run(tool: str, **arguments: Any) -> ToolResult:
    return run_tool(TOOLS[tool], ToolContext(1, None, datetime.now(UTC)), arguments)


def search(**arguments: Any) -> dict[str, Any]:
    return run("search_medical_evidence", **arguments).data


def test_each_result_says_its_kind_and_where_it_is_from(services: Services) -> None:
    found = search(query="sleep glucose")
    assert [one["ref"] for one in found["results"]] == REFS
    assert [one["kind"] for one in found["results"]] == ["literature"] * 3 + ["guideline", "trial"]
    assert [one["status"] for one in found["results"]] == [
        "published",
        "retracted",
        "preprint",
        "published",
        "recruiting",
    ]
    assert found["results"][0] == {
        "ref": "lit:PMC9000001",
        "kind": "literature",
        "title": "Sleep and glucose",
        "year": 2023,
        "journal": "Journal of Made-up Medicine",
        "status": "published",
        "authors": "Lee A, Ortiz B.",
        "excerpt": "Background\n\nSleep & glucose.\n\nResults\n\nHbA1c fell by 0.7% in 412 people.",
    }
    assert found["results"][1]["title"] == "A withdrawn claim"
    trial = found["results"][-1]
    assert (trial["year"], trial["sponsor"]) == (2024, "Made-up University")
    assert trial["excerpt"].startswith("Does sleep coaching lower glucose?")
    assert (found["totals"], found["not_searched"]) == ({"literature": 43, "guideline": 41, "trial": 7}, [])


def test_only_the_kinds_that_are_asked_for_are_searched(services: Services) -> None:
    assert [one["kind"] for one in search(query="sleep", kinds=["trial"])["results"]] == ["trial"]
    assert [set(query) & {"query", "query.term"} for query in services.queries] == [{"query.term"}]


def test_limits_and_years_reach_the_services(services: Services) -> None:
    assert len(search(query="sleep", limit=1, since_year=2020)["results"]) == 3
    assert sum("2020-01-01" in str(query) for query in services.queries) == 3


@pytest.mark.parametrize(
    "query", ['sleep" OR (SRC:*', "AREA[x]RANGE[1,2] sleep", "sleep NOT AND OR", "sleep\x00\r\n&x=1#", "(((sleep)))"]
)
def test_a_query_is_words_and_no_syntax(services: Services, query: str) -> None:
    search(query=query)
    for sent in services.queries:
        words = sent.get("query.term") or sent["query"].split(")")[0]
        assert not set(words.strip("(")) & set('":*[]()&#\r\n\x00')
        assert not {"AND", "OR", "NOT", "AREA", "RANGE"} & set(words.split())
        assert "sleep" in words


def test_a_query_without_words_is_refused(services: Services) -> None:
    with pytest.raises(TryDifferently):
        search(query=' ":* ')
    assert services.queries == []


def test_nothing_found_is_no_evidence(services: Services) -> None:
    services.articles = services.guidelines = services.trials = []
    result = run("search_medical_evidence", query="sleep")
    assert (result.empty, result.data["results"]) == (True, [])


BROKEN = {
    "down": replies("503 Service Unavailable"),
    "too many": replies("429 Too Many Requests"),
    "html": replies("200 OK", b"<html>Sorry</html>"),
    "list": as_json([]),
    "other": as_json({"resultList": 5, "studies": "none"}),
    "gone": replies("404 Not Found"),
    "deep": replies("200 OK", b"[" * 100_000),
    "nothing": lambda connection, asked: None,
}


@pytest.mark.parametrize("answer", BROKEN)
def test_one_service_that_fails_leaves_the_other(services: Services, answer: str) -> None:
    services.broken = {"europe_pmc": BROKEN[answer]}
    found = search(query="sleep")
    assert ([one["kind"] for one in found["results"]], found["not_searched"]) == (
        ["trial"],
        ["literature", "guideline"],
    )
    services.broken |= {"clinical_trials": BROKEN[answer]}
    with pytest.raises(ToolFailed):
        search(query="sleep")


def test_a_service_that_drips_is_given_up(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_LIMITS", Limits(seconds=0.5))
    dripping = drips(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    services.broken = {"europe_pmc": dripping, "clinical_trials": dripping}
    with pytest.raises(ToolFailed):
        search(query="sleep")


def test_an_answer_that_is_too_large_is_given_up(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_BYTES", 1000)
    services.broken = {"europe_pmc": replies("200 OK", b" " * 100_000)}
    assert search(query="sleep")["not_searched"] == ["literature", "guideline"]


def test_a_service_cannot_lead_elsewhere(services: Services) -> None:
    with host(PRIVATE, replies("200 OK", b"{}")) as inside:
        services.broken = {"europe_pmc": redirects(f"http://{PRIVATE}:{inside.port}/")}
        assert search(query="sleep")["not_searched"] == ["literature", "guideline"]
        assert inside.asked == []


def test_an_open_article_is_read_whole(services: Services) -> None:
    data = run("read_source", ref="lit:PMC9000001").data
    assert (data["full_text"], data["next_offset"]) == (True, None)
    assert data["text"].endswith("Methods\nWe asked 412 people: once\nArm | 206\nResults\nTheir HbA1c fell.")
    assert data["text"].startswith("Background")


def test_what_is_not_open_is_read_as_its_abstract(services: Services) -> None:
    for ref in ("lit:36000002", "guide:36000003", "lit:PPR500001"):
        data = run("read_source", ref=ref).data
        assert (data["ref"], data["full_text"]) == (ref, False)
        assert "HbA1c fell by 0.7%" in data["text"]
    services.full_text = None
    assert run("read_source", ref="lit:PMC9000001").data["full_text"] is False


def test_a_trial_is_read_whole(services: Services) -> None:
    text = run("read_source", ref="trial:NCT05000001").data["text"]
    for said in ("Type 2 Diabetes", "BEHAVIORAL: Sleep coaching", "Enrolment: 240", "HbA1c: 6 months", "adults"):
        assert said in text


def test_a_long_text_comes_in_pages(services: Services) -> None:
    long = "".join(f"<p>Sentence {number}.</p>" for number in range(2000))
    services.full_text = f"<article><body>{long}</body></article>".encode()
    text, offset = "", 0
    while offset is not None:
        page = run("read_source", ref="lit:PMC9000001", offset=offset).data
        assert 0 < len(page["text"]) <= PAGE_CHARACTERS
        text, offset = text + page["text"], page["next_offset"]
    assert len(text) == page["characters"]
    assert text.count("Sentence") == 2000
    assert run("read_source", ref="lit:PMC9000001", offset=10**7).empty


@pytest.mark.parametrize(
    "ref", ["", "PMC1", "lit:", "lit:PMC1 OR 1", "trial:1", "trial:NCT1", "guide:NCT05000001", "lit:../x", "x" * 41]
)
def test_what_is_no_reference_is_refused(services: Services, ref: str) -> None:
    with pytest.raises(TryDifferently):
        run("read_source", ref=ref)
    assert services.queries == []


@pytest.mark.parametrize("ref", ["lit:PMC1", "lit:1", "guide:1", "trial:NCT00000000"])
def test_an_unknown_reference_is_told(services: Services, ref: str) -> None:
    with pytest.raises(TryDifferently):
        run("read_source", ref=ref)


@pytest.mark.parametrize(
    "xml",
    [
        b"<article",
        b"",
        b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><article><body><p>&b;</p></body>',
        b"<a>" * 100_000,
    ],
)
def test_a_full_text_that_is_no_xml_is_told(services: Services, xml: bytes) -> None:
    services.full_text = xml
    with pytest.raises(ToolFailed):
        run("read_source", ref="lit:PMC9000001")


def test_a_full_text_cannot_reach_files_or_grow(services: Services) -> None:
    entities = b"".join(b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 9))
    services.full_text = (
        b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY e0 "grown">'
        + entities
        + b"]><article><body><p>Fine &f; &e8;</p></body></article>"
    )
    try:
        text = run("read_source", ref="lit:PMC9000001").data["text"]
    except ToolFailed:
        return
    assert "root:" not in text
    assert "grown" not in text


def test_the_older_tools_find_the_same(services: Services) -> None:
    literature = run("search_medical_literature", query="sleep").data
    assert ([one["ref"] for one in literature["results"]], literature["total"]) == (REFS[:3], 43)
    trials = run("get_clinical_trials", query="sleep", status="RECRUITING").data
    assert [one["ref"] for one in trials["results"]] == [REFS[-1]]
    assert services.queries[-1]["filter.overallStatus"] == "RECRUITING"
    whole = run("get_article_by_pmcid", pmcid="PMC9000001").data
    assert whole == run("read_source", ref="lit:PMC9000001").data
    for wrong in ("9000001", "PMC", "PMC1 OR 1"):
        with pytest.raises(TryDifferently):
            run("get_article_by_pmcid", pmcid=wrong)


def test_missing_fields_break_nothing(services: Services) -> None:
    services.articles = [
        {"id": "36000009", "source": "MED", "title": "Bare"},
        {"title": "Nameless"},
        OPEN | {"journalInfo": None, "pubTypeList": None},
    ]
    services.trials = [{"protocolSection": {}}]
    found = search(query="sleep")
    assert [one["ref"] for one in found["results"]] == ["lit:36000009", "lit:PMC9000001", "guide:36000003"]


ODD = [
    None, True, 5, -1.5, 10**30, "²", "9" * 5000, "\ud800", "../../x", [], {}, [None], [[]], [{"name": 1}],
    {"journal": []},
]  # fmt: skip


ANSWERS: dict[str, tuple[str, Json, dict[str, Any]]] = {
    "articles": (
        "search_medical_literature", {"hitCount": 3, "resultList": {"result": [OPEN]}}, {"query": "sleep"},
    ),
    "one article": ("read_source", {"resultList": {"result": [OPEN]}}, {"ref": "lit:PMC9000001"}),
    "trials": ("get_clinical_trials", {"totalCount": 7, "studies": [TRIAL]}, {"query": "sleep"}),
    "one trial": ("read_source", TRIAL, {"ref": "trial:NCT05000001"}),
}  # fmt: skip


@pytest.mark.parametrize("asked", ANSWERS)
def test_an_answer_may_hold_anything_anywhere(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tool, answer, arguments = ANSWERS[asked]
    paths: set[str] = set()
    for place in places(answer):
        for odd in ODD:
            body = json.dumps(with_odd(answer, place, odd)).encode()
            monkeypatch.setattr(service, "get", lambda name, base, path, query, body=body: paths.add(path) or body)
            monkeypatch.setattr(europe_pmc, "get", lambda name, base, path, query: paths.add(path) or FULL_TEXT)
            try:
                told = json.dumps(run(tool, **arguments).data, ensure_ascii=False).encode()
            except ToolRefusal:
                continue
            assert len(told) < 20_000
    assert not any(".." in path for path in paths)


def test_long_names_are_cut(services: Services) -> None:
    services.articles = [article("36000011", "x" * 100_000, journalInfo={"journal": {"title": "y" * 100_000}})]
    (found,) = search(query="sleep", kinds=["literature"])["results"]
    assert len(json.dumps(found)) < 2000


def test_a_long_abstract_is_cut_to_an_excerpt(services: Services) -> None:
    services.articles = [article("36000010", "Long", abstractText="word " * 2000)]
    (found,) = search(query="sleep", kinds=["literature"])["results"]
    assert len(found["excerpt"]) <= 600
