"""What a written record means: its readings as unsaved rows, standardized, timed and fingerprinted. No queries here."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.models import Subject
from tools_app.records.batch import Batch, CodedRecord, WrittenRecord
from tools_app.records.models import AbnormalSource, HealthRecord, Retention, new_public_id
from tools_app.records.names import normalised, plain
from tools_app.records.plausibility import implausible
from tools_app.records.pressures import BLOOD_PRESSURE, DIASTOLIC, SYSTOLIC
from tools_app.records.ranges import NO_LIMITS, reference_of, states_limits, verdict
from tools_app.records.times import Moment, is_before, is_future, moment_of, read_moment, timed
from tools_app.standardization import (
    Concept,
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
# A pair of at least this size without a unit is millimetres of mercury everywhere; in kPa it would be far below.
LEAST_MMHG = 40
TITRE = "{titer}"
# Up to here a floating point number tells every whole number from the next.
MAX_EXACT = 2**53
# Of the names and units people write few are written again and again.
REMEMBERED = 4096
# Stands in no text that is taken in.
_SEPARATOR = "\x1f"
_COLUMNS = tuple(field.attname for field in HealthRecord._meta.concrete_fields)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a name alone says of its values. ``measured_in``: the one unit of all that it may stand for, or blank."""

    is_blood_pressure: bool
    is_titrated: bool
    measured_in: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What a name, a unit and whether there is a number say together.

    ``is_counted``: a number without a unit is one all the same.
    """

    unit: str | None
    concept: Concept | None
    code: str
    is_counted: bool


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
    return {"retention": retention.value, "expires_at": expires_at, "created_at": now}


def fingerprinted(rows: Sequence[HealthRecord], subject: Subject) -> list[HealthRecord]:
    """The rows, given to their Subject; of those that are the same reading the first."""
    kept: dict[str, HealthRecord] = {}
    for row in rows:
        row.subject_id = subject.pk
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
        yield _row({
            "public_id": public_id, "measurement_id": public_ids[0],
            "fingerprint": _fingerprint(record, reading, start),
            **_written(record), **_understood(record, reading), **_compared(record, reading),
            **timed(start, end, _analyte_of(reading)), "session_id": "", **keeping,
        })  # fmt: skip


def _row(columns: dict[str, Any]) -> HealthRecord:
    # In the order of the fields: a model takes twice as long by their names.
    columns |= {"id": None, "subject_id": None}
    return HealthRecord(*[columns[name] for name in _COLUMNS])


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
    expected = _expected(record.term)
    if expected.is_blood_pressure:
        return _blood_pressure(record, path)
    quantity = _quantity(record, path, is_titrated=expected.is_titrated, measured_in=expected.measured_in)
    return [_reading(record.term, quantity, record.unit, path)]


@lru_cache(maxsize=REMEMBERED)
def _expected(term: str) -> Expected:
    candidates = concepts_named(term)
    units = {concept.unit for concept in candidates}
    return Expected(
        is_blood_pressure=any(concept.analyte == BLOOD_PRESSURE for concept in candidates),
        is_titrated=any(concept.code_unit == TITRE for concept in candidates),
        measured_in=units.pop() if len(units) == 1 else "",
    )


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
    _check_unit(quantity, unit_beside, path)
    measured = _measured(indicator, quantity.unit or "", unit_beside, is_number=quantity.number is not None)
    unit, concept = measured.unit, measured.concept
    if concept is None:
        number = None if quantity.number is None else float(quantity.number)
        return Reading(quantity, unit, None, "", number, unit or plain(quantity.unit or unit_beside))
    canonical = _canonical(quantity, measured, concept)
    return Reading(quantity, unit, concept, measured.code, canonical, concept.unit)


@lru_cache(maxsize=REMEMBERED)
def _measured(indicator: str, unit_inside: str, unit_beside: str, *, is_number: bool) -> Measured:
    is_bare = not (unit_inside or unit_beside).strip()
    unit = unit_in_name(indicator) if is_bare else ucum_unit(unit_inside) or ucum_unit(unit_beside)
    coded = None if unit is None and not is_bare else find_concept(indicator, unit, is_number=is_number)
    concept = coded or _analyte(indicator, unit)
    is_count = concept is not None and (concept.unit == "1" or concept.unit.startswith("{"))
    return Measured(unit, concept, coded.code if coded else "", is_counted=is_count and is_bare)


def _analyte(indicator: str, unit: str | None) -> Concept | None:
    """What is measured may be sure though no code applies: the unit is not known, or is one that no code is for."""
    candidates = concepts_named(indicator)
    if len({concept.analyte for concept in candidates}) != 1:
        return None
    fits = unit is None or to_canonical(Decimal(1), unit, candidates[0].analyte) is not None
    return candidates[0] if fits else None


def _check_unit(quantity: Quantity, unit_beside: str, path: str) -> None:
    if not quantity.unit or not unit_beside:
        return
    inside, beside = ucum_unit(quantity.unit), ucum_unit(unit_beside)
    if inside and beside and beside not in {inside, *quantity.parts}:
        raise _refuse(path, "unit", "is not the unit that stands in the value")


def _canonical(quantity: Quantity, measured: Measured, concept: Concept) -> float | None:
    """The number in the concept's unit. A bare number counts only where the unit is no more than a count."""
    if quantity.number is None:
        return None
    if measured.unit is None:
        return float(quantity.number) if measured.is_counted else None
    converted = to_canonical(quantity.number, measured.unit, concept.analyte)
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


def _compared(record: WrittenRecord, reading: Reading) -> dict[str, Any]:
    """The limits, how the reading lies to them, and who says so: what was given goes over what is computed."""
    is_stored = record.parsed_unit != "" and record.parsed_unit == reading.unit
    scale = Decimal(1) if is_stored else reading.quantity.scale
    reference = reference_of(record, reading.unit, scale) if states_limits(record) else NO_LIMITS
    flag = record.flag if isinstance(record, CodedRecord) else record.abnormal
    given = flag or reading.quantity.flag
    found = given or verdict(record, reading.quantity, reference)
    source = AbnormalSource.GIVEN if given else AbnormalSource.COMPUTED
    return {
        "reference_low": None if reference.low is None else float(reference.low),
        "reference_high": None if reference.high is None else float(reference.high),
        "abnormal": found,
        "abnormal_source": source.value if found else "",
    }


def _fingerprint(record: WrittenRecord, reading: Reading, start: Moment) -> str:
    """The same for the same reading in another language, spelling of its unit or offset."""
    parts = [
        _what(record, reading),
        start.key,
        start.precision.value,
        record.source,
        *_amount(record, reading),
    ]
    return hashlib.sha256(_SEPARATOR.join(parts).encode()).hexdigest()


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
