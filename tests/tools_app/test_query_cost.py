"""The database does the work: queries do not grow with the rows, and every search uses an index."""

from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.server import Account
from tests.tools_app.people import NOW, Person
from tests.tools_app.records import record
from tools_app.records.models import NEWEST_FIRST, HealthRecord, HealthRecordQuerySet
from tools_app.records.selectors import Period, named_exactly, records_of, within
from tools_app.records.times import read_moment

UTC_ZONE = ZoneInfo("UTC")
OPERATIONS = ["latest", "readings", "aggregate", "trend", "overview"]


def queries(person: Person, **arguments: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        person.ask(**arguments)
    return len(captured)


def weights(count: int) -> list[dict[str, Any]]:
    return [record(value=50 + n / 100, time=f"2026-03-{1 + n % 28:02}T{n // 28 % 24:02}:00:00Z") for n in range(count)]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_queries_do_not_grow_with_the_rows(account: Account, operation: str) -> None:
    few = Person(account.id, "few").has(*weights(70))
    many = Person(account.id, "many").has(*weights(600))
    asked = {"indicators": ["weight"], "operation": operation}
    assert queries(few, **asked) == queries(many, **asked) <= 20


def test_everything_at_once_is_bounded(account: Account) -> None:
    person = Person(account.id, "p").has(*(record(f"measure {n}", n, "kg") for n in range(200)))
    for operation in OPERATIONS:
        data = person.ask(operation=operation)
        assert data["truncated"]
        assert len(data["results"]) <= 100
        assert queries(person, operation=operation) <= 160


def test_pages_of_indicators_reach_them_all(account: Account) -> None:
    person = Person(account.id, "p").has(*(record(f"measure {n:03}", n, "kg") for n in range(120)))
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = person.ask(operation="latest", offset=offset)
        seen += [result["indicator"] for result in page["results"]]
        offset = page["next_offset"]
    assert seen == [f"measure {n:03}" for n in range(120)]


@pytest.fixture
def crowded(account: Account) -> Iterator[HealthRecordQuerySet]:
    """The records of a person with 100,000 readings of steps, copies of one but for what must be unique."""
    person = Person(account.id, "crowded").has(record("steps", 1, "steps", "2026-03-01T00:00:00Z"))
    columns = [field.column for field in HealthRecord._meta.fields if field.name != "id"]
    copied = ["CAST(1000000 + i AS varchar)" if c in ("public_id", "fingerprint") else f"r.{c}" for c in columns]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {HealthRecord._meta.db_table} ({', '.join(columns)})"
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
            f" SELECT {', '.join(copied)} FROM n, {HealthRecord._meta.db_table} r WHERE r.subject_id = %s",
            [person.subject.pk],
        )
    yield records_of(person.subject, NOW)
    HealthRecord.objects.filter(subject=person.subject).delete()


def test_searches_of_a_hundred_thousand_rows_use_an_index(crowded: HealthRecordQuerySet) -> None:
    march = within(crowded, Period(read_moment("2026-03-01", UTC_ZONE), read_moment("2026-03-31T12:00:00Z", UTC_ZONE)))
    steps = march.filter(analyte="steps")
    searches = {
        "a page": crowded.order_by(*NEWEST_FIRST)[:101],
        "a page of a period": march.order_by(*NEWEST_FIRST)[:101],
        "the newest of an analyte": steps.order_by(*NEWEST_FIRST)[:1],
        "an analyte's comparable readings": steps.comparable(),
        "a written name": named_exactly(crowded, "steps"),
        "what has expired": HealthRecord.objects.filter(expires_at__lte=NOW),
    }
    plans = {name: search.explain() for name, search in searches.items()}
    assert all("health_record_by_" in plan for plan in plans.values()), plans
    assert not any("TEMP B-TREE FOR ORDER BY" in plans[name] for name in list(searches)[:3]), plans
