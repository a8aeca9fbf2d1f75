"""From a question's `spec` to the tool calls a model would make, and from their results to what it would state.

At most two calls a question. What is read out of a result is looked up, put in order or subtracted from a date; every
figure comes from the database.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from tests.questions.generated.person import Json, World
from tests.questions.generated.truth import Condition, condition_of

DAY = timedelta(days=1)
QUERY, CLINICAL = "query_health_data", "list_clinical_records"
SIGNS = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most"}
FIGURES = {
    "mean": "average",
    "median": "median",
    "sum": "sum",
    "count": "count",
    "standard_deviation": "standard_deviation",
    "coefficient_of_variation": "coefficient_of_variation",
    "count_per_30_days": "count_per_30_days",
    "count_where": "meeting",
}
PER = {"week": "slope_per_week", "month": "slope_per_month", "year": "slope_per_year"}
DIRECTIONS = {"rising": "up", "falling": "down", "stable": "flat"}
# What the index has no name for is kept under each name it was written with.
UNKNOWN_TO_THE_INDEX = {"floors climbed": ("floors climbed", "爬楼层数")}
EVENT_WORDS = {"hospital stay for pneumonia": "pneumonia", "stopped smoking": "smoking", "trip to Lhasa": "Lhasa"}
ONGOING = ("medication", "condition")
Data = Json
Run = Callable[[str, Json], Data]


@dataclass
class Call:
    """One call. ``after``: its arguments are made from the result of an earlier call."""

    tool: str
    arguments: Json
    after: "Call | None" = None
    complete: Callable[[Data], Json] = field(default=lambda _: {})
    result: Data = field(default_factory=dict)

    def of(self, name: str) -> Data | None:
        """The part of an indicator, ``None`` when there is none."""
        missing = {*self.result["not_found"], *self.result["no_data_in_range"]}
        names = [n for n in self.arguments["indicators"] if n not in missing]
        if name in missing:
            return None
        part: Data = self.result["results"][names.index(name)]
        return part


@dataclass
class Plan:
    """The calls of a question and what their results say."""

    calls: list[Call]
    read: Callable[[], Any]

    def answer(self, run: Run) -> Any:
        for call in self.calls:
            if call.after:
                call.arguments |= call.complete(call.after.result)
            call.result.update(run(call.tool, call.arguments))
        return self.read()


class Planner:
    """Plans for the specs about a world whose clinical records have these ids."""

    def __init__(self, world: World, ids: Mapping[str, str]) -> None:
        self.world, self.ids = world, ids
        self.names = {public_id: name for name, public_id in ids.items()}

    def plan(self, spec: Json) -> Plan:
        """The plan; where events must be named and no call tells of them, one more call lists them."""
        plan = self._of_all(spec) if spec["op"] == "all" else self._of(spec)
        named = [e for e in spec.get("must_mention", ()) if not self._tells_of(plan, e)]
        if named:
            plan.calls.append(clinical(search=self.words(named[0])))
        return plan

    def mentioned(self, plan: Plan) -> set[str]:
        """The events that the results name."""
        text = repr([call.result for call in plan.calls])
        return {name for name, public_id in self.ids.items() if public_id in text}

    def words(self, event: str) -> str:
        """How one asks for it."""
        found = self.world.events.get(event, {})
        medication = found.get("medication")
        short = event.removeprefix("diagnosis of ").removeprefix("start of ").rsplit(" 20", 1)[0]
        return str(medication or EVENT_WORDS.get(event, short))

    def _tells_of(self, plan: Plan, event: str) -> bool:
        return any(
            call.tool == CLINICAL or self.words(event) in call.arguments.get("around", ()) for call in plan.calls
        )

    def _of(self, spec: Json) -> Plan:
        plan: Plan = getattr(self, f"_{spec['op']}")(spec)
        return plan

    def _of_all(self, spec: Json) -> Plan:
        if {one["op"] for one in spec["of"]} == {"slope"} and len({one["indicator"] for one in spec["of"]}) == 1:
            return self._slopes(spec["of"])
        plans = [self._of(one) for one in spec["of"]]
        calls: list[Call] = []
        for plan in plans:
            for call in plan.calls:
                same = next((one for one in calls if fits(one, call)), None)
                if same is None:
                    calls.append(call)
                else:
                    joined(same, call)
        return Plan(calls, lambda: [plan.read() for plan in plans])

    # Single readings

    def _readings(self, spec: Json, read: Callable[[list[Data]], Any], **arguments: Any) -> Plan:
        name = spec["indicator"]
        call = query("readings", name, **arguments)
        return Plan([call], lambda: None if (part := call.of(name)) is None else read(part["readings"]))

    def _latest(self, spec: Json) -> Plan:
        name = spec["indicator"]
        end = {"end": day_before(spec["before"])} if "before" in spec else {}
        unit = {"unit": spec["unit"]} if "unit" in spec else {}
        call = query("latest", name, **end, **unit)

        def read() -> Any:
            part = call.of(name)
            if part is None:
                return None
            newest = part["readings"][0]
            limits = [newest["reference_low"], newest["reference_high"]]
            in_range = {"in_range": newest["abnormal"] is None} if limits != [None, None] else {}
            return shown(newest) | in_range

        return Plan([call], read)

    def _earliest(self, spec: Json) -> Plan:
        return self._readings(spec, lambda rows: shown(rows[0]), order="oldest", limit=1)

    def _nth_latest(self, spec: Json) -> Plan:
        return self._readings(spec, lambda rows: shown(rows[-1]), limit=spec["n"])

    def _last_n(self, spec: Json) -> Plan:
        return self._readings(spec, lambda rows: [shown(row) for row in rows], limit=spec["n"])

    def _value_on(self, spec: Json) -> Plan:
        return self._readings(spec, lambda rows: [row["value"] for row in rows], start=spec["date"], end=spec["date"])

    def _list(self, spec: Json) -> Plan:
        return self._readings(
            spec, lambda rows: [shown(row) for row in rows], order="oldest", limit=200, **period(spec)
        )

    def _list_where(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])
        part = {"indicator": met.indicator}
        return self._readings(
            part, lambda rows: [shown(row) for row in rows], order="oldest", limit=200, **limit(met), **period(spec)
        )

    def _top_n(self, spec: Json) -> Plan:
        order = "highest" if spec["which"] == "max" else "lowest"
        return self._readings(
            spec, lambda rows: [shown(row) for row in rows], order=order, limit=spec["n"], **period(spec)
        )

    def _first_crossing(self, spec: Json) -> Plan:
        met = limit(condition_of(spec["condition"]))
        return self._readings(spec, lambda rows: shown(rows[0]) if rows else None, order="oldest", limit=1, **met)

    def _last_two_difference(self, spec: Json) -> Plan:
        name = spec["indicator"]
        call = query("trend", name, limit=2)

        def read() -> Any:
            part = there(call.of(name))
            first, last = part["first"]["value"], part["last"]["value"]
            return {"last": last, "before": first, "difference": part["trend"]["change"]}

        return Plan([call], read)

    def _reference_range(self, spec: Json) -> Plan:
        call = query("latest", spec["indicator"])

        def read() -> Any:
            newest = there(call.of(spec["indicator"]))["readings"][0]
            return [newest["reference_low"], newest["reference_high"]]

        return Plan([call], read)

    def _nearest(self, spec: Json) -> Plan:
        around = spec["date"] if "date" in spec else self.words(spec["event"])
        call = query("nearest", spec["indicator"], around=[around])

        def read() -> Any:
            (part,) = [p for p in there(call.of(spec["indicator"]))["nearest"] if p["around"] == around]
            return shown(part["readings"][0])

        return Plan([call], read)

    def _compare_nearest(self, spec: Json) -> Plan:
        call = query("nearest", spec["indicator"], around=spec["dates"])

        def read() -> Any:
            first, last = (shown(p["readings"][0]) for p in there(call.of(spec["indicator"]))["nearest"])
            difference = last["value"] - first["value"]
            percent = 100 * difference / first["value"]
            return {"first": first, "last": last, "difference": difference, "percent": percent}

        return Plan([call], read)

    # Events

    def _event_date(self, spec: Json) -> Plan:
        call = clinical(search=self.words(spec["event"]))

        def read() -> Any:
            names = [name for name in self.ids if name.startswith(spec["event"])]
            return sorted(day(e["time"]) for e in call.result["results"] if self.names[e["id"]] in names)

        return Plan([call], read)

    def _event_duration(self, spec: Json) -> Plan:
        call = clinical(search=self.words(spec["event"]))

        def read() -> Any:
            (entry,) = call.result["results"]
            nights = (day(entry["end_time"]) - day(entry["time"])).days
            return {"days": nights + 1, "nights": nights}

        return Plan([call], read)

    def _events_between(self, spec: Json) -> Plan:
        call = clinical(start=spec["start"], end=spec["end"])
        return Plan([call], lambda: self._happened(call, day(spec["start"]), day(spec["end"])))

    def _happened(self, call: Call, first: date, last: date) -> list[str]:
        """What happened in the period, without what merely went on."""
        happened = []
        for entry in call.result["results"]:
            start = day(entry["time"])
            end = day(entry["end_time"]) if entry["end_time"] and entry["kind"] not in ONGOING else start
            if start <= last and end >= first:
                happened.append(self.names[entry["id"]])
        return sorted(happened)

    def _active_medications(self, spec: Json) -> Plan:
        call = clinical(kinds=["medication"], start=spec["date"], end=spec["date"])
        return Plan([call], lambda: sorted(entry["name"] for entry in call.result["results"]))

    # Figures

    def _figure(self, spec: Json, read: Callable[[Data], Any], **arguments: Any) -> Plan:
        name = spec["indicator"]
        call = query("aggregate", name, **period(spec), **arguments)
        return Plan([call], lambda: None if (part := call.of(name)) is None else read(part))

    def _mean(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: part["average"])

    def _median(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: part["median"])

    def _sum(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: part["sum"])

    def _count(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: part["count"])

    def _min(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: shown(part["minimum"]))

    def _max(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: shown(part["maximum"]))

    def _percentile(self, spec: Json) -> Plan:
        return self._figure(spec, lambda part: part["percentile"]["value"], percentile=spec["p"])

    def _count_where(self, spec: Json) -> Plan:
        return self._where(spec, "count")

    def _share_where(self, spec: Json) -> Plan:
        return self._where(spec, "share")

    def _where(self, spec: Json, figure: str) -> Plan:
        met = condition_of(spec["condition"])
        about = {"indicator": met.indicator} | period(spec)
        return self._figure(about, lambda part: part["meeting"][figure], **limit(met))

    def _moving_average(self, spec: Json) -> Plan:
        first = day(spec["date"]) - (spec["days"] - 1) * DAY
        about = {"indicator": spec["indicator"], "start": first.isoformat(), "end": spec["date"]}
        return self._figure(about, lambda part: part["daily_average"])

    def _distance_from_extreme(self, spec: Json) -> Plan:
        name = {"min": "minimum", "max": "maximum"}[spec["which"]]

        def read(part: Data) -> Any:
            difference = part[f"last_minus_{name}"]
            return {"extreme": shown(part[name]), "latest": part["last"]["value"], "difference": difference}

        return self._figure(spec, read)

    def _stability(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            out = part["out_of_range"]["low"] + part["out_of_range"]["high"]
            variation = part["coefficient_of_variation"]
            return {
                "mean": part["average"],
                "standard_deviation": part["standard_deviation"],
                "variation": variation,
                "out_of_range": out,
                "stable": variation <= 0.1 and not out,
            }

        return self._figure(spec, read)

    def _grouped(self, spec: Json, read: Callable[[dict[str, Any]], Any]) -> Plan:
        met = limit(condition_of(spec["condition"])) if spec["statistic"] == "count_where" else {}
        names = UNKNOWN_TO_THE_INDEX.get(spec["indicator"], (spec["indicator"],))
        call = query("aggregate", *names, group_by=spec["period"], **period(spec), **met)

        def groups() -> Any:
            found: dict[str, Any] = {}
            for part in call.result["results"]:
                for group in part["groups"]:
                    key, figure = group["period"], group[FIGURES[spec["statistic"]]]
                    found[key] = found[key] + figure if key in found else figure
            return read(found)

        return Plan([call], groups)

    def _group_by(self, spec: Json) -> Plan:
        if "order" not in spec:
            return self._grouped(spec, lambda groups: groups)
        down = spec["order"] == "descending"
        return self._grouped(
            spec, lambda groups: [[k, v] for k, v in sorted(groups.items(), key=lambda item: item[1], reverse=down)]
        )

    def _extreme_period(self, spec: Json) -> Plan:
        choose = max if spec["which"] == "max" else min

        def read(groups: dict[str, Any]) -> Any:
            key = choose(groups, key=lambda k: groups[k])
            return {"period": key, "value": groups[key]}

        return self._grouped(spec, read)

    def _periods_where(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])
        if spec["statistic"] != "count":
            return self._grouped(spec, lambda groups: [key for key, value in groups.items() if met(value)])
        call = query("gaps", spec["indicator"], group_by=spec["period"], **period(spec))
        return Plan([call], lambda: there(call.of(spec["indicator"]))["empty_periods"])

    def _compare_groups(self, spec: Json) -> Plan:
        wanted = ("Monday to Friday", "weekend") if spec["groups"] == "weekpart" else ("morning", "evening")
        about = spec | {"period": spec["groups"]}
        return self._grouped(about, lambda groups: {name: groups[name] for name in wanted})

    # Trends

    def _trend(self, spec: Json, read: Callable[[Data], Any], **arguments: Any) -> Plan:
        name = spec["indicator"]
        call = query("trend", name, **period(spec), **arguments)
        return Plan([call], lambda: None if (part := call.of(name)) is None else read(part))

    def _slope(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            found = part["trend"]
            if found["direction"] not in DIRECTIONS:
                return None
            return {"slope": found[PER[spec["per"]]], "direction": DIRECTIONS[found["direction"]]}

        return self._trend(spec, read, **({"limit": spec["last_n"]} if "last_n" in spec else {}))

    def _first_last_change(self, spec: Json) -> Plan:
        return self._trend(
            spec,
            lambda part: {
                "first": shown(part["first"]),
                "last": shown(part["last"]),
                "difference": part["trend"]["change"],
                "percent": part["trend"]["change_percent"],
            },
        )

    def _run_length(self, spec: Json) -> Plan:
        wanted = {"down": "falling", "up": "rising"}[spec["direction"]]

        def read(part: Data) -> Any:
            found = part["trend"]
            return found["steps_in_a_row"] if found["steps_direction"] == wanted else 0

        return self._trend(spec, read)

    # Comparisons

    def _compare_periods(self, spec: Json) -> Plan:
        name, figure = spec["indicator"], FIGURES[spec["statistic"]]
        call = query("compare", name, periods=[f"{s['start']}/{s['end']}" for s in (spec["a"], spec["b"])])

        def read() -> Any:
            part = call.of(name)
            return None if part is None else differing(*part["periods"], figure)

        return Plan([call], read)

    def _slopes(self, specs: list[Json]) -> Plan:
        """The slopes of several periods."""
        name = specs[0]["indicator"]
        call = query("compare", name, periods=[f"{s['start']}/{s['end']}" for s in specs])

        def read() -> Any:
            found = [part["trend"] for part in there(call.of(name))["periods"]]
            return [
                {"slope": one[PER[s["per"]]], "direction": DIRECTIONS[one["direction"]]}
                for one, s in zip(found, specs, strict=True)
            ]

        return Plan([call], read)

    def _z_score_period(self, spec: Json) -> Plan:
        call = query(
            "compare",
            spec["indicator"],
            periods=[f"{s['start']}/{s['end']}" for s in (spec["baseline"], spec["period"])],
        )

        def read() -> Any:
            z = there(call.of(spec["indicator"]))["periods"][1]["z_score"]
            return {"z": z, "unusual": abs(z) > 2}

        return Plan([call], read)

    def _around(self, spec: Json, read: Callable[[Data], Any], **days: int) -> Plan:
        name = spec["indicator"]
        call = query("compare", name, around=[self.words(spec["event"])], **days)

        def part() -> Any:
            parts = there(call.of(name))["around"]
            return read(next(p for p in parts if p["event_id"] == self.ids[spec["event"]]))

        return Plan([call], part)

    def _before_after(self, spec: Json) -> Plan:
        figure = FIGURES[spec["statistic"]]
        days = {"days_before": spec["days_before"], "days_after": spec["days_after"]}
        return self._around(spec, lambda part: differing(part["before"], part["after"], figure), **days)

    def _around_event(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            found = part["next_to_it"]
            return {
                "first": shown(found["last_before"]),
                "last": shown(found["first_after"]),
                "difference": found["change"],
                "percent": found["change_percent"],
            }

        return self._around(spec, read)

    def _change_since_event(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            found = part["since"]
            return {
                "first": shown(found["at_start"]),
                "last": shown(found["latest"]),
                "difference": found["change"],
                "percent": found["change_percent"],
            }

        return self._around(spec, read)

    def _recovery_days(self, spec: Json) -> Plan:
        assert (spec["tolerance_sd"], spec["consecutive_days"]) == (1, 3)
        return self._around(spec, lambda part: part["back_to_usual"]["days"], days_before=spec["baseline_days"])

    def _compare_indicators(self, spec: Json) -> Plan:
        names, latest = spec["indicators"], spec["statistic"] == "latest"
        call = query("latest" if latest else "aggregate", *names, **period(spec))

        def read() -> Any:
            parts = {name: there(call.of(name)) for name in names}
            values = {
                name: part["readings"][0]["value"] if latest else part[FIGURES[spec["statistic"]]]
                for name, part in parts.items()
            }
            return values | {"larger": max(names, key=lambda name: values[name])}

        return Plan([call], read)

    def _conditional_mean(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])
        when = {"indicator": met.indicator} | limit(met)
        call = query("compare", spec["indicator"], on_days_when=when, **period(spec))

        def read() -> Any:
            part = there(call.of(spec["indicator"]))
            yes, no = part["days_met"], part["days_not_met"]
            return {
                "met": yes["average"],
                "not_met": no["average"],
                "difference": part["difference"],
                "days": [yes["days"], no["days"]],
            }

        return Plan([call], read)

    # Out of range

    def _out_of_range(self, wanted: Any, read: Callable[[Data], Any], **arguments: Any) -> Plan:
        names = [] if wanted == "labs" else wanted
        call = query("out_of_range", *names, **arguments)
        return Plan([call], lambda: read(call.result))

    def _out_of_range_count(self, spec: Json) -> Plan:
        return self._out_of_range(
            [spec["indicator"]],
            lambda data: data["results"][0]["out_of_range"] if data["results"] else None,
            **period(spec),
        )

    def _out_of_range_list(self, spec: Json) -> Plan:
        if spec["scope"] == "last_lab_day":
            first = query("out_of_range", limit=1)
            second = query("out_of_range")
            second.after = first
            second.complete = lambda data: {"start": data["days"][0]["date"], "end": data["days"][0]["date"]}
            return Plan([first, second], lambda: self._listed(second.result))
        return self._out_of_range(spec["indicators"], self._listed, **period(spec["scope"]))

    def _listed(self, data: Data) -> list[Any]:
        codes = {part["indicator"]: self._name_of(part["indicator"]) for part in data["results"]}
        return sorted(
            [codes[part["indicator"]], day(row["date"]), row["value"]]
            for part in data["results"]
            for row in part["readings"]
        )

    def _name_of(self, title: str) -> str:
        """The name of person.json for a title of the product: both mean the same measurement."""
        from tools_app.standardization import concepts_named  # noqa: PLC0415 - needs Django's settings

        meant = {c.analyte for c in concepts_named(title)}
        return next(n for n in self.world.indicators if meant & {c.analyte for c in concepts_named(n)})

    def _out_of_range_by_period(self, spec: Json) -> Plan:
        spans = [f"{s['start']}/{s['end']}" for s in spec["periods"]]
        return self._out_of_range(
            spec["indicators"], lambda data: [p["out_of_range"] for p in data["periods"]], periods=spans
        )

    def _most_out_of_range(self, spec: Json) -> Plan:
        def read(data: Data) -> Any:
            most = data["results"][0]["out_of_range"]
            tied = [part["indicator"] for part in data["results"] if part["out_of_range"] == most]
            return {"indicators": sorted(map(self._name_of, tied)), "count": most}

        return self._out_of_range(spec["indicators"], read, **period(spec))

    def _lab_days_where(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])
        return self._out_of_range(
            "labs",
            lambda data: sorted(day(d["date"]) for d in data["days"] if met(d["out_of_range"])),
            **period(spec),
        )

    # Runs, gaps and what stands out

    def _streaks(self, name: str, read: Callable[[Data], Any], **arguments: Any) -> Plan:
        call = query("streaks", name, **arguments)
        return Plan([call], lambda: read(there(call.of(name))))

    def _consecutive_out_of_range(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            runs = [run for run in part["runs_of_readings"] if run["readings"] >= spec["n"]]
            days = [run.get("dates") or [run["first"]["date"], run["last"]["date"]] for run in runs]
            return sorted([day(d) for d in run] for run in days)

        return self._streaks(spec["indicator"], read, **period(spec))

    def _streak(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])

        def read(part: Data) -> Any:
            best = part["runs_of_days"][0]
            return {"days": best["days"], "first": day(best["first_date"]), "last": day(best["last_date"])}

        return self._streaks(met.indicator, read, **limit(met), **period(spec))

    def _current_streak(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])

        def read(part: Data) -> Any:
            current = part["current_run_of_days"]
            return current["days"] if current else 0

        return self._streaks(met.indicator, read, **limit(met))

    def _stays_since(self, spec: Json) -> Plan:
        met = condition_of(spec["condition"])

        def read(part: Data) -> Any:
            current = part["current_run_of_readings"]
            return shown(current["first"]) if current else None

        return self._streaks(spec["indicator"], read, **limit(met))

    def _longest_gap(self, spec: Json) -> Plan:
        call = query("gaps", spec["indicator"], **period(spec))

        def read() -> Any:
            gap = there(call.of(spec["indicator"]))["longest_gaps"][0]
            return {"days": gap["days_between"], "from": day(gap["last_before"]), "to": day(gap["first_after"])}

        return Plan([call], read)

    def _missing_days(self, spec: Json) -> Plan:
        call = query("gaps", spec["indicator"], **period(spec))

        def read() -> Any:
            part = there(call.of(spec["indicator"]))
            runs = [(day(run["first_date"]), run["days"]) for run in part["without_readings"]]
            dates = [first + n * DAY for first, days in runs for n in range(days)]
            return {"count": part["days_without_readings"], "dates": dates}

        return Plan([call], read)

    def _unusual(self, spec: Json, read: Callable[[Data], Any]) -> Plan:
        call = query("unusual", spec["indicator"], **period(spec))
        return Plan([call], lambda: read(there(call.of(spec["indicator"]))))

    def _outliers(self, spec: Json) -> Plan:
        return self._unusual(spec, lambda part: [shown(row) for row in part["outliers"]])

    def _max_jump(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            jumps = (
                [part["largest_fall"]]
                if spec.get("direction") == "down"
                else [part["largest_rise"], part["largest_fall"]]
            )
            jump = max(jumps, key=lambda one: abs(one["change"]))
            return {"before": shown(jump["before"]), "after": shown(jump["after"]), "change": jump["change"]}

        return self._unusual(spec, read)

    def _duplicates(self, spec: Json) -> Plan:
        return self._unusual(
            spec, lambda part: [[day(one["date"]), one["value"], len(one["ids"])] for one in part["entered_twice"]]
        )

    def _latest_vs_history(self, spec: Json) -> Plan:
        def read(part: Data) -> Any:
            newest = part["newest"]
            return {
                "latest": newest["reading"]["value"],
                "mean": newest["before"]["average"],
                "standard_deviation": newest["before"]["standard_deviation"],
                "z": newest["z_score"],
            }

        return self._unusual(spec, read)

    # Two series

    def _correlation(self, spec: Json) -> Plan:
        window = {"window_days": 14} if spec["pairing"] == "window" else {}
        lag = {"lag_days": spec["lag_days"]} if spec["lag_days"] else {}
        call = query("correlate", spec["y"], spec["x"], **lag, **window, **period(spec))

        def read() -> Any:
            (found,) = call.result["results"][0]["with"]
            return {"n": found["pairs"], "r": found["r"], "related": found["related"]}

        return Plan([call], read)

    def _strongest_correlation(self, spec: Json) -> Plan:
        call = query("correlate", spec["target"], *spec["candidates"], **period(spec))

        def read() -> Any:
            found = call.result["results"][0]["with"]
            r = {name: one["r"] for name, one in zip(spec["candidates"], found, strict=True)}
            return {"all": r, "strongest": max(r, key=lambda name: abs(r[name]))}

        return Plan([call], read)

    def _events_near_extreme(self, spec: Json) -> Plan:
        extremes = {"max": "maximum", "min": "minimum"}
        first = query("aggregate", spec["indicator"], **period(spec))
        second = clinical()
        second.after = first

        def window(data: Data) -> tuple[date, date]:
            at = day(data["results"][0][extremes[spec["which"]]]["date"])
            return at - spec["days"] * DAY, at + spec["days"] * DAY

        def complete(data: Data) -> Json:
            start, end = window(data)
            return {"start": start.isoformat(), "end": end.isoformat()}

        def read() -> Any:
            extreme = shown(first.result["results"][0][extremes[spec["which"]]])
            return {"extreme": extreme, "events": self._happened(second, *window(first.result))}

        second.complete = complete
        return Plan([first, second], read)


def query(operation: str, *names: str, **arguments: Any) -> Call:
    return Call(QUERY, {"operation": operation} | ({"indicators": [*names]} if names else {}) | arguments)


def clinical(**arguments: Any) -> Call:
    return Call(CLINICAL, arguments)


def period(spec: Json) -> Json:
    return {name: spec[name] for name in ("start", "end") if name in spec}


def limit(condition: Condition) -> Json:
    return {SIGNS[condition.sign]: condition.limit}


def day_before(text: str) -> str:
    return (day(text) - DAY).isoformat()


def day(text: str) -> date:
    return date.fromisoformat(text)


def shown(landmark: Data) -> Json:
    return {"value": landmark["value"], "date": day(landmark["date"])}


def there(part: Data | None) -> Data:
    assert part is not None
    return part


def differing(a: Data, b: Data, figure: str) -> Json | None:
    if a[figure] is None or b[figure] is None:
        return None
    return {"a": a[figure], "b": b[figure], "difference": b["difference"][figure], "percent": b["percent"][figure]}


WINDOWS = ("days_before", "days_after")
LISTS = ("indicators", "around")


def fits(one: Call, other: Call) -> bool:
    """Whether one call may ask for both: the same but for one list, and for windows that only one cares about."""
    if one.tool != other.tool or one.after or other.after:
        return False
    names = (one.arguments.keys() | other.arguments.keys()) - {*LISTS, *WINDOWS}
    if any(one.arguments.get(name) != other.arguments.get(name) for name in names):
        return False
    if any(n in one.arguments and n in other.arguments and one.arguments[n] != other.arguments[n] for n in WINDOWS):
        return False
    lists = [name for name in LISTS if one.arguments.get(name) != other.arguments.get(name)]
    return one.tool == QUERY and len(lists) <= 1


def joined(one: Call, other: Call) -> None:
    """Lets the first ask for both; what asked with the other reads the first's result."""
    for name in LISTS:
        both: Sequence[str] = [*one.arguments.get(name, ()), *other.arguments.get(name, ())]
        if both:
            one.arguments[name] = unique(both)
    one.arguments |= {name: other.arguments[name] for name in WINDOWS if name in other.arguments}
    other.arguments, other.result = one.arguments, one.result


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
