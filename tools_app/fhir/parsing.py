"""What readings and clinical records share when they are read out of FHIR resources: validity, codes, plain words."""

import unicodedata
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Any

from fhir.resources.R4B import get_fhir_model_class
from pydantic import BaseModel, ValidationError

from tools_app.fhir.documents import Resource, Unusable

MAX_TEXT_LENGTH = 1_000_000
_BREAKS = "\t\n\r"

Coding = dict[str, str]


def check_valid(resource: Resource) -> None:
    """Raises Unusable, naming the field, unless the resource is valid FHIR R4."""
    try:
        model = _model(resource["resourceType"]).model_validate(resource)
    except ValidationError as error:
        raise Unusable(f"not valid FHIR: {_place(error)}") from None
    except (KeyError, TypeError):
        # How the library says that a resource inside says a type that there is none of.
        raise Unusable("not valid FHIR: a resource in it") from None
    misfit = _misfit(model, resource)
    if misfit is not None:
        raise Unusable(f"not valid FHIR: {misfit or 'the resource'}")


def checked_concept(value: Any) -> Resource:
    """A CodeableConcept of a resource that was not checked itself; an empty one when it is not valid."""
    try:
        model = _model("CodeableConcept").model_validate(value)
    except (ValidationError, KeyError, TypeError):
        return {}
    concept: Resource = value
    return {} if _misfit(model, value) is not None else concept


def _misfit(read: Any, written: Any) -> str | None:
    """The path of the first value that is not written as what it was read as; ``None`` when there is none.

    The library takes a text with JSON in it for an object, numbers for dates, and texts for numbers. FHIR does not.
    """
    match read:
        case BaseModel():
            if not isinstance(written, dict):
                return ""
            fields = {name: type(read).model_fields[name].alias or name for name in sorted(read.model_fields_set)}
            pairs = ((name, getattr(read, field), written.get(name)) for field, name in fields.items())
        case list():
            if not isinstance(written, list):
                return ""
            pairs = (("", one, other) for one, other in zip(read, written, strict=True))
        case _:
            return None if isinstance(written, _written_as(read)) else ""
    for name, one, other in pairs:
        inner = _misfit(one, other)
        if inner is not None:
            return ".".join(filter(None, (name, inner)))
    return None


def _written_as(read: Any) -> type | UnionType:
    """What JSON has for a value of this type; ``bool`` is an ``int`` to Python alone."""
    match read:
        case bool():
            return bool
        case int() | float() | Decimal():
            return int | float
        case date() | time():
            return str
        case _:
            return object


def _place(error: ValidationError) -> str:
    """The path of the first element that is wrong. What is no element of FHIR is the file's own word and stays out."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = [part for part in first["loc"] if isinstance(part, str) and part != "root"]
    if first["type"] != "extra_forbidden":
        return ".".join(path) or "the resource"
    return f"an unknown element in {'.'.join(path[:-1]) or 'the resource'}"


@cache
def _model(resource_type: str) -> type[BaseModel]:
    model: type[BaseModel] = get_fhir_model_class(resource_type)
    return model


def check_plain(text: str, most: int, what: str) -> str:
    """The text, stripped. Raises Unusable when it is too long or holds control characters other than line breaks."""
    if len(text) > most:
        raise Unusable(f"{what} is longer than {most} characters")
    if any(unicodedata.category(character) == "Cc" and character not in _BREAKS for character in text):
        raise Unusable(f"{what} holds control characters")
    return text.strip()


def codings(concept: Resource) -> list[Coding]:
    """The codes of a CodeableConcept that have one, as system, code and display."""
    found = [one for one in concept.get("coding", []) if one.get("code")]
    return [{name: str(one.get(name, "")) for name in ("system", "code", "display")} for one in found]


def words(concept: Resource) -> str:
    """A CodeableConcept in words: its own text, else how a code is displayed, else the code."""
    displays = (one.get("display") or one.get("code") for one in concept.get("coding", []))
    return str(concept.get("text") or next(filter(None, displays), ""))


def all_words(concepts: Any) -> str:
    """Several CodeableConcepts in words."""
    return ", ".join(filter(None, map(words, concepts)))


def notes(resource: Resource) -> Iterator[str]:
    """The texts of a resource's annotations."""
    for note in resource.get("note", []):
        # What FHIR requires may be replaced by an extension that says why it is absent.
        if "text" in note:
            yield note["text"]
