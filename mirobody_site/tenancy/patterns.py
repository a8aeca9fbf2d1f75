"""Regular expressions (ECMA-262) by which the OpenAPI document tells what a text may hold. Code checks by itself."""

from pydantic.types import JsonValue

_Schema = dict[str, JsonValue]

_CONTROL = r"\u0000-\u001f\u007f-\u009f"
PLAIN: _Schema = {"pattern": f"^[^{_CONTROL}]*$"}
"""No control characters."""
STATED: _Schema = {"pattern": rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$"}
"""Nor nothing but white space."""
NOT_BLANK: _Schema = {"pattern": r"\S"}
"""More than white space."""
