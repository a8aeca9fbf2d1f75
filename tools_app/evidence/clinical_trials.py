"""Registered trials of ClinicalTrials.gov: searching, and reading one.

Source: ClinicalTrials.gov, Data API version 2.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

from tools_app.evidence.service import get_json, unreadable
from tools_app.evidence.sources import Kind, Source, citable, search_words

NAME = "ClinicalTrials.gov"

Json = Mapping[str, Any]


def search(query: str, limit: int, since_year: int | None, status: str | None = None) -> tuple[list[Source], int]:
    """The most relevant trials, and how many there are in all. ``since_year``: begun since; ``status`` as in the API.

    Raises ToolFailed and TryDifferently.
    """
    terms: dict[str, str | int] = {
        "query.term": search_words(query),
        "pageSize": limit,
        "countTotal": "true",
        "format": "json",
    }
    if since_year is not None:
        terms["filter.advanced"] = f"AREA[StartDate]RANGE[{since_year}-01-01,MAX]"
    if status is not None:
        terms["filter.overallStatus"] = status
    answer = get_json(NAME, settings.CLINICAL_TRIALS_URL, "studies", terms)
    studies = answer.get("studies") if answer else None
    if answer is None or not isinstance(studies, list):
        raise unreadable(NAME)
    return citable(_source(study) for study in studies[:limit]), int(answer.get("totalCount", len(studies)))


def trial(identifier: str) -> Source | None:
    """A trial by its NCT number with its whole summary; ``None`` when there is none. Raises ToolFailed."""
    study = get_json(NAME, settings.CLINICAL_TRIALS_URL, f"studies/{identifier}", {"format": "json"})
    return None if study is None else _source(study)


def _source(study: Json) -> Source:
    protocol = study.get("protocolSection") if isinstance(study, dict) else None
    if not isinstance(protocol, dict):
        raise unreadable(NAME)
    naming, status = _module(protocol, "identification"), _module(protocol, "status")
    sponsor = _module(protocol, "sponsorCollaborators").get("leadSponsor") or {}
    year = str((status.get("startDateStruct") or {}).get("date") or "")[:4]
    return Source(
        kind=Kind.TRIAL,
        identifier=str(naming.get("nctId") or ""),
        title=str(naming.get("briefTitle") or naming.get("officialTitle") or ""),
        year=int(year) if year.isdigit() else None,
        issued_by=sponsor.get("name"),
        status=str(status.get("overallStatus") or "unknown").lower(),
        text="\n\n".join(part for part in _parts(protocol, status, study) if part),
        full_text=True,
    )


def _module(protocol: Json, name: str) -> Json:
    module = protocol.get(f"{name}Module")
    return module if isinstance(module, dict) else {}


def _parts(protocol: Json, status: Json, study: Json) -> Iterator[str]:
    described, design = _module(protocol, "description"), _module(protocol, "design")
    yield str(described.get("briefSummary") or "").strip()
    yield _line("Conditions", _module(protocol, "conditions").get("conditions"))
    yield _line("Interventions", _named(_module(protocol, "armsInterventions").get("interventions"), "type", "name"))
    yield _line("Study type", [str(design.get("studyType") or "").lower()])
    yield _line("Phases", [str(phase).lower() for phase in design.get("phases") or []])
    yield _line("Enrolment", [str((design.get("enrollmentInfo") or {}).get("count") or "")])
    for label, name in (("Start", "startDateStruct"), ("Completion", "completionDateStruct")):
        yield _line(label, [str((status.get(name) or {}).get("date") or "")])
    yield _line("Why stopped", [str(status.get("whyStopped") or "")])
    yield _line(
        "Primary outcomes", _named(_module(protocol, "outcomes").get("primaryOutcomes"), "measure", "timeFrame")
    )
    yield _line("Results posted", ["yes" if study.get("hasResults") else "no"])
    eligibility = _module(protocol, "eligibility")
    yield _line("Ages", [str(eligibility[name]) for name in ("minimumAge", "maximumAge") if eligibility.get(name)])
    yield str(eligibility.get("eligibilityCriteria") or "").strip()
    yield str(described.get("detailedDescription") or "").strip()


def _named(values: Any, *names: str) -> list[str]:
    entries = [one for one in values or [] if isinstance(one, dict)]
    return [": ".join(str(entry[name]) for name in names if entry.get(name)) for entry in entries]


def _line(label: str, values: Any) -> str:
    text = "; ".join(str(value) for value in values or [] if value)
    return f"{label}: {text}" if text else ""
