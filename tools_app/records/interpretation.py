"""What a written record means: its readings as unsaved rows, standardized, timed and fingerprinted. No queries here."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.models import Subject
from tools_app.records.batch import Batch, CodedRecord, WrittenRecord
from tools_app.records.models import (
    Abnormality,
    AbnormalSource,
    HealthRecord,
    Precision,
    Retention,
    new_public_id,
)
from tools_app.records.names import normalised, plain
from tools_app.records.plausibility import implausible
from tools_app.records.times import Moment, is_before, is_future, moment_of, read_moment, timed
from tools_app.standardization import (
    Concept,
    Interval,
    Quantity,
    blood_pressure,
    concepts_named,
    everyday_quantity,
    find_concept,
    interval,
    ordinal,
    parse_value,
    titre,
    to_canonical,
    ucum_unit,
    unit_in_name,
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
TITRE = "{titer}"
# What a reference text such as "negative" asks for.
EXPECTED_RESULTS = frozenset({"negative", "not detected", "non-reactive", "normal"})
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
    readings = _readings(record, path)
    public_ids = [new_public_id() for _ in readings]
    for public_id, reading in zip(public_ids, readings, strict=True):
        _check_plausible(reading, path)
        yield HealthRecord(
            public_id=public_id, measurement_id=public_ids[0],
            **_written(record), **_understood(record, reading), **_compared(record, reading),
            **timed(start, end, _analyte_of(reading)), **keeping, fingerprint=_fingerprint(record, reading, start),
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
    candidates = concepts_named(record.term)
    if any(concept.analyte == BLOOD_PRESSURE for concept in candidates):
        return _blood_pressure(record, path)
    is_titrated = any(concept.code_unit == TITRE for concept in candidates)
    units = {concept.unit for concept in candidates}
    measured_in = units.pop() if len(units) == 1 else ""
    quantity = _quantity(record, path, is_titrated=is_titrated, measured_in=measured_in)
    return [_reading(record.term, quantity, record.unit, path)]


def _quantity(record: WrittenRecord, path: str, *, is_titrated: bool = False, measured_in: str = "") -> Quantity:
    try:
        everyday = everyday_quantity(record.value, record.unit, measured_in)
        quantity = everyday or parse_value(record.value, record.unit)
    except ValueError as error:
        raise _refuse(path, "value", f"cannot be kept: {error}") from None
    if quantity.number is None and is_titrated:
        return titre(quantity.text) or _as_text(quantity.text, record.parsed_unit)
    if quantity.number is None or abs(quantity.number) > MAX_EXACT:
        return _as_text(quantity.text, record.parsed_unit)
    return quantity


def _as_text(text: str, stored_unit: str) -> Quantity:
    """A value without a number that can be kept, with its unit: "about 5.4 mmol/L", "0-2/HPF", "未检出 IU/mL".

    Of a stored record the last word is the unit whatever stands before it.
    """
    spread = interval(text)
    head, _, last = text.strip().rpartition(" ")
    is_result = any(character.isdigit() for character in head) or ordinal(head) is not None
    last_unit = ucum_unit(last)
    is_unit = last_unit is not None and (is_result or (bool(head) and last_unit == stored_unit))
    unit = spread.unit if spread and spread.unit else last if is_unit else None
    return Quantity(number=None, comparator=None, unit=unit, text=text)


def _blood_pressure(record: WrittenRecord, path: str) -> list[Reading]:
    """Two readings of a pair like ``120/80``; words are kept as words; a single number is neither of the two."""
    quantity = _quantity(record, path)
    pair = blood_pressure(quantity.text, record.unit)
    if pair is None and not any(character.isdigit() for character in quantity.text):
        return [_reading(record.term, quantity, record.unit, path)]
    if pair is None:
        raise _refuse(path, "value", "must be systolic/diastolic, as in 120/80")
    systolic, diastolic, unit_inside = pair
    if systolic <= diastolic:
        raise _refuse(path, "value", "has a systolic pressure that is not above the diastolic")
    unit = record.unit or ("mmHg" if systolic >= LEAST_MMHG and not unit_inside else "")
    return [
        _reading(code, Quantity(number=number, comparator=None, unit=unit_inside, text=quantity.text), unit, path)
        for code, number in ((SYSTOLIC, systolic), (DIASTOLIC, diastolic))
    ]


def _reading(indicator: str, quantity: Quantity, unit_beside: str, path: str) -> Reading:
    written_unit = (quantity.unit or unit_beside).strip()
    unit = _unit(quantity, unit_beside, path) if written_unit else unit_in_name(indicator)
    coded = (
        None if written_unit and unit is None else find_concept(indicator, unit, is_number=quantity.number is not None)
    )
    concept = coded or _analyte(indicator, unit)
    if concept is None:
        number = None if quantity.number is None else float(quantity.number)
        return Reading(quantity, unit, None, "", number, unit or plain(written_unit))
    canonical = _canonical(quantity, unit, concept, bare=not (written_unit or unit))
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
    if inside and beside and beside not in {inside, *quantity.parts}:
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
        "reference_text": record.reference_text,
    }


def _analyte_of(reading: Reading) -> str:
    return reading.concept.analyte if reading.concept else ""


def _understood(record: WrittenRecord, reading: Reading) -> dict[str, Any]:
    number, concept = reading.quantity.number, reading.concept
    return {
        "value": record.value if isinstance(record.value, str) else reading.quantity.text,
        "number": None if number is None else float(number),
        "comparator": reading.quantity.comparator or "",
        "ucum_unit": reading.unit or "",
        "loinc_code": reading.loinc_code or _foreign_code(record),
        "analyte": _analyte_of(reading),
        "canonical_name": concept.name if concept else "",
        "canonical_number": reading.canonical_number,
        "canonical_unit": reading.canonical_unit[:100],
    }


def _foreign_code(record: WrittenRecord) -> str:
    """The source's own code, where the index does not know it."""
    if not isinstance(record, CodedRecord) or concepts_named(record.loinc_code):
        return ""
    return record.loinc_code


def reference_of(record: WrittenRecord, unit: str | None, scale: Decimal = Decimal(1)) -> Interval:
    """The record's limits: those given as numbers, else those its reference text states in the reading's own unit.

    ``scale`` is how many of that unit the unit is in which limits beside the value are written.
    """
    if record.reference_low is not None or record.reference_high is not None:
        return _scaled(Interval(_decimal(record.reference_low), _decimal(record.reference_high)), scale)
    stated = interval(record.reference_text)
    if stated is None or (stated.unit and ucum_unit(stated.unit) != unit):
        return Interval(None, None)
    return stated if stated.unit else _scaled(stated, scale)


def _scaled(limits: Interval, scale: Decimal) -> Interval:
    low, high = (None if limit is None else limit * scale for limit in (limits.low, limits.high))
    return replace(limits, low=low, high=high)


def _decimal(number: float | None) -> Decimal | None:
    return None if number is None else Decimal(str(number))


def _compared(record: WrittenRecord, reading: Reading) -> dict[str, Any]:
    """The limits, how the reading lies to them, and who says so: what was given goes over what is computed."""
    is_stored = record.parsed_unit != "" and record.parsed_unit == reading.unit
    reference = reference_of(record, reading.unit, Decimal(1) if is_stored else reading.quantity.scale)
    flag = record.flag if isinstance(record, CodedRecord) else record.abnormal
    given = flag or reading.quantity.flag
    found = given or _abnormal(record, reading.quantity, reference)
    source = AbnormalSource.GIVEN if given else AbnormalSource.COMPUTED
    return {
        "reference_low": None if reference.low is None else float(reference.low),
        "reference_high": None if reference.high is None else float(reference.high),
        "abnormal": found,
        "abnormal_source": source if found else "",
    }


def _abnormal(record: WrittenRecord, quantity: Quantity, reference: Interval) -> str:
    if quantity.number is not None:
        return abnormality(quantity.number, quantity.comparator or "", reference)
    result, expected = ordinal(quantity.text), ordinal(record.reference_text)
    if result is None or expected not in EXPECTED_RESULTS:
        return ""
    return Abnormality.NORMAL if result in EXPECTED_RESULTS else Abnormality.ABNORMAL


def abnormality(number: Decimal, comparator: str, reference: Interval) -> str:
    """``low``, ``normal`` or ``high`` against the limits; blank where they do not decide."""
    low, high = reference.low, reference.high
    if low is None and high is None:
        return ""
    least = -math.inf if comparator.startswith("<") else number
    most = math.inf if comparator.startswith(">") else number
    # A bound as a reading leaves its own number out, as a limit like "<5.2" does.
    if low is not None and (most < low or (most == low and (comparator == "<" or reference.excludes_low))):
        return Abnormality.LOW
    if high is not None and (least > high or (least == high and (comparator == ">" or reference.excludes_high))):
        return Abnormality.HIGH
    above = low is None or least > low or (least == low and not reference.excludes_low)
    below = high is None or most < high or (most == high and (comparator == "<" or not reference.excludes_high))
    return Abnormality.NORMAL if above and below else ""


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
