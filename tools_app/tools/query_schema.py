"""What a model is told of ``query_health_data``: its description and the JSON Schema of its arguments."""

from typing import Any

from tools_app.records.models import MAX_INDICATOR_LENGTH

MAX_GROUPS = 200
MAX_LIMIT = 10**15

DESCRIPTION = (
    "Reads this person's health records (laboratory results, vital signs, wearable data) and computes over them. "
    "Choose an operation:\n"
    "- overview: which indicators there are, how many readings each, from when to when; use it when unsure.\n"
    "- latest: the newest reading of each indicator.\n"
    "- readings: the single readings, newest first, `limit` a page; go on with `offset`.\n"
    "- aggregate: count, average, minimum, maximum, sum, first and last; by day, week or month with `group_by`.\n"
    "- trend: the same, with direction (rising, falling, stable), slope and the points of a line to draw.\n"
    "Numbers come in one unit per indicator, given as `unit`, whatever unit they were written in; `text` is what was "
    "written. A reading with a `comparator` is only a bound and never enters a figure; `excluded` counts such readings "
    "and those without a number, and `maybe_lower` and `maybe_higher` name a bound that may lie beyond the extremes. "
    "`not_found` names what this person has no readings of, `no_data_in_range` what exists but not between start and "
    "end. State only figures that are in the result. When `truncated` is true, go on with "
    "`next_offset`, or, if that is null, ask for fewer indicators or a shorter time."
)

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "indicators": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": MAX_INDICATOR_LENGTH},
            "maxItems": 20,
            "description": (
                "What to look for: names in any language, abbreviations or LOINC codes, such as fasting glucose, "
                "空腹血糖, HbA1c, 4548-4. Leave out for all."
            ),
        },
        "operation": {
            "type": "string",
            "enum": ["latest", "readings", "aggregate", "trend", "overview"],
            "description": "What to compute; latest when left out.",
        },
        "member": {
            "type": "string",
            "maxLength": 256,
            "description": (
                "Whose records, if not this person's: a `member` from list_family_members. Leave out for this person."
            ),
        },
        "start": {
            "type": "string",
            "maxLength": 40,
            "description": "The first day, 2026-03-01, or a date-time with offset. Inclusive. Leave out for no bound.",
        },
        "end": {
            "type": "string",
            "maxLength": 40,
            "description": "The last day, 2026-03-31, or a date-time with offset. Inclusive. Leave out for no bound.",
        },
        "group_by": {
            "type": "string",
            "enum": ["day", "week", "month"],
            "description": f"With aggregate: figures for each calendar period, the newest {MAX_GROUPS} that have data.",
        },
        "above": {
            "type": "number",
            "minimum": -MAX_LIMIT,
            "maximum": MAX_LIMIT,
            "description": (
                "With latest and readings: only values greater than this. With aggregate and trend: also counts them, "
                "as `above`; the other figures stay those of all readings."
            ),
        },
        "below": {
            "type": "number",
            "minimum": -MAX_LIMIT,
            "maximum": MAX_LIMIT,
            "description": "The same for values less than this.",
        },
        "unit": {
            "type": "string",
            "maxLength": 100,
            "description": "The unit of `above` and `below`, such as mg/dL. Leave out for the indicator's own unit.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "description": "Readings per indicator: 20 when left out, 1 for latest.",
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000,
            "description": "Where to go on: `next_offset` of the answer before.",
        },
    },
    "additionalProperties": False,
}
