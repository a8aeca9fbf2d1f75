"""What every wire model shares: strict types, ``null`` counts as absent, how a fault names its field and code."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from mirobody_site.tenancy.errors import InvalidRequestError

TAG = "tag:"
"""Union tags start with this, so that they can be told from field names in an error's location."""


class WireModel(BaseModel):
    """A frozen JSON object of the wire. Unknown keys are left aside; a key that is ``null`` is absent."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value


_KEY = "[key]"
"""What pydantic puts behind a key that is itself at fault."""

_JSON_TYPES = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_CODES = {
    "missing": "missing_required_parameter",
    "string_too_long": "value_too_long",
    "too_long": "too_many_items",
    "dict_too_long": "too_many_items",
}
OWN_CODES = frozenset(
    {
        "missing_required_parameter",
        "invalid_type",
        "invalid_value",
        "value_too_long",
        "too_many_items",
        "unsupported_parameter",
    }
)
"""Codes that a validator may raise as a ``PydanticCustomError`` of that type."""


def invalid_request(error: ValidationError) -> InvalidRequestError:
    """The first fault of a validation as its caller is told: code, message and the field's path in ``param``."""
    fault = error.errors(include_url=False, include_context=True)[0]
    path = field_path(fault["loc"])
    return InvalidRequestError(_message(path, fault), code=_code(fault), param=path or None)


def field_path(location: Iterable[int | str]) -> str:
    """``("tools", 2, "name")`` as ``tools[2].name``; union tags are left out, and keys that are faults themselves."""
    steps = list(location)
    if steps[-1:] == [_KEY]:
        del steps[-2:]
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif not step.startswith(TAG):
            path += f".{step}" if path else step
    return path


def _kind(fault: ErrorDetails) -> str:
    """The fault's type. Every literal of the wire is text, so anything else in its place has the wrong type."""
    if fault["type"] == "literal_error" and not isinstance(fault["input"], str):
        return "string_type"
    return fault["type"]


def _code(fault: ErrorDetails) -> str:
    kind = _kind(fault)
    if kind in OWN_CODES:
        return kind
    if kind in _JSON_TYPES:
        return "invalid_type"
    return _CODES.get(kind, "invalid_value")


def _message(path: str, fault: ErrorDetails) -> str:
    kind = _kind(fault)
    if kind in OWN_CODES:
        return f"{fault['msg'].rstrip('.')} at '{path}'." if path else fault["msg"]
    if kind == "missing":
        return f"Missing required parameter: '{path}'."
    if kind in _JSON_TYPES:
        return f"Invalid type for '{path}': expected {_JSON_TYPES[kind]}."
    return f"Invalid value for '{path}': {fault['msg'][:1].lower()}{fault['msg'][1:]}."
