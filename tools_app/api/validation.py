"""From pydantic's complaints to the API's error: the first one, with the field's path and never the value."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mirobody_site.tenancy.errors import InvalidRequestError

_MISSING = "missing_required_parameter"
_CODES = {
    "missing": _MISSING,
    "string_too_long": "value_too_long",
    "finite_number": "invalid_value",
}
_OWN_CODES = frozenset(
    {"invalid_type", "invalid_value", "value_too_long", "too_many_items", "invalid_retention", "invalid_session"}
)
_OWN_CODE_WHEN_MISSING = {"retention": "invalid_retention"}


def to_invalid_request(error: ValidationError) -> InvalidRequestError:
    """The first complaint as a 400."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    param = field_path(first["loc"])
    code = _code(first)
    if code == _MISSING:
        return InvalidRequestError(f"{param} is required.", code=_OWN_CODE_WHEN_MISSING.get(param, code), param=param)
    return InvalidRequestError(f"{param}: {first['msg']}.", code=code, param=param)


def field_path(location: tuple[int | str, ...]) -> str:
    """``("records", 3, "value")`` as ``records[3].value``."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def _code(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind in _OWN_CODES:
        return kind
    return _CODES.get(kind, "invalid_type")
