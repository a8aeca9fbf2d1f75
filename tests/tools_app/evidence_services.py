"""Stand-ins for Europe PMC and ClinicalTrials.gov on loopback: the shapes are their APIs', the content is made up."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.tools_app.foreign_hosts import PRIVATE, Answer, Asked, host, replies

Json = dict[str, Any]


def article(pmid: str, title: str, **more: Any) -> Json:
    """One result of ``/search`` with ``resultType=core``."""
    return {
        "id": pmid,
        "source": "MED",
        "pmid": pmid,
        "title": f"{title}.",
        "authorString": "Lee A, Ortiz B.",
        "journalInfo": {"yearOfPublication": 2023, "journal": {"title": "Journal of Made-up Medicine"}},
        "pubYear": "2023",
        "abstractText": "<h4>Background</h4>Sleep &amp; glucose.<h4>Results</h4>HbA1c fell by 0.7% in 412 people.",
        "pubTypeList": {"pubType": ["Journal Article"]},
        "isOpenAccess": "N",
    } | more


OPEN = article("36000001", "Sleep and glucose", pmcid="PMC9000001", isOpenAccess="Y")
RETRACTED = article(
    "36000002", "A <i>withdrawn</i> claim", pubTypeList={"pubType": ["Journal Article", "Retracted Publication"]}
)
PREPRINT = article("PPR500001", "An early word", source="PPR", pubTypeList={"pubType": ["Preprint"]})
PREPRINT.pop("pmid")
GUIDELINE = article("36000003", "Care of made-up disease", pubTypeList={"pubType": ["Practice Guideline"]})
FULL_TEXT = b"""<?xml version="1.0"?><!DOCTYPE article [<!ENTITY e "expanded">]>
<article><front><article-meta/></front><body><sec><title>Methods</title><p>We asked <b>412</b> people:
<list><list-item><p>once</p></list-item></list></p>
<table-wrap><table><tr><th>Arm</th><td>206</td></tr></table></table-wrap></sec>
<sec><title>Results</title><p>Their HbA1c fell.</p></sec></body></article>"""
TRIAL: Json = {
    "protocolSection": {
        "identificationModule": {"nctId": "NCT05000001", "briefTitle": "Sleep Coaching for Glucose"},
        "statusModule": {"overallStatus": "RECRUITING", "startDateStruct": {"date": "2024-03", "type": "ACTUAL"}},
        "sponsorCollaboratorsModule": {"leadSponsor": {"name": "Made-up University", "class": "OTHER"}},
        "descriptionModule": {"briefSummary": "Does sleep coaching lower glucose?"},
        "conditionsModule": {"conditions": ["Type 2 Diabetes"]},
        "designModule": {"studyType": "INTERVENTIONAL", "phases": ["NA"], "enrollmentInfo": {"count": 240}},
        "armsInterventionsModule": {"interventions": [{"type": "BEHAVIORAL", "name": "Sleep coaching"}]},
        "outcomesModule": {"primaryOutcomes": [{"measure": "HbA1c", "timeFrame": "6 months"}]},
        "eligibilityModule": {"eligibilityCriteria": "Inclusion: adults", "minimumAge": "18 Years"},
    },
    "hasResults": False,
}


@dataclass
class Services:
    """What the stand-ins hold, and the queries they were sent. ``broken`` answers in the place of one of them."""

    url: str = ""
    articles: list[Json] = field(default_factory=lambda: [OPEN, RETRACTED, PREPRINT])
    guidelines: list[Json] = field(default_factory=lambda: [GUIDELINE])
    trials: list[Json] = field(default_factory=lambda: [TRIAL])
    full_text: bytes | None = FULL_TEXT
    broken: dict[str, Answer] = field(default_factory=dict)
    queries: list[dict[str, str]] = field(default_factory=list)

    @property
    def europe_pmc(self) -> str:
        return f"{self.url}/europepmc/rest"

    @property
    def clinical_trials(self) -> str:
        return f"{self.url}/api/v2/"

    def __call__(self, connection: socket.socket, asked: Asked) -> None:
        parts = urlsplit(asked.line.split()[1])
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.queries.append(query)
        service = "europe_pmc" if parts.path.startswith("/europepmc/rest/") else "clinical_trials"
        answer = self.broken.get(service) or self._answer(parts.path.rpartition("/")[2], query)
        answer(connection, asked)

    def _answer(self, name: str, query: dict[str, str]) -> Answer:
        match name:
            case "search":
                found = self._found(query["query"])[: int(query["pageSize"])]
                return as_json({"hitCount": len(found) + 40, "resultList": {"result": found}})
            case "fullTextXML":
                return replies("404 Not Found") if self.full_text is None else replies("200 OK", self.full_text)
            case "studies":
                return as_json({"totalCount": 7, "studies": self.trials[: int(query["pageSize"])]})
            case _:
                known = [one for one in self.trials if name in json.dumps(one)]
                return as_json(known[0]) if known else replies("404 Not Found")

    def _found(self, terms: str) -> list[Json]:
        """A query by id, or one for guidelines, or one for everything else."""
        if named := re.search(r"(?:PMCID|EXT_ID):(\w+)", terms):
            everything = self.articles + self.guidelines
            return [one for one in everything if named[1] in (one["id"], one.get("pmcid"))]
        return self.guidelines if ") AND (PUB_TYPE:" in terms else self.articles


def as_json(value: Any) -> Answer:
    """Answers with a JSON value."""
    return replies("200 OK", json.dumps(value).encode(), Content_Type="application/json")


@contextmanager
def evidence_services() -> Iterator[Services]:
    """Both services on one port, for as long as the block runs."""
    services = Services()
    with host(PRIVATE, services) as running:
        services.url = f"http://{PRIVATE}:{running.port}"
        yield services
