"""Judges an answer against the rows: what is missing, what is wrong, what was not asked for. Empty means right.

An answer may state the values asked for and the reference limits of those readings. A comparison may add the difference
and the percentage. A trend may state six values, each of them possible for the readings of its range.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from tests.questions import truth
from tests.questions.reading import Figure, Reading, read
from tests.questions.truth import SERIES, Measurement, Row, Span
from tests.questions.units import convert

MOST_VALUES_OF_A_TREND = 6
_RELATIVE_ERROR_OF_CONVERSION = 5e-4
_WHOLE_NUMBERS_WILL_DO_FROM = 100

_GOING = r"(?:go|going|gone|went|trending|is|are)"
_STABLE = (
    r"\b(?:stable|steady|flat|unchanged|constant|little change"
    r"|no (?:clear|real|significant)? ?(?:trend|change|direction))\b"
    r"|稳定|平稳|持平|变化不大|(?:没有|无)明显(?:变化|趋势|升降)"
)
_RISING = (
    rf"\b(?:rising|rises?|rose|risen|increas\w*|upwards?|climb\w*|gain\w*|{_GOING} up)\b"
    r"|上升|升高|上涨|增加|增长|走高|上行|变高|变胖|胖了|升了"
)
_FALLING = (
    rf"\b(?:falling|falls?|fell|fallen|decreas\w*|downwards?|declin\w*|dropp\w*|los[et]\w*|{_GOING} down)\b"
    r"|下降|降低|下跌|减少|走低|下行|变低|变瘦|瘦了|降了"
)
_DENIAL = r"(?:\bnot|n't|\bno longer|\bwithout)\s+(?:\w+\s+){0,2}|没有?|不是|并未|未见?|不再"
_DIRECTION = re.compile(
    rf"(?P<denied>{_DENIAL})?(?:(?P<stable>{_STABLE})|(?P<rising>{_RISING})|(?P<falling>{_FALLING}))", re.IGNORECASE
)
_OPENS_WITH_NO = re.compile(r"\W*(?:no\b|never\b|not\b|没有|从未|从来没|未曾|无)", re.IGNORECASE)
_NEGATIVE = re.compile(r"\bnegative\b|阴性", re.IGNORECASE)
_POSITIVE = re.compile(r"\bpositive\b|阳性", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """A question as asked, what its answer must satisfy, and the rows it is about."""

    question: str
    spec: Mapping[str, Any]
    rows: Sequence[Row]
    today: date
    filled: Mapping[str, Any] = field(default_factory=dict)

    def series(self) -> list[Measurement]:
        """The measurements of the (first) series asked about, oldest first."""
        return truth.measurements(self.rows, self.spec["series"][0])

    def spans(self, key: str = "range") -> list[Span]:
        """The accepted readings of the range."""
        return truth.spans(self.spec[key], self.today, self.filled)

    def samples(self, key: str = "range") -> list[list[Measurement]]:
        """The series' measurements in each accepted reading of the range."""
        return [truth.within(self.series(), span) for span in self.spans(key)]

    def limit(self) -> float:
        """The limit the question names."""
        limit = self.spec["limit"]
        return float(self.filled["limit"] if limit == "filled" else limit)


def faults(answer: str, case: Case) -> list[str]:
    """What is wrong with the answer, in words; an empty list when it is right."""
    return _JUDGES[case.spec["op"]](read(answer), case)


def invented_numbers(answer: str, question: str, *, may_repeat: bool = True) -> list[float]:
    """Numbers of an answer that are no dates, no periods ("30 days") and, if `may_repeat`, not in the question."""
    given = {figure.number for figure in read(question).figures} if may_repeat else set()
    stated = [figure.number for figure in read(answer).figures if figure.role != "span"]
    return [number for number in stated if number not in given]


# What a figure states -------------------------------------------------------------------------------------------------


def states(figure: Figure, number: float, series: str, *, converted: bool = False) -> bool:
    """Whether the figure is `number` of the series' unit, written in any unit of it, rounded as the figure is.

    A number below 100 that is not whole needs a decimal place. Conversion may differ by 0.05 % between two tables.
    """
    unit, substance = SERIES[series].unit, SERIES[series].substance
    expected = convert(number, unit, figure.unit, substance) if figure.unit else None
    if expected is None:
        return False
    slack = abs(expected) * _RELATIVE_ERROR_OF_CONVERSION if converted or figure.unit != unit else 1e-9
    whole = abs(expected - round(expected)) <= slack or abs(expected) >= _WHOLE_NUMBERS_WILL_DO_FROM
    if figure.step == 1 and not whole:
        return False
    return abs(figure.number - expected) <= figure.step / 2 + slack


def _states_reading(figure: Figure, one: Measurement) -> bool:
    same_side = (figure.comparator or "")[:1] == (one.comparator or "")[:1]
    return one.number is not None and same_side and states(figure, one.number, one.series, converted=one.converted)


def _is_limit_of(figure: Figure, one: Measurement) -> bool:
    unit = SERIES[one.series].unit
    stated = Figure(figure.number, figure.step, figure.unit or unit, figure.role)
    return any(states(stated, limit, one.series, converted=one.converted) for limit in one.limits)


def _measured(reading: Reading, case: Case) -> list[Figure]:
    """The measured or computed values the answer states, without those the question named."""
    asked = {figure.number for figure in read(case.question).of_role("value")}
    return [figure for figure in reading.of_role("value") if figure.number not in asked]


def _counts(reading: Reading, case: Case) -> list[float]:
    return [figure.number for figure in reading.of_role("count")] + [
        figure.number for figure in _measured(reading, case) if figure.unit is None and figure.step == 1
    ]


# Parts of a judgement -------------------------------------------------------------------------------------------------


def _readings_stated(reading: Reading, case: Case, expected: Sequence[Measurement]) -> list[str]:
    """Each of the expected readings and nothing but them and their reference limits."""
    figures = _measured(reading, case)
    missing = [one for one in expected if not any(_states_reading(figure, one) for figure in figures)]
    return [f"does not state {one.written!r} of {one.day} with its unit" for one in missing] + _more_than(
        figures, expected
    )


def _more_than(figures: Iterable[Figure], expected: Sequence[Measurement]) -> list[str]:
    return [
        f"states {figure}, which was not asked for"
        for figure in figures
        if not any(_states_reading(figure, one) or _is_limit_of(figure, one) for one in expected)
    ]


def _days_stated(reading: Reading, expected: Collection[date], also_allowed: Collection[date]) -> list[str]:
    missing = [day for day in expected if not any(stated.is_day(day) for stated in reading.dates)]
    return [f"does not name the day {day}" for day in missing] + _other_days(reading, [*expected, *also_allowed])


def _other_days(reading: Reading, allowed: Collection[date]) -> list[str]:
    days = [stated for stated in reading.dates if stated.day is not None]
    return [f"names {stated}" for stated in days if not any(stated.is_day(day) for day in allowed)]


def _dates_within(reading: Reading, case: Case, *keys: str) -> list[str]:
    spans = [span for key in keys for span in case.spans(key)]
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    day = timedelta(days=1)
    outside = [stated for stated in reading.dates if not stated.touches(first - day, last + day)]
    return [f"names {stated}, outside the period asked about" for stated in outside if not stated.is_day(case.today)]


def _counts_among(reading: Reading, allowed: Collection[float]) -> list[str]:
    """So many readings were looked at: the answer need not say how many, but what it says is right."""
    stated = [figure.number for figure in reading.of_role("count")]
    return [f"says there are {number:g} readings, not {sorted(allowed)}" for number in stated if number not in allowed]


def _nothing_measured(reading: Reading, case: Case) -> list[str]:
    return [f"states {figure}, though there is no data" for figure in _measured(reading, case)]


# One judge for each op ------------------------------------------------------------------------------------------------


def _judge_latest(reading: Reading, case: Case) -> list[str]:
    newest = [truth.latest(truth.measurements(case.rows, name))[-1] for name in case.spec["series"]]
    days = {one.day for one in newest}
    return _readings_stated(reading, case, newest) + _days_stated(reading, days, [case.today])


def _judge_latest_text(reading: Reading, case: Case) -> list[str]:
    newest = truth.latest(case.series())[-1]
    negative = bool(_NEGATIVE.search(newest.written))
    right, wrong = (_NEGATIVE, _POSITIVE) if negative else (_POSITIVE, _NEGATIVE)
    found = _nothing_measured(reading, case) + _days_stated(reading, {newest.day}, [case.today])
    if not right.search(reading.text):
        found.append(f"does not state the result {newest.written!r}")
    if wrong.search(reading.text):
        found.append("states the opposite result")
    return found


def _judge_at(reading: Reading, case: Case) -> list[str]:
    (sample,), (span,) = case.samples(), case.spans()
    if len(sample) != 1:
        raise ValueError(f"the question is about one reading, the rows have {len(sample)}")
    found = _readings_stated(reading, case, sample) + _other_days(reading, [sample[0].day, *span, case.today])
    if not any(stated.touches(*span) for stated in reading.dates if stated.month is not None):
        found.append(f"names neither the day nor the month of {sample[0].day}")
    return found


def _judge_average(reading: Reading, case: Case) -> list[str]:
    samples, name = [sample for sample in case.samples() if sample], case.spec["series"][0]
    if not samples:
        return _nothing_measured(reading, case)
    averages = [mean for mean in map(truth.average, samples) if mean is not None]
    converted = any(one.converted for sample in samples for one in sample)
    figures = _measured(reading, case)
    right = [figure for figure in figures if any(states(figure, mean, name, converted=converted) for mean in averages)]
    found = [] if right else [f"does not state the average, {averages}, with its unit"]
    others = [figure for figure in figures if figure not in right and not _is_count(figure, samples)]
    return (
        found
        + [f"states {figure}, which was not asked for" for figure in others if not _is_limit_of(figure, samples[0][-1])]
        + _counts_among(reading, {len(sample) for sample in samples})
        + _dates_within(reading, case, "range")
    )


def _is_count(figure: Figure, samples: Iterable[Sequence[Measurement]]) -> bool:
    return figure.unit is None and figure.number in {len(sample) for sample in samples}


def _judge_extreme(reading: Reading, case: Case) -> list[str]:
    pick = max if case.spec["op"] == "maximum" else min
    return _of_any(
        case.samples(),
        lambda sample: _extreme_faults(reading, case, truth.extremes(sample, pick), len(sample)),
    ) + _dates_within(reading, case, "range")


def _extreme_faults(reading: Reading, case: Case, holders: Sequence[Measurement], count: int) -> list[str]:
    if not holders:
        return _nothing_measured(reading, case)
    days = [one.day for one in holders]
    found = _readings_stated(reading, case, holders[-1:]) + _counts_among(reading, {count})
    if not any(stated.is_day(day) for stated in reading.dates for day in days):
        found.append(f"does not name the day, {days}")
    return found


def _of_any(samples: Iterable[Any], judge: Any) -> list[str]:
    """The faults under the accepted reading of the range that leaves the fewest."""
    return min((judge(sample) for sample in samples), key=len)


def _judge_count(reading: Reading, case: Case) -> list[str]:
    return _of_any(case.samples(), lambda sample: _count_faults(reading, case, len(sample), len(sample)))


def _judge_count_above(reading: Reading, case: Case) -> list[str]:
    def judge(sample: list[Measurement]) -> list[str]:
        return _count_faults(reading, case, len(truth.beyond(sample, "above", case.limit())), len(sample))

    return _of_any(case.samples(), judge)


def _count_faults(reading: Reading, case: Case, expected: int, total: int) -> list[str]:
    counts = _counts(reading, case)
    found = [] if expected in counts else [f"does not say that it is {expected}"]
    found += [f"says {number:g}" for number in counts if number not in {expected, total}]
    values = [figure for figure in _measured(reading, case) if figure.unit is not None or figure.step != 1]
    found += [f"states {figure}, which was not asked for" for figure in values]
    return found + _dates_within(reading, case, "range")


def _judge_any_above(reading: Reading, case: Case) -> list[str]:
    (sample,) = case.samples()
    above = truth.beyond(sample, "above", case.limit())
    if not above:
        raise ValueError("the question is about readings above the limit and the rows have none")
    counts = [figure.number for figure in reading.of_role("count")]
    listed = [one for one in above if any(_states_reading(figure, one) for figure in _measured(reading, case))]
    found = ["says no"] if _OPENS_WITH_NO.match(reading.text) else []
    if len(above) not in counts and len(listed) < len(above):
        found.append(f"neither says that there are {len(above)} nor lists them")
    values = [figure for figure in _measured(reading, case) if figure.unit is not None or figure.step != 1]
    found += _more_than(values, above) + _counts_among(reading, {len(above), len(sample)})
    return found + _other_days(reading, [one.day for one in sample] + [case.today])


def _judge_days_below(reading: Reading, case: Case) -> list[str]:
    def judge(span: Span) -> list[str]:
        sample = truth.within(case.series(), span)
        below = truth.beyond(sample, "below", case.limit())
        values = [figure for figure in _measured(reading, case) if not _is_count(figure, [below, sample])]
        return (
            _more_than(values, below)
            + _days_stated(reading, {one.day for one in below}, [*span, case.today])
            + _counts_among(reading, {len(below), len(sample)})
        )

    return _of_any(case.spans(), judge)


def _judge_compare(reading: Reading, case: Case) -> list[str]:
    pairs = list(zip(case.samples(), case.samples("against"), strict=True))
    if not all(first and second for first, second in pairs):
        raise ValueError("the question compares two periods and the rows have nothing in one of them")
    found = _of_any(pairs, lambda pair: _compare_faults(reading, case, *pair))
    return found + _dates_within(reading, case, "range", "against")


def _compare_faults(
    reading: Reading, case: Case, first: Sequence[Measurement], second: Sequence[Measurement]
) -> list[str]:
    name, figures = case.spec["series"][0], _measured(reading, case)
    means = [truth.average(first) or 0.0, truth.average(second) or 0.0]
    converted = any(one.converted for one in (*first, *second))
    found, extra = [], list(figures)
    for mean in means:
        if not any(states(figure, mean, name, converted=converted) for figure in figures):
            found.append(f"does not state the average {mean} with its unit")
        extra = [figure for figure in extra if not states(figure, mean, name, converted=converted)]
    allowed = {len(first), len(second)}
    extra = [figure for figure in extra if not (figure.unit is None and figure.number in allowed)]
    found += [
        f"states {figure}, which is no average and no difference of them"
        for figure in extra
        if not _is_difference(figure, means[0], means[1], name)
    ]
    return found + _counts_among(reading, allowed)


def _is_difference(figure: Figure, newer: float, older: float, name: str) -> bool:
    """The difference of the two, either way round, in the unit or as a percentage of either; the two may be rounded."""
    if figure.unit == "%" and SERIES[name].unit != "%":
        return any(
            abs(abs(figure.number) - 100 * abs(newer - older) / base) <= 1.5 * figure.step for base in (newer, older)
        )
    difference = convert(abs(newer - older), SERIES[name].unit, figure.unit or "", SERIES[name].substance)
    return difference is not None and abs(abs(figure.number) - difference) <= 1.5 * figure.step


def direction_stated(text: str) -> str | None:
    """The first direction a text claims, "rising", "falling" or "stable"; one that is denied is none."""
    for match in _DIRECTION.finditer(text):
        if match["denied"] is None:
            return match.lastgroup
    return None


def _judge_trend(reading: Reading, case: Case) -> list[str]:
    return _of_any(case.samples(), lambda sample: _trend_faults(reading, case, sample)) + _dates_within(
        reading, case, "range"
    )


def _trend_faults(reading: Reading, case: Case, sample: Sequence[Measurement]) -> list[str]:
    accepted, said, last = truth.directions(sample), direction_stated(reading.text), sample[-1]
    figures = _measured(reading, case)
    found = [] if said in accepted else [f"says {said}, expected one of {sorted(accepted)}"]
    if not any(_states_reading(figure, last) for figure in figures):
        found.append(f"does not state the latest value, {last.written!r}, with its unit")
    if not any(stated.is_day(last.day) for stated in reading.dates):
        found.append(f"does not name the day of the latest value, {last.day}")
    values = {(figure.number, figure.unit) for figure in figures if not _is_count(figure, [sample])}
    if len(values) > MOST_VALUES_OF_A_TREND:
        found.append(f"states {len(values)} values")
    found += [
        f"states {figure}, which these readings cannot give" for figure in figures if not _possible(figure, sample)
    ]
    return found + _counts_among(reading, {len(sample)})


def _possible(figure: Figure, sample: Sequence[Measurement]) -> bool:
    """A reading, a mean of some, a change between two, a percentage, a limit or the number of readings."""
    name = sample[0].series
    if _is_count(figure, [sample]) or _is_limit_of(figure, sample[-1]):
        return True
    values = truth.numbers(sample)
    low, high = min(values), max(values)
    if figure.unit == "%":
        largest_change = 100 * (high - low) / low
        is_value = SERIES[name].unit == "%" and low - figure.step <= figure.number <= high + figure.step
        return is_value or abs(figure.number) <= largest_change + figure.step
    number = convert(figure.number, figure.unit or "", SERIES[name].unit, SERIES[name].substance)
    if number is None:
        return False
    step = convert(figure.step, figure.unit or "", SERIES[name].unit, SERIES[name].substance) or 0.0
    return low - step <= number <= high + step or abs(number) <= high - low + step


def _judge_overview(reading: Reading, case: Case) -> list[str]:
    text = reading.text.casefold()
    named = [name for name in SERIES if any(written in text for written in _names_of(name, case.rows))]
    found = [f"names only {named}"] if len(named) < 5 else []
    allowed = _possible_counts(case.rows)
    figures = [figure for figure in reading.figures if figure.role != "span"]
    found += [
        f"states {figure}, which is no number of readings or indicators"
        for figure in figures
        if figure.unit is not None or figure.number not in allowed
    ]
    days = [truth.moment_of(row).date() for row in case.rows]
    found += [f"names {stated}" for stated in reading.dates if not stated.touches(min(days), max(days))]
    if not figures and not reading.dates:
        found.append("says neither how many readings there are nor since when")
    return found


def _names_of(name: str, rows: Sequence[Row]) -> set[str]:
    """What the series may be called: as people do, or as its rows do. No rows, no name."""
    own = [row for row in rows if truth.in_series(row, name)]
    written = {str(row[key]).casefold() for row in own for key in ("indicator", "canonical_name") if row.get(key)}
    return written | set(SERIES[name].names) if own else set()


def _possible_counts(rows: Sequence[Row]) -> set[float]:
    """Numbers of readings (all, or of one indicator by any of its names) and of indicators."""
    allowed: set[float] = {len(rows), *(len(truth.measurements(rows, name)) for name in SERIES)}
    for key in ("indicator", "canonical_name", "loinc_code"):
        values = [row.get(key) for row in rows]
        allowed |= {len(set(values)), len(set(values) - {None}), *(values.count(value) for value in set(values))}
    return allowed | {sum(1 for name in SERIES if truth.measurements(rows, name))}


_JUDGES = {
    "latest": _judge_latest,
    "latest_text": _judge_latest_text,
    "at": _judge_at,
    "average": _judge_average,
    "maximum": _judge_extreme,
    "minimum": _judge_extreme,
    "count": _judge_count,
    "count_above": _judge_count_above,
    "any_above": _judge_any_above,
    "days_below": _judge_days_below,
    "compare": _judge_compare,
    "trend": _judge_trend,
    "overview": _judge_overview,
}
