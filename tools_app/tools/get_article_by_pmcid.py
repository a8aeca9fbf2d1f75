"""The tool ``get_article_by_pmcid`` of the older edition: one article of Europe PMC, a page at a time."""

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec, TryDifferently
from tools_app.evidence import europe_pmc
from tools_app.tools.read_source import told
from tools_app.tools.text_pages import OFFSET_SCHEMA, PAGE_CHARACTERS

NAME = "get_article_by_pmcid"


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    source = europe_pmc.article(arguments["pmcid"])
    if source is None:
        raise TryDifferently("There is no article with this `pmcid`.")
    return told(source, arguments)


GET_ARTICLE_BY_PMCID = ToolSpec(
    name=NAME,
    description=(
        "Reads one article of PubMed Central: its full text where that is open, else its abstract (`full_text` says "
        f"which). {PAGE_CHARACTERS} characters at a time."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pmcid": {
                "type": "string",
                "pattern": "^PMC[0-9]{1,10}$",
                "description": "The article's id, such as PMC1234567.",
            },
            "offset": OFFSET_SCHEMA,
        },
        "required": ["pmcid"],
        "additionalProperties": False,
    },
    run=_run,
    evidence="citations",
)
