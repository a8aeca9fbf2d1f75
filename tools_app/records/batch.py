"""What a caller writes: records as they come, their shape and sizes checked. What they mean is in interpretation.py."""

import unicodedata
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mirobody_site.tenancy.patterns import PLAIN, STATED
from tools_app.records.models import MAX_INDICATOR_LENGTH, Abnormality, AbnormalSource, Retention

MAX_RECORDS = 500
MAX_VALUE_LENGTH = 1000
MAX_UNIT_LENGTH = 100
# One character may stand for eighteen once written out; what people write at most doubles (㎎, ℃, ½).
MAX_GROWTH = 2
MAX_SESSION_LENGTH = 128
RETENTION_ALIASES = {"persistent": Retention.PERMANENT}


def _plain(text: str) -> str:
    """Refuses control characters; tabs and line breaks count as such."""
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise PydanticCustomError("invalid_value", "must not contain control characters")
    return text


@lru_cache(maxsize=4096)
def _length_written_out(character: str) -> int:
    return len(unicodedata.normalize("NFKC", character))


def _compact(text: str, most: int) -> str:
    """Refuses text that is much longer once its characters are written out for comparison."""
    if not text.isascii() and sum(map(_length_written_out, text)) > MAX_GROWTH * most:
        raise PydanticCustomError(
            "value_too_long", "must be at most {most} characters in Unicode form NFKC", {"most": MAX_GROWTH * most}
        )
    return text


def _stated(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("missing", "must not be blank")
    return text


def _string_or_number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PydanticCustomError("invalid_type", "must be a string or a number")
    if not isinstance(value, str):
        return value
    if len(value) > MAX_VALUE_LENGTH:
        raise PydanticCustomError("value_too_long", "must be at most {most} characters", {"most": MAX_VALUE_LENGTH})
    return _stated(_compact(_plain(value), MAX_VALUE_LENGTH))


def _retention(value: Any) -> Retention:
    word = RETENTION_ALIASES.get(value, value) if isinstance(value, str) else None
    if word not in Retention.values:
        choices = ", ".join([*Retention.values, *RETENTION_ALIASES])
        raise PydanticCustomError("invalid_retention", "must be one of {choices}", {"choices": choices})
    return Retention(word)


def _at_most_500(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("invalid_type", "must be an array")
    if not value:
        raise PydanticCustomError("missing", "must hold at least one record")
    if len(value) > MAX_RECORDS:
        raise PydanticCustomError("too_many_items", "must hold at most {most} records", {"most": MAX_RECORDS})
    return value


def _session_id(value: Any, info: ValidationInfo) -> str:
    """The session a record is bound to; without meaning, and so blank, for any other retention."""
    if info.data.get("retention") != Retention.SESSION:
        return ""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_SESSION_LENGTH:
        raise PydanticCustomError(
            "invalid_session", "must be a string of 1 to 128 characters when retention is session"
        )
    return _plain(value)


ABNORMAL_WORDS = {
    Abnormality.LOW: ("low", "l", "ll", "↓", "↓↓", "偏低", "低"),
    Abnormality.NORMAL: ("normal", "n", "正常"),
    Abnormality.HIGH: ("high", "h", "hh", "↑", "↑↑", "偏高", "高"),
    Abnormality.ABNORMAL: ("abnormal", "a", "aa", "*", "异常"),
}
_ABNORMAL = {word: abnormality for abnormality, words in ABNORMAL_WORDS.items() for word in words}


def _abnormality(value: Any) -> str:
    word = unicodedata.normalize("NFKC", value).strip().casefold() if isinstance(value, str) else None
    if word == "":
        return ""
    if word not in _ABNORMAL:
        choices = ", ".join(Abnormality.values)
        raise PydanticCustomError("invalid_value", "must be one of {choices}", {"choices": choices})
    return _ABNORMAL[word].value


Name = Annotated[
    str,
    StringConstraints(max_length=MAX_INDICATOR_LENGTH),
    AfterValidator(_plain),
    AfterValidator(lambda text: _compact(text, MAX_INDICATOR_LENGTH)),
    AfterValidator(_stated),
    Field(json_schema_extra=STATED),
]
Unit = Annotated[
    str,
    StringConstraints(max_length=MAX_UNIT_LENGTH),
    Field(json_schema_extra=PLAIN),
    AfterValidator(_plain),
    AfterValidator(lambda text: _compact(text, MAX_UNIT_LENGTH)),
]
Tag = Annotated[str, StringConstraints(max_length=200), AfterValidator(_plain)]
Limit = Annotated[float, Field(allow_inf_nan=False)]


class Written(BaseModel):
    """The base of both: strict types, immutable, unknown fields ignored, null as absent."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def drop_nulls(cls, data: Any) -> Any:
        return {name: value for name, value in data.items() if value is not None} if isinstance(data, dict) else data


class WrittenRecord(Written):
    """One reading as written. A record as ``GET /v1/data`` gives it is one too, and means the same reading.

    ``time`` and ``end_time`` are ISO 8601 dates or date-times; the reference limits are in the reading's own unit;
    ``source`` is the caller's own tag; ``abnormal`` is what the laboratory says, and over what the limits say.
    ``parsed_unit`` counts of a stored record only: the UCUM unit that it and its limits are in.
    """

    indicator: Name
    value: Annotated[Annotated[str, Field(json_schema_extra=STATED)] | int | float, BeforeValidator(_string_or_number)]
    unit: Unit = ""
    time: Annotated[str, StringConstraints(max_length=40)] | None = None
    end_time: Annotated[str, StringConstraints(max_length=40)] | None = None
    source: Tag = ""
    reference_low: Limit | None = None
    reference_high: Limit | None = None
    reference_text: Annotated[str, StringConstraints(max_length=500), AfterValidator(_plain)] = ""
    abnormal: Annotated[str, BeforeValidator(_abnormality)] = ""
    parsed_unit: Unit = ""

    @model_validator(mode="before")
    @classmethod
    def read_back(cls, data: Any) -> Any:
        """A stored record names its channel, ``api``, as its source and has the caller's tag in ``comment``.

        What was only computed of it is computed again.
        """
        if not isinstance(data, dict):
            return data
        if data.get("source") != "api":
            return {name: value for name, value in data.items() if name != "parsed_unit"}
        computed = data.get("abnormal_source") == AbnormalSource.COMPUTED
        return data | {"source": data.get("comment")} | ({"abnormal": None} if computed else {})

    @property
    def term(self) -> str:
        """What says which measurement it is: the name."""
        return self.indicator


class CodedRecord(WrittenRecord):
    """A reading whose source says by code what was measured: ``loinc_code``, which then counts instead of the name.

    ``flag`` is the source's own verdict, ``low``, ``normal`` or ``high``, and over what the limits say.
    """

    loinc_code: Annotated[str, StringConstraints(max_length=16), AfterValidator(_plain)] = ""
    flag: Literal["", "low", "normal", "high"] = ""

    @property
    def term(self) -> str:
        """The code, if there is one."""
        return self.loinc_code or self.indicator


class Batch(Written):
    """Records written together, kept or refused together. ``session_id`` is blank but for retention ``session``."""

    retention: Annotated[Retention, BeforeValidator(_retention)]
    session_id: Annotated[str, BeforeValidator(_session_id)] = Field(default="", validate_default=True)
    records: Annotated[tuple[WrittenRecord, ...], Field(strict=False), BeforeValidator(_at_most_500)]
