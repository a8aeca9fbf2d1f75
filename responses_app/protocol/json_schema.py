"""Whether a caller's JSON Schema is one, and what checks a value by it. Nothing is ever fetched for it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from jsonschema_rs import FancyRegexOptions, ValidationError, Validator, meta, validator_for

MAX_CHARACTERS = 200_000
"""Of a schema that answers are checked by, as JSON: what it takes to check by it grows faster than it does."""

_DRAFTS = re.compile(r"https?://json-schema\.org/(draft-0[467]|draft/2019-09|draft/2020-12)/schema#?")
_BACKTRACKS = 100_000


def schema_fault(schema: Mapping[str, Any]) -> str | None:
    """What of this is no JSON Schema, or ``None``."""
    if not isinstance(schema.get("$schema", ""), str):
        return "'$schema' must be a string"
    try:
        meta.validate(_readable(schema))
    except ValidationError as fault:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.instance_path)
        return f"the keyword at '${place}' is malformed"
    return None


def compiled(schema: Mapping[str, Any]) -> Validator:
    """What checks a value by ``schema``. Raises ``ValueError`` for one that refers to what is not in it."""
    try:
        return validator_for(
            _readable(schema),
            mask="the value",
            offline=True,
            pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKS),
        )
    except ValidationError:
        raise ValueError("the schema refers to something that is not in it") from None


def is_too_large(schema: Mapping[str, Any]) -> bool:
    """Whether answers cannot be checked by it in reasonable time."""
    return len(json.dumps(schema)) > MAX_CHARACTERS


def _readable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without a draft that is not known: one of such is read as one of 2020-12."""
    known = bool(_DRAFTS.fullmatch(schema.get("$schema", "")))
    return {name: value for name, value in schema.items() if known or name != "$schema"}
