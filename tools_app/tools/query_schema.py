"""What a model is told of ``query_health_data``: its description and the JSON Schema of its arguments."""

from typing import Any

from tools_app.records.models import MAX_INDICATOR_LENGTH

MAX_GROUPS = 200
MAX_LIMIT = 10**15
MAX_DAYS = 3660
MAX_SPANS = 20

DESCRIPTION = (
    "Reads this person's health records (laboratory results, vital signs, wearable data) and computes over them; "
    "several indicators at once. Choose an operation:\n"
    "- overview: which indicators there are, how many readings each, from when to when; use it when unsure.\n"
    "- latest: the newest reading of each indicator (`limit` 5: the newest five), with its reference range.\n"
    "- readings: single readings, `limit` a page, newest first or by `order`; with above, at_least, below, at_most "
    "only those that meet them. The first time a value fell under 2.6: below 2.6, order oldest, limit 1.\n"
    "- nearest: the readings of the day nearest to each of `around`.\n"
    "- aggregate: count, average, median, minimum, maximum, sum, standard deviation, out of range, first and last; by "
    "period with `group_by`; with limits also how many readings and days meet them.\n"
    "- trend: slope with direction (rising, falling, stable), change from first to last, steps in a row, and the "
    "points of a line to draw; `limit` 6: over the newest six readings.\n"
    "- compare: figures and trend of two or more `periods` with differences from the first; or before and after each "
    "of `around` (a date, a medicine, a diagnosis, a stay in hospital); or days that meet `on_days_when` with the "
    "others.\n"
    "- correlate: the first indicator with each of the others, day by day (Pearson's r, number of pairs).\n"
    "- out_of_range: readings outside their reference range, by indicator and by day; leave `indicators` out for all.\n"
    "- streaks: the longest and the current run of days, and of readings, that meet above, at_least, below, at_most; "
    "without any of these, of readings outside their reference range.\n"
    "- gaps: the longest time without a reading, and the dates (with `group_by` the periods) without any.\n"
    "- unusual: outliers, the largest jumps, the newest reading against all before, readings entered twice.\n"
    "Numbers come in one unit per indicator, given as `unit`, whatever unit they were written in; `text` is what was "
    "written. A reading with a `comparator` is only a bound and never enters a figure; `excluded` counts such readings "
    "and those without a usable number, `without_unit` those of them with a number but no unit that compares, and "
    "`maybe_lower` and `maybe_higher` name a bound that may lie beyond the extremes. A `sum` of steps, distance, "
    "energy, sleep or exercise takes of each day only the source that tells most, so that a watch and a phone are not "
    "added up (`sum_counts_one_source_a_day`). `not_found` names what this person has no readings of, "
    "`no_data_in_range` what exists but not between start and end. State only figures that are in the result. When "
    "`truncated` is true, go on with `next_offset`, or, if that is null, ask for fewer indicators or a shorter time."
)


def _limit(words: str) -> dict[str, Any]:
    return {"type": "number", "minimum": -MAX_LIMIT, "maximum": MAX_LIMIT, "description": words}


_UNIT = "The unit to answer in, and of above, at_least, below and at_most: mg/dL. Leave out for the unit in use."
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_INDICATOR_LENGTH}
_SPANS = {"type": "array", "minItems": 1, "maxItems": MAX_SPANS, "items": {"type": "string", "maxLength": 100}}

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "indicators": {
            "type": "array",
            "items": _NAME,
            "maxItems": 20,
            "description": (
                "What to look for: names in any language, abbreviations or LOINC codes, such as fasting glucose, "
                "空腹血糖, HbA1c, 4548-4. Leave out for all."
            ),
        },
        "operation": {
            "type": "string",
            "enum": [
                "latest", "readings", "nearest", "aggregate", "trend", "compare", "correlate", "out_of_range",
                "streaks", "gaps", "unusual", "overview",
            ],
            "description": "What to compute; latest when left out.",
        },
        "start": {
            "type": "string",
            "maxLength": 40,
            "description": (
                "The first day: 2026-03-01, 2026-03, 2026, 90 days ago, last month; or a date-time. Inclusive. Leave "
                "out for no bound."
            ),
        },
        "end": {
            "type": "string",
            "maxLength": 40,
            "description": "The last day, in the same words. Inclusive: 2026-03 is its last day. Left out: no bound.",
        },
        "group_by": {
            "type": "string",
            "enum": ["day", "week", "month", "quarter", "year", "weekday", "weekpart", "daypart"],
            "description": (
                f"With aggregate: figures for each period, the newest {MAX_GROUPS} that have data; weekpart is Monday "
                "to Friday against the weekend, daypart morning (before 12:00), afternoon, evening (from 18:00). With "
                "gaps: periods without a reading."
            ),
        },
        "periods": _SPANS | {
            "description": (
                'With compare and out_of_range: the periods, the earlier first: ["2025-06", "2026-06"], '
                '["2025-01-01/2025-03-31", "last 90 days"].'
            ),
        },
        "around": _SPANS | {
            "description": (
                "With compare and nearest: dates, or words that name a clinical record, or its id: "
                '["2025-01-14"], ["metformin"], ["clin_…"].'
            ),
        },
        "days_before": {
            "type": "integer", "minimum": 1, "maximum": MAX_DAYS,
            "description": "With compare around something: how many days before it; 90 when left out.",
        },
        "days_after": {
            "type": "integer", "minimum": 1, "maximum": MAX_DAYS,
            "description": "How many days after it (after its end if it lasts); 90 when left out.",
        },
        "on_days_when": {
            "type": "object",
            "properties": {
                "indicator": _NAME,
                "above": _limit("Greater than this."),
                "at_least": _limit("This or more."),
                "below": _limit("Less than this."),
                "at_most": _limit("This or less."),
                "unit": {"type": "string", "maxLength": 100, "description": "The unit of the limits."},
            },
            "required": ["indicator"],
            "additionalProperties": False,
            "description": (
                "With compare: which days to hold against the others, by another indicator's value of that day: "
                '{"indicator": "sleep duration", "below": 6}.'
            ),
        },
        "lag_days": {
            "type": "integer", "minimum": 0, "maximum": MAX_DAYS,
            "description": (
                "With correlate and on_days_when: the first (compared) indicator that many days after the other; 1 for "
                "the day after. 0 when left out."
            ),
        },
        "window_days": {
            "type": "integer", "minimum": 1, "maximum": MAX_DAYS,
            "description": (
                "With correlate: the other indicators as the mean over that many days up to the day; 14 for what is "
                "rarely measured on the same day. 1 when left out."
            ),
        },
        "above": _limit("Only, or how many, values greater than this."),
        "at_least": _limit("The same for this or more."),
        "below": _limit("The same for less than this."),
        "at_most": _limit("The same for this or less."),
        "unit": {"type": "string", "maxLength": 100, "description": _UNIT},
        "percentile": {
            "type": "number", "minimum": 0, "maximum": 100,
            "description": "With aggregate: also this percentile, of each group too: 90, or 50 for medians by group.",
        },
        "order": {
            "type": "string",
            "enum": ["newest", "oldest", "highest", "lowest"],
            "description": "With readings: which come first; newest when left out.",
        },
        "limit": {
            "type": "integer", "minimum": 1, "maximum": 200,
            "description": "Readings per indicator: 20 when left out, 1 for latest.",
        },
        "offset": {
            "type": "integer", "minimum": 0, "maximum": 1000000,
            "description": "Where to go on: `next_offset` of the answer before.",
        },
        "member": {
            "type": "string",
            "maxLength": 256,
            "description": (
                "Whose records, if not this person's: a `member` from list_family_members. Leave out for this person."
            ),
        },
    },
    "additionalProperties": False,
}  # fmt: skip
