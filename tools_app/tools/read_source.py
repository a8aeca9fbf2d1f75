"""The tool ``read_source``: an article, guideline or trial by its reference, a page at a time."""

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec, TryDifferently
from tools_app.evidence import clinical_trials, europe_pmc
from tools_app.evidence.sources import Kind, Source, split_ref
from tools_app.tools.text_pages import OFFSET_SCHEMA, PAGE_CHARACTERS, text_page

NAME = "read_source"


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    kind, identifier = split_ref(arguments["ref"])
    source = clinical_trials.trial(identifier) if kind is Kind.TRIAL else europe_pmc.article(identifier)
    if source is None:
        raise TryDifferently("There is no source with this `ref`.")
    return told(source, arguments)


def told(source: Source, arguments: Arguments) -> ToolResult:
    """A source and a page of its text."""
    page = text_page(source.text, arguments)
    return ToolResult(source.heading() | {"full_text": source.full_text} | page, empty=not page["text"])


READ_SOURCE = ToolSpec(
    name=NAME,
    description=(
        "Reads one source that search_medical_evidence found: an article's full text where it is open and else its "
        f"abstract (`full_text` says which), or a trial's registration. {PAGE_CHARACTERS} characters at a time."
    ),
    parameters={
        "type": "object",
        "properties": {
            "ref": {"type": "string", "maxLength": 40, "description": "The `ref` of a search result."},
            "offset": OFFSET_SCHEMA,
        },
        "required": ["ref"],
        "additionalProperties": False,
    },
    run=_run,
    evidence="citations",
)
