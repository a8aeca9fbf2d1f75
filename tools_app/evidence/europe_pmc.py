"""Articles and guidelines of Europe PMC: searching, and reading one.

Source: Europe PMC, Articles RESTful API (``/search`` with ``resultType=core``, ``/{PMCID}/fullTextXML``).
"""

import re
from dataclasses import replace

from django.conf import settings

from tools_app.evidence.answers import Json, count_in, object_in, text_in, texts_in, year_of
from tools_app.evidence.documents import article_text, fragment_text
from tools_app.evidence.service import get, get_json, unreadable
from tools_app.evidence.sources import Kind, Source, citable, search_words, shortened

NAME = "Europe PMC"
AUTHOR_CHARACTERS = 200
_PMCID = re.compile(r"PMC[0-9]{1,10}")

_GUIDELINE_TYPES = ("practice guideline", "guideline", "consensus development conference", "consensus statement")
_GUIDELINES = " OR ".join(f'PUB_TYPE:"{kind}"' for kind in _GUIDELINE_TYPES)
_SOURCES = "SRC:MED OR SRC:PMC OR SRC:PPR"


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
    return articles, count_in(answer, "hitCount", len(articles))


def article(identifier: str) -> Source | None:
    """An article with its full text if that is open, else with its abstract; ``None`` when there is none.

    ``identifier`` is a PMCID (``PMC123``), a preprint's id (``PPR123``) or a PubMed id. Raises ToolFailed.
    """
    found = _results(_asked(_named(identifier), 1))
    if not found:
        return None
    source = _source(found[0])
    pmcid = text_in(found[0], "pmcid")
    is_open = _PMCID.fullmatch(pmcid) and found[0].get("isOpenAccess") == "Y"
    body = _full_text(pmcid) if is_open else ""
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
    results = object_in(answer, "resultList").get("result")
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise unreadable(NAME)
    return results


def _named(identifier: str) -> str:
    if identifier.startswith("PMC"):
        return f"PMCID:{identifier}"
    return f"EXT_ID:{identifier} AND SRC:{'PPR' if identifier.startswith('PPR') else 'MED'}"


def _source(found: Json) -> Source:
    kinds = _publication_types(found)
    journal = object_in(object_in(found, "journalInfo"), "journal")
    return Source(
        kind=Kind.GUIDELINE if any(kind in _GUIDELINE_TYPES for kind in kinds) else Kind.LITERATURE,
        identifier=text_in(found, "pmcid") or text_in(found, "id"),
        title=fragment_text(text_in(found, "title")).rstrip("."),
        year=year_of(text_in(found, "pubYear")),
        issued_by=text_in(journal, "title") or None,
        status=_status(found, kinds),
        text=fragment_text(text_in(found, "abstractText")),
        authors=shortened(text_in(found, "authorString"), AUTHOR_CHARACTERS) or None,
    )


def _publication_types(found: Json) -> list[str]:
    return [kind.lower() for kind in texts_in(object_in(found, "pubTypeList"), "pubType")]


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
