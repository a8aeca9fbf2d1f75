"""The generated person's readings from person.json and a seed, as README.md tells. Nothing comes from the product."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Asia/Shanghai")
AUTOREGRESSION = 0.4
DAY = timedelta(days=1)
USUAL = {"daily": "23:59", "weekly": "07:20", "monthly": "07:25", "home": "07:30", "planted": "08:00"}
EVENING = "21:00"
Json = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """One reading. ``value`` is in the indicator's unit; ``written`` and ``unit`` are how the record has it."""

    indicator: str
    at: datetime
    value: float
    written: float
    unit: str
    factor: float
    source: str = ""
    error: bool = False

    @property
    def day(self) -> date:
        return self.at.date()


class World:
    """The person: ``spec`` is person.json, ``readings`` are all there are, by indicator and time."""

    def __init__(self, seed: int = 20260630) -> None:
        path = Path(__file__).parent / "person.json"
        self.spec: Json = json.loads(path.read_text(encoding="utf-8"))
        self.seed = seed
        self.first = date.fromisoformat(self.spec["first_date"])
        self.last = date.fromisoformat(self.spec["last_date"])
        self.indicators: dict[str, Json] = {i["name"]: i for i in self.spec["indicators"]}
        self.events: dict[str, Json] = {e["name"]: e for e in self.spec["events"]}
        self.days = [self.first + n * DAY for n in range((self.last - self.first).days + 1)]

    @cached_property
    def readings(self) -> dict[str, list[Reading]]:
        made: dict[str, list[Reading]] = {}
        for name in self.indicators:
            made[name] = [self._written(name, at, value) for at, value in self._model(name)]
        self._cut_gaps(made)
        self._plant(made)
        return {name: sorted(several, key=lambda r: (r.at, r.source)) for name, several in made.items()}

    def random(self, *what: Any) -> Random:
        return Random(":".join(map(str, (self.seed, *what))))

    def _model(self, name: str) -> Iterator[tuple[datetime, float]]:
        for slot, at in self._moments(name):
            yield at, self._value(name, at, slot)

    def _moments(self, name: str) -> Iterator[tuple[int, datetime]]:
        spec, group = self.indicators[name], self.indicators[name]["group"]
        usual = spec.get("time") or USUAL.get(group, "08:30")
        random = self.random("when", name)
        if group == "daily":
            yield from ((0, _at(day, usual)) for day in self.days if random.random() >= 0.01)
        elif group == "weekly":
            yield from ((0, _at(day, usual)) for day in self.days if day.weekday() == 6 and random.random() >= 0.05)
        elif group == "monthly":
            firsts = [day for day in self.days if day.day == 1]
            yield from ((0, _at(day + random.randint(0, 4) * DAY, usual)) for day in firsts)
        elif group == "lab":
            for lab in self.spec["lab_days"]:
                if set(lab["panels"]) & set(spec["panels"]):
                    yield 0, _at(date.fromisoformat(lab["date"]), lab["time"])
        elif group == "home":
            yield from self._home(spec, usual, random)

    def _home(self, spec: Json, usual: str, random: Random) -> Iterator[tuple[int, datetime]]:
        if "with_reading" in spec:
            yield from self._moments(spec["with_reading"])
            return
        pressure = "blood pressure" in spec["name"]
        first = date.fromisoformat(spec.get("first", self.spec["first_date"]))
        for day in self.days:
            share = self._pressure_share(day) if pressure else spec["share_of_days"]
            if day < first or random.random() >= share:
                continue
            yield 0, _at(day, usual)
            if pressure and random.random() < 0.3:
                yield 1, _at(day, EVENING)

    def _pressure_share(self, day: date) -> float:
        rates = self.spec["blood_pressure_rate"]
        return next(float(r["share_of_days"]) for r in rates if r["start"] <= day.isoformat() <= r["end"])

    def _value(self, name: str, at: datetime, slot: int) -> float:
        spec, day = self.indicators[name], at.date()
        if "computed" in spec:
            return self._rounded(spec, self._computed(name, at))
        years = (day - self.first).days / 365.25
        value = spec["baseline"] + spec["drift_per_year"] * years
        value += spec["season"] * math.cos(2 * math.pi * (day.timetuple().tm_yday - 196) / 365.25)
        value += spec["weekend"] if day.weekday() >= 5 else 0
        value += spec.get("evening", 0) if at.hour >= 18 else 0
        value += sum(self._effect(effect, day) for effect in spec.get("effects", ()))
        return self._rounded(spec, value + self._deviation(name, day, slot))

    @staticmethod
    def _rounded(spec: Json, value: float) -> float:
        held = min(max(value, spec.get("minimum", 0)), spec.get("maximum", math.inf))
        return round(held, spec["decimals"])

    def _computed(self, name: str, at: datetime) -> float:
        day = at.date()
        if name == "light sleep":
            sleep = 60 * self._reading_or_model("sleep duration", day)
            rest = sleep - self._reading_or_model("deep sleep", day) - self._reading_or_model("REM sleep", day)
            return max(30.0, rest)
        creatinine = self._value("creatinine", at, 0) / 88.42
        born = date.fromisoformat(self.spec["birth_date"])
        age = day.year - born.year - ((day.month, day.day) < (born.month, born.day))
        ratio = creatinine / 0.9
        return 142 * min(ratio, 1) ** -0.302 * max(ratio, 1) ** -1.2 * 0.9938**age

    def _reading_or_model(self, name: str, day: date) -> float:
        planted = [p for p in self.spec["planted"] if p["indicator"] == name and p["date"] == day.isoformat()]
        return float(planted[0]["value"]) if planted else self._value(name, _at(day, "07:00"), 0)

    def _effect(self, effect: Json, day: date) -> float:
        event = self.events[effect["event"]]
        start = date.fromisoformat(event["start"])
        end = date.fromisoformat(event["end"]) if event["end"] else None
        if day < start:
            return 0.0
        ramp, fade = effect["ramp_days"], effect["fade_days"]
        scale = min(1.0, ((day - start).days + 1) / ramp) if ramp else 1.0
        after = (day - (end or start)).days
        if fade:
            scale *= 1 - max(after, 0) / fade if after < fade else 0
        elif end and day > end:
            return 0.0
        return float(effect["shift"]) * scale

    def _deviation(self, name: str, day: date, slot: int) -> float:
        key = (name, day, slot)
        if key not in self._deviations:
            coupled = sum(
                c["coefficient"] * self._deviation(c["x"], day - c["lag_days"] * DAY, self._slot_of(c, slot))
                for c in self.spec["couplings"]
                if c["y"] == name
            )
            self._deviations[key] = self._noise(name, day, slot) + coupled
        return self._deviations[key]

    def _slot_of(self, coupling: Json, slot: int) -> int:
        """A pressure goes with the other of the same measurement, everything else with the day."""
        return slot if self.indicators[coupling["y"]].get("with_reading") == coupling["x"] else 0

    @cached_property
    def _deviations(self) -> dict[tuple[str, date, int], float]:
        return {}

    @cached_property
    def _noises(self) -> dict[tuple[str, int], dict[date, float]]:
        return {}

    def _noise(self, name: str, day: date, slot: int) -> float:
        if (name, slot) not in self._noises:
            self._noises[name, slot] = dict(self._draw(name, slot))
        return self._noises[name, slot].get(day, 0.0)

    def _draw(self, name: str, slot: int) -> Iterator[tuple[date, float]]:
        spec, random, last = self.indicators[name], self.random("noise", name, slot), 0.0
        keep = AUTOREGRESSION if spec["group"] == "daily" else 0.0
        for day in [self.first - 2 * DAY, self.first - DAY, *self.days, *(self.last + n * DAY for n in range(1, 5))]:
            last = keep * last + random.gauss(0, spec["noise_sd"]) * math.sqrt(1 - keep * keep)
            yield day, last

    def _written(self, name: str, at: datetime, value: float, **more: Any) -> Reading:
        spec = self.indicators[name]
        alternative = spec.get("alternative")
        if alternative and self.random("unit", name, at).random() < 0.1:
            factor = alternative["factor"]
            written = round(value * factor, alternative["decimals"])
            return Reading(name, at, written / factor, written, alternative["unit"], factor, **more)
        return Reading(name, at, value, value, spec["unit"], 1.0, **more)

    def _cut_gaps(self, made: dict[str, list[Reading]]) -> None:
        for gap in self.spec["gaps"]:
            names = gap["indicators"]
            if names == "daily":
                names = [name for name, spec in self.indicators.items() if spec["group"] == "daily"]
            for name in names:
                made[name] = [r for r in made[name] if not gap["start"] <= r.day.isoformat() <= gap["end"]]

    def _plant(self, made: dict[str, list[Reading]]) -> None:
        for plant in self.spec["planted"]:
            name, spec = plant["indicator"], self.indicators[plant["indicator"]]
            day = date.fromisoformat(plant["date"])
            clock = plant.get("time") or spec.get("time") or self._lab_time(day) or USUAL[spec["group"]]
            if plant.get("replaces"):
                made[name] = [r for r in made[name] if r.day != day]
            planted = self._written(name, _at(day, clock), float(plant["value"]), error="error" in plant)
            made[name] += [replace(planted, source=source) for source in plant.get("sources", [""])]

    def _lab_time(self, day: date) -> str | None:
        return next((lab["time"] for lab in self.spec["lab_days"] if lab["date"] == day.isoformat()), None)


def _at(day: date, clock: str) -> datetime:
    return datetime.combine(day, time.fromisoformat(clock), tzinfo=ZONE)
