"""The tool ``list_family_members``: who lets this Subject see their data."""

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec
from tools_app.records.sharing import note_access
from tools_app.tools.family import member_key, shares_for, used_through

NAME = "list_family_members"


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    shares = shares_for(context)
    note_access(shares, NAME, context.now)
    members = [
        {
            "member": member_key(share.subject),
            "display_name": share.subject.display_name or member_key(share.subject),
            "scope": share.scope,
        }
        for share in shares
    ]
    # Names, no records: they go with the share, and when the person who shares is erased.
    records = tuple(used_through(share, count=0) for share in shares)
    return ToolResult({"members": members}, records, empty=not members)


LIST_FAMILY_MEMBERS = ToolSpec(
    name=NAME,
    description=(
        "Lists the family members who share their health data with this person. Call it before asking another tool "
        "about someone else, for example when the question speaks of a father, mother, partner or child. Each entry "
        "has `member` (what to pass on as `member`), `display_name`, and `scope`, what is shared: all, readings "
        "(query_health_data) or clinical (list_clinical_records)."
    ),
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
    run=_run,
)
