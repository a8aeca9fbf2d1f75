"""What a written record means: its readings as unsaved rows, standardized, timed and fingerprinted. No queries here."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.models import Subject
from tools_app.records.batch import Batch, CodedRecord, WrittenRecord
from tools_app.records.models import HealthRecord, Precision, Retention
from tools_app.records.names import normalised, plain
from tools_app.records.plausibility import implausible
from tools_app.records.times import Moment, is_before, is_future, moment_of, read_moment, timed
from tools_app.standardization import (
    Concept,
    Quantity,
    blood_pressure,
    concepts_named,
    find_concept,
    parse_value,
    to_canonical,
    ucum_unit,
)

LIFETIMES = {
    Retention.ONE_HOUR: timedelta(hours=1),
    Retention.TWO_HOURS: timedelta(hours=2),
    Retention.SIX_HOURS: timedelta(hours=6),
    Retention.ONE_DAY: timedelta(days=1),
}
BLOOD_PRESSURE = "blood_pressure"
SYSTOLIC, DIASTOLIC = "8480-6", "8462-4"
# A pair of at least this size without a unit is millimetres of mercury everywhere; in kPa it would be far below.
LEAST_MMHG = 40
# Up to here a floating point number tells every whole number from the next.
MAX_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Reading:
    """What one value says: of which concept, how much, and the same in the unit in which it may be compared."""

    quantity: Quantity
    unit: str | None
    concept: Concept | None
    loinc_code: str
    canonical_number: float | None
    canonical_unit: str


def interpret(batch: Batch, zone: ZoneInfo, now: datetime) -> list[HealthRecord]:
    """The batch's readings as rows without a Subject, in the order written; a blood pressure gives two.

    Raises ``InvalidRequestError`` naming the field (``records[3].value``) for what is impossible.
    """
    keeping = kept_for(batch.retention, now) | {"session_id": batch.session_id}
    return [
        row
        for index, record in enumerate(batch.records)
        for row in rows_of(record, f"records[{index}]", zone, now, keeping)
    ]


def kept_for(retention: Retention, now: datetime) -> dict[str, Any]:
    """The columns that say how long a row written ``now`` is kept."""
    expires_at = now + LIFETIMES[retention] if retention in LIFETIMES else None
    return {"retention": retention, "expires_at": expires_at, "created_at": now}


def fingerprinted(rows: Sequence[HealthRecord], subject: Subject) -> list[HealthRecord]:
    """The rows, given to their Subject; of those that are the same reading the first."""
    kept: dict[str, HealthRecord] = {}
    for row in rows:
        row.subject = subject
        kept.setdefault(row.fingerprint, row)
    return list(kept.values())


def rows_of(
    record: WrittenRecord, path: str, zone: ZoneInfo, now: datetime, keeping: dict[str, Any]
) -> Iterator[HealthRecord]:
    """One record's readings; ``path`` is how errors name it, ``keeping`` further columns. Raises as ``interpret``."""
    start, end = _times(record, path, zone, now)
    _check_limits(record, path)
    for reading in _readings(record, path):
        _check_plausible(reading, path)
        yield HealthRecord(
            **_written(record), **_understood(record, reading), **timed(start, end, _analyte_of(reading)), **keeping,
            fingerprint=_fingerprint(record, reading, start),
        )  # fmt: skip


def _refuse(path: str, field: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"{path}.{field} {problem}.", param=f"{path}.{field}")


def _times(record: WrittenRecord, path: str, zone: ZoneInfo, now: datetime) -> tuple[Moment, Moment | None]:
    start = _moment(record.time, path, "time", zone, now) or moment_of(now, zone)
    end = _moment(record.end_time, path, "end_time", zone, now)
    if end and is_before(end, start):
        raise _refuse(path, "end_time", "lies before the reading's time")
    return start, end


def _moment(text: str | None, path: str, field: str, zone: ZoneInfo, now: datetime) -> Moment | None:
    if text is None:
        return None
    try:
        moment = read_moment(text, zone)
    except ValueError as error:
        raise _refuse(path, field, str(error)) from None
    if is_future(moment, now, zone):
        raise _refuse(path, field, "lies more than a day in the future")
    return moment


def _check_limits(record: WrittenRecord, path: str) -> None:
    low, high = record.reference_low, record.reference_high
    if low is not None and high is not None and low > high:
        raise _refuse(path, "reference_low", "is above reference_high")


def _check_plausible(reading: Reading, path: str) -> None:
    if reading.concept is None or reading.quantity.number is None:
        return
    problem = implausible(reading.concept, reading.canonical_number, reading.quantity.number)
    if problem:
        raise _refuse(path, "value", problem)


def _readings(record: WrittenRecord, path: str) -> list[Reading]:
    if any(concept.analyte == BLOOD_PRESSURE for concept in concepts_named(record.term)):
        return _blood_pressure(record, path)
    return [_reading(record.term, _quantity(record.value, path), record.unit, path)]


def _quantity(value: str | float, path: str) -> Quantity:
    try:
        quantity = parse_value(value)
    except ValueError as error:
        raise _refuse(path, "value", f"cannot be kept: {error}") from None
    if quantity.number is None or abs(quantity.number) > MAX_EXACT:
        return _as_text(quantity.text)
    return quantity


def _as_text(text: str) -> Quantity:
    """A value without a number that can be kept, with the unit it ends in: "about 5.4 mmol/L"."""
    head, _, last = text.strip().rpartition(" ")
    is_unit = any(character.isdigit() for character in head) and ucum_unit(last) is not None
    return Quantity(number=None, comparator=None, unit=last if is_unit else None, text=text)


def _blood_pressure(record: WrittenRecord, path: str) -> list[Reading]:
    """Two readings of a pair like ``120/80``; words are kept as words; a single number is neither of the two."""
    quantity = _quantity(record.value, path)
    pair = blood_pressure(quantity.text)
    if pair is None and not any(character.isdigit() for character in quantity.text):
        return [_reading(record.term, quantity, record.unit, path)]
    if pair is None:
        raise _refuse(path, "value", "must be systolic/diastolic, as in 120/80")
    systolic, diastolic = pair
    if systolic <= diastolic:
        raise _refuse(path, "value", "has a systolic pressure that is not above the diastolic")
    unit = record.unit or ("mmHg" if systolic >= LEAST_MMHG else "")
    return [
        _reading(code, Quantity(number=number, comparator=None, unit=None, text=quantity.text), unit, path)
        for code, number in ((SYSTOLIC, systolic), (DIASTOLIC, diastolic))
    ]


def _reading(indicator: str, quantity: Quantity, unit_beside: str, path: str) -> Reading:
    unit = _unit(quantity, unit_beside, path)
    written_unit = (quantity.unit or unit_beside).strip()
    coded = (
        None if written_unit and unit is None else find_concept(indicator, unit, is_number=quantity.number is not None)
    )
    concept = coded or _analyte(indicator, unit)
    if concept is None:
        number = None if quantity.number is None else float(quantity.number)
        return Reading(quantity, unit, None, "", number, unit or plain(written_unit))
    canonical = _canonical(quantity, unit, concept, bare=not written_unit)
    return Reading(quantity, unit, concept, coded.code if coded else "", canonical, concept.unit)


def _analyte(indicator: str, unit: str | None) -> Concept | None:
    """What is measured may be sure though no code applies: the unit is not known, or is one that no code is for."""
    candidates = concepts_named(indicator)
    if len({concept.analyte for concept in candidates}) != 1:
        return None
    fits = unit is None or to_canonical(Decimal(1), unit, candidates[0].analyte) is not None
    return candidates[0] if fits else None


def _unit(quantity: Quantity, unit_beside: str, path: str) -> str | None:
    inside, beside = ucum_unit(quantity.unit), ucum_unit(unit_beside)
    if inside and beside and inside != beside:
        raise _refuse(path, "unit", "is not the unit that stands in the value")
    return inside or beside


def _canonical(quantity: Quantity, unit: str | None, concept: Concept, *, bare: bool) -> float | None:
    """The number in the concept's unit. A bare number counts only where the unit is no more than a count."""
    if quantity.number is None:
        return None
    if unit is None:
        is_count = concept.unit == "1" or concept.unit.startswith("{")
        return float(quantity.number) if bare and is_count else None
    converted = to_canonical(quantity.number, unit, concept.analyte)
    return None if converted is None else float(converted)


def _written(record: WrittenRecord) -> dict[str, Any]:
    return {
        "indicator": record.indicator,
        "name": normalised(record.indicator)[:400],
        "unit": record.unit,
        "source": record.source,
        "reference_low": record.reference_low,
        "reference_high": record.reference_high,
        "reference_text": record.reference_text,
    }


def _analyte_of(reading: Reading) -> str:
    return reading.concept.analyte if reading.concept else ""


def _understood(record: WrittenRecord, reading: Reading) -> dict[str, Any]:
    number, concept = reading.quantity.number, reading.concept
    comparator = reading.quantity.comparator or ""
    return {
        "value": record.value if isinstance(record.value, str) else reading.quantity.text,
        "number": None if number is None else float(number),
        "comparator": comparator,
        "ucum_unit": reading.unit or "",
        "loinc_code": reading.loinc_code or _foreign_code(record),
        "analyte": _analyte_of(reading),
        "canonical_name": concept.name if concept else "",
        "canonical_number": reading.canonical_number,
        "canonical_unit": reading.canonical_unit[:100],
        "abnormal": _abnormal(number, comparator, record),
    }


def _foreign_code(record: WrittenRecord) -> str:
    """The source's own code, where the index does not know it."""
    if not isinstance(record, CodedRecord) or concepts_named(record.loinc_code):
        return ""
    return record.loinc_code


def _abnormal(number: Decimal | None, comparator: str, record: WrittenRecord) -> str:
    verdict = "" if number is None else abnormality(float(number), comparator, record)
    return verdict or (record.flag if isinstance(record, CodedRecord) else "")


def abnormality(number: float, comparator: str, record: WrittenRecord) -> str:
    """``low``, ``normal`` or ``high`` against the record's limits; blank where they do not decide."""
    low, high = record.reference_low, record.reference_high
    if low is None and high is None:
        return ""
    least = -math.inf if comparator.startswith("<") else number
    most = math.inf if comparator.startswith(">") else number
    if low is not None and (most < low or (comparator == "<" and most <= low)):
        return "low"
    if high is not None and (least > high or (comparator == ">" and least >= high)):
        return "high"
    within = (low is None or least >= low) and (high is None or most <= high)
    return "normal" if within else ""


def _fingerprint(record: WrittenRecord, reading: Reading, start: Moment) -> str:
    """The same for the same reading in another language, spelling of its unit or offset."""
    parts = [
        _what(record, reading),
        start.key,
        Precision(start.precision).value,
        record.source,
        _amount(record, reading),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _what(record: WrittenRecord, reading: Reading) -> str:
    if reading.concept:
        return f"analyte:{reading.concept.analyte}"
    code = _foreign_code(record)
    return f"loinc:{code}" if code else f"name:{normalised(record.indicator)}"


def _amount(record: WrittenRecord, reading: Reading) -> list[str]:
    quantity = reading.quantity
    comparator, unit = quantity.comparator or "", (quantity.unit or record.unit).strip()
    is_read = reading.unit or not unit
    if reading.canonical_number is not None and is_read:
        return [comparator, f"{reading.canonical_number:.9g}", reading.canonical_unit]
    if quantity.number is not None and is_read:
        return [comparator, f"{float(quantity.number):.9g}", reading.unit or ""]
    number = quantity.text.strip().removesuffix(unit)
    return ["", normalised(number if reading.unit else f"{number} {unit}"), reading.unit or ""]
