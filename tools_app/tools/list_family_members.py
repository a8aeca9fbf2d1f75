"""The tool ``list_family_members``: who lets this Subject see their data."""

from tools_app.contract import Arguments, RecordsUsed, ToolContext, ToolResult, ToolSpec
from tools_app.tools.family import member_key, shares_for


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    shares = shares_for(context)
    members = [
        {
            "member": member_key(share.subject),
            "display_name": share.subject.display_name or member_key(share.subject),
            "scope": share.scope,
        }
        for share in shares
    ]
    # Names, no records: they go when the person who shares is erased.
    records = tuple(RecordsUsed(share.subject_id, count=0) for share in shares)
    return ToolResult({"members": members}, records, empty=not members)


LIST_FAMILY_MEMBERS = ToolSpec(
    name="list_family_members",
    description=(
        "Lists the family members who share their health data with this person. Call it before asking "
        "query_health_data about someone else, for example when the question speaks of a father, mother, partner or "
        "child. Each entry has `member` (what to pass on as `member`), `display_name`, and `scope`: what is shared."
    ),
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
    run=_run,
)
