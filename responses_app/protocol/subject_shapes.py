"""What the doors of sessions and Subjects take and give as types, for the OpenAPI document and for tests.

Source: the wire contract, sections 5 and 11.
"""

from typing import Literal

from pydantic import BaseModel, Field

from mirobody_site.tenancy.patterns import PLAIN
from responses_app.protocol.response_shapes import Shape

SubjectName = str | None


class SessionListing(Shape):
    """A session's live responses."""

    object: Literal["session"]
    session_id: str
    subject: SubjectName
    responses: list[str]


class SessionEnded(Shape):
    """How many records, and responses if they were named, went with the session's end."""

    status: Literal["ok"]
    session_id: str
    deleted: int
    subject: SubjectName


class SubjectObject(Shape):
    """A Subject: where it lives, and its name for others."""

    object: Literal["subject"]
    subject: SubjectName
    time_zone: str
    display_name: str | None
    created_at: str


class SubjectChange(BaseModel):
    """At least one of both. ``time_zone`` is a name of the IANA database."""

    time_zone: str | None = Field(default=None, examples=["Asia/Shanghai"])
    display_name: str | None = Field(default=None, max_length=200, json_schema_extra=PLAIN)


class ErasedCounts(Shape):
    """What went with the Subject."""

    records: int
    files: int
    conversations: int


class SubjectErased(Shape):
    """A Subject that is gone."""

    status: Literal["ok"]
    subject: SubjectName
    deleted: ErasedCounts
