"""The error envelope as types, for the OpenAPI document and for tests. How it is made lives in envelope.py."""

from pydantic import BaseModel, ConfigDict


class Fault(BaseModel):
    """What is told of a fault. ``param`` is the field at fault with its path."""

    model_config = ConfigDict(extra="forbid", strict=True)

    message: str
    type: str
    code: str
    param: str | None


class ErrorEnvelope(BaseModel):
    """The body of every error."""

    model_config = ConfigDict(extra="forbid", strict=True)

    error: Fault
