"""A FHIR file as resources: JSON or NDJSON, bounded, its references, and whom it is about. What they say is elsewhere.

Source: FHIR R4, Bundle and References (hl7.org/fhir/R4).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

Resource = dict[str, Any]

MAX_FILE_BYTES = 128 * 1024 * 1024
MAX_RESOURCES = 200_000
_PATIENT = re.compile(r"(?:^|/)Patient/([^/?#]+)")


class BadFile(Exception):
    """The file cannot be imported at all; the message says why and repeats nothing of its content."""


class Unusable(Exception):
    """One resource or reading cannot be taken; the message says why and repeats nothing of its content."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One resource, without nulls, and the address it is referred to by."""

    full_url: str
    resource: Resource

    @property
    def type(self) -> str:
        """The resource's type."""
        return str(self.resource.get("resourceType", ""))

    @property
    def local_name(self) -> str:
        """``Type/id``; blank without an id."""
        identity = self.resource.get("id")
        return f"{self.type}/{identity}" if isinstance(identity, str) and identity else ""


@dataclass(frozen=True, slots=True)
class Document:
    """The resources of one file, and which is meant by a reference."""

    entries: Sequence[Entry]
    _by_name: dict[str, Entry] = field(default_factory=dict)
    _patients: dict[str, str] = field(default_factory=dict)
    _contained: dict[int, dict[str, Entry]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.entries:
            for name in (entry.full_url, entry.local_name):
                if name:
                    self._by_name.setdefault(name, entry)
            if entry.type == "Patient":
                for identifier in _objects(entry.resource.get("identifier")):
                    self._patients.setdefault(_identifier_key(identifier), _patient_key(entry))

    def resolve(self, reference: str, within: Resource) -> Entry | None:
        """The resource that ``reference`` names, of those in the file and those contained in ``within``."""
        if reference.startswith("#"):
            return self._contained_in(within).get(reference[1:])
        name = _unversioned(reference)
        if name in self._by_name:
            return self._by_name[name]
        local = self._by_name.get("/".join(name.rsplit("/", 2)[-2:]))
        # The same id on another server is another resource.
        return local if local and not local.full_url else None

    def _contained_in(self, resource: Resource) -> dict[str, Entry]:
        """By id; found once, since a resource may refer to each of many."""
        found = self._contained.get(id(resource))
        if found is None:
            found = self._contained[id(resource)] = {}
            for one in _objects(resource.get("contained")):
                if isinstance(one.get("id"), str):
                    found.setdefault(one["id"], Entry("", one))
        return found

    def check_one_patient(self, about: Sequence[Resource]) -> None:
        """Raises BadFile when the file's patients and those that the resources are ``about`` are not one and the same.

        A resource that names no patient is about the file's only one.
        """
        people = [entry for entry in self.entries if entry.type == "Patient"]
        patients = {_patient_key(entry) for entry in people}
        # Files of several servers put together may hold one id for two people.
        born = {(_patient_key(entry), json.dumps(entry.resource.get("birthDate"))) for entry in people}
        named = {self._patient_of(resource) for resource in about} - {""}
        if len(patients | named) > 1 or len(born) > 1:
            raise BadFile("The file holds data of more than one patient.")

    def _patient_of(self, resource: Resource) -> str:
        subject = _subject(resource)
        reference = subject.get("reference")
        if not isinstance(reference, str):
            return self._identified(subject)
        found = self.resolve(reference, resource)
        if found and reference.startswith("#"):
            return self._described(found.resource)
        return _patient_key(found) if found else _unversioned(reference)

    def _described(self, contained: Resource) -> str:
        """Of a patient inside a resource, whose id says nothing outside of it."""
        keys = map(_identifier_key, _objects(contained.get("identifier")))
        known = (self._patients[key] for key in keys if key in self._patients)
        return next(known, json.dumps(contained, sort_keys=True))

    def _identified(self, subject: Resource) -> str:
        identifier = subject.get("identifier")
        if not isinstance(identifier, dict):
            return ""
        key = _identifier_key(identifier)
        return self._patients.get(key, key)

    def is_about_a_patient(self, resource: Resource) -> bool:
        """Whether its subject may be a patient; a group, a device or a place is none."""
        reference = _subject(resource).get("reference")
        if not isinstance(reference, str):
            return True
        found = self.resolve(reference, resource)
        if found is not None:
            return found.resource.get("resourceType") == "Patient"
        return bool(_PATIENT.search(reference)) or "/" not in reference


def read_document(path: Path) -> Document:
    """The file's resources: a Bundle of any type, a single resource, or either of them on each line (NDJSON).

    Raises BadFile for what is no such file, is too large, or nests too deep.
    """
    entries = list(_entries(_values(_content(path))))
    if not entries:
        raise BadFile("The file holds no resources.")
    return Document(entries)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadFile(f"The file cannot be read: {error.strerror}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise BadFile(f"The file is larger than {MAX_FILE_BYTES // 1024**2} MiB.")
    return content.removeprefix(b"\xef\xbb\xbf")


def _values(content: bytes) -> Iterator[tuple[str, Any]]:
    """The file's JSON values, each with where it stands."""
    try:
        yield "The file", from_json(content, allow_inf_nan=False)
    except ValueError as error:
        if "recursion" in str(error):
            raise BadFile("The file nests too deep.") from None
    else:
        return
    # Of a broken file that is no NDJSON the first line says so, before anything was given out.
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            yield f"Line {number}", _line(line, number)


def _line(line: bytes, number: int) -> Any:
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        raise BadFile(f"The file is neither JSON nor NDJSON: line {number} is no JSON value.") from None


def _entries(values: Iterator[tuple[str, Any]]) -> Iterator[Entry]:
    count = 0
    for where, value in values:
        for entry in _entries_of(_resource(value, where), where):
            count += 1
            if count > MAX_RESOURCES:
                raise BadFile(f"The file holds more than {MAX_RESOURCES} resources.")
            yield entry


def _entries_of(resource: Resource, where: str) -> Iterator[Entry]:
    if resource["resourceType"] != "Bundle":
        yield Entry("", resource)
        return
    entries = resource.get("entry", [])
    if not isinstance(entries, list):
        raise BadFile(f"{where}: the Bundle's entry is no list.")
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise BadFile(f"{where}: entry[{index}] is no object.")
        # An entry without a resource tells of a request or a deletion.
        if "resource" in entry:
            full_url = entry.get("fullUrl", "")
            inner = _resource(entry["resource"], f"{where}: entry[{index}].resource")
            yield Entry(full_url if isinstance(full_url, str) else "", inner)


def _resource(value: Any, where: str) -> Resource:
    if not isinstance(value, dict) or not isinstance(value.get("resourceType"), str):
        raise BadFile(f"{where} is no FHIR resource.")
    cleaned: Resource = _without_nulls(value)
    return cleaned


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
        case list():
            return [_without_nulls(inner) for inner in value if inner is not None]
        case _:
            return value


def _subject(resource: Resource) -> Resource:
    subject = resource.get("subject", resource.get("patient"))
    return subject if isinstance(subject, dict) else {}


def _objects(values: Any) -> Iterator[Resource]:
    """The objects of what should be a list of them; nobody has checked it yet."""
    return (one for one in values if isinstance(one, dict)) if isinstance(values, list) else iter(())


def _identifier_key(identifier: Resource) -> str:
    return json.dumps((identifier.get("system"), identifier.get("value")), sort_keys=True)


def _patient_key(patient: Entry) -> str:
    return patient.full_url or patient.local_name or json.dumps(patient.resource, sort_keys=True)


def _unversioned(reference: str) -> str:
    return reference.partition("/_history/")[0]
