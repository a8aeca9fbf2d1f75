"""What a piece of medical evidence is, whichever service it comes from, and its short reference."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tools_app.contract import TryDifferently

EXCERPT_CHARACTERS = 600
TITLE_CHARACTERS = 300


class Kind(StrEnum):
    """Kinds of evidence, by the word a reference begins with."""

    LITERATURE = "lit"
    GUIDELINE = "guide"
    TRIAL = "trial"


NAMES = {Kind.LITERATURE: "literature", Kind.GUIDELINE: "guideline", Kind.TRIAL: "trial"}
_REF = re.compile(r"(?:(?:lit|guide):(?:PMC\d{1,10}|PPR\d{1,10}|\d{1,10})|trial:NCT\d{8})")


@dataclass(frozen=True, slots=True)
class Source:
    """One article, guideline or trial. ``issued_by`` is its journal or its sponsor; ``status`` a word such as
    ``published``, ``preprint``, ``retracted`` or the trial's; ``text`` is plain.
    """

    kind: Kind
    identifier: str
    title: str
    year: int | None
    issued_by: str | None
    status: str
    text: str
    authors: str | None = None
    full_text: bool = False

    @property
    def ref(self) -> str:
        """The short reference: ``lit:PMC123``, ``guide:456``, ``trial:NCT01234567``."""
        return f"{self.kind}:{self.identifier}"

    def heading(self) -> dict[str, Any]:
        """All but its text, as JSON."""
        issuer = "sponsor" if self.kind is Kind.TRIAL else "journal"
        return {
            "ref": self.ref,
            "kind": NAMES[self.kind],
            "title": shortened(self.title, TITLE_CHARACTERS),
            "year": self.year,
            issuer: self.issued_by and shortened(self.issued_by, TITLE_CHARACTERS),
            "status": shortened(self.status, TITLE_CHARACTERS),
        } | ({"authors": self.authors} if self.authors else {})

    def summary(self) -> dict[str, Any]:
        """The heading and the beginning of the text."""
        return self.heading() | {"excerpt": shortened(self.text, EXCERPT_CHARACTERS)}


def shortened(text: str, most: int) -> str:
    """The text, or its beginning with an ellipsis in its end."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def citable(sources: Iterable[Source]) -> list[Source]:
    """Those that can be referred to, and so be read."""
    return [source for source in sources if source.title and _REF.fullmatch(source.ref)]


def split_ref(ref: str) -> tuple[Kind, str]:
    """The parts of a reference. Raises TryDifferently for what is none."""
    if not _REF.fullmatch(ref):
        raise TryDifferently("`ref` is not a reference that search_medical_evidence gave, such as lit:PMC1234567.")
    kind, _, identifier = ref.partition(":")
    return Kind(kind), identifier


def search_words(query: str) -> str:
    """The words of a query, without what would be syntax to a search service. Raises TryDifferently without any."""
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", query)
    words = [word.lower() if word in ("AND", "OR", "NOT", "AREA", "RANGE", "MISSING") else word for word in words]
    if not words:
        raise TryDifferently("`query` holds no words.")
    return " ".join(words)
