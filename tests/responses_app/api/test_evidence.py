"""Medical evidence and the writing tool as a caller sees them: citations, failures, what is kept."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.conftest import Ask, Script, create
from tests.support.upstream import Call, Step, Upstream
from tests.tools_app.evidence_services import Services, evidence_services
from tests.tools_app.foreign_hosts import PRIVATE, host, replies

SEARCH = Call("search_medical_evidence", {"query": "sleep glucose"})
READ = Call("read_source", {"ref": "lit:PMC9000001"})


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    with evidence_services() as running:
        settings.EUROPE_PMC_URL = running.europe_pmc
        settings.CLINICAL_TRIALS_URL = running.clinical_trials
        yield running


def test_what_was_found_and_read_is_cited_and_grounds_the_answer(ask: Ask, script: Script, services: Services) -> None:
    text = "HbA1c fell by 0.7% in 412 people, not by 9% (lit:PMC9000001)."
    response = ask(input=script(Step(calls=[SEARCH]), Step(calls=[READ]), Step(text=[text])))
    assert [one["tool"] for one in response["citations"]] == ["search_medical_evidence", "read_source"]
    assert response["citations"][0]["data"]["results"][0]["ref"] == "lit:PMC9000001"
    assert response["health_records"] == []
    figures = {one["text"]: one["supported_by"] for one in response["grounding"]["figures"]}
    assert list(figures) == ["0.7", "412", "9"]
    assert "lit:PMC9000001" in figures["0.7"][0]["records"]
    assert figures["9"] == []


def test_a_service_that_is_down_fails_the_tool_and_not_the_turn(
    ask: Ask, script: Script, services: Services, upstream: Upstream
) -> None:
    services.broken = dict.fromkeys(("europe_pmc", "clinical_trials"), replies("503 Service Unavailable"))
    mark = script(Step(calls=[SEARCH]), Step(text=["I could not look it up."]))
    response = ask(input=mark)
    (step,) = response["tool_steps"]
    assert (response["status"], step["status"], response["citations"]) == ("completed", "failed", [])
    assert upstream.requests(mark)[1].tool_outputs == ['{"error":"Europe PMC is not available now."}']


def test_the_tools_of_the_older_edition_are_off(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Hello."]))
    ask(input=mark)
    offered = set(upstream.requests(mark)[0].tool_names)
    assert {"search_medical_evidence", "read_source", "query_health_data"} <= offered
    older = {"search_medical_literature", "get_clinical_trials", "get_article_by_pmcid", "fetch_url"}
    assert not offered & (older | {"write_fhir_observation"})


def test_a_fetched_page_cannot_be_this_machine(ask: Ask, script: Script, settings: Settings) -> None:
    settings.BUILTIN_TOOLS = ["fetch_url"]
    with host(PRIVATE, replies("200 OK", b"secret", Content_Type="text/plain")) as here:
        fetch = Call("fetch_url", {"url": f"http://{PRIVATE}:{here.port}/"})
        response = ask(input=script(Step(calls=[fetch]), Step(text=["No."])))
        assert response["tool_steps"][0]["status"] == "failed"
        assert "non-public address" in response["tool_steps"][0]["result"]["error"]
        assert here.asked == []


WEIGHT = Call("write_fhir_observation", {"indicator": "body weight", "value": 70.5, "unit": "kg", "time": "2026-03-01"})


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("store", [True, False])
def test_a_reading_is_kept_for_the_subject_alone(
    api: httpx.Client, script: Script, settings: Settings, known: bool, store: bool
) -> None:
    settings.BUILTIN_TOOLS = ["write_fhir_observation"]
    if known:
        create(api, input=script(Step(text=["Hello."])), user="bob")
    response = create(api, input=script(Step(calls=[WEIGHT, WEIGHT]), Step(text=["Done."])), user="bob", store=store)
    results = [step["result"] for step in response["tool_steps"]]
    assert sorted(result["ingested"] for result in results) == [0, 1]
    (row,) = readings(api, "bob")
    assert (row["canonical_name"], row["parsed_value"], row["parsed_unit"]) == ("Body weight", 70.5, "kg")
    assert row["comment"] == "write_fhir_observation"
    assert readings(api, "") == readings(api, "ann") == []


@pytest.mark.parametrize(
    "wrong",
    [{"time": "soon"}, {"value": ""}, {"indicator": " "}, {"user": "ann"}, {"retention": "1h"}, {"value": None}],
)
def test_a_reading_that_makes_no_sense_is_not_kept(
    api: httpx.Client, script: Script, settings: Settings, wrong: dict[str, Any]
) -> None:
    settings.BUILTIN_TOOLS = ["write_fhir_observation"]
    call = Call(WEIGHT.name, WEIGHT.arguments | wrong)
    response = create(api, input=script(Step(calls=[call]), Step(text=["No."])), user="bob")
    assert response["tool_steps"][0]["status"] == "failed"
    assert readings(api, "bob") == readings(api, "ann") == []


def readings(api: httpx.Client, user: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = api.get("/v1/data", params={"user": user}).json()["data"]
    return data
