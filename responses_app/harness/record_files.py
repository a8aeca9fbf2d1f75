"""The Subject's clinical documents as read-only files under ``/records``, each with the record it quotes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from responses_app.harness.paths import RECORDS
from tools_app.contract import RecordsUsed, ToolContext, TryDifferently
from tools_app.records.clinical import CLINICAL_NEWEST_FIRST, ClinicalKind, ClinicalRecord, ClinicalRecordQuerySet
from tools_app.tools.family import Person, readable_person

MAX_LISTED = 200
_SUFFIX = ".txt"
_ABOUT = ("public_id", "display", "time", "expires_at")


@dataclass(frozen=True, slots=True)
class RecordFile:
    """One document. ``used`` is the record behind it; ``content`` is blank in listings."""

    path: str
    title: str
    time: str
    used: tuple[RecordsUsed, ...]
    content: str = ""


class RecordFiles:
    """The documents of the Subject that ``context`` names; nobody else's, and none that has expired."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def read(self, path: str) -> RecordFile:
        """Raises TryDifferently when there is no such document."""
        person = self._person()
        public_id = path.removeprefix(f"{RECORDS}/").removesuffix(_SUFFIX)
        row = _documents(person).filter(public_id=public_id).first() if path == _path(public_id) else None
        if row is None:
            raise TryDifferently(f"There is no such document; `ls` of {RECORDS} tells which there are.")
        return _file(person, row, row.text)

    def newest(self) -> tuple[Sequence[RecordFile], bool]:
        """The newest documents without their text, and whether there are more."""
        person = self._person()
        rows = list(_documents(person).only(*_ABOUT).order_by(*CLINICAL_NEWEST_FIRST)[: MAX_LISTED + 1])
        return [_file(person, row, "") for row in rows[:MAX_LISTED]], len(rows) > MAX_LISTED

    def texts(self) -> Iterator[RecordFile]:
        """All documents with their text, newest first, a few at a time."""
        person = self._person()
        rows = _documents(person).only(*_ABOUT, "text").order_by(*CLINICAL_NEWEST_FIRST)
        return (_file(person, row, row.text) for row in rows.iterator(chunk_size=20))

    def _person(self) -> Person:
        return readable_person(self._context, None, "read_file")


def _documents(person: Person) -> ClinicalRecordQuerySet:
    return person.clinical.filter(kind=ClinicalKind.DOCUMENT).exclude(text="")


def _path(public_id: str) -> str:
    return f"{RECORDS}/{public_id}{_SUFFIX}"


def _file(person: Person, row: ClinicalRecord, content: str) -> RecordFile:
    used = person.used(1, [row.public_id], row.expires_at)
    return RecordFile(_path(row.public_id), row.display, row.time, used, content)
