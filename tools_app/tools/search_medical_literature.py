"""The tool ``search_medical_literature`` of the older edition: articles of Europe PMC alone."""

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec
from tools_app.evidence import europe_pmc
from tools_app.evidence.sources import Kind
from tools_app.tools.search_medical_evidence import DEFAULT_LIMIT, LIMIT_SCHEMA, QUERY_SCHEMA, SINCE_SCHEMA

NAME = "search_medical_literature"


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    limit, since = arguments.get("limit", DEFAULT_LIMIT), arguments.get("since_year")
    found, total = europe_pmc.search(Kind.LITERATURE, arguments["query"], limit, since)
    return ToolResult({"results": [source.summary() for source in found], "total": total}, empty=not found)


SEARCH_MEDICAL_LITERATURE = ToolSpec(
    name=NAME,
    description=(
        "Searches medical articles in Europe PMC. Each result has a `ref`, title, year, journal, status and an excerpt "
        "of its abstract; read one whose `ref` is lit:PMC... with get_article_by_pmcid."
    ),
    parameters={
        "type": "object",
        "properties": {"query": QUERY_SCHEMA, "since_year": SINCE_SCHEMA, "limit": LIMIT_SCHEMA},
        "required": ["query"],
        "additionalProperties": False,
    },
    run=_run,
    evidence="citations",
)
