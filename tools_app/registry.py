"""The table of server tools by name, and the names that callers' own tools must not take."""

from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tools_app.contract import ToolSpec
from tools_app.tools.fetch_url import FETCH_URL
from tools_app.tools.get_article_by_pmcid import GET_ARTICLE_BY_PMCID
from tools_app.tools.get_clinical_trials import GET_CLINICAL_TRIALS
from tools_app.tools.list_clinical_records import LIST_CLINICAL_RECORDS
from tools_app.tools.list_family_members import LIST_FAMILY_MEMBERS
from tools_app.tools.query_health_data import QUERY_HEALTH_DATA
from tools_app.tools.read_source import READ_SOURCE
from tools_app.tools.search_medical_evidence import SEARCH_MEDICAL_EVIDENCE
from tools_app.tools.search_medical_literature import SEARCH_MEDICAL_LITERATURE
from tools_app.tools.summarize_health_data import SUMMARIZE_HEALTH_DATA
from tools_app.tools.write_fhir_observation import WRITE_FHIR_OBSERVATION

TOOLS: dict[str, ToolSpec] = {
    "query_health_data": QUERY_HEALTH_DATA,
    "list_family_members": LIST_FAMILY_MEMBERS,
    "list_clinical_records": LIST_CLINICAL_RECORDS,
    "summarize_health_data": SUMMARIZE_HEALTH_DATA,
    "search_medical_evidence": SEARCH_MEDICAL_EVIDENCE,
    "read_source": READ_SOURCE,
    "search_medical_literature": SEARCH_MEDICAL_LITERATURE,
    "get_clinical_trials": GET_CLINICAL_TRIALS,
    "get_article_by_pmcid": GET_ARTICLE_BY_PMCID,
    "fetch_url": FETCH_URL,
    "write_fhir_observation": WRITE_FHIR_OBSERVATION,
}

# Reserved whether switched on or not, so that switching one on breaks no caller.
DOMAIN_TOOL_NAMES = frozenset(TOOLS)
HARNESS_TOOL_NAMES = frozenset(
    {"write_todos", "task", "eval", "ls", "read_file", "write_file", "edit_file", "glob", "grep"}
)
RESERVED_NAMES = DOMAIN_TOOL_NAMES | HARNESS_TOOL_NAMES


def enabled_tools() -> Sequence[ToolSpec]:
    """The tools this deployment has switched on (the setting ``BUILTIN_TOOLS``), in that order.

    Raises ImproperlyConfigured for a name that is no tool here.
    """
    unknown = [name for name in settings.BUILTIN_TOOLS if name not in TOOLS]
    if unknown:
        raise ImproperlyConfigured(f"BUILTIN_TOOLS names unknown tools: {', '.join(unknown)}")
    return [TOOLS[name] for name in settings.BUILTIN_TOOLS]
