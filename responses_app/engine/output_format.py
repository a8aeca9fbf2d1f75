"""JSON that an answer has to be: how it is asked for in words, and whether an answer is it.

Source: the wire contract, section 2, ``text.format``.
"""

import hashlib
from typing import Any

from jsonschema_rs import ValidationError
from pydantic_core import from_json

from responses_app.engine.ports import OutputFormat
from responses_app.engine.transcript import compact_json
from responses_app.protocol.json_schema import compiled

_FENCE = "```"
_LONGEST_FAULT = 300
_BEGINNINGS = ("{", "[", '"')


class ExpectedOutput:
    """What the answer has to be."""

    def __init__(self, output_format: OutputFormat) -> None:
        self.format = output_format
        self._validator = None if output_format.schema is None else compiled(output_format.schema)

    @property
    def is_object(self) -> bool:
        """Whether nothing but an object can fit it."""
        return self.format.schema is None or self.format.schema.get("type", "object") in ("object", ["object"])

    @property
    def key(self) -> str:
        """Equal for equal formats: providers refuse single schemas. Holds nothing of it: it outlives the turn."""
        return hashlib.sha256(compact_json(self.format.schema).encode(errors="surrogatepass")).hexdigest()

    @property
    def words(self) -> str:
        """It is asked for in these words."""
        if self.format.schema is None:
            return "Answer with one JSON object and nothing else: no other text, no code fence."
        about = f" It is this: {self.format.description}" if self.format.description else ""
        return (
            f"Answer with JSON that fits the JSON Schema below and nothing else: no other text, no code fence.{about}\n"
            f"{compact_json(self.format.schema)}"
        )

    def fault(self, text: str) -> str | None:
        """Why ``text`` is not what was asked for, for the model that wrote it; ``None`` when it is."""
        try:
            value = from_json(text, allow_inf_nan=False)
            return self._fault_of(value)
        except ValueError:
            return "It is not JSON."

    def _fault_of(self, value: Any) -> str | None:
        if self._validator is None:
            return None if isinstance(value, dict) else "It is not a JSON object."
        try:
            self._validator.validate(value)
        except ValidationError as fault:
            place = "".join(f"[{step!r}]" for step in fault.instance_path)
            return f"At ${place}: {fault.message[:_LONGEST_FAULT]}."
        return None


def begins_like_json(text: str) -> bool | None:
    """Whether an answer that begins with ``text`` is meant to be JSON, as far as it can be told already."""
    begun = text.lstrip()
    return begun.startswith(_BEGINNINGS) if begun else None


def unfenced(text: str) -> str:
    """The text inside a code fence that is all of it."""
    opening, _, rest = text.strip().partition("\n")
    is_fenced = opening.startswith(_FENCE) and rest.endswith(_FENCE)
    return rest.removesuffix(_FENCE).strip() if is_fenced else text
