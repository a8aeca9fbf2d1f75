"""Whether an answer states the truth of a generated question, as README.md tells. Empty means that it does."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from tests.questions.generated.person import Json, World
from tests.questions.reading import Figure, Reading, read
from tests.questions.verdict import direction_stated

WITHIN = 0.01
DIRECTIONS = {"up": "rising", "down": "falling", "flat": "stable"}
NONE = re.compile(r"\b(?:no|not|none|never|nothing|cannot|0)\b|没有|并?不|无|从未|0 次", re.IGNORECASE)
NOT_ENOUGH = re.compile(r"not enough|too few|no data|没有|不足|太少", re.IGNORECASE)
GREATER = re.compile(r"higher|larger|greater|more|longer|较高|较大|更高|更大|更长|更多", re.IGNORECASE)
WORDS = {
    "related": (
        r"(?<!not )(?<!un)(?<!no )\brelated|(?<!不)(?<!无)(?<!没有)相关",
        r"not related|unrelated|不相关|无明显相关|没有相关",
    ),
    "stable": (r"(?<!not )(?<!un)\bstable|(?<!不)(?<!不太)稳定", r"not stable|unstable|不稳定|不太稳定"),
    "in_range": (r"within its reference|在参考范围内", r"marked (?:high|low)|out(?:side)? of|[高低]于参考|超出参考"),
    "unusual": (r"(?<!not )\bunusual|(?<!不)异常", r"not unusual|不异常|并无异常|没有异常"),
}
WEEKDAYS = dict(
    zip(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), "一二三四五六日", strict=True)
)
# An answer is no table of everything: so many figures for each that is wanted, and so many beside.
MOST_PER_FIGURE, MOST_BESIDE = 3, 8
EITHER = ("difference", "percent")
DAYS_OR_NIGHTS = ("days", "nights")


def faults(answer: str, spec: Json, truth: Any, world: World) -> list[str]:
    """What the answer leaves out of the truth, or says too much of."""
    return _Judge(answer, world).of(spec, truth)


class _Judge:
    def __init__(self, answer: str, world: World) -> None:
        self.world = world
        self.reading: Reading = read(answer)
        self.text = self.reading.text.casefold()
        self.answer = answer
        self.wanted = 0

    def of(self, spec: Json, truth: Any) -> list[str]:
        found = self._told(spec, truth)
        found += [f"does not name {event}" for event in spec.get("must_mention", ()) if not self._names_event(event)]
        most = MOST_PER_FIGURE * self.wanted + MOST_BESIDE
        stated = len(self.reading.of_role("value"))
        return found + ([f"states {stated} figures for {self.wanted}"] if stated > most else [])

    def _told(self, spec: Json, truth: Any) -> list[str]:
        if spec["op"] == "all":
            pairs = zip(spec["of"], truth, strict=True)
            return [fault for one, part in pairs for fault in self._told(one, part)]
        if truth is None:
            return self._nothing()
        judge = getattr(self, f"_{spec['op']}", None)
        return judge(spec, truth) if judge else self._everything(truth)

    # What is stated

    def number(self, value: float, name: str = "") -> list[str]:
        self.wanted += 1
        if any(_states(figure, value) for figure in self.reading.figures):
            return []
        return [f"does not state {name or 'the number'} {value:g}"]

    def _either_way(self, size: float) -> bool:
        """Whether a change of this size is stated, with a sign or in words."""
        self.wanted += 1
        return any(_states(replace(figure, number=abs(figure.number)), size) for figure in self.reading.figures)

    def day(self, day: date) -> list[str]:
        return [] if any(one.is_day(day) for one in self.reading.dates) else [f"does not name the day {day}"]

    def names(self, name: str) -> set[str]:
        from tools_app.standardization import concepts_named  # noqa: PLC0415 - needs Django's settings

        spec = self.world.indicators[name]
        meant = [n for c in concepts_named(spec["name"])[:1] for n in (c.name, *c.names)]
        return {n.casefold() for n in (spec["name"], spec["chinese"], *meant)}

    def _names_event(self, name: str) -> bool:
        event = self.world.events[name]
        words = {name, event["chinese"], event.get("medication") or name, name.removeprefix("diagnosis of ")}
        return any(word.casefold() in self.answer.casefold() for word in words)

    def _events(self, names: Iterable[str]) -> list[str]:
        return [f"does not name {name}" for name in names if not self._names_event(name)]

    def _nothing(self) -> list[str]:
        found = [] if NONE.search(self.text) else ["does not say that there is nothing"]
        return found + [f"states {f}" for f in self.reading.of_role("value") if f.unit]

    def _everything(self, truth: Any, name: str = "") -> list[str]:
        """Every number, date and word of a truth; of the difference and its percentage either."""
        if truth is None:
            return []
        if isinstance(truth, bool):
            return self._word(name, truth)
        if isinstance(truth, int | float):
            return self.number(truth, name)
        if isinstance(truth, date):
            return self.day(truth)
        if isinstance(truth, str):
            return [] if truth.casefold() in self.answer.casefold() else [f"does not state {truth}"]
        if isinstance(truth, list | tuple):
            return self._each(truth)
        return self._fields(truth)

    def _fields(self, truth: Json) -> list[str]:
        found = [f for key, value in truth.items() if key not in EITHER for f in self._everything(value, key)]
        either = [abs(truth[key]) for key in EITHER if truth.get(key) is not None]
        if either and not any(self._either_way(value) for value in either):
            found.append(f"states neither of {either}")
        return found

    def _each(self, truth: Sequence[Any]) -> list[str]:
        if not truth:
            return [] if NONE.search(self.text) else ["does not say that there is none"]
        return [fault for one in truth for fault in self._everything(one)]

    def _word(self, name: str, truth: bool) -> list[str]:
        yes, no = (re.search(pattern, self.text) is not None for pattern in WORDS[name])
        right = (no, yes)[truth] and not (yes, no)[truth] if yes != no else False
        return [] if right else [f"does not say that {name} is {truth}"]

    # What is not all of the truth

    def _event_duration(self, spec: Json, truth: Any) -> list[str]:
        return [] if any(not self.number(truth[key]) for key in DAYS_OR_NIGHTS) else [f"does not state {truth}"]

    def _events_between(self, spec: Json, truth: Any) -> list[str]:
        return self._events(truth)

    def _events_near_extreme(self, spec: Json, truth: Any) -> list[str]:
        return self._everything(truth["extreme"]) + self._events(truth["events"])

    def _slope(self, spec: Json, truth: Any) -> list[str]:
        said = direction_stated(self.answer)
        wanted = DIRECTIONS[truth["direction"]]
        found = [] if said == wanted else [f"says {said}, not {wanted}"]
        return found + self.number(truth["slope"], "the slope")

    def _group_by(self, spec: Json, truth: Any) -> list[str]:
        pairs = truth.items() if isinstance(truth, dict) else truth
        found = [fault for key, value in pairs for fault in self.number(value, key)]
        found += [fault for key, _ in pairs for fault in self._key(key)]
        if "order" in spec and not found:
            places = [self.answer.find(key) for key, _ in pairs]
            found += [] if places == sorted(places) else ["is not in order"]
        return found

    def _key(self, key: str) -> list[str]:
        written = {key, f"周{WEEKDAYS.get(key, key)}", f"星期{WEEKDAYS.get(key, key)}"}
        return [] if any(one in self.answer for one in written) else [f"does not name {key}"]

    def _extreme_period(self, spec: Json, truth: Any) -> list[str]:
        return self._key(truth["period"]) + self.number(truth["value"])

    def _periods_where(self, spec: Json, truth: Any) -> list[str]:
        return [fault for key in truth for fault in self._key(key)] if truth else self._each(truth)

    def _out_of_range_count(self, spec: Json, truth: Any) -> list[str]:
        return self.number(truth) if truth else self._each([])

    def _count_where(self, spec: Json, truth: Any) -> list[str]:
        return self.number(truth) if truth else self._each([])

    def _compare_groups(self, spec: Json, truth: Any) -> list[str]:
        return [fault for value in truth.values() for fault in self.number(value)]

    def _compare_indicators(self, spec: Json, truth: Any) -> list[str]:
        found = [fault for name in spec["indicators"] for fault in self.number(truth[name], name)]
        return found + self._greater(truth["larger"])

    def _greater(self, name: str) -> list[str]:
        clauses = [c for c in re.split(r"[;.,。；，—\n](?!\d)", self.text) if GREATER.search(c)]
        named = any(one in clause for clause in clauses for one in self.names(name))
        return [] if named else [f"does not say that {name} is the larger"]

    def _out_of_range_list(self, spec: Json, truth: Any) -> list[str]:
        return self._each([row[1:] for row in truth])

    def _most_out_of_range(self, spec: Json, truth: Any) -> list[str]:
        found = self.number(truth["count"])
        absent = [n for n in truth["indicators"] if not any(one in self.text for one in self.names(n))]
        return found + [f"does not name {name}" for name in absent]

    def _duplicates(self, spec: Json, truth: Any) -> list[str]:
        return self._each([row[:2] for row in truth])

    def _missing_days(self, spec: Json, truth: Any) -> list[str]:
        days: list[date] = truth["dates"]
        firsts = [day for day in days if date.fromordinal(day.toordinal() - 1) not in days]
        return self.number(truth["count"]) + [fault for day in firsts for fault in self.day(day)]

    def _correlation(self, spec: Json, truth: Any) -> list[str]:
        if truth["r"] is None:
            return [] if NOT_ENOUGH.search(self.text) else ["does not say that there is too little"]
        return self._everything(truth)

    def _strongest_correlation(self, spec: Json, truth: Any) -> list[str]:
        name = truth["strongest"]
        found = [] if any(one in self.text for one in self.names(name)) else [f"does not name {name}"]
        return found + self.number(truth["all"][name], "r")


def _states(figure: Figure, truth: float) -> bool:
    """Whether a figure is the truth, rounded or within one percent; a share also as a percentage."""
    values = [truth, abs(truth)] + ([100 * truth] if figure.unit == "%" else [])
    return any(abs(figure.number - v) <= max(figure.step / 2 * 1.000001, WITHIN * abs(v)) for v in values)
