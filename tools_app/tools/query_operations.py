"""The operations of ``query_health_data`` over one series each: what is computed, and how it is told.

The figures come from tools_app/records; what a call asks for and how its parts go together is in query_health_data.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q

from tools_app.records.association import correlation, days_until_usual, split_by
from tools_app.records.limits import Limits
from tools_app.records.models import NEWEST_FIRST, OLDEST_FIRST, HealthRecord, HealthRecordQuerySet
from tools_app.records.runs import (
    ReadingRun,
    Run,
    coverage,
    latest_movement,
    run_of_days_up_to,
    runs_of_days,
    runs_of_readings,
)
from tools_app.records.selectors import Period, within
from tools_app.records.series import Series
from tools_app.records.statistics import (
    Group,
    Readings,
    Summary,
    by_period,
    counted,
    grouped,
    over_days,
    percentiles,
    points,
    recent,
    summarise,
)
from tools_app.records.unusual import Jump, largest_jumps, newest_against_before, outliers, repeated
from tools_app.tools.query_arguments import Query
from tools_app.tools.query_moments import Event
from tools_app.tools.query_schema import MAX_GROUPS
from tools_app.tools.query_times import Span
from tools_app.tools.rendering import Scale, bound, change, landmark, number, percent, period, reading

MAX_COUNTED = 10_000
MAX_RUNS = 10
MAX_LISTED = 100
MAX_EMPTY_PERIODS = 200
MAX_DAYS_LISTED = 60
# A state counts as back to usual when this many dates in a row lie within one standard deviation of the mean before.
BACK_TO_USUAL = 3
LONG_IN_RUN = 31

PER_DAYS = {"day": 1.0, "week": 7.0, "month": 30.4375, "year": 365.25}
ORDERS: dict[str, Sequence[str]] = {
    "newest": NEWEST_FIRST,
    "oldest": OLDEST_FIRST,
    "highest": ("-canonical_number", *OLDEST_FIRST),
    "lowest": ("canonical_number", *OLDEST_FIRST),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One series as it was asked about: how it is shown, and its limits in the unit in which it compares.

    ``all`` are its readings, ``inside`` those of the period. ``others`` are the further series of a correlation,
    ``deciding`` the one that decides on days.
    """

    series: Series
    query: Query
    scale: Scale
    limits: Limits
    all: Readings
    inside: Readings
    events: Sequence[Event] = ()
    others: Sequence["Asked"] = ()
    deciding: "Asked | None" = None


@dataclass(frozen=True, slots=True)
class Answered:
    """One indicator's part of the result. ``readings`` are the ones it shows, if it shows all that it used.

    ``used`` are otherwise the records behind its figures, ``count`` how many there are. ``more``: it left some out.
    """

    result: dict[str, Any]
    readings: Sequence[HealthRecord] = ()
    used: Sequence[HealthRecordQuerySet] = ()
    count: int = 0
    more: bool = False


Operation = Callable[[Asked], Answered]


def heading(asked: Asked, count: int) -> dict[str, Any]:
    """What every part begins with."""
    return {
        "indicator": asked.series.title,
        "loinc_code": asked.series.code or None,
        "unit": asked.scale.unit or None,
        "count": count,
    }


def overview(asked: Asked) -> Answered:
    """How many readings, from when to when."""
    series = asked.series
    days = {name: day.isoformat() for name, day in (("first_date", series.first), ("last_date", series.last)) if day}
    return Answered(heading(asked, series.count) | days, used=[asked.inside.records], count=series.count)


def readings(asked: Asked) -> Answered:
    """The single readings, those that meet the limits if there are any."""
    query = asked.query
    filtered = asked.inside.records.filter(asked.limits.certain)
    if query.order in ("highest", "lowest"):
        filtered = filtered.filter(canonical_number__isnull=False, comparator="")
    # The newest readings are not to wait for a count of millions.
    count = filtered[:MAX_COUNTED].count() if query.operation == "latest" else filtered.count()
    first = query.offset if query.operation == "readings" else 0
    rows = list(filtered.order_by(*ORDERS[query.order])[first : first + query.page])
    result = heading(asked, count) | {"readings": [reading(row, asked.scale) for row in rows]}
    if query.operation == "latest" and count == MAX_COUNTED:
        result["count_is_at_least"] = True
    more = query.operation == "readings" and count > first + len(rows)
    return Answered(result, rows, more=more)


def nearest(asked: Asked) -> Answered:
    """The readings of the day nearest to each time; of two as near the earlier."""
    found = [(event, _nearest_day(asked, event.first)) for event in asked.events]
    rows = [row for _, several in found for row in several]
    result = heading(asked, len(rows)) | {
        "nearest": [event.heading | {"readings": [reading(row, asked.scale) for row in s]} for event, s in found]
    }
    return Answered(result, rows)


def _nearest_day(asked: Asked, day: date) -> list[HealthRecord]:
    before = asked.inside.days_between(None, day).records.order_by(*NEWEST_FIRST).first()
    after = asked.inside.days_between(day, None).records.order_by(*OLDEST_FIRST).first()
    near = [record for record in (before, after) if record is not None]
    if not near:
        return []
    chosen = min(near, key=lambda record: (abs(record.local_date - day), record.local_date)).local_date
    return list(asked.inside.days_between(chosen, chosen).records.order_by(*OLDEST_FIRST)[:MAX_RUNS])


def figures(asked: Asked, among: Readings, summary: Summary) -> dict[str, Any]:
    """The aggregates that every operation over figures tells."""
    scale = asked.scale
    total = summary.total if summary.counted_once is None else summary.counted_once
    told = heading(asked, summary.count) | {
        "average": scale.value(summary.average),
        "standard_deviation": scale.difference(summary.deviation),
        "minimum": landmark(summary.minimum, scale),
        "maximum": landmark(summary.maximum, scale),
        "sum": scale.total(total, summary.used),
        "first": landmark(summary.first, scale),
        "last": landmark(summary.last, scale),
        "excluded": summary.excluded,
        "without_unit": summary.without_unit,
        "maybe_lower": bound(summary.lower_bound, scale),
        "maybe_higher": bound(summary.upper_bound, scale),
    }
    return told if summary.counted_once is None else told | {"sum_counts_one_source_a_day": True}


def aggregate(asked: Asked) -> Answered:
    """Figures of the period, by calendar period if asked, with how many readings meet the limits."""
    query, scale, inside = asked.query, asked.scale, asked.inside
    summary = summarise(inside)
    days = over_days(inside.usable)
    wanted = [50.0] if query.percentile is None else [50.0, query.percentile]
    median, *others = percentiles(inside.usable, wanted)
    result = figures(asked, inside, summary) | {
        "median": scale.value(median),
        "coefficient_of_variation": _variation(summary, scale),
        "days": days.count,
        "daily_average": scale.value(days.average),
        "last_minus_minimum": _between(summary.minimum, summary.last, scale),
        "last_minus_maximum": _between(summary.maximum, summary.last, scale),
        "out_of_range": {"low": summary.low, "high": summary.high, "checked": summary.checked},
    }
    if others:
        result["percentile"] = {"percent": query.percentile, "value": scale.value(others[0])}
    if asked.limits:
        result |= _meeting(asked, summary)
    more = False
    if query.group_by:
        groups, more = by_period(
            inside, query.group_by, MAX_GROUPS, query.zone,
            matching=asked.limits.exact if asked.limits else None, percentile=query.percentile,
        )  # fmt: skip
        result["groups"] = [_group(group, asked) for group in groups]
    return Answered(result, used=[inside.records], count=summary.count, more=more)


def _variation(summary: Summary, scale: Scale) -> float | int | None:
    deviation, average = scale.difference(summary.deviation), scale.value(summary.average)
    return None if deviation is None or not average else number(deviation / abs(average))


def _between(one: HealthRecord | None, other: HealthRecord | None, scale: Scale) -> float | int | None:
    return change(one, other, scale)["change"]  # type: ignore[no-any-return]


def _meeting(asked: Asked, summary: Summary) -> dict[str, Any]:
    """How many readings meet the limits: all of them together, and, of bounds, each side alone."""
    limits = asked.limits
    one_sided = {"above": Limits(above=limits.above), "below": Limits(below=limits.below)}
    sides = {name: counted(side.certain) for name, side in one_sided.items() if side}
    counts = asked.inside.records.order_by().aggregate(meeting=counted(limits.certain), **sides)
    days = over_days(asked.inside.usable).count
    met = _days_meeting(asked)
    meeting = counts.pop("meeting")
    share = number(meeting / summary.used) if summary.used else None
    return counts | {"meeting": {"count": meeting, "share": share, "days": met, "of_days": days}}


def _days_meeting(asked: Asked) -> int:
    split = split_by(asked.inside, asked.inside, asked.limits, 0)
    return split.days_met


def _group(group: Group, asked: Asked) -> dict[str, Any]:
    scale = asked.scale
    told: dict[str, Any] = {
        "period": period(group.period, asked.query.group_by or "day"),
        "count": group.count,
        "average": scale.value(group.average),
        "minimum": scale.value(group.minimum),
        "maximum": scale.value(group.maximum),
        "sum": scale.total(group.total, group.count),
        "standard_deviation": scale.difference(group.deviation),
    }
    if asked.limits:
        told["meeting"] = group.matching
    if asked.query.percentile is not None:
        told["percentile"] = scale.value(group.percentile)
    return told


def trend(asked: Asked) -> Answered:
    """The least-squares line of the period, or of its newest readings."""
    inside, scale = asked.inside, asked.scale
    if asked.query.limit is not None:
        newest = inside.usable.order_by(*NEWEST_FIRST).values_list("pk", flat=True)[: asked.query.limit]
        inside = inside.where(Q(pk__in=list(newest)))
    summary = summarise(inside, with_line=True)
    thirds = recent(inside, summary)
    to_draw, bucket = points(inside, asked.query.zone)
    steps = latest_movement(inside)
    result = figures(asked, inside, summary) | {
        "trend": {
            **_line(summary, scale),
            **change(summary.first, summary.last, scale),
            "steps_in_a_row": abs(steps),
            "steps_direction": "rising" if steps > 0 else "falling" if steps < 0 else None,
            "recent_average": scale.value(thirds.average) if thirds else None,
            "previous_average": scale.value(thirds.previous) if thirds else None,
        },
        "points": [{"date": day.isoformat(), "value": scale.value(value)} for day, value in to_draw],
        "bucket": bucket,
    }
    return Answered(result, used=[inside.records], count=summary.count)


def _line(summary: Summary, scale: Scale) -> dict[str, Any]:
    """Where the readings are going, and how fast."""
    line = summary.line
    slopes = {f"slope_per_{unit}": scale.difference(line.slope * n) if line else None for unit, n in PER_DAYS.items()}
    direction = line.direction if line else "not enough data"
    return {"direction": direction, **slopes, "slope_t": number(line.t) if line else None}


def compare(asked: Asked) -> Answered:
    """Periods with each other, the time before something with the time after it, days of a kind with the others."""
    if asked.query.periods:
        return _compare_periods(asked)
    return _compare_days(asked) if asked.deciding else _compare_around(asked)


def _window(among: Readings, first: date, last: date, asked: Asked) -> tuple[dict[str, Any], Summary, Readings]:
    """The figures of some days."""
    inside = among.days_between(first, last)
    summary = summarise(inside, with_line=True)
    (median,) = percentiles(inside.usable, [50])
    told = figures(asked, inside, summary)
    for name in ("indicator", "loinc_code", "unit"):
        told.pop(name)
    days = (last - first).days + 1
    told |= {
        "start": first.isoformat(),
        "end": last.isoformat(),
        "median": asked.scale.value(median),
        "coefficient_of_variation": _variation(summary, asked.scale),
        "count_per_30_days": number(30 * summary.count / days),
        "trend": _line(summary, asked.scale),
    }
    return told, summary, inside


_COMPARED = ("average", "median", "sum", "count", "standard_deviation", "count_per_30_days")


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """From one window to the other, figure by figure, and in standard deviations of the one."""
    pairs = {name: (one[name], other[name]) for name in _COMPARED}
    differences = {name: None if None in pair else number(pair[1] - pair[0]) for name, pair in pairs.items()}
    deviation = one["standard_deviation"]
    moved = differences["average"]
    return {
        "difference": differences,
        "percent": {name: percent(differences[name], pair[0]) for name, pair in pairs.items()},
        "z_score": number(moved / deviation) if moved is not None and deviation else None,
    }


def _compare_periods(asked: Asked) -> Answered:
    windows = [_window(asked.all, span.first, span.last, asked) for span in asked.query.periods]
    told = [window for window, _, _ in windows]
    changes = [window | _differences(told[0], window) for window in told[1:]]
    count = sum(summary.count for _, summary, _ in windows)
    return Answered(
        heading(asked, count) | {"periods": [told[0], *changes]},
        used=[inside.records for _, _, inside in windows],
        count=count,
    )


def _compare_days(asked: Asked) -> Answered:
    deciding, scale = asked.deciding, asked.scale
    assert deciding is not None  # noqa: S101 - only called with one
    split = split_by(asked.inside, deciding.inside, deciding.limits, asked.query.lag_days)
    averages = [scale.value(average) for average in (split.average_met, split.average_not_met)]
    difference = None if averages[0] is None or averages[1] is None else number(averages[0] - averages[1])
    count = asked.inside.records.count()
    result = heading(asked, count) | {
        "days_when": deciding.series.title,
        "days_met": {"days": split.days_met, "average": averages[0]},
        "days_not_met": {"days": split.days_not_met, "average": averages[1]},
        "difference": difference,
        "percent": percent(difference, averages[1]),
    }
    used = [asked.inside.records, deciding.inside.records]
    return Answered(result, used=used, count=count + deciding.inside.records.count())


def _compare_around(asked: Asked) -> Answered:
    parts = [_around(asked, event) for event in asked.events]
    count = asked.all.records.count()
    return Answered(heading(asked, count) | {"around": parts}, used=[asked.all.records], count=count)


def _around(asked: Asked, event: Event) -> dict[str, Any]:
    """Before and after, the event's own days in neither; the readings next to it; since its beginning; until usual."""
    query, scale, usable, day = asked.query, asked.scale, asked.all, timedelta(days=1)
    before, summary, _ = _window(usable, event.first - query.days_before * day, event.first - day, asked)
    after, _, _ = _window(usable, event.last + day, event.last + query.days_after * day, asked)
    last_before = usable.days_between(None, event.first - day).usable.order_by(*NEWEST_FIRST).first()
    first_after = usable.days_between(event.last + day, None).usable.order_by(*OLDEST_FIRST).first()
    at_start = usable.days_between(None, event.first).usable.order_by(*NEWEST_FIRST).first()
    newest = usable.usable.order_by(*NEWEST_FIRST).first()
    return event.heading | {
        "before": before,
        "after": after | _differences(before, after),
        "next_to_it": {
            "last_before": landmark(last_before, scale),
            "first_after": landmark(first_after, scale),
            **change(last_before, first_after, scale),
        },
        "since": {
            "at_start": landmark(at_start, scale),
            "latest": landmark(newest, scale),
            **change(at_start, newest, scale),
        },
        "back_to_usual": _back_to_usual(usable, event, summary),
    }


def _back_to_usual(readings: Readings, event: Event, before: Summary) -> dict[str, Any] | None:
    """The first of three dates in a row, after it, within one standard deviation of the mean before it."""
    if before.average is None or not before.deviation:
        return None
    end = event.last.toordinal()
    day = days_until_usual(readings, end, before.average, before.deviation, BACK_TO_USUAL)
    return {"date": date.fromordinal(day).isoformat(), "days": day - end} if day is not None else None


def correlate(asked: Asked) -> Answered:
    """The first series with each of the others."""
    found = [
        (other, correlation(asked.inside, other.all, asked.query.lag_days, asked.query.window_days))
        for other in asked.others
    ]
    result = heading(asked, asked.inside.records.count()) | {
        "lag_days": asked.query.lag_days,
        "window_days": asked.query.window_days,
        "with": [
            {"indicator": other.series.title, "pairs": one.pairs, "r": number(one.r), "related": one.related}
            for other, one in found
        ],
    }
    used = [asked.inside.records, *(other.inside.records for other in asked.others)]
    return Answered(result, used=used, count=sum(records.count() for records in used))


def streaks(asked: Asked) -> Answered:
    """Runs of days whose daily value meets the limits, and of readings; of readings out of range without limits."""
    met = asked.limits.certain if asked.limits else Q(abnormal__in=("low", "high"))
    runs, current = runs_of_readings(asked.inside, met, MAX_RUNS)
    count = asked.inside.records.count()
    result = heading(asked, count) | {
        "runs_of_readings": [_reading_run(run, asked, met) for run in runs],
        "current_run_of_readings": _reading_run(current, asked, met) if current else None,
    }
    if asked.limits:
        days = runs_of_days(asked.inside, asked.limits, MAX_RUNS)
        now = _current_days(asked)
        result |= {
            "runs_of_days": [_day_run(run) for run in days],
            "current_run_of_days": _day_run(now) if now else None,
        }
    return Answered(result, used=[asked.inside.records], count=count)


def _current_days(asked: Asked) -> Run | None:
    """Up to the end of the period; up to yesterday when today has nothing yet."""
    end = asked.query.last_day
    if end is not None:
        return run_of_days_up_to(asked.inside, asked.limits, end)
    today = asked.query.today
    has_today = asked.inside.days_between(today, today).usable.exists()
    return run_of_days_up_to(asked.inside, asked.limits, today if has_today else today - timedelta(days=1))


def _day_run(run: Run) -> dict[str, Any]:
    return {"days": run.length, "first_date": run.first.isoformat(), "last_date": run.last.isoformat()}


def _reading_run(run: ReadingRun, asked: Asked, met: Q) -> dict[str, Any]:
    told: dict[str, Any] = {
        "readings": run.length,
        "first": landmark(run.first, asked.scale),
        "last": landmark(run.last, asked.scale),
    }
    if 2 < run.length <= LONG_IN_RUN:  # noqa: PLR2004 - of two both are told already
        between = asked.inside.days_between(run.first.local_date, run.last.local_date).records.filter(met)
        told["dates"] = sorted({day.isoformat() for day in between.values_list("local_date", flat=True)})
    return told


def gaps(asked: Asked) -> Answered:
    """The longest times without a reading, and the dates and periods without any."""
    query = asked.query
    found = coverage(asked.all, query.first_day, query.last_day, MAX_LISTED)
    count = asked.inside.records.count()
    if found is None:
        return Answered(heading(asked, count))
    result = heading(asked, count) | {
        "start": found.first.isoformat(),
        "end": found.last.isoformat(),
        "days_with_readings": found.with_readings,
        "days_without_readings": found.without_readings,
        "longest_gaps": [
            {
                "days_between": gap.days,
                "days_without_readings": gap.days - 1,
                "last_before": gap.before.isoformat(),
                "first_after": gap.after.isoformat(),
            }
            for gap in found.longest[:MAX_RUNS]
        ],
        "without_readings": [_day_run(run) for run in found.missing],
    }
    more = found.missing_runs > len(found.missing)
    if query.group_by:
        empty = _empty_periods(asked, Span(found.first, found.last))
        result |= {"empty_periods": empty[:MAX_EMPTY_PERIODS], "empty_periods_count": len(empty)}
        more = more or len(empty) > MAX_EMPTY_PERIODS
    return Answered(result, used=[asked.inside.records], count=count, more=more)


def _empty_periods(asked: Asked, span: Span) -> list[str]:
    group_by = asked.query.group_by or "day"
    if group_by == "daypart":
        return []
    rows = grouped(asked.inside.records.order_by(), group_by, asked.query.zone).values_list("period", flat=True)
    found = {period(date.fromordinal(one) if group_by == "week" else one, group_by) for one in rows.distinct()}
    every = dict.fromkeys(_period_of(span.first + timedelta(days=n), group_by) for n in range(span.days))
    return [one for one in every if one not in found]


def _period_of(day: date, group_by: str) -> str:
    match group_by:
        case "weekday":
            return period(day.isoweekday(), group_by)
        case "weekpart":
            return period(day.isoweekday() // 6, group_by)
        case "week":
            return period(day - timedelta(days=day.weekday()), group_by)
        case _:
            return period(day, group_by)


def unusual(asked: Asked) -> Answered:
    """Outliers, the largest jumps, the newest reading against all before it, readings entered twice."""
    inside, scale = asked.inside, asked.scale
    far = outliers(inside, MAX_LISTED)
    rise, fall = largest_jumps(inside)
    newest = newest_against_before(inside)
    twice, times = repeated(inside, MAX_LISTED)
    count = inside.records.count()
    result = heading(asked, count) | {
        "median": scale.value(far.median),
        "median_absolute_deviation": scale.difference(far.deviation),
        "outliers_count": far.count,
        "outliers": [landmark(record, scale) for record in far.readings],
        "largest_rise": _jump(rise, scale),
        "largest_fall": _jump(fall, scale),
        "newest": newest
        and {
            "reading": landmark(newest.reading, scale),
            "before": {
                "count": newest.count,
                "average": scale.value(newest.average),
                "standard_deviation": scale.difference(newest.deviation),
            },
            "z_score": number(newest.z),
        },
        "entered_twice_count": times,
        "entered_twice": [
            {
                "date": one.day.isoformat(),
                "value": scale.value(one.value),
                "ids": [record.public_id for record in one.readings],
                "sources": [record.source or "api" for record in one.readings],
            }
            for one in twice
        ],
    }
    more = far.count > len(far.readings) or times > len(twice)
    return Answered(result, used=[inside.records], count=count, more=more)


def _jump(jump: Jump | None, scale: Scale) -> dict[str, Any] | None:
    if jump is None:
        return None
    return {
        "before": landmark(jump.before, scale),
        "after": landmark(jump.after, scale),
        "change": scale.difference(jump.change),
    }


def out_of_range(asked: Asked) -> Answered:
    """The readings outside their reference range, with how many were held against one."""
    outside = Q(abnormal__in=("low", "high"))
    counts = asked.inside.records.order_by().aggregate(
        checked=counted(Q(abnormal__gt="")),
        low=counted(Q(abnormal="low")),
        high=counted(Q(abnormal="high")),
    )
    out = counts["low"] + counts["high"]
    query = asked.query
    rows = list(asked.inside.records.filter(outside).order_by(*NEWEST_FIRST)[query.offset : query.offset + query.page])
    result = heading(asked, counts["checked"]) | {
        "out_of_range": out,
        "low": counts["low"],
        "high": counts["high"],
        "readings": [reading(row, asked.scale) for row in rows],
    }
    checked = asked.inside.records.filter(abnormal__gt="")
    return Answered(result, used=[checked], count=counts["checked"], more=out > query.offset + len(rows))


def out_of_range_days(checked: HealthRecordQuerySet, periods: Sequence[Span]) -> dict[str, Any]:
    """Over all indicators shown: the newest days with readings held against a range, and the periods asked for."""
    counts = {"checked": Count("*"), "out_of_range": counted(Q(abnormal__in=("low", "high")))}
    days = checked.order_by().values("local_date").annotate(**counts).order_by("-local_date")
    told: dict[str, Any] = {
        "days": [row | {"local_date": row["local_date"].isoformat()} for row in days[:MAX_DAYS_LISTED]]
    }
    for day in told["days"]:
        day["date"] = day.pop("local_date")
    if periods:
        told["periods"] = [
            {"start": span.first.isoformat(), "end": span.last.isoformat()}
            | checked.filter(local_date__gte=span.first, local_date__lte=span.last).aggregate(**counts)
            for span in periods
        ]
    return told


def in_period(readings: Readings, within_period: Period) -> Readings:
    """The readings that lie in the period."""
    return replace(readings, records=within(readings.records, within_period))


OPERATIONS: dict[str, Operation] = {
    "overview": overview,
    "latest": readings,
    "readings": readings,
    "nearest": nearest,
    "aggregate": aggregate,
    "trend": trend,
    "compare": compare,
    "correlate": correlate,
    "out_of_range": out_of_range,
    "streaks": streaks,
    "gaps": gaps,
    "unusual": unusual,
}
