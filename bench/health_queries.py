"""How fast query_health_data is over a Subject with a million readings, and how fast readings are taken in.

Run: DATABASE_URL=postgres://… python bench/health_queries.py. Makes a test database beside the named one and takes it
away again. The Subject has a reading of heart rate and of glucose every five minutes for three years, of blood oxygen
every ten, steps every hour, and daily and yearly ones of other kinds. Each call runs as a turn would run it, once to
warm up and then five times; the median is told, with the slowest of its statements as the database planned it. Then
100,000 records go in through the service in batches of 500. Ends with 1 if a limit does not hold.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
FOLDER = tempfile.TemporaryDirectory()
os.environ |= {"DATA_DIR": FOLDER.name, "ENV_FILE": os.devnull}

import django

django.setup()

from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext, setup_databases, teardown_databases

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.services import get_or_create_subject
from tools_app.contract import ToolContext
from tools_app.records.batch import Batch
from tools_app.records.models import HealthRecord
from tools_app.records.services import ingest
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
DAYS = 3 * 365
MOST_MS = 100
LEAST_PER_SECOND = 5000
INGESTED, BATCH = 100_000, 500
# Name, unit, minutes between readings, a value, and how far values scatter.
SERIES = (
    ("heart rate", "/min", 5, 70, 20),
    ("glucose", "mmol/L", 5, 5.5, 2),
    ("blood oxygen", "%", 10, 97, 2),
    ("respiratory rate", "/min", 10, 15, 3),
    ("steps", "steps", 60, 300, 300),
    ("resting heart rate", "/min", 1440, 60, 6),
    ("weight", "kg", 1440, 80, 2),
    ("sleep duration", "h", 1440, 7, 1),
    ("HbA1c", "%", 90 * 1440, 6, 1),
    ("LDL cholesterol", "mmol/L", 90 * 1440, 3, 1),
)
# What is written: name, unit, least value, how many tenths above it.
WRITTEN = (
    ("heart rate", "/min", 60, 400),
    ("心率", "次/分", 60, 400),
    ("glucose", "mmol/L", 5, 10),
    ("weight", "kg", 80, 30),
)
YEAR = {"start": "2025-07-01", "end": "2026-06-30"}
CALLS: Sequence[tuple[str, dict[str, Any]]] = (
    ("latest of three", {"operation": "latest", "indicators": ["heart rate", "weight", "HbA1c"]}),
    ("a year's monthly means, daily readings",
     {"operation": "aggregate", "indicators": ["resting heart rate"], "group_by": "month", **YEAR}),
    ("a year's monthly means, hourly readings",
     {"operation": "aggregate", "indicators": ["steps"], "group_by": "month", **YEAR}),
    ("a trend, three years of daily readings", {"operation": "trend", "indicators": ["weight"]}),
    ("a trend, a year of hourly readings", {"operation": "trend", "indicators": ["steps"], **YEAR}),
    ("correlation, three years", {"operation": "correlate", "indicators": ["resting heart rate", "sleep duration"]}),
)  # fmt: skip
HEAVY: Sequence[tuple[str, dict[str, Any]]] = (
    ("a year's monthly means, every five minutes",
     {"operation": "aggregate", "indicators": ["heart rate"], "group_by": "month", **YEAR}),
    ("a trend, a year of every five minutes", {"operation": "trend", "indicators": ["heart rate"], **YEAR}),
    ("overview of everything", {"operation": "overview"}),
)  # fmt: skip


@contextmanager
def database() -> Iterator[None]:
    made = setup_databases(verbosity=0, interactive=False)
    try:
        yield
    finally:
        teardown_databases(made, verbosity=0)


def fill(subject: Subject, account_id: int) -> None:
    """One real reading of each series, copied with other times and values."""
    first = NOW - timedelta(days=DAYS)
    for name, unit, minutes, value, spread in SERIES:
        record = {"indicator": name, "value": value, "unit": unit, "time": first.isoformat()}
        ingest(account_id, subject.user_key, Batch.model_validate({"retention": "permanent", "records": [record]}), NOW)
        template = HealthRecord.objects.filter(subject=subject).latest("id")
        copy_reading(template, first, minutes, DAYS * 1440 // minutes, spread)
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {HealthRecord._meta.db_table}")


def copy_reading(template: HealthRecord, first: datetime, minutes: int, count: int, spread: float) -> None:
    at = f"TIMESTAMPTZ '{first.isoformat()}' + i * INTERVAL '{minutes} minutes'"
    day = f"(({at}) AT TIME ZONE 'UTC')::date"
    number = f"r.canonical_number + {spread} * (random() - 0.5)"
    made = {
        "public_id": "'rec_' || md5(random()::text || i)",
        "fingerprint": "md5(random()::text || i)",
        "instant": at,
        "time": f"to_char(({at}) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS+00:00')",
        "local_date": day,
        "day": f"{day} - DATE '0001-01-01' + 1",
        "number": number,
        "canonical_number": number,
    }
    columns = [field.column for field in HealthRecord._meta.fields if field.name != "id"]
    table = HealthRecord._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)})"
            f" SELECT {', '.join(made.get(c, f'r.{c}') for c in columns)} FROM generate_series(1, {count}) i, {table} r"
            f" WHERE r.id = {template.pk}"
        )


def timed(context: ToolContext, arguments: dict[str, Any]) -> tuple[float, str]:
    """The median in milliseconds, and the plan of the slowest statement."""
    run_tool(TOOLS["query_health_data"], context, arguments)
    times = []
    for _ in range(5):
        started = perf_counter()
        run_tool(TOOLS["query_health_data"], context, arguments)
        times.append(1000 * (perf_counter() - started))
    with CaptureQueriesContext(connection) as captured:
        run_tool(TOOLS["query_health_data"], context, arguments)
    slowest = max(captured.captured_queries, key=lambda query: float(query["time"]))["sql"]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {slowest}")
        plan = [row[0] for row in cursor.fetchall()]
    scans = [line.strip(" ->") for line in plan if "Scan" in line]
    statements = sorted((round(1000 * float(q["time"])) for q in captured.captured_queries), reverse=True)[:6]
    return median(times), f"{'; '.join(scan.split('  ')[0] for scan in scans)}; statements {statements} ms"


def record(n: int, at: datetime) -> dict[str, Any]:
    name, unit, least, spread = WRITTEN[n % len(WRITTEN)]
    return {"indicator": name, "value": least + n % spread / 10, "unit": unit, "time": at.isoformat()}


def taken_in(account_id: int) -> float:
    """Records a second, as the service keeps them in batches."""
    first, started = NOW - timedelta(days=300), perf_counter()
    for batch in range(INGESTED // BATCH):
        records = [record(n, first + timedelta(minutes=4 * (batch * BATCH + n))) for n in range(BATCH)]
        ingest(account_id, "ingest", Batch.model_validate({"retention": "permanent", "records": records}), NOW)
    return INGESTED / (perf_counter() - started)


def main() -> int:
    failed = False
    with database():
        account_id = get_user_model().objects.create(username="bench").pk
        subject = get_or_create_subject(account_id, "million")
        fill(subject, account_id)
        context = ToolContext(account_id, subject.pk, NOW)
        print(f"{HealthRecord.objects.filter(subject=subject).count():,} readings of one person")
        print("| call | ms | slowest statement |\n|---|---|---|")
        for name, arguments in (*CALLS, *HEAVY):
            milliseconds, plan = timed(context, arguments)
            over = milliseconds > MOST_MS and (name, arguments) in CALLS
            failed = failed or over
            print(f"| {name} | {milliseconds:.1f}{' (over the limit)' if over else ''} | {plan} |")
        rate = taken_in(account_id)
        print(f"taken in: {rate:,.0f} records a second")
        failed = failed or rate < LEAST_PER_SECOND
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
