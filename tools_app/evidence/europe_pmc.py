"""Articles and guidelines of Europe PMC: searching, and reading one.

Source: Europe PMC, Articles RESTful API (``/search`` with ``resultType=core``, ``/{PMCID}/fullTextXML``).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings

from tools_app.evidence.documents import article_text, fragment_text
from tools_app.evidence.service import get, get_json, unreadable
from tools_app.evidence.sources import Kind, Source, citable, search_words, shortened

NAME = "Europe PMC"
AUTHOR_CHARACTERS = 200

_GUIDELINE_TYPES = ("practice guideline", "guideline", "consensus development conference", "consensus statement")
_GUIDELINES = " OR ".join(f'PUB_TYPE:"{kind}"' for kind in _GUIDELINE_TYPES)
_SOURCES = "SRC:MED OR SRC:PMC OR SRC:PPR"

Json = Mapping[str, Any]


def search(kind: Kind, query: str, limit: int, since_year: int | None) -> tuple[list[Source], int]:
    """The most relevant articles, or guidelines and consensus statements, and how many there are in all.

    Raises ToolFailed and TryDifferently.
    """
    which = "AND" if kind is Kind.GUIDELINE else "NOT"
    terms = f"({search_words(query)}) AND ({_SOURCES}) {which} ({_GUIDELINES})"
    if since_year is not None:
        terms += f" AND FIRST_PDATE:[{since_year}-01-01 TO 3000-12-31]"
    answer = _asked(terms, limit)
    articles = citable(_source(found) for found in _results(answer)[:limit])
    return articles, int(answer.get("hitCount", 0))


def article(identifier: str) -> Source | None:
    """An article with its full text if that is open, else with its abstract; ``None`` when there is none.

    ``identifier`` is a PMCID (``PMC123``), a preprint's id (``PPR123``) or a PubMed id. Raises ToolFailed.
    """
    found = _results(_asked(_named(identifier), 1))
    if not found:
        return None
    source = _source(found[0])
    pmcid = found[0].get("pmcid")
    body = _full_text(pmcid) if pmcid and found[0].get("isOpenAccess") == "Y" else ""
    if not body:
        return source
    text = f"{source.text}\n\n{body}" if source.text else body
    return replace(source, text=text, full_text=True)


def _asked(terms: str, limit: int) -> Json:
    query: dict[str, str | int] = {"query": terms, "resultType": "core", "format": "json", "pageSize": limit}
    answer = get_json(NAME, settings.EUROPE_PMC_URL, "search", query)
    if answer is None:
        raise unreadable(NAME)
    return answer


def _results(answer: Json) -> list[Json]:
    found = answer.get("resultList")
    results = found.get("result") if isinstance(found, dict) else None
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise unreadable(NAME)
    return results


def _named(identifier: str) -> str:
    if identifier.startswith("PMC"):
        return f"PMCID:{identifier}"
    return f"EXT_ID:{identifier} AND SRC:{'PPR' if identifier.startswith('PPR') else 'MED'}"


def _source(found: Json) -> Source:
    kinds = _publication_types(found)
    journal = (found.get("journalInfo") or {}).get("journal") or {}
    year = str(found.get("pubYear") or "")
    return Source(
        kind=Kind.GUIDELINE if any(kind in _GUIDELINE_TYPES for kind in kinds) else Kind.LITERATURE,
        identifier=str(found.get("pmcid") or found.get("id") or ""),
        title=fragment_text(str(found.get("title") or "")).rstrip("."),
        year=int(year) if year.isdigit() else None,
        issued_by=journal.get("title"),
        status=_status(found, kinds),
        text=fragment_text(str(found.get("abstractText") or "")),
        authors=shortened(str(found.get("authorString") or ""), AUTHOR_CHARACTERS) or None,
    )


def _publication_types(found: Json) -> list[str]:
    kinds = (found.get("pubTypeList") or {}).get("pubType") or []
    return [str(kind).lower() for kind in (kinds if isinstance(kinds, list) else [kinds])]


def _status(found: Json, kinds: list[str]) -> str:
    if "retracted publication" in kinds:
        return "retracted"
    return "preprint" if found.get("source") == "PPR" or "preprint" in kinds else "published"


def _full_text(pmcid: str) -> str:
    body = get(NAME, settings.EUROPE_PMC_URL, f"{pmcid}/fullTextXML", {})
    if body is None:
        return ""
    try:
        return article_text(body)
    except ValueError:
        raise unreadable(NAME) from None
