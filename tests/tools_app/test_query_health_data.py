"""What query_health_data says, held against figures computed here from the same records."""

from datetime import date, timedelta
from random import Random
from statistics import fmean, linear_regression
from typing import Any

import pytest

from tests.support.server import Account
from tests.tools_app.people import Person
from tests.tools_app.records import record
from tools_app.contract import TryDifferently

MMOL = 18.0156


@pytest.fixture
def ann(account: Account) -> Person:
    return Person(account.id, "ann")


def days(count: int, end: date = date(2026, 6, 14)) -> list[date]:
    """The last ``count`` days to ``end``, oldest first."""
    return [end - timedelta(days=count - 1 - index) for index in range(count)]


def glucose(ann: Person, *values: float) -> list[tuple[date, float]]:
    """Writes one fasting glucose a week, every third in mg/dL under its Chinese name; what they are in mmol/L."""
    line = []
    for index, value in enumerate(values):
        day = date(2026, 1, 5) + timedelta(weeks=index)
        if index % 3 == 2:
            milligrams = round(value * MMOL)
            ann.has(record("空腹血糖", milligrams, "mg/dL", str(day)))
            line.append((day, milligrams / MMOL))
        else:
            ann.has(record("fasting glucose", value, "mmol/L", str(day)))
            line.append((day, value))
    return line


def test_latest_is_in_one_unit_and_as_written(ann: Person) -> None:
    glucose(ann, 5.1, 5.3, 5.4)
    result = ann.one(indicators=["空腹血糖"])
    (reading,) = result["readings"]
    assert (result["indicator"], result["unit"], result["count"]) == ("Fasting glucose", "mmol/L", 3)
    assert (reading["text"], reading["date"], reading["comparator"]) == ("97 mg/dL", "2026-01-19", None)
    assert reading["value"] == pytest.approx(97 / MMOL, abs=1e-5)


def by_watch_and_phone(person: Person) -> None:
    """Two days that both counted, one that the phone alone did: 9,000, 8,200 and 3,000 steps."""
    for source, day, counts in (
        ("watch", "2026-06-01", (4000, 5000)),
        ("phone", "2026-06-01", (3000, 3100)),
        ("watch", "2026-06-02", (700,)),
        ("phone", "2026-06-02", (8000, 200)),
        ("phone", "2026-06-03", (3000,)),
    ):
        hours = range(8, 8 + len(counts))
        person.has(
            *(
                record("steps", count, "steps", f"{day}T{hour:02}:00:00Z", source=source)
                for hour, count in zip(hours, counts, strict=True)
            )
        )


def test_what_a_watch_and_a_phone_counted_is_not_added_up(ann: Person) -> None:
    by_watch_and_phone(ann)
    result = ann.one(indicators=["steps"], operation="aggregate", group_by="day")
    assert (result["sum"], result["sum_counts_one_source_a_day"], result["count"]) == (20_200, True, 8)
    assert [group["sum"] for group in result["groups"]] == [9_000, 8_200, 3_000]


PERIODS = ["week", "month", "quarter", "year", "weekpart", "daypart"]


@pytest.mark.parametrize("group_by", PERIODS)
def test_nor_in_any_period(ann: Person, group_by: str) -> None:
    by_watch_and_phone(ann)
    (group,) = ann.one(indicators=["steps"], operation="aggregate", group_by=group_by)["groups"]
    assert group["sum"] == 20_200


@pytest.mark.parametrize("group_by", ["day", *PERIODS])
def test_every_period_has_its_percentile(ann: Person, group_by: str) -> None:
    ann.has(*(record(value=60 + n, time=f"2026-06-01T0{n}:00:00Z") for n in range(5)))
    (group,) = ann.one(indicators=["weight"], operation="aggregate", group_by=group_by, percentile=25)["groups"]
    assert group["percentile"] == 61


@pytest.mark.parametrize("period", ["2026-06-03", "2026-06-01"])
def test_one_source_s_sum_is_all_it_counted(ann: Person, period: str) -> None:
    by_watch_and_phone(ann)
    ann.has(record("weight", 60, "kg", "2026-06-03", source="a"), record("weight", 61, "kg", "2026-06-03", source="b"))
    steps = ann.one(indicators=["steps"], operation="aggregate", start=period, end=period)
    assert steps["sum"] == {"2026-06-03": 3_000, "2026-06-01": 9_000}[period]
    assert ("sum_counts_one_source_a_day" in steps) == (period == "2026-06-01")
    weight = ann.one(indicators=["weight"], operation="aggregate")
    assert (weight["sum"], "sum_counts_one_source_a_day" in weight) == (121, False)


def test_readings_come_newest_first_in_pages(ann: Person) -> None:
    ann.has(*(record(value=60 + index, time=str(day)) for index, day in enumerate(days(7))))
    first = ann.ask(indicators=["weight"], operation="readings", limit=3)
    second = ann.ask(indicators=["weight"], operation="readings", limit=3, offset=first["next_offset"])
    last = ann.ask(indicators=["weight"], operation="readings", limit=3, offset=second["next_offset"])
    pages = [[reading["value"] for reading in page["results"][0]["readings"]] for page in (first, second, last)]
    assert pages == [[66, 65, 64], [63, 62, 61], [60]]
    assert [page["truncated"] for page in (first, second, last)] == [True, True, False]
    assert last["next_offset"] is None


def test_aggregates(ann: Person) -> None:
    line = glucose(ann, 5.0, 5.6, 5.2, 6.3, 4.9)
    result = ann.one(indicators=["fasting glucose"], operation="aggregate", above=5.3, below=5)
    values = [value for _, value in line]
    assert result["count"] == 5
    assert result["average"] == pytest.approx(fmean(values), abs=1e-5)
    assert result["sum"] == pytest.approx(sum(values), abs=1e-5)
    assert (result["minimum"]["value"], result["minimum"]["date"]) == (4.9, str(line[4][0]))
    assert (result["maximum"]["value"], result["maximum"]["date"]) == (6.3, str(line[3][0]))
    assert (result["first"]["date"], result["last"]["date"]) == (str(line[0][0]), str(line[-1][0]))
    assert (result["above"], result["below"]) == (2, 1)


def test_bounds_words_and_bare_numbers_enter_no_figure(ann: Person) -> None:
    ann.has(
        record("creatinine", 88.42, "umol/L", "2026-03-01"),
        record("creatinine", 1.0, "mg/dL", "2026-03-02"),
        record("creatinine", 500, "", "2026-03-03"),
        record("creatinine", "<20", "umol/L", "2026-03-04"),
        record("creatinine", "haemolysed", "umol/L", "2026-03-05"),
    )
    result = ann.one(indicators=["肌酐"], operation="aggregate")
    assert (result["count"], result["excluded"], result["without_unit"]) == (5, 3, 1)
    assert result["average"] == pytest.approx(88.41, abs=0.05)
    assert result["minimum"]["value"] > 80
    assert result["last"]["date"] == "2026-03-02"
    texts = [r["text"] for r in ann.one(indicators=["肌酐"], operation="readings")["readings"]]
    assert texts[:3] == ["haemolysed umol/L", "<20 umol/L", "500"]


@pytest.mark.parametrize(
    ("bounds", "lower", "higher"),
    [
        ([">10", "<0.5", ">8"], "<0.5 mg/L", ">10 mg/L"),
        (["<4"], "<4 mg/L", "<4 mg/L"),
        ([">2"], ">2 mg/L", ">2 mg/L"),
        (["<2", ">4"], "<2 mg/L", ">4 mg/L"),
        (["cloudy"], None, None),
        ([], None, None),
    ],
)
def test_bounds_that_may_lie_beyond_the_extremes_are_named(
    ann: Person, bounds: list[str], lower: str | None, higher: str | None
) -> None:
    ann.has(record("hs-CRP", 3, "mg/L", "2026-03-01"))
    ann.has(*(record("hs-CRP", bound, "mg/L", f"2026-03-{day:02}") for day, bound in enumerate(bounds, 2)))
    result = ann.one(indicators=["hs-CRP"], operation="aggregate")
    assert result["excluded"] == len(bounds)
    assert [(result[name] or {}).get("text") for name in ("maybe_lower", "maybe_higher")] == [lower, higher]


@pytest.mark.parametrize("group_by", ["day", "week", "month"])
def test_groups(ann: Person, group_by: str) -> None:
    random = Random(7)
    steps = {day: [random.randint(100, 9000) for _ in range(2)] for day in days(150)}
    ann.has(
        *(
            record("steps", n, "steps", f"{day}T{8 + i:02}:00:00Z")
            for day, both in steps.items()
            for i, n in enumerate(both)
        )
    )
    expected: dict[str, list[int]] = {}
    for day, both in steps.items():
        year, week, _ = day.isocalendar()
        period = {"day": str(day), "week": f"{year}-W{week:02}", "month": str(day)[:7]}[group_by]
        expected.setdefault(period, []).extend(both)

    groups = ann.one(indicators=["步数"], operation="aggregate", group_by=group_by)["groups"]
    assert [group["period"] for group in groups] == list(expected)
    for group, values in zip(groups, expected.values(), strict=True):
        assert (group["count"], group["sum"]) == (len(values), sum(values))
        assert (group["minimum"], group["maximum"]) == (min(values), max(values))
        assert group["average"] == pytest.approx(fmean(values), abs=1e-5)


def test_more_groups_than_fit_keep_the_newest_and_say_so(ann: Person) -> None:
    ann.has(*(record("steps", 1000 + index, "steps", str(day)) for index, day in enumerate(days(230))))
    data = ann.ask(indicators=["steps"], operation="aggregate", group_by="day")
    groups = data["results"][0]["groups"]
    assert (len(groups), groups[-1]["period"], data["truncated"]) == (200, "2026-06-14", True)
    assert data["next_offset"] is None


def test_the_slope_is_the_least_squares_line(ann: Person) -> None:
    line = glucose(ann, 5.0, 5.6, 5.2, 6.3, 4.9, 6.0, 6.1)
    found = ann.one(indicators=["fasting glucose"], operation="trend")["trend"]
    slope, _ = linear_regression([day.toordinal() for day, _ in line], [value for _, value in line])
    assert found["slope_per_day"] == pytest.approx(slope, rel=1e-4)
    assert found["change"] == pytest.approx(line[-1][1] - line[0][1], abs=1e-5)
    assert found["change_percent"] == pytest.approx(100 * (line[-1][1] / line[0][1] - 1), abs=1e-3)
    assert found["recent_average"] == pytest.approx(fmean(value for _, value in line[-2:]), abs=1e-5)
    assert found["previous_average"] == pytest.approx(fmean(value for _, value in line[:-2]), abs=1e-5)


@pytest.mark.parametrize(
    ("values", "direction"),
    [
        ([5.2, 5.1, 5.2, 5.3, 5.2, 5.4, 5.7, 6.0, 6.4], "rising"),
        ([5.0, 5.5, 6.0], "rising"),
        ([6.4, 6.2, 6.1, 5.9, 5.6, 5.5], "falling"),
        ([5.2, 5.3, 5.1, 5.2, 5.3, 5.2, 5.1, 5.3, 5.2], "stable"),
        ([5.0, 6.0, 5.0, 6.0, 5.0, 6.0], "stable"),
        ([5.2, 5.2, 5.2], "stable"),
        ([5.0, 6.0], "not enough data"),
        ([5.0], "not enough data"),
    ],
)
def test_directions(ann: Person, values: list[float], direction: str) -> None:
    days_of = [date(2026, 1, 5) + timedelta(weeks=index) for index in range(len(values))]
    ann.has(*(record("fasting glucose", v, "mmol/L", str(day)) for v, day in zip(values, days_of, strict=True)))
    assert ann.one(indicators=["fasting glucose"], operation="trend")["trend"]["direction"] == direction


def test_many_readings_of_one_day_are_no_trend(ann: Person) -> None:
    ann.has(*(record("pulse", 60 + hour, "/min", f"2026-03-01T{hour:02}:00:00Z") for hour in range(12)))
    assert ann.one(indicators=["pulse"], operation="trend")["trend"]["direction"] == "not enough data"


@pytest.mark.parametrize(("count", "bucket"), [(60, None), (61, "week"), (430, "month"), (2000, "year")])
def test_a_line_to_draw_has_at_most_sixty_points(ann: Person, count: int, bucket: str | None) -> None:
    ann.has(*(record("steps", 1000 + index, "steps", str(day)) for index, day in enumerate(days(count))))
    result = ann.one(indicators=["steps"], operation="trend")
    points = result["points"]
    assert (result["bucket"], len(points) <= 60) == (bucket, True)
    assert [point["date"] for point in points] == sorted(point["date"] for point in points)
    if bucket is None:
        assert [point["value"] for point in points] == [1000 + index for index in range(count)]


def test_filtered_readings(ann: Person) -> None:
    line = glucose(ann, 5.0, 5.6, 6.2, 6.3, 4.9)
    result = ann.one(indicators=["fasting glucose"], operation="readings", above=100, unit="mg/dL")
    assert result["count"] == sum(value > 100 / MMOL for _, value in line) == 3
    assert [reading["date"] for reading in result["readings"]] == [str(line[index][0]) for index in (3, 2, 1)]
    latest = ann.one(indicators=["fasting glucose"], above=6)["readings"]
    assert [reading["date"] for reading in latest] == [str(line[3][0])]


@pytest.mark.parametrize(
    ("value", "side", "limit", "counts"),
    [
        ("<5", "below", 5, 1),
        ("<=5", "below", 5, 0),
        ("<5", "below", 4, 0),
        (">5", "above", 5, 1),
        (">=5", "above", 5, 0),
        (">5", "above", 6, 0),
        ("<5", "above", 1, 0),
        ("5", "above", 5, 0),
    ],
)
def test_a_bound_is_on_a_side_only_when_that_is_certain(
    ann: Person, value: str, side: str, limit: float, counts: int
) -> None:
    ann.has(record("hs-CRP", value, "mg/L"))
    assert ann.one(indicators=["hs-CRP"], operation="aggregate", **{side: limit})[side] == counts


def test_a_period_includes_both_its_days(ann: Person) -> None:
    ann.has(*(record(value=60 + index, time=str(day)) for index, day in enumerate(days(5))))
    data = ann.ask(indicators=["weight"], operation="readings", start="2026-06-11", end="2026-06-13")
    assert [reading["value"] for reading in data["results"][0]["readings"]] == [63, 62, 61]
    assert (data["start"], data["end"]) == ("2026-06-11", "2026-06-13")


def test_what_is_not_there_is_told_apart(ann: Person) -> None:
    ann.has(record("weight", 70, "kg", "2026-03-01"), record("grip", 31, "kg", "2026-05-01"))
    data = ann.ask(indicators=["体重", "testosterone", "grip"], start="2026-04-01")
    assert [result["indicator"] for result in data["results"]] == ["grip"]
    assert (data["no_data_in_range"], data["not_found"]) == (["体重"], ["testosterone"])
    nothing = ann.run(indicators=["testosterone"])
    assert (nothing.empty, nothing.record_ids) == (True, ())


def test_an_everyday_word_finds_each_kind(ann: Person) -> None:
    ann.has(
        record("fasting glucose", 5.4, "mmol/L"),
        record("餐后2小时血糖", 7.1, "mmol/L"),
        record("尿糖", "阴性", ""),
        record("血压", "120/80", "mmHg"),
    )
    found = {name: [r["indicator"] for r in ann.ask(indicators=[name])["results"]] for name in ("血糖", "BP", "8480-6")}
    assert found == {
        "血糖": ["Fasting glucose", "Postprandial glucose (2 h)"],
        "BP": ["Systolic blood pressure", "Diastolic blood pressure"],
        "8480-6": ["Systolic blood pressure"],
    }


def test_overview(ann: Person) -> None:
    ann.has(
        record("weight", 70, "kg", "2026-03-01"), record("体重", 71, "kg", "2026-05-01"), record("尿糖", "阴性", "")
    )
    assert ann.ask(operation="overview")["results"] == [
        {
            "indicator": "Body weight",
            "loinc_code": "29463-7",
            "unit": "kg",
            "count": 2,
            "first_date": "2026-03-01",
            "last_date": "2026-05-01",
        },
        {
            "indicator": "Urine glucose",
            "loinc_code": "25428-4",
            "unit": None,
            "count": 1,
            "first_date": "2026-03-01",
            "last_date": "2026-03-01",
        },
    ]


def test_names_without_a_code_are_kept_apart_by_unit(ann: Person) -> None:
    ann.has(record("grip", 31, "kg"), record("Grip", 300, "N"), record("grip", 32, "kg", "2026-03-02"))
    results = ann.ask(indicators=["grip"], operation="aggregate")["results"]
    assert {result["unit"]: result["count"] for result in results} == {"kg": 2, "N": 1}


def test_every_figure_names_its_records(ann: Person) -> None:
    glucose(ann, 5.0, 5.6, 5.2)
    ann.has(record())
    by_operation = {
        operation: len(ann.run(indicators=["fasting glucose"], operation=operation).record_ids)
        for operation in ("latest", "readings", "aggregate", "trend", "overview")
    }
    assert by_operation == {"latest": 1, "readings": 3, "aggregate": 3, "trend": 3, "overview": 3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"start": "2026-02-30"}, "`start`"),
        ({"end": "next full moon"}, "`end`"),
        ({"start": "2026-03-02", "end": "2026-03-01"}, "`end` lies before `start`"),
        ({"group_by": "month"}, "aggregate"),
        ({"operation": "aggregate", "group_by": "decade"}, "`group_by`"),
        ({"above": 5}, "`indicators`"),
        ({"indicators": ["weight"], "above": 5, "unit": "mmol/L"}, "kg"),
        ({"indicators": ["weight"], "above": 5, "unit": "wug"}, "kg"),
        ({"limit": 201}, "200"),
        ({"limit": 0}, "at least 1"),
        ({"limit": "ten"}, "integer"),
        ({"offset": -1}, "`offset`"),
        ({"above": 10**400}, "`above`"),
        ({"indicators": "weight"}, "array"),
        ({"indicators": [""]}, "`indicators`[0]"),
        ({"indicators": ["weight"] * 21}, "20"),
        ({"user": "bob"}, "Known: indicators"),
    ],
)
def test_arguments_that_do_not_work_are_told_what_would(ann: Person, arguments: dict[str, Any], words: str) -> None:
    ann.has(record())
    with pytest.raises(TryDifferently, match=r"\w") as refusal:
        ann.ask(**arguments)
    assert words in str(refusal.value)


def test_a_refusal_never_repeats_what_was_asked(ann: Person) -> None:
    for arguments in ({"start": "secret"}, {"limit": "secret"}, {"secret": 1}, {"operation": "secret"}):
        with pytest.raises(TryDifferently) as refusal:
            ann.ask(**arguments)
        assert "secret" not in str(refusal.value)


def test_null_arguments_are_absent_ones(ann: Person) -> None:
    ann.has(record())
    assert ann.one(indicators=["weight"], member=None, start=None, limit=None)["count"] == 1
