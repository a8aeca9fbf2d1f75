"""The truth of every question's `spec`, computed in plain Python from the generated readings alone, as README.md tells.

An answer is a number, a text, a date, ``None``, or lists and dicts of these.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from statistics import fmean, median, stdev
from typing import Any

from tests.questions.generated.person import Json, Reading, World

DAY = timedelta(days=1)
PER = {"week": 7.0, "month": 30.4375, "year": 365.25}
NG_PER_NMOL, MG_PER_MMOL = 2.496, 38.67
OTHER_UNITS = {("vitamin D", "ng/mL"): 1 / NG_PER_NMOL, ("total cholesterol", "mg/dL"): MG_PER_MMOL}
CONDITION = re.compile(r"(?P<indicator>.*?)(?P<sign>>=|<=|==|>|<)(?P<limit>[\d.]+)")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
}
Daily = dict[date, float]


@dataclass(frozen=True)
class Condition:
    """``indicator`` is empty when it is the operation's own."""

    indicator: str
    sign: str
    limit: float

    def __call__(self, value: float) -> bool:
        return SIGNS[self.sign](value, self.limit)


def condition_of(text: str) -> Condition:
    found = CONDITION.fullmatch(text)
    assert found, text
    return Condition(found["indicator"], found["sign"], float(found["limit"]))


def _count_per_30_days(values: Sequence[float], spec: Json) -> float:
    first, last = bounds(spec)
    return 30 * len(values) / ((last - first).days + 1)


STATISTICS: dict[str, Callable[[list[float], Json], Any]] = {
    "mean": lambda values, _: fmean(values),
    "median": lambda values, _: median(values),
    "sum": lambda values, _: sum(values),
    "count": lambda values, _: len(values),
    "standard_deviation": lambda values, _: stdev(values) if len(values) > 1 else None,
    "coefficient_of_variation": lambda values, _: stdev(values) / fmean(values),
    "latest": lambda values, _: values[-1],
    "count_per_30_days": _count_per_30_days,
    "count_where": lambda values, spec: sum(map(condition_of(spec["condition"]), values)),
}


class Truth:
    """Answers specs about a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def of(self, spec: Json) -> Any:
        if spec["op"] == "all":
            return [self.of(one) for one in spec["of"]]
        if "indicator" in spec and not self._known(spec):
            return None
        return getattr(self, f"_{spec['op']}")(spec)

    # What the operations are about

    def _known(self, spec: Json) -> bool:
        return spec["indicator"] in self.world.indicators

    def raw(self, name: str) -> list[Reading]:
        return self.world.readings.get(name, [])

    def counted(self, name: str) -> list[Reading]:
        """With mistyped ones, each of a duplicate once."""
        return list({(r.at, r.value): r for r in reversed(self.raw(name))}.values())[::-1]

    def good(self, name: str, spec: Json | None = None) -> list[Reading]:
        found = [r for r in self.counted(name) if not r.error]
        return inside(found, spec) if spec else found

    def daily(self, name: str, spec: Json | None = None) -> Daily:
        by_day: dict[date, list[float]] = defaultdict(list)
        for reading in self.good(name, spec):
            by_day[reading.day].append(reading.value)
        return {day: fmean(values) for day, values in by_day.items()}

    def limits(self, name: str) -> tuple[float | None, float | None]:
        spec = self.world.indicators[name]
        return spec["reference_low"], spec["reference_high"]

    def is_out(self, reading: Reading) -> bool:
        low, high = self.limits(reading.indicator)
        return (low is not None and reading.value < low) or (high is not None and reading.value > high)

    def span(self, event: str) -> tuple[date, date]:
        found = self.world.events[event]
        start = date.fromisoformat(found["start"])
        return start, date.fromisoformat(found["end"]) if found["end"] else start

    def labs(self) -> list[str]:
        return [name for name, spec in self.world.indicators.items() if spec["group"] == "lab"]

    def named(self, wanted: Any) -> list[str]:
        return self.labs() if wanted == "labs" else [name for name in wanted if name in self.world.indicators]

    # Single readings

    def _latest(self, spec: Json) -> Any:
        found = self.good(spec["indicator"])
        if "before" in spec:
            found = [r for r in found if r.day < date.fromisoformat(spec["before"])]
        newest = found[-1]
        factor = OTHER_UNITS[spec["indicator"], spec["unit"]] if "unit" in spec else 1
        told: Json = {"value": newest.value * factor, "date": newest.day}
        if self.limits(newest.indicator) != (None, None) and self.world.indicators[newest.indicator]["group"] == "lab":
            told["in_range"] = not self.is_out(newest)
        return told

    def _earliest(self, spec: Json) -> Any:
        return shown(self.good(spec["indicator"])[0])

    def _nth_latest(self, spec: Json) -> Any:
        return shown(self.good(spec["indicator"])[-spec["n"]])

    def _last_n(self, spec: Json) -> Any:
        return [shown(r) for r in self.good(spec["indicator"])[: -spec["n"] - 1 : -1]]

    def _value_on(self, spec: Json) -> Any:
        day = date.fromisoformat(spec["date"])
        return [r.value for r in self.good(spec["indicator"]) if r.day == day]

    def _nearest(self, spec: Json) -> Any:
        day = date.fromisoformat(spec["date"]) if "date" in spec else self.span(spec["event"])[0]
        return shown(self.nearest(spec["indicator"], day))

    def nearest(self, name: str, day: date) -> Reading:
        return min(self.good(name), key=lambda r: (abs(r.day - day), r.day, r.at))

    def _list(self, spec: Json) -> Any:
        return [shown(r) for r in inside(self.counted(spec["indicator"]), spec)]

    def _list_where(self, spec: Json) -> Any:
        return [shown(r) for r in self._meeting(spec)]

    def _count_where(self, spec: Json) -> Any:
        return len(self._meeting(spec, self.good))

    def _share_where(self, spec: Json) -> Any:
        met = self._meeting(spec, self.good)
        return len(met) / len(inside(self.good(condition_of(spec["condition"]).indicator), spec))

    def _meeting(self, spec: Json, among: Callable[[str], list[Reading]] | None = None) -> list[Reading]:
        met = condition_of(spec["condition"])
        return [r for r in inside((among or self.counted)(met.indicator), spec) if met(r.value)]

    def _reference_range(self, spec: Json) -> Any:
        return list(self.limits(spec["indicator"]))

    # Events

    def _event_date(self, spec: Json) -> Any:
        names = [name for name in self.world.events if name.startswith(spec["event"])]
        return [self.span(name)[0] for name in names]

    def _event_duration(self, spec: Json) -> Any:
        start, end = self.span(spec["event"])
        return {"days": (end - start).days + 1, "nights": (end - start).days}

    def _events_between(self, spec: Json) -> Any:
        first, last = bounds(spec)
        return sorted(name for name in self.world.events if overlaps(self.span(name), first, last))

    def _active_medications(self, spec: Json) -> Any:
        day = date.fromisoformat(spec["date"])
        doses: dict[str, str] = {}
        for event in self.world.events.values():
            if "medication" not in event or date.fromisoformat(event["start"]) > day:
                continue
            if event.get("stop") and date.fromisoformat(event["stop"]) < day:
                continue
            doses[event["medication"]] = event["dose"]
        return sorted(f"{name} {dose}" for name, dose in doses.items())

    # Figures

    def _mean(self, spec: Json) -> Any:
        return fmean(self.values(spec))

    def _median(self, spec: Json) -> Any:
        return median(self.values(spec))

    def _sum(self, spec: Json) -> Any:
        return sum(self.values(spec))

    def _count(self, spec: Json) -> Any:
        return len(inside(self.counted(spec["indicator"]), spec))

    def _min(self, spec: Json) -> Any:
        return shown(min(self.good(spec["indicator"], spec), key=lambda r: (r.value, r.at)))

    def _max(self, spec: Json) -> Any:
        return shown(min(self.good(spec["indicator"], spec), key=lambda r: (-r.value, r.at)))

    def _percentile(self, spec: Json) -> Any:
        values = sorted(self.values(spec))
        rank = spec["p"] / 100 * (len(values) - 1)
        low = math.floor(rank)
        return values[low] + (rank - low) * (values[min(low + 1, len(values) - 1)] - values[low])

    def values(self, spec: Json) -> list[float]:
        return [r.value for r in self.good(spec["indicator"], spec)]

    def statistic(self, name: str, readings: Sequence[Reading], spec: Json) -> Any:
        values = [r.value for r in readings]
        if not values and name not in ("sum", "count", "count_per_30_days", "count_where"):
            return None
        return STATISTICS[name](values, spec)

    def _slope(self, spec: Json) -> Any:
        readings = self.good(spec["indicator"])
        readings = readings[-spec["last_n"] :] if "last_n" in spec else inside(readings, spec)
        if len(readings) < 3:
            return None
        x = [(r.at - readings[0].at).total_seconds() / 86400 for r in readings]
        y = [r.value for r in readings]
        mean_x, mean_y = fmean(x), fmean(y)
        spread = sum((a - mean_x) ** 2 for a in x)
        slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
        left = sum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
        error = math.sqrt(left / (len(x) - 2) / spread)
        direction = "flat" if error and abs(slope / error) <= 2 else "up" if slope > 0 else "down"
        return {"slope": slope * PER[spec["per"]], "direction": direction if slope else "flat"}

    def _group_by(self, spec: Json) -> Any:
        groups = self.groups(spec)
        if "order" in spec:
            down = spec["order"] == "descending"
            return [[k, v] for k, v in sorted(groups.items(), key=lambda item: item[1], reverse=down)]
        return groups

    def groups(self, spec: Json) -> dict[str, Any]:
        first, last = bounds(spec)
        keys = {period_of(first + n * DAY, spec["period"]): None for n in range((last - first).days + 1)}
        by_key: dict[str, list[Reading]] = {key: [] for key in keys}
        for reading in self.good(spec["indicator"], spec):
            by_key[period_of(reading.day, spec["period"])].append(reading)
        return {
            key: self.statistic(spec["statistic"], several, spec)
            for key, several in by_key.items()
            if several or spec["statistic"] == "count"
        }

    def _extreme_period(self, spec: Json) -> Any:
        groups = self.groups(spec)
        key = (max if spec["which"] == "max" else min)(groups, key=lambda k: groups[k])
        return {"period": key, "value": groups[key]}

    def _periods_where(self, spec: Json) -> Any:
        met = condition_of(spec["condition"])
        return [key for key, value in self.groups(spec).items() if met(value)]

    def _first_last_change(self, spec: Json) -> Any:
        readings = self.good(spec["indicator"], spec)
        return moved(readings[0], readings[-1]) if readings else None

    def _last_two_difference(self, spec: Json) -> Any:
        before, last = self.good(spec["indicator"])[-2:]
        return {"last": last.value, "before": before.value, "difference": last.value - before.value}

    def _first_crossing(self, spec: Json) -> Any:
        met = condition_of(spec["condition"])
        return next((shown(r) for r in self.good(spec["indicator"]) if met(r.value)), None)

    def _stays_since(self, spec: Json) -> Any:
        met, run = condition_of(spec["condition"]), None
        for reading in reversed(self.good(spec["indicator"])):
            if not met(reading.value):
                break
            run = reading
        return shown(run) if run else None

    def _run_length(self, spec: Json) -> Any:
        values = [r.value for r in self.good(spec["indicator"])][::-1]
        steps = 0
        for newer, older in pairwise(values):
            if not (newer < older if spec["direction"] == "down" else newer > older):
                break
            steps += 1
        return steps

    def _moving_average(self, spec: Json) -> Any:
        end = date.fromisoformat(spec["date"])
        days = self.daily(spec["indicator"])
        return fmean(days[d] for n in range(spec["days"]) if (d := end - n * DAY) in days)

    def _distance_from_extreme(self, spec: Json) -> Any:
        extreme = self._min(spec) if spec["which"] == "min" else self._max(spec)
        latest = self.good(spec["indicator"])[-1].value
        return {"extreme": extreme, "latest": latest, "difference": latest - extreme["value"]}

    def _stability(self, spec: Json) -> Any:
        readings = self.good(spec["indicator"], spec)
        values, out = [r.value for r in readings], sum(map(self.is_out, readings))
        variation = stdev(values) / fmean(values)
        return {
            "mean": fmean(values),
            "standard_deviation": stdev(values),
            "variation": variation,
            "out_of_range": out,
            "stable": variation <= 0.1 and not out,
        }

    # Comparisons

    def _compare_periods(self, spec: Json) -> Any:
        a, b = (
            self.statistic(spec["statistic"], self.good(spec["indicator"], side), side)
            for side in (spec["a"], spec["b"])
        )
        return differing(a, b)

    def _before_after(self, spec: Json) -> Any:
        start, end = self.span(spec["event"])
        readings = self.good(spec["indicator"])
        before = between(readings, start - spec["days_before"] * DAY, start - DAY)
        after = between(readings, end + DAY, end + spec["days_after"] * DAY)
        return differing(*(self.statistic(spec["statistic"], side, spec) for side in (before, after)))

    def _around_event(self, spec: Json) -> Any:
        start, end = self.span(spec["event"])
        readings = self.good(spec["indicator"])
        before = [r for r in readings if r.day < start]
        after = [r for r in readings if r.day > end]
        return moved(before[-1], after[0])

    def _change_since_event(self, spec: Json) -> Any:
        start = self.span(spec["event"])[0]
        readings = self.good(spec["indicator"])
        return moved([r for r in readings if r.day <= start][-1], readings[-1])

    def _compare_groups(self, spec: Json) -> Any:
        readings = self.good(spec["indicator"], spec)
        if spec["groups"] == "weekpart":
            parts = {
                "Monday to Friday": [r for r in readings if r.day.weekday() < 5],
                "weekend": [r for r in readings if r.day.weekday() >= 5],
            }
        else:
            parts = {
                "morning": [r for r in readings if r.at.hour < 12],
                "evening": [r for r in readings if r.at.hour >= 18],
            }
        return {name: self.statistic(spec["statistic"], several, spec) for name, several in parts.items()}

    def _compare_indicators(self, spec: Json) -> Any:
        values = {
            name: self.statistic(spec["statistic"], self.good(name, spec if "start" in spec else None), spec)
            for name in spec["indicators"]
        }
        return values | {"larger": max(spec["indicators"], key=lambda name: values[name])}

    def _compare_nearest(self, spec: Json) -> Any:
        one, other = (self.nearest(spec["indicator"], date.fromisoformat(day)) for day in spec["dates"])
        return moved(one, other)

    def _conditional_mean(self, spec: Json) -> Any:
        met = condition_of(spec["condition"])
        days, deciding = self.daily(spec["indicator"], spec), self.daily(met.indicator, spec)
        yes = [v for d, v in days.items() if d in deciding and met(deciding[d])]
        no = [v for d, v in days.items() if d in deciding and not met(deciding[d])]
        return {
            "met": fmean(yes),
            "not_met": fmean(no),
            "difference": fmean(yes) - fmean(no),
            "days": [len(yes), len(no)],
        }

    # Out of range

    def _out_of_range_count(self, spec: Json) -> Any:
        return sum(self.is_out(r) for r in self.good(spec["indicator"], spec))

    def _out_of_range_list(self, spec: Json) -> Any:
        names = self.named(spec["indicators"])
        scope = spec["scope"]
        if scope == "last_lab_day":
            last = max(r.day for name in self.labs() for r in self.good(name))
            scope = {"start": last.isoformat(), "end": last.isoformat()}
        found = [r for name in names for r in self.good(name, scope) if self.is_out(r)]
        return sorted([r.indicator, r.day, r.value] for r in found)

    def _out_of_range_by_period(self, spec: Json) -> Any:
        return [
            sum(self.is_out(r) for name in self.named(spec["indicators"]) for r in self.good(name, side))
            for side in spec["periods"]
        ]

    def _most_out_of_range(self, spec: Json) -> Any:
        counts = {n: sum(map(self.is_out, self.good(n, spec))) for n in self.named(spec["indicators"])}
        most = max(counts.values())
        return {"indicators": sorted(n for n, c in counts.items() if c == most), "count": most}

    def _lab_days_where(self, spec: Json) -> Any:
        met, counts = condition_of(spec["condition"]), defaultdict[date, int](int)
        for name in self.labs():
            for reading in self.good(name, spec):
                counts[reading.day] += self.is_out(reading)
        return sorted(day for day, n in counts.items() if met(n))

    def _consecutive_out_of_range(self, spec: Json) -> Any:
        runs, run = [], list[date]()
        for reading in self.good(spec["indicator"], spec):
            run = [*run, reading.day] if self.is_out(reading) else []
            if len(run) >= spec["n"]:
                runs = [*runs[:-1], run] if len(run) > spec["n"] else [*runs, run]
        return runs

    # Runs, gaps and what stands out

    def _longest_gap(self, spec: Json) -> Any:
        first, last = bounds(spec)
        days = sorted({r.day for r in self.counted(spec["indicator"])})
        pairs = [(a, b) for a, b in pairwise(days) if b >= first and a <= last]
        a, b = max(pairs, key=lambda pair: pair[1] - pair[0])
        return {"days": (b - a).days, "from": a, "to": b}

    def _missing_days(self, spec: Json) -> Any:
        first, last = bounds(spec)
        there = {r.day for r in self.good(spec["indicator"])}
        missing = [d for n in range((last - first).days + 1) if (d := first + n * DAY) not in there]
        return {"count": len(missing), "dates": missing}

    def _streak(self, spec: Json) -> Any:
        met = condition_of(spec["condition"])
        runs = day_runs(d for d, v in self.daily(met.indicator, spec).items() if met(v))
        best = max(runs, key=len)
        return {"days": len(best), "first": best[0], "last": best[-1]}

    def _current_streak(self, spec: Json) -> Any:
        met, end = condition_of(spec["condition"]), date.fromisoformat(spec["date"])
        runs = day_runs(d for d, v in self.daily(met.indicator).items() if met(v) and d <= end)
        return len(runs[-1]) if runs and runs[-1][-1] == end else 0

    def _outliers(self, spec: Json) -> Any:
        readings = inside(self.counted(spec["indicator"]), spec)
        middle = median(r.value for r in readings)
        mad = median(abs(r.value - middle) for r in readings)
        return [shown(r) for r in readings if mad and abs(r.value - middle) > 3.5 * 1.4826 * mad]

    def _max_jump(self, spec: Json) -> Any:
        readings = inside(self.counted(spec["indicator"]), spec)
        pairs = list(pairwise(readings))
        if spec.get("direction") == "down":
            pairs = [(a, b) for a, b in pairs if b.value < a.value]
        a, b = max(pairs, key=lambda pair: round(abs(pair[1].value - pair[0].value), 9))
        return {"before": shown(a), "after": shown(b), "change": b.value - a.value}

    def _duplicates(self, spec: Json) -> Any:
        seen: dict[Any, int] = defaultdict(int)
        for reading in inside(self.raw(spec["indicator"]), spec):
            seen[reading.day, reading.value, reading.at] += 1
        return [[day, value, n] for (day, value, _), n in seen.items() if n > 1]

    def _top_n(self, spec: Json) -> Any:
        sign = -1 if spec["which"] == "max" else 1
        readings = sorted(self.good(spec["indicator"], spec), key=lambda r: (sign * r.value, r.at))
        return [shown(r) for r in readings[: spec["n"]]]

    def _z_score_period(self, spec: Json) -> Any:
        now, base = ([r.value for r in self.good(spec["indicator"], spec[s])] for s in ("period", "baseline"))
        z = (fmean(now) - fmean(base)) / stdev(base)
        return {"z": z, "unusual": abs(z) > 2}

    def _latest_vs_history(self, spec: Json) -> Any:
        *before, latest = [r.value for r in self.good(spec["indicator"])]
        mean, deviation = fmean(before), stdev(before)
        return {"latest": latest, "mean": mean, "standard_deviation": deviation, "z": (latest - mean) / deviation}

    # Two series

    def _correlation(self, spec: Json) -> Any:
        return self.correlation(spec["x"], spec["y"], spec, spec["lag_days"], spec["pairing"])

    def correlation(self, x: str, y: str, spec: Json, lag: int = 0, pairing: str = "date") -> Any:
        of_x, pairs = self.daily(x), []
        for day, value in self.daily(y, spec).items():
            back = range(14) if pairing == "window" else range(1)
            near = [of_x[d] for n in back if (d := day - (lag + n) * DAY) in of_x]
            if near:
                pairs.append((fmean(near), value))
        n = len(pairs)
        if n < 10:
            return {"n": n, "r": None, "related": None}
        r = pearson(pairs)
        return {"n": n, "r": r, "related": abs(r) * math.sqrt((n - 2) / (1 - r * r)) > 2}

    def _strongest_correlation(self, spec: Json) -> Any:
        found = {x: self.correlation(x, spec["target"], spec)["r"] for x in spec["candidates"]}
        return {"all": found, "strongest": max(found, key=lambda x: abs(found[x]))}

    def _events_near_extreme(self, spec: Json) -> Any:
        extreme = self._max(spec) if spec["which"] == "max" else self._min(spec)
        first, last = extreme["date"] - spec["days"] * DAY, extreme["date"] + spec["days"] * DAY
        events = sorted(name for name in self.world.events if overlaps(self.span(name), first, last))
        return {"extreme": extreme, "events": events}

    def _recovery_days(self, spec: Json) -> Any:
        start, end = self.span(spec["event"])
        days = self.daily(spec["indicator"])
        base = [v for d, v in days.items() if start - spec["baseline_days"] * DAY <= d < start]
        mean, within = fmean(base), spec["tolerance_sd"] * stdev(base)
        usual = {d for d, v in days.items() if abs(v - mean) <= within}
        row = range(spec["consecutive_days"])
        first = next(d for n in range(1, 400) if all((d := end + n * DAY) + k * DAY in usual for k in row))
        return (first - end).days


def bounds(spec: Json) -> tuple[date, date]:
    return date.fromisoformat(spec["start"]), date.fromisoformat(spec["end"])


def inside(readings: Iterable[Reading], spec: Json) -> list[Reading]:
    return between(readings, *bounds(spec)) if "start" in spec else list(readings)


def between(readings: Iterable[Reading], first: date, last: date) -> list[Reading]:
    return [r for r in readings if first <= r.day <= last]


def overlaps(span: tuple[date, date], first: date, last: date) -> bool:
    return span[0] <= last and span[1] >= first


def shown(reading: Reading) -> Json:
    return {"value": reading.value, "date": reading.day}


def moved(before: Reading, after: Reading) -> Json:
    difference = after.value - before.value
    return {
        "first": shown(before), "last": shown(after), "difference": difference,
        "percent": 100 * difference / abs(before.value),
    }  # fmt: skip


def differing(a: float | None, b: float | None) -> Json | None:
    if a is None or b is None:
        return None
    return {"a": a, "b": b, "difference": b - a, "percent": 100 * (b - a) / abs(a)}


def period_of(day: date, kind: str) -> str:
    match kind:
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return day.isoformat()[:7]
        case "quarter":
            return f"{day.year}-Q{(day.month + 2) // 3}"
        case "year":
            return str(day.year)
    return ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[day.weekday()]


def day_runs(days: Iterable[date]) -> list[list[date]]:
    runs: list[list[date]] = []
    for day in sorted(days):
        if runs and day - runs[-1][-1] == DAY:
            runs[-1].append(day)
        else:
            runs.append([day])
    return runs


def pearson(pairs: Sequence[tuple[float, float]]) -> float:
    mean_x, mean_y = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    joint = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    spread = sum((x - mean_x) ** 2 for x, _ in pairs) * sum((y - mean_y) ** 2 for _, y in pairs)
    return joint / math.sqrt(spread)
