"""The pages of the admin, one module for each kind of thing."""

from mirobody_site.operators.admin import (
    accounts,
    audit,
    conversations,
    keys,
    records,
    responses,
    subjects,
    usage,
)

__all__ = ["accounts", "audit", "conversations", "keys", "records", "responses", "subjects", "usage"]
