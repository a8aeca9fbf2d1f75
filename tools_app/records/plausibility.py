"""What a human body cannot measure. Only where it is sure: the index's ranges are wider than any case on record."""

from decimal import Decimal

from tools_app.standardization import Concept


def implausible(concept: Concept, canonical: float | None, number: Decimal) -> str | None:
    """Why the number cannot be, in words for the caller, or ``None``. ``canonical`` is in the analyte's own unit."""
    if concept.least is None or concept.most is None:
        return None
    if canonical is None:
        return "must not be negative" if number < 0 <= concept.least else None
    if concept.least <= canonical <= concept.most:
        return None
    if canonical < 0 <= concept.least:
        return "must not be negative"
    return "is not possible for this indicator in this unit"
