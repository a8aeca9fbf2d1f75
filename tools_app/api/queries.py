"""Query parameters of the data API, read strictly: each error names its parameter."""

from collections.abc import Mapping
from datetime import date
from zoneinfo import ZoneInfo

from mirobody_site.tenancy.errors import InvalidRequestError
from tools_app.records.models import MAX_INDICATOR_LENGTH, Precision
from tools_app.records.selectors import Period
from tools_app.records.times import Moment, is_before, read_moment

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
MAX_OFFSET = 10_000_000


def read_period(query: Mapping[str, str], zone: ZoneInfo) -> Period:
    """``start`` and ``end``, dates or date-times, both inclusive; without an offset they are the Subject's."""
    start, end = _moment(query, "start", zone), _moment(query, "end", zone)
    if start and end and is_before(end, start):
        raise InvalidRequestError("end lies before start.", param="end")
    return Period(start, end)


def read_text(query: Mapping[str, str], name: str) -> str | None:
    """A text no longer than an indicator's name, or ``None`` when absent or blank."""
    text = query.get(name, "").strip()
    if len(text) > MAX_INDICATOR_LENGTH:
        raise InvalidRequestError(
            f"{name} must be at most {MAX_INDICATOR_LENGTH} characters.", code="value_too_long", param=name
        )
    if "\x00" in text:
        raise InvalidRequestError(f"{name} must not contain control characters.", param=name)
    return text or None


def read_limit(query: Mapping[str, str], name: str = "limit") -> int:
    """How many: 1 to 1000, 100 unless given."""
    return _integer(query, name, DEFAULT_LIMIT, 1, MAX_LIMIT)


def read_offset(query: Mapping[str, str], name: str = "offset") -> int:
    """How many of the newest to leave out."""
    return _integer(query, name, 0, 0, MAX_OFFSET)


def read_flag(query: Mapping[str, str], name: str) -> bool:
    """``true`` or ``false``; absent is false."""
    text = query.get(name, "") or "false"
    if text not in ("true", "false"):
        raise InvalidRequestError(f"{name} must be true or false.", param=name)
    return text == "true"


def read_day(query: Mapping[str, object], name: str) -> date | None:
    """A date, 2026-03-01, or ``None`` when absent."""
    text = query.get(name)
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidRequestError(f"{name} must be a string.", code="invalid_type", param=name)
    try:
        moment = read_moment(text, ZoneInfo("UTC"))
    except ValueError as error:
        raise InvalidRequestError(f"{name} {error}.", param=name) from None
    if moment.precision != Precision.DAY:
        raise InvalidRequestError(f"{name} must be a date without a time.", param=name)
    return moment.local_date


def _moment(query: Mapping[str, str], name: str, zone: ZoneInfo) -> Moment | None:
    text = read_text(query, name)
    if text is None:
        return None
    try:
        return read_moment(text, zone)
    except ValueError as error:
        raise InvalidRequestError(f"{name} {error}.", param=name) from None


def _integer(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = query.get(name, "").strip()
    if not text:
        return default
    # Nine digits at most, so that no number is too long to convert.
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):  # noqa: PLR2004
        raise InvalidRequestError(f"{name} must be a whole number from {least} to {most}.", param=name)
    return int(text)
