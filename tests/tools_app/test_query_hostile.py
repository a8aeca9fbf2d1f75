"""Arguments that mean harm or no sense: refused in words or answered with nothing, never with another's data."""

import json
from typing import Any

import pytest

from tests.support.server import Account
from tests.tools_app.people import Person
from tests.tools_app.records import record
from tools_app.contract import ToolRefusal

OPERATIONS = [
    "latest", "readings", "nearest", "aggregate", "trend", "compare", "correlate", "out_of_range", "streaks", "gaps",
    "unusual", "overview",
]  # fmt: skip
NAMES = [
    "weight'; DROP TABLE tools_app_healthrecord; --",
    "{x}",
    "%s",
    "%(a)s",
    "{0}",
    "\\",
    "\x00",
    "\ud800",
    "' OR 1=1 --",
]


@pytest.fixture
def ann(account: Account) -> Person:
    return Person(account.id, "ann").has(record("weight", 60, "kg"), record("steps", 5000, "steps"))


@pytest.fixture
def bob(account: Account) -> Person:
    secret = record("weight", 77.77, "kg", reference_high=70), record("potassium", 7.7777, "mmol/L", reference_high=5)
    return Person(account.id, "bob").has(*secret)


def what_it_needs(operation: str, names: list[str]) -> dict[str, Any]:
    """The least that an operation has to be given."""
    more: dict[str, Any] = {"nearest": {"around": ["2026-03-01"]}, "compare": {"periods": ["2025", "2026"]}}.get(
        operation, {}
    )
    return {"operation": operation, "indicators": [*names, *(["steps"] if operation == "correlate" else [])]} | more


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_shows_another_person_s_readings(ann: Person, bob: Person, operation: str) -> None:
    ids = [row.public_id for row in bob.subject.health_records.all()]
    result = ann.run(**what_it_needs(operation, ["weight", "potassium", *ids]))
    told = json.dumps(result.data["results"])
    assert "77.77" not in told
    assert not any(public_id in told or public_id in result.record_ids for public_id in ids)
    assert result.data["not_found"] == ["potassium", *ids]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_sql_in_a_name_is_a_name(ann: Person, operation: str, name: str) -> None:
    data = ann.ask(**what_it_needs(operation, [name]))
    assert data["not_found"] == [name]
    assert ann.one(indicators=["weight"])["count"] == 1


def test_another_person_s_clinical_record_is_no_event(ann: Person, bob: Person) -> None:
    fact = bob.subject.clinical_records.create(
        kind="condition", display="gout", search="gout", local_date="2026-02-01", time="2026-02-01",
        retention="permanent", fingerprint="f", created_at="2026-02-01T00:00:00Z",
    )  # fmt: skip
    for words in (fact.public_id, "gout"):
        data = ann.ask(operation="compare", indicators=["weight"], around=[words])
        assert (data["around_not_found"], data["results"][0]["around"]) == ([words], [])


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": 10**12},
        {"offset": 10**12},
        {"lag_days": 10**9},
        {"window_days": 0},
        {"days_before": 10**9},
        {"percentile": 101},
        {"percentile": "nan"},
        {"at_least": 10**400},
        {"start": "9999-12-31"},
        {"start": "0001-01-01"},
        {"start": "999999 years ago"},
        {"end": "-999999d"},
        {"start": "2026-02-30"},
        {"start": "2026-13"},
        {"start": "2026-W60"},
        {"periods": ["2026/2025", "2026"], "operation": "compare"},
        {"periods": ["2026"] * 21, "operation": "compare"},
        {"periods": ["2026"], "operation": "compare"},
        {"around": [], "operation": "nearest"},
        {"on_days_when": {"indicator": "steps"}, "operation": "compare"},
        {"on_days_when": {"indicator": "nothing", "above": 1}, "operation": "compare"},
        {"on_days_when": {"indicator": {"indicator": {"indicator": "steps"}}, "above": 1}, "operation": "compare"},
        {"on_days_when": {"indicator": "steps", "above": 1, "unit": "kg"}, "operation": "compare"},
        {"operation": "compare"},
        {"operation": "correlate"},
        {"operation": "latest", "around": ["2026"]},
        {"operation": {"$ne": "latest"}},
        {"order": "random()", "operation": "readings"},
        {"group_by": "day; DROP TABLE x", "operation": "aggregate"},
    ],
)
def test_what_makes_no_sense_is_refused_in_words(ann: Person, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolRefusal, match=r"\w"):
        ann.ask(**{"indicators": ["weight"], **arguments})


def test_deep_nesting_is_refused(ann: Person) -> None:
    nested: Any = "steps"
    for _ in range(400):
        nested = [nested]
    with pytest.raises(ToolRefusal):
        ann.ask(indicators=nested)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_three_centuries_cost_no_more_than_their_readings(ann: Person, operation: str) -> None:
    arguments = what_it_needs(operation, ["weight"]) | {"start": "1900-01-01", "end": "2200-12-31"}
    if operation == "gaps":
        arguments["group_by"] = "day"
    if operation == "compare":
        arguments["periods"] = ["1900/1999", "2000/2200"]
    assert len(json.dumps(ann.ask(**arguments))) < 30_000
