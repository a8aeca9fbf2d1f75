"""The tool ``search_medical_evidence``: literature, guidelines and registered trials by a few words."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tools_app.contract import Arguments, ToolContext, ToolFailed, ToolRefusal, ToolResult, ToolSpec, TryDifferently
from tools_app.evidence import clinical_trials, europe_pmc
from tools_app.evidence.sources import NAMES, Kind, Source

NAME = "search_medical_evidence"
DEFAULT_LIMIT = 5
MAX_LIMIT = 10

Found = tuple[list[Source], int]

QUERY_SCHEMA: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 300,
    "description": "A few medical words in English, such as 'metformin cardiovascular outcomes'. They are sent to a "
    "public service: never put in a person's name or figures.",
}
LIMIT_SCHEMA: dict[str, Any] = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_LIMIT,
    "description": f"How many of each kind: {DEFAULT_LIMIT} when left out.",
}
SINCE_SCHEMA: dict[str, Any] = {
    "type": "integer",
    "minimum": 1900,
    "maximum": 2100,
    "description": "Only what was published, or trials that began, in this year or later.",
}


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    kinds = [kind for kind in Kind if NAMES[kind] in arguments.get("kinds", NAMES.values())]
    query, since = arguments["query"], arguments.get("since_year")
    limit = arguments.get("limit", DEFAULT_LIMIT)
    searches: dict[Kind, Callable[[], Found]] = {
        Kind.LITERATURE: lambda: europe_pmc.search(Kind.LITERATURE, query, limit, since),
        Kind.GUIDELINE: lambda: europe_pmc.search(Kind.GUIDELINE, query, limit, since),
        Kind.TRIAL: lambda: clinical_trials.search(query, limit, since),
    }
    with ThreadPoolExecutor(len(kinds)) as threads:
        answers = list(threads.map(lambda kind: _tried(searches[kind]), kinds))
    return _told(kinds, answers)


def _tried(search: Callable[[], Found]) -> Found | ToolRefusal:
    try:
        return search()
    except ToolRefusal as refusal:
        return refusal


def _told(kinds: Sequence[Kind], answers: Sequence[Found | ToolRefusal]) -> ToolResult:
    """What was found, also when one of the services did not answer. Raises ToolRefusal when none did."""
    refusals = [answer for answer in answers if isinstance(answer, ToolRefusal)]
    wrong = next((refusal for refusal in refusals if isinstance(refusal, TryDifferently)), None)
    if wrong or len(refusals) == len(answers):
        raise wrong or ToolFailed(str(refusals[0]))
    found = {kind: answer for kind, answer in zip(kinds, answers, strict=True) if not isinstance(answer, ToolRefusal)}
    results = [source.summary() for sources, _ in found.values() for source in sources]
    data = {
        "results": results,
        "totals": {NAMES[kind]: total for kind, (_, total) in found.items()},
        "not_searched": [NAMES[kind] for kind in kinds if kind not in found],
    }
    return ToolResult(data, empty=not results)


SEARCH_MEDICAL_EVIDENCE = ToolSpec(
    name=NAME,
    description=(
        "Searches published medical evidence: literature and guidelines (with consensus statements) of Europe PMC, and "
        "trials registered at ClinicalTrials.gov. Use it for what is generally known, recommended or studied; it knows "
        "nothing of this person. Each result has a `ref` (cite it, or pass it to read_source), its kind, title, year, "
        "journal or sponsor, status (a preprint is not reviewed, a retracted article is not to be relied on) and an "
        "excerpt. `not_searched` names the kinds whose service did not answer."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": QUERY_SCHEMA,
            "kinds": {
                "type": "array",
                "items": {"type": "string", "enum": list(NAMES.values())},
                "minItems": 1,
                "maxItems": len(NAMES),
                "description": "Which kinds. Leave out for all.",
            },
            "since_year": SINCE_SCHEMA,
            "limit": LIMIT_SCHEMA,
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    run=_run,
    evidence="citations",
)
