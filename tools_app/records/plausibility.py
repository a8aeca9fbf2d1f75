"""What a human body cannot measure, by analyte. Only where it is sure: the ranges are wider than any case on record."""

from decimal import Decimal

# In the analyte's canonical unit, both ends possible. From case reports of extremes, and from what a percent is.
POSSIBLE = {
    "body_temperature": (10.0, 47.0),
    "heart_rate": (0.0, 480.0),
    "heart_rate_resting": (0.0, 480.0),
    "blood_pressure_systolic": (0.0, 400.0),
    "blood_pressure_diastolic": (0.0, 370.0),
    "oxygen_saturation": (0.0, 100.0),
    "body_weight": (0.1, 700.0),
    "body_height": (10.0, 280.0),
    "glucose": (0.0, 150.0),
    "glucose_fasting": (0.0, 150.0),
    "glucose_postprandial": (0.0, 150.0),
    "hba1c": (1.0, 30.0),
}
SIGNED = frozenset({"anion_gap"})


def implausible(analyte: str, canonical: float | None, number: Decimal) -> str | None:
    """Why the number cannot be, in words for the caller, or ``None``. ``canonical`` is in the analyte's own unit."""
    if analyte in POSSIBLE and canonical is not None:
        least, most = POSSIBLE[analyte]
        if not least <= canonical <= most:
            return "is not possible for this indicator in this unit"
        return None
    if number < 0 and analyte not in SIGNED:
        return "must not be negative"
    return None
