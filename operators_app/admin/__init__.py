"""The pages of the admin, one module for each kind of thing."""

from operators_app.admin import accounts, audit, keys, records, responses, subjects, usage

__all__ = ["accounts", "audit", "keys", "records", "responses", "subjects", "usage"]
