"""What a question over the demo data should be answered with, computed from the rows of GET /v1/data.

Nothing here comes from the product. A row's day is the date of its `time` in UTC.
"""

import math
import re
from calendar import month_name, monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import fmean
from typing import Any

from tests.questions.units import convert, unit_named

Row = Mapping[str, Any]
Span = tuple[date, date]


@dataclass(frozen=True)
class Series:
    """What a person calls one indicator: the LOINC codes and written names of its rows, and its unit."""

    codes: tuple[str, ...]
    names: tuple[str, ...]
    unit: str
    substance: str | None = None


SERIES = {
    "fasting_glucose": Series(
        ("14771-0", "1558-6", "76629-5"),
        ("fasting glucose", "fasting blood glucose", "fasting plasma glucose", "空腹血糖"),
        "mmol/L",
        "glucose",
    ),
    "hba1c": Series(("4548-4", "17856-6"), ("hba1c", "hemoglobin a1c", "a1c", "糖化血红蛋白"), "%"),
    "total_cholesterol": Series(("14647-2", "2093-3"), ("total cholesterol", "总胆固醇"), "mmol/L", "cholesterol"),
    "ldl": Series(
        ("22748-8", "39469-2", "69419-0", "2089-1", "13457-7", "18262-6"),
        ("ldl", "ldl cholesterol", "ldl-c", "low-density lipoprotein cholesterol", "低密度脂蛋白胆固醇"),
        "mmol/L",
        "cholesterol",
    ),
    "hdl": Series(
        ("14646-4", "2085-9"), ("hdl", "hdl cholesterol", "hdl-c", "高密度脂蛋白胆固醇"), "mmol/L", "cholesterol"
    ),
    "triglycerides": Series(
        ("14927-8", "2571-8"), ("triglycerides", "triglyceride", "甘油三酯"), "mmol/L", "triglycerides"
    ),
    "creatinine": Series(("14682-9", "2160-0"), ("creatinine", "肌酐"), "umol/L", "creatinine"),
    "uric_acid": Series(("14933-6", "3084-1"), ("uric acid", "尿酸"), "umol/L", "uric_acid"),
    "alt": Series(("1742-6", "1743-4", "1744-2"), ("alt", "alanine aminotransferase", "谷丙转氨酶"), "U/L"),
    "ast": Series(("1920-8", "30239-8"), ("ast", "aspartate aminotransferase", "谷草转氨酶"), "U/L"),
    "hemoglobin": Series(("718-7",), ("hemoglobin", "haemoglobin", "血红蛋白"), "g/L"),
    "white_cells": Series(
        ("6690-2", "26464-8"), ("wbc", "white blood cells", "white blood cell count", "白细胞"), "10*9/L"
    ),
    "platelets": Series(("777-3", "26515-7"), ("platelets", "platelet count", "plt", "血小板"), "10*9/L"),
    "tsh": Series(("3016-3", "11580-8", "11579-0"), ("tsh", "thyroid stimulating hormone", "促甲状腺激素"), "mIU/L"),
    "vitamin_d": Series(
        ("1989-3", "62292-8", "14635-7", "49054-0", "68438-1"),
        ("vitamin d", "25-oh vitamin d", "25-hydroxyvitamin d", "维生素d", "25-羟维生素d"),
        "nmol/L",
        "vitamin_d",
    ),
    "ferritin": Series(("2276-4", "20567-4"), ("ferritin", "铁蛋白"), "ng/mL"),
    "sodium": Series(("2951-2",), ("sodium", "钠"), "mmol/L"),
    "potassium": Series(("2823-3",), ("potassium", "钾"), "mmol/L"),
    "hs_crp": Series(
        ("30522-7", "71426-1"),
        ("hs-crp", "hscrp", "high-sensitivity crp", "high sensitivity crp", "超敏c反应蛋白"),
        "mg/L",
    ),
    "urine_glucose": Series(
        ("2349-9", "25428-4", "5792-7", "2350-7", "53328-1"),
        ("urine glucose", "glucose, urine", "尿糖", "尿葡萄糖"),
        "",
    ),
    "systolic": Series(("8480-6",), ("systolic blood pressure", "systolic", "收缩压"), "mmHg"),
    "diastolic": Series(("8462-4",), ("diastolic blood pressure", "diastolic", "舒张压"), "mmHg"),
    "resting_heart_rate": Series(("40443-4",), ("resting heart rate", "静息心率"), "/min"),
    "steps": Series(("41950-7", "55423-8"), ("steps", "step count", "daily steps", "步数"), "steps"),
    "sleep": Series(("93832-4",), ("sleep duration", "sleep", "睡眠时长", "睡眠时间", "睡眠"), "h"),
    "weight": Series(("29463-7", "3141-9"), ("body weight", "weight", "体重"), "kg"),
    "height": Series(("8302-2",), ("body height", "height", "身高"), "cm"),
    "temperature": Series(("8310-5",), ("body temperature", "temperature", "体温"), "Cel"),
    "oxygen_saturation": Series(
        ("59408-5", "2708-6"), ("oxygen saturation", "spo2", "blood oxygen", "血氧饱和度", "血氧"), "%"
    ),
}


@dataclass(frozen=True)
class Measurement:
    """One row, comparable: `number` in the series' unit (None for a text result), `limits` likewise."""

    series: str
    day: date
    moment: datetime
    number: float | None
    comparator: str | None
    written: str
    converted: bool
    limits: tuple[float, ...]


def in_series(row: Row, name: str) -> bool:
    """Whether a row belongs to the series, by its code or by the name it was written or standardized under."""
    series = SERIES[name]
    names = {str(row.get(key) or "").casefold() for key in ("indicator", "canonical_name")}
    return row.get("loinc_code") in series.codes or not names.isdisjoint(series.names)


def moment_of(row: Row) -> datetime:
    """The row's time in UTC; a bare date is its midnight."""
    moment = datetime.fromisoformat(str(row["time"]))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def measurements(rows: Iterable[Row], name: str) -> list[Measurement]:
    """The series' rows, oldest first."""
    return sorted((_measurement(row, name) for row in rows if in_series(row, name)), key=lambda one: one.moment)


def _measurement(row: Row, name: str) -> Measurement:
    series, written = SERIES[name], str(row["value"])
    unit = unit_named(row.get("parsed_unit")) or series.unit
    moment = moment_of(row)

    def comparable(number: float | None) -> float | None:
        return None if number is None else convert(float(number), unit, series.unit, series.substance)

    number = comparable(row.get("parsed_value") if row.get("parsed_value") is not None else _number_in(written))
    if number is None and _number_in(written) is not None:
        raise ValueError(f"a {name} row is written in a unit that does not convert: {row.get('parsed_unit')!r}")
    limits = [comparable(row.get(key)) for key in ("reference_low", "reference_high")]
    comparator = re.match(r"\s*([<>]=?|≤|≥)", written)
    return Measurement(
        series=name,
        day=moment.date(),
        moment=moment,
        number=number,
        comparator=comparator[1] if comparator else None,
        written=written,
        converted=unit != series.unit,
        limits=tuple(limit for limit in limits if limit is not None),
    )


def _number_in(written: str) -> float | None:
    match = re.match(r"\s*(?:[<>]=?|≤|≥)?\s*(\d+(?:\.\d+)?)", written)
    return float(match[1]) if match else None


# Ranges ---------------------------------------------------------------------------------------------------------------


def spans(name: str, today: date, filled: Mapping[str, Any]) -> list[Span]:
    """Every reading of a range name that a careful person would accept, first and last day included.

    `past_N_days` and `past_N_months` end today and start N days or calendar months (or N times 30 days) back, that day
    counted or not; `before_past_N_months` are as many months before each of those. The other names have one reading.
    """
    if match := re.fullmatch(r"(before_)?past_(\d+)_(days|months)", name):
        starts = _rolling_starts(today, int(match[2]), match[3])
        if match[1] is None:
            return [(start, today) for start in starts]
        return [(_months_back(start, int(match[2])), start - timedelta(days=1)) for start in starts]
    fixed: dict[str, Callable[[], Span]] = {
        "all": lambda: (date(1900, 1, 1), today),
        "this_year": lambda: (date(today.year, 1, 1), today),
        "last_year": lambda: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
        "last_month": lambda: month_span(_months_back(today, 1)),
        "month_before_last": lambda: month_span(_months_back(today, 2)),
        "on_date": lambda: (filled["day"], filled["day"]),
        "in_month": lambda: month_span(filled["day"]),
        "in_other_month": lambda: month_span(filled["other_day"]),
    }
    return [fixed[name]()]


def _rolling_starts(today: date, count: int, what: str) -> list[date]:
    days = [count] if what == "days" else [(today - _months_back(today, count)).days, 30 * count]
    if what == "months" and count % 12 == 0:
        days.append(365 * count // 12)
    return sorted({today - timedelta(days=number - counted) for number in days for counted in (0, 1)})


def _months_back(day: date, count: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - count, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def month_span(day: date) -> Span:
    """First and last day of the day's month."""
    return day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])


def within(series: Iterable[Measurement], span: Span) -> list[Measurement]:
    """The measurements of the days from `span[0]` to `span[1]`."""
    return [one for one in series if span[0] <= one.day <= span[1]]


# Figures --------------------------------------------------------------------------------------------------------------


def latest(series: Sequence[Measurement]) -> list[Measurement]:
    """The measurements of the newest moment: one, or several when they share it; none without data."""
    return [one for one in series if one.moment == series[-1].moment] if series else []


def numbers(series: Iterable[Measurement]) -> list[float]:
    """The numbers that can be averaged and compared: no text results, none "below" or "above" something."""
    return [one.number for one in series if one.number is not None and one.comparator is None]


def average(series: Iterable[Measurement]) -> float | None:
    """Mean of the comparable numbers, or None."""
    found = numbers(series)
    return fmean(found) if found else None


def extremes(series: Sequence[Measurement], pick: Callable[[Iterable[float]], float]) -> list[Measurement]:
    """The measurements that hold the greatest (`max`) or smallest (`min`) number; several when they tie."""
    found = numbers(series)
    if not found:
        return []
    extreme = pick(found)
    return [one for one in series if one.comparator is None and one.number == extreme]


def beyond(series: Iterable[Measurement], side: str, limit: float) -> list[Measurement]:
    """The measurements strictly "above" or "below" the limit."""

    def counts(one: Measurement) -> bool:
        if one.number is None or one.comparator is not None:
            return False
        return one.number > limit if side == "above" else one.number < limit

    return [one for one in series if counts(one)]


def directions(series: Sequence[Measurement]) -> set[str]:
    """Which of "rising", "falling", "stable" a fair answer may say about the comparable numbers, at least three.

    A straight line is fitted by least squares. Its rise over the whole range is measured against the scatter around it
    (effect) and its slope against the slope's standard error (t). Clear, effect >= 1 and t >= 3: only that direction.
    No sign of any, t < 1: only "stable". In between either of the two may be said, the opposite never.
    """
    points = [(one.day.toordinal(), one.number) for one in series if one.number is not None and one.comparator is None]
    if len(points) < 3:
        raise ValueError("a trend needs at least three numbers")
    days, values = [float(day) for day, _ in points], [value for _, value in points]
    middle, level = fmean(days), fmean(values)
    spread = sum((day - middle) ** 2 for day in days)
    slope = sum((day - middle) * (value - level) for day, value in zip(days, values, strict=True)) / spread
    squares = sum((value - level - slope * (day - middle)) ** 2 for day, value in zip(days, values, strict=True))
    scatter = math.sqrt(squares / (len(points) - 2)) or 1e-9
    effect, t = abs(slope) * (days[-1] - days[0]) / scatter, abs(slope) * math.sqrt(spread) / scatter
    way = "rising" if slope > 0 else "falling"
    if t < 1:
        return {"stable"}
    return {way} if t >= 3 and effect >= 1 else {way, "stable"}


# Filling a question's placeholders ------------------------------------------------------------------------------------


def fill(rows: Sequence[Row], spec: Mapping[str, Any], today: date) -> dict[str, Any]:
    """The values of a question's placeholders, chosen from the rows so that the question has an answer.

    `reading` takes the day of the series' n-th reading, `lone_in_month` that of the n-th which is alone in its month,
    `written_with` that of the newest written with the given sign, `limit_leaving` a limit that exactly so many readings
    of `range` are beyond on `side`, `months_back` two calendar months so far back.
    """
    if "months_back" in spec:
        day, other_day = (_months_back(today, count) for count in spec["months_back"])
        return _named_days(day) | {f"other_{key}": text for key, text in _named_days(other_day).items()}
    series = measurements(rows, spec["series"])
    if "limit_leaving" in spec:
        in_range = within(series, spans(spec["range"], today, {})[0])
        return {"limit": limit_leaving(numbers(in_range), spec["limit_leaving"], spec["side"])}
    return _named_days(_chosen(series, spec).day)


def _chosen(series: Sequence[Measurement], spec: Mapping[str, Any]) -> Measurement:
    if "reading" in spec:
        return series[int(spec["reading"])]
    if "lone_in_month" in spec:
        return [one for one in series if len(within(series, month_span(one.day))) == 1][int(spec["lone_in_month"])]
    return [one for one in series if one.written.startswith(spec["written_with"])][-1]


def _named_days(day: date) -> dict[str, Any]:
    return {
        "day": day,
        "date": day.isoformat(),
        "date_en": f"{month_name[day.month]} {day.day}, {day.year}",
        "date_zh": f"{day.year}年{day.month}月{day.day}日",
        "month_en": f"{month_name[day.month]} {day.year}",
        "month_zh": f"{day.year}年{day.month}月",
    }


def limit_leaving(values: Sequence[float], count: int, side: str) -> float:
    """The shortest decimal that `count` of the values (more if some tie) lie strictly beyond and that none equals."""
    ordered = sorted(values, reverse=side == "above")
    while ordered[count - 1] == ordered[count]:
        count += 1
    inner, outer = ordered[count], ordered[count - 1]
    low, high = min(inner, outer), max(inner, outer)
    return next(limit for limit in _roundings((low + high) / 2) if low < limit < high)


def _roundings(number: float) -> Iterator[float]:
    yield from (round(number, decimals) for decimals in range(1, 10))
