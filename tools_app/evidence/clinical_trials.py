"""Registered trials of ClinicalTrials.gov: searching, and reading one.

Source: ClinicalTrials.gov, Data API version 2.
"""

from collections.abc import Iterator, Sequence

from django.conf import settings

from tools_app.evidence.answers import Json, count_in, object_in, objects_in, text_in, texts_in, year_of
from tools_app.evidence.service import get_json, unreadable
from tools_app.evidence.sources import Kind, Source, citable, search_words

NAME = "ClinicalTrials.gov"


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
    return citable(_source(study) for study in studies[:limit]), count_in(answer, "totalCount", len(studies))


def trial(identifier: str) -> Source | None:
    """A trial by its NCT number with its whole summary; ``None`` when there is none. Raises ToolFailed."""
    study = get_json(NAME, settings.CLINICAL_TRIALS_URL, f"studies/{identifier}", {"format": "json"})
    return None if study is None else _source(study)


def _source(study: Json) -> Source:
    protocol = study.get("protocolSection") if isinstance(study, dict) else None
    if not isinstance(protocol, dict):
        raise unreadable(NAME)
    naming, status = _module(protocol, "identification"), _module(protocol, "status")
    sponsor = object_in(_module(protocol, "sponsorCollaborators"), "leadSponsor")
    return Source(
        kind=Kind.TRIAL,
        identifier=text_in(naming, "nctId"),
        title=text_in(naming, "briefTitle") or text_in(naming, "officialTitle"),
        year=year_of(text_in(object_in(status, "startDateStruct"), "date")),
        issued_by=text_in(sponsor, "name") or None,
        status=(text_in(status, "overallStatus") or "unknown").lower(),
        text="\n\n".join(part for part in _parts(protocol, status, study) if part),
        full_text=True,
    )


def _module(protocol: Json, name: str) -> Json:
    return object_in(protocol, f"{name}Module")


def _parts(protocol: Json, status: Json, study: Json) -> Iterator[str]:
    described, design = _module(protocol, "description"), _module(protocol, "design")
    yield text_in(described, "briefSummary")
    yield _line("Conditions", texts_in(_module(protocol, "conditions"), "conditions"))
    yield _line("Interventions", _named(_module(protocol, "armsInterventions"), "interventions", "type", "name"))
    yield _line("Study type", [text_in(design, "studyType").lower()])
    yield _line("Phases", [phase.lower() for phase in texts_in(design, "phases")])
    yield _line("Enrolment", texts_in(object_in(design, "enrollmentInfo"), "count"))
    yield _line("Start", texts_in(object_in(status, "startDateStruct"), "date"))
    yield _line("Completion", texts_in(object_in(status, "completionDateStruct"), "date"))
    yield _line("Why stopped", texts_in(status, "whyStopped"))
    yield _line("Primary outcomes", _named(_module(protocol, "outcomes"), "primaryOutcomes", "measure", "timeFrame"))
    yield _line("Results posted", ["yes" if study.get("hasResults") else "no"])
    eligibility = _module(protocol, "eligibility")
    yield _line("Ages", texts_in(eligibility, "minimumAge") + texts_in(eligibility, "maximumAge"))
    yield text_in(eligibility, "eligibilityCriteria")
    yield text_in(described, "detailedDescription")


def _named(module: Json, entries: str, *names: str) -> list[str]:
    return [": ".join(filter(None, (text_in(entry, name) for name in names))) for entry in objects_in(module, entries)]


def _line(label: str, values: Sequence[str]) -> str:
    text = "; ".join(filter(None, values))
    return f"{label}: {text}" if text else ""
