"""What the data plane takes and gives as types, for the OpenAPI document and for tests: rows are built in rows.py.

Source: the wire contract, section 11.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mirobody_site.tenancy.patterns import PLAIN, STATED
from tools_app.records.batch import MAX_RECORDS, WrittenRecord

RetentionWord = Literal["permanent", "1h", "2h", "6h", "1d", "session"]
Scope = Literal["all", "readings", "clinical"]
SubjectName = str | None


class Shape(BaseModel):
    """A JSON object given out: all keys of it are known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RecordBatch(BaseModel):
    """Records written together, kept or refused together. ``session_id`` is needed with retention ``session``."""

    user: str | None = Field(default=None, max_length=256, json_schema_extra=PLAIN)
    retention: RetentionWord | Literal["persistent"]
    session_id: str | None = Field(default=None, max_length=128, json_schema_extra=STATED)
    records: list[WrittenRecord] = Field(min_length=1, max_length=MAX_RECORDS)


class Ingested(Shape):
    """What became of a batch."""

    status: Literal["ok"]
    ingested: int
    standardized: int
    duplicates: int
    subject: SubjectName


class HealthRecordRow(Shape):
    """A reading: ``value`` as written with its unit, and what was made of it; what is unknown is ``null``."""

    id: str
    object: Literal["health_record"]
    measurement_id: str
    indicator: str
    value: str
    parsed_value: float | None
    parsed_unit: str | None
    parsed_text: str | None
    comparator: Literal["<", "<=", ">", ">="] | None
    loinc_code: str | None
    canonical_name: str | None
    fhir_resource_id: str
    time: str
    end_time: str | None
    reference_low: float | None
    reference_high: float | None
    reference_text: str | None
    abnormal: Literal["low", "normal", "high", "abnormal"] | None
    abnormal_source: Literal["given", "computed"] | None
    source: Literal["api"]
    comment: str | None
    retention: RetentionWord
    expires_at: str | None
    session_id: str | None


class HealthRecordList(Shape):
    """Readings, newest first."""

    object: Literal["list"]
    data: list[HealthRecordRow]
    has_more: bool
    subject: SubjectName


class DeletedCount(Shape):
    """How many are gone."""

    status: Literal["ok"]
    deleted: int
    subject: SubjectName


class ShareRequest(BaseModel):
    """``user`` lets ``with`` see its data, on days from ``start`` to ``end``."""

    user: str | None = Field(default=None, max_length=256, json_schema_extra=PLAIN)
    viewer: str = Field(alias="with", min_length=1, max_length=256, json_schema_extra=PLAIN)
    scope: Scope
    start: str | None = Field(default=None, json_schema_extra={"format": "date"})
    end: str | None = Field(default=None, json_schema_extra={"format": "date"})


class ShareRow(Shape):
    """A share, and whether it holds today."""

    object: Literal["share"]
    user: SubjectName
    viewer: str = Field(alias="with")
    scope: Scope
    start: str | None
    end: str | None
    active: bool
    created_at: str


class ShareList(Shape):
    """The shares that a Subject gave and received, oldest first."""

    object: Literal["list"]
    data: list[ShareRow]
    subject: SubjectName


class Observation(BaseModel):
    """A FHIR R4 Observation, with all that FHIR says of one."""

    resourceType: Literal["Observation"]  # noqa: N815 - FHIR's spelling
    id: str
    status: Literal["final"]


class SearchBundle(BaseModel):
    """A FHIR R4 Bundle of type ``searchset``; ``entry`` is left out when nothing matches."""

    resourceType: Literal["Bundle"]  # noqa: N815 - FHIR's spelling
    type: Literal["searchset"]
    total: int
