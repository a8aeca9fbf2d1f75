"""Unit spellings an answer or a row may use, and conversion between them. Nothing here comes from the product."""

import re

_SPELLINGS = {
    "mmol/L": ("mmol/l", "毫摩尔/升", "毫摩/升"),
    "umol/L": ("umol/l", "微摩尔/升"),
    "nmol/L": ("nmol/l",),
    "mg/dL": ("mg/dl", "毫克/分升"),
    "mg/L": ("mg/l", "毫克/升"),
    "g/L": ("g/l", "克/升"),
    "g/dL": ("g/dl",),
    "ng/mL": ("ng/ml", "纳克/毫升"),
    "ug/L": ("ug/l", "微克/升"),
    "mIU/L": ("miu/l", "mu/l", "m[iu]/l"),
    "uIU/mL": ("uiu/ml", "u[iu]/ml"),
    "U/L": ("u/l", "iu/l", "[iu]/l"),
    "10*9/L": ("10*9/l", "10^9/l", "10⁹/l", "x10*9/l", "x10^9/l", "x10⁹/l", "×10*9/l", "×10^9/l", "×10⁹/l"),
    "10*3/uL": ("10*3/ul", "10^3/ul", "10³/ul", "x10^3/ul", "×10³/ul", "×10^3/ul"),
    "mmHg": ("mmhg", "mm hg", "mm[hg]", "毫米汞柱"),
    "/min": (
        "/min",
        "bpm",
        "beats/min",
        "{beats}/min",
        "beats/minute",
        "beats per minute",
        "次/分钟",
        "次/分",
        "次每分钟",
    ),
    "kg": ("kg", "kilograms", "kilogram", "公斤", "千克"),
    "jin": ("斤",),
    "lb": ("lb", "lbs", "[lb_av]", "磅"),
    "cm": ("cm", "厘米", "公分"),
    "m": ("m", "米"),
    "Cel": ("cel", "°c", "℃", "摄氏度"),
    "%": ("%", "％", "percent", "per cent"),
    "h": ("h", "hr", "hrs", "hour", "hours", "小时", "个小时", "h/d", "h/day", "hours/day", "小时/天", "hours per day"),
    "min": ("min", "mins", "minute", "minutes", "分钟"),
    "steps": (
        "steps",
        "step",
        "{steps}",
        "{step}",
        "[steps]",
        "{steps}/d",
        "{step}/d",
        "steps/day",
        "steps/d",
        "steps per day",
        "steps a day",
        "/d",
        "步",
        "步/天",
        "步/日",
    ),
}
_UNIT_OF_SPELLING = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_LONGEST_FIRST = sorted(_UNIT_OF_SPELLING, key=len, reverse=True)

# A Latin unit ends where its word ends ("m" is not the start of "measured", "h" not of "higher").
UNIT_PATTERN = "|".join(
    re.escape(spelling) + (r"(?![A-Za-z0-9_/])" if re.search(r"[a-z]$", spelling) else "")
    for spelling in _LONGEST_FIRST
)

# Each scale: how many of the first unit one of this unit is.
_EVERYTHING = (
    {"h": 1.0, "min": 1 / 60},
    {"kg": 1.0, "jin": 0.5, "lb": 0.45359237},
    {"cm": 1.0, "m": 100.0},
    {"g/L": 1.0, "g/dL": 10.0},
    {"mg/L": 1.0, "mg/dL": 10.0},
    {"ng/mL": 1.0, "ug/L": 1.0},
    {"mIU/L": 1.0, "uIU/mL": 1.0},
    {"10*9/L": 1.0, "10*3/uL": 1.0},
)
_OF_SUBSTANCE = {
    "glucose": {"mmol/L": 1.0, "mg/dL": 1 / 18.0156},
    "cholesterol": {"mmol/L": 1.0, "mg/dL": 1 / 38.67},
    "triglycerides": {"mmol/L": 1.0, "mg/dL": 1 / 88.57},
    "creatinine": {"umol/L": 1.0, "mg/dL": 88.42},
    "uric_acid": {"umol/L": 1.0, "mg/dL": 59.48},
    "vitamin_d": {"nmol/L": 1.0, "ng/mL": 2.496, "ug/L": 2.496},
}


def unit_named(written: str | None) -> str | None:
    """The unit behind a spelling, or None when there is none or it is not known."""
    if written is None:
        return None
    folded = re.sub(r"\s+", " ", written.strip().lower().replace("µ", "u").replace("μ", "u"))
    return _UNIT_OF_SPELLING.get(folded)


def convert(number: float, unit: str, into: str, substance: str | None) -> float | None:
    """`number` of `unit` in the unit `into`; None when the two do not measure the same thing."""
    if unit == into:
        return number
    scales = [_OF_SUBSTANCE[substance]] if substance in _OF_SUBSTANCE else []
    for scale in (*scales, *_EVERYTHING):
        if unit in scale and into in scale:
            return number * scale[unit] / scale[into]
    return None
