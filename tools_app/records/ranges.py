"""A written record's reference limits, and how a number lies to them. The rows are made in interpretation.py."""

import math
from dataclasses import replace
from decimal import Decimal

from tools_app.records.batch import WrittenRecord
from tools_app.records.models import Abnormality
from tools_app.standardization import Interval, Quantity, interval, ordinal, ucum_unit

# What a reference text such as "negative" asks for.
EXPECTED_RESULTS = frozenset({"negative", "not detected", "non-reactive", "normal"})
NO_LIMITS = Interval(None, None)


def states_limits(record: WrittenRecord) -> bool:
    """Whether it says anything to hold its value against."""
    return record.reference_low is not None or record.reference_high is not None or record.reference_text != ""


def reference_of(record: WrittenRecord, unit: str | None, scale: Decimal = Decimal(1)) -> Interval:
    """The record's limits: those given as numbers, else those its reference text states in the reading's own unit.

    ``scale`` is how many of that unit the unit is in which limits beside the value are written.
    """
    if record.reference_low is not None or record.reference_high is not None:
        return _scaled(Interval(_decimal(record.reference_low), _decimal(record.reference_high)), scale)
    stated = interval(record.reference_text)
    if stated is None or (stated.unit and ucum_unit(stated.unit) != unit):
        return NO_LIMITS
    return stated if stated.unit else _scaled(stated, scale)


def verdict(record: WrittenRecord, quantity: Quantity, reference: Interval) -> str:
    """What its limits say of the value, a word or a number; blank where they do not decide."""
    if quantity.number is not None:
        return abnormality(quantity.number, quantity.comparator or "", reference)
    result, expected = ordinal(quantity.text), ordinal(record.reference_text)
    if result is None or expected not in EXPECTED_RESULTS:
        return ""
    return (Abnormality.NORMAL if result in EXPECTED_RESULTS else Abnormality.ABNORMAL).value


def abnormality(number: Decimal, comparator: str, reference: Interval) -> str:
    """``low``, ``normal`` or ``high`` against the limits; blank where they do not decide."""
    low, high = reference.low, reference.high
    if low is None and high is None:
        return ""
    least = -math.inf if comparator.startswith("<") else number
    most = math.inf if comparator.startswith(">") else number
    # A bound as a reading leaves its own number out, as a limit like "<5.2" does.
    if low is not None and (most < low or (most == low and (comparator == "<" or reference.excludes_low))):
        return Abnormality.LOW.value
    if high is not None and (least > high or (least == high and (comparator == ">" or reference.excludes_high))):
        return Abnormality.HIGH.value
    above = low is None or least > low or (least == low and not reference.excludes_low)
    below = high is None or most < high or (most == high and (comparator == "<" or not reference.excludes_high))
    return Abnormality.NORMAL.value if above and below else ""


def _scaled(limits: Interval, scale: Decimal) -> Interval:
    low, high = (None if limit is None else limit * scale for limit in (limits.low, limits.high))
    return replace(limits, low=low, high=high)


def _decimal(number: float | None) -> Decimal | None:
    return None if number is None else Decimal(str(number))
