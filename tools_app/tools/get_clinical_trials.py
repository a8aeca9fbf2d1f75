"""The tool ``get_clinical_trials`` of the older edition: trials registered at ClinicalTrials.gov alone."""

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec
from tools_app.evidence import clinical_trials
from tools_app.tools.search_medical_evidence import DEFAULT_LIMIT, LIMIT_SCHEMA, QUERY_SCHEMA, SINCE_SCHEMA

NAME = "get_clinical_trials"
STATUSES = (
    "RECRUITING", "NOT_YET_RECRUITING", "ENROLLING_BY_INVITATION", "ACTIVE_NOT_RECRUITING", "COMPLETED", "SUSPENDED",
    "TERMINATED", "WITHDRAWN", "UNKNOWN",
)  # fmt: skip


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    limit, since = arguments.get("limit", DEFAULT_LIMIT), arguments.get("since_year")
    found, total = clinical_trials.search(arguments["query"], limit, since, arguments.get("status"))
    return ToolResult({"results": [source.summary() for source in found], "total": total}, empty=not found)


GET_CLINICAL_TRIALS = ToolSpec(
    name=NAME,
    description=(
        "Searches trials registered at ClinicalTrials.gov. Each result has a `ref` with its NCT number, title, year of "
        "its start, sponsor, status and an excerpt of its summary."
    ),
    parameters={
        "type": "object",
        "properties": {
            "query": QUERY_SCHEMA,
            "status": {"type": "string", "enum": list(STATUSES), "description": "Only trials with this status."},
            "since_year": SINCE_SCHEMA,
            "limit": LIMIT_SCHEMA,
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    run=_run,
    evidence="citations",
)
