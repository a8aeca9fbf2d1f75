"""FHIR search parameters over a Subject's readings, read strictly: what is not understood is refused, never ignored.

Source: FHIR R4, Search (token and date parameters).
"""

import re
from collections.abc import Sequence, Set
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.http import QueryDict

from mirobody_site.tenancy.errors import InvalidRequestError
from tools_app.api.queries import read_limit, read_offset
from tools_app.fhir.systems import LOINC
from tools_app.records.clinical import DatePrecision
from tools_app.records.clinical_times import ClinicalTime, read_clinical_time
from tools_app.records.models import HealthRecordQuerySet, Precision
from tools_app.records.pressures import DIASTOLIC, IS_FIRST, PANEL, SYSTOLIC, has_second
from tools_app.records.selectors import Period, within
from tools_app.records.times import Moment, read_moment

KNOWN = frozenset({"user", "code", "combo-code", "date", "_count", "_offset", "_format"})
MAX_CODES = 100
MAX_REPEATS = 10
"""How often each may be given: all of them must hold, and each costs the database a condition."""
_DATE = re.compile(r"(eq|ge|gt|le|lt)?([0-9].*)")


def check_known(query: QueryDict) -> None:
    """Raises InvalidRequestError, ``unsupported_parameter``, for a search parameter that would change the result."""
    for name in query:
        if name not in KNOWN:
            known = ", ".join(sorted(KNOWN))
            raise InvalidRequestError(
                f"This search parameter is not supported. Known: {known}.", code="unsupported_parameter", param=name
            )


def read_page(query: QueryDict) -> tuple[int, int]:
    """``_count`` (1 to 1000, 100 unless given) and ``_offset``."""
    return read_limit(query, "_count"), read_offset(query, "_offset")


def matching(records: HealthRecordQuerySet, query: QueryDict, zone: ZoneInfo) -> HealthRecordQuerySet:
    """Of the measurements those that fit each ``code``, ``combo-code`` and ``date``, by their first rows.

    Raises InvalidRequestError naming the parameter.
    """
    is_pair = has_second(records)
    records = records.filter(IS_FIRST)
    for text in _given(query, "code"):
        records = records.filter(_coded(set(_codes("code", text)), is_pair))
    for text in _given(query, "combo-code"):
        records = records.filter(_coded_in_part(set(_codes("combo-code", text)), is_pair))
    for text in _given(query, "date"):
        records = _dated(records, text, zone)
    return records


def _given(query: QueryDict, name: str) -> Sequence[str]:
    texts = query.getlist(name)
    if len(texts) > MAX_REPEATS:
        message = f"{name} must be given at most {MAX_REPEATS} times."
        raise InvalidRequestError(message, code="too_many_items", param=name)
    return texts


def _coded(codes: Set[str], is_pair: Q) -> Q:
    """True where the Observation's own code is one of them: a blood pressure's is the panel's, not the systolic one."""
    own = Q(loinc_code__in=codes)
    if SYSTOLIC in codes:
        own &= ~is_pair
    return own | is_pair if PANEL in codes else own


def _coded_in_part(codes: Set[str], is_pair: Q) -> Q:
    """True where the Observation's own code or that of a component is one of them."""
    own = Q(loinc_code__in=codes)
    return own | is_pair if codes & {PANEL, SYSTOLIC, DIASTOLIC} else own


def _codes(name: str, text: str) -> Sequence[str]:
    """Tokens, any of which will do: ``code``, ``system|code`` or ``|code``. Only LOINC codes are known."""
    tokens = text.split(",")
    if len(tokens) > MAX_CODES or "\x00" in text:
        raise InvalidRequestError(f"{name} must be at most {MAX_CODES} codes.", param=name)
    pairs = [token.rpartition("|") for token in tokens]
    return [code for system, _, code in pairs if code and system in ("", LOINC)]


def _dated(records: HealthRecordQuerySet, text: str, zone: ZoneInfo) -> HealthRecordQuerySet:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise _bad_date("must be a date or date-time, after one of eq, ge, gt, le and lt")
    try:
        time = read_clinical_time(match[2], zone)
    except ValueError as error:
        raise _bad_date(str(error)) from None
    match match[1]:
        case "ge":
            return within(records, Period(start=_from(time, zone)))
        case "le":
            return within(records, Period(end=_until(time, zone)))
        case "gt":
            return _beyond(records, time, zone, after=True)
        case "lt":
            return _beyond(records, time, zone, after=False)
        case _:
            return within(records, Period(_from(time, zone), _until(time, zone)))


def _beyond(records: HealthRecordQuerySet, time: ClinicalTime, zone: ZoneInfo, *, after: bool) -> HealthRecordQuerySet:
    """Those that lie wholly after, or before, all that the time may mean."""
    if time.precision != DatePrecision.INSTANT:
        return records.filter(local_date__gt=time.last_day) if after else records.filter(local_date__lt=time.first_day)
    moment = _from(time, zone)
    beside = within(records, Period(start=moment) if after else Period(end=moment))
    return beside.exclude(Q(precision=Precision.INSTANT, instant=time.instant) | _undecided(time))


def _undecided(time: ClinicalTime) -> Q:
    """A date is neither before nor after a time of its own day."""
    return Q(precision=Precision.DAY, local_date=time.first_day)


def _from(time: ClinicalTime, zone: ZoneInfo) -> Moment:
    return read_moment(time.text if time.instant else time.first_day.isoformat(), zone)


def _until(time: ClinicalTime, zone: ZoneInfo) -> Moment:
    return read_moment(time.text if time.instant else time.last_day.isoformat(), zone)


def _bad_date(problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"date {problem}.", param="date")
