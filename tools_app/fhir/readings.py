"""FHIR Observations as readings, each component one of its own. How a reading is understood is in records/.

Source: FHIR R4, Observation.
"""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import ValidationError

from tools_app.fhir.documents import Resource, Unusable
from tools_app.fhir.parsing import check_valid, codings, words
from tools_app.fhir.systems import LOINC, UCUM
from tools_app.records.batch import CodedRecord

SOURCE = "fhir"
_NOT_RESULTS = frozenset({"entered-in-error", "cancelled"})
_FLAGS: dict[str, Literal["low", "normal", "high"]] = {
    **dict.fromkeys(("L", "LL", "LU", "<"), "low"),
    **dict.fromkeys(("H", "HH", "HU", ">"), "high"),
    "N": "normal",
}


def readings_of(observation: Resource) -> Iterator[CodedRecord | Unusable]:
    """The readings of one Observation, or why there is none in it or in a component of it."""
    try:
        check_valid(observation)
        shared = _times(observation)
        parts = _parts(observation)
    except Unusable as reason:
        yield reason
        return
    for part in parts:
        try:
            yield _reading(part, shared)
        except Unusable as reason:
            yield reason


def _times(observation: Resource) -> dict[str, Any]:
    status = observation.get("status")
    if status in _NOT_RESULTS:
        raise Unusable(f"status is {status}")
    period = observation.get("effectivePeriod", {})
    time = observation.get("effectiveDateTime") or observation.get("effectiveInstant") or period.get("start")
    if not time:
        raise Unusable("says no time")
    return {"time": time, "end_time": period.get("end")}


def _parts(observation: Resource) -> list[Resource]:
    """What holds a value: the components, and the Observation itself."""
    parts = [part for part in (observation, *observation.get("component", [])) if _has_value(part)]
    if not parts:
        raise Unusable("holds no value")
    return parts


def _has_value(part: Resource) -> bool:
    return any(name.startswith("value") for name in part)


def _reading(part: Resource, times: dict[str, Any]) -> CodedRecord:
    value, unit = _value(part)
    code = part["code"]
    loinc = next((one["code"] for one in codings(code) if one["system"] == LOINC), "")
    written = {
        "indicator": words(code),
        "loinc_code": loinc,
        "value": value,
        "unit": unit,
        "source": SOURCE,
        "flag": _flag(part),
        **times,
        **_limits(part, unit),
    }
    try:
        return CodedRecord.model_validate(written)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Unusable(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _value(part: Resource) -> tuple[Any, str]:
    match part:
        case {"valueQuantity": quantity}:
            return _quantity(quantity)
        case {"valueInteger": number}:
            return number, ""
        case {"valueString": text} | {"valueTime": text} | {"valueDateTime": text}:
            return text, ""
        case {"valueCodeableConcept": concept}:
            return words(concept), ""
        case {"valueBoolean": truth}:
            return "true" if truth else "false", ""
        case {"valueRange": {"low": {"value": low}, "high": {"value": high} as upper}}:
            return f"{low}-{high}", _unit(upper)
        case {"valueRatio": {"numerator": {"value": number}, "denominator": {"value": by}}}:
            return f"{number}:{by}", ""
    raise Unusable("the kind of its value is not taken")


def _quantity(quantity: Resource) -> tuple[Any, str]:
    if "value" not in quantity:
        raise Unusable("holds no value")
    comparator = quantity.get("comparator")
    value = quantity["value"]
    return f"{comparator}{value}" if comparator else value, _unit(quantity)


def _unit(quantity: Resource) -> str:
    """The UCUM code if it is given as one, else the unit as written. A count's ``1`` is no unit."""
    code = quantity.get("code") if quantity.get("system") == UCUM else None
    unit = str(code or quantity.get("unit", ""))
    return "" if unit == "1" else unit


def _limits(part: Resource, unit: str) -> dict[str, Any]:
    """The normal range, where its limits are in the value's own unit."""
    ranges = part.get("referenceRange", [])
    normal: Resource = next((one for one in ranges if _is_normal(one)), {})
    low, high = normal.get("low", {}), normal.get("high", {})
    limits = {"reference_text": normal.get("text")}
    if all(_unit(limit) in ("", unit) for limit in (low, high)):
        limits |= {"reference_low": low.get("value"), "reference_high": high.get("value")}
    return limits


def _is_normal(reference_range: Resource) -> bool:
    kinds = codings(reference_range.get("type", {}))
    return not kinds or any(kind["code"] == "normal" for kind in kinds)


def _flag(part: Resource) -> Literal["", "low", "normal", "high"]:
    given = (one["code"] for concept in part.get("interpretation", []) for one in codings(concept))
    return next((_FLAGS[code] for code in given if code in _FLAGS), "")
