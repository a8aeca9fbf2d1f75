"""The generated person in the product's own tables: readings in bulk through its interpretation, events as clinical
records."""

from datetime import UTC, date, datetime
from typing import Any

from mirobody_site.tenancy.models import Subject
from tests.questions.generated.person import ZONE, Reading, World
from tools_app.records.batch import WrittenRecord
from tools_app.records.clinical import ClinicalKind, ClinicalRecord, DatePrecision
from tools_app.records.interpretation import rows_of
from tools_app.records.models import HealthRecord, Retention
from tools_app.records.names import normalised

NOW = datetime(2026, 6, 30, 15, 59, 30, tzinfo=UTC)
KEEPING = {"retention": Retention.PERMANENT, "expires_at": None, "created_at": NOW, "session_id": ""}
KINDS = {
    "diagnosis": ClinicalKind.CONDITION,
    "medication start": ClinicalKind.MEDICATION,
    "medication change": ClinicalKind.MEDICATION,
    "vaccination": ClinicalKind.IMMUNIZATION,
    "hospital stay": ClinicalKind.ENCOUNTER,
    "procedure": ClinicalKind.PROCEDURE,
}
ONGOING = (ClinicalKind.CONDITION, ClinicalKind.MEDICATION)
DOSE_CHANGE = "medication change"


def keep(world: World, subject: Subject) -> dict[str, str]:
    """Writes everything; the clinical records' ids by the names of the events."""
    rows = [row for several in world.readings.values() for reading in several for row in _rows(world, reading, subject)]
    HealthRecord.objects.bulk_create(rows, batch_size=2000)
    facts = {name: _fact(world, event, subject) for name, event in world.events.items()}
    ClinicalRecord.objects.bulk_create(facts.values())
    return {name: fact.public_id for name, fact in facts.items()}


def _rows(world: World, reading: Reading, subject: Subject) -> list[HealthRecord]:
    spec = world.indicators[reading.indicator]
    names = (spec["name"], spec["chinese"])
    record: dict[str, Any] = {
        "indicator": names[world.random("name", reading.indicator, reading.at).random() < 0.5],
        # Written as it was meant: a mistyped number comes from somewhere that does not look at it.
        "value": reading.written / 10 if reading.error else reading.written,
        "unit": reading.unit,
        "time": reading.at.isoformat(),
        "source": reading.source,
    }
    if spec["group"] == "lab":
        limits = {name: spec[name] for name in ("reference_low", "reference_high") if spec[name] is not None}
        record |= {name: limit * reading.factor for name, limit in limits.items()}
    rows = list(rows_of(WrittenRecord.model_validate(record), "reading", ZONE, NOW, KEEPING))
    for row in rows:
        row.subject = subject
        if reading.error:
            row.value, row.number, row.canonical_number = f"{reading.written:g}", reading.written, reading.written
    return rows


def _fact(world: World, event: dict[str, Any], subject: Subject) -> ClinicalRecord:
    kind = KINDS.get(event["kind"], ClinicalKind.DOCUMENT)
    medication = event.get("medication")
    display = f"{medication} {event['dose']}" if medication else event["name"].removeprefix("diagnosis of ")
    end = event["end"] or _stop(world, event)
    last = date.fromisoformat(end) if end else None
    start = date.fromisoformat(event["start"])
    return ClinicalRecord(
        subject=subject,
        kind=kind,
        display=display,
        search=normalised(f"{display} {event['name']} {event['chinese']}"),
        status="completed" if end else "active" if kind in ONGOING else "completed",
        time=event["start"],
        precision=DatePrecision.DAY,
        local_date=start,
        end_time=end or "",
        last_date=last if last or kind in ONGOING else start,
        text=event["name"],
        retention=Retention.PERMANENT,
        fingerprint=event["name"],
        created_at=NOW,
    )


def _stop(world: World, event: dict[str, Any]) -> str | None:
    """A medicine's last day; a dose ends on the day before another begins."""
    changes = [
        other["start"]
        for other in world.events.values()
        if other["kind"] == DOSE_CHANGE and other.get("medication") == event.get("medication") and other is not event
    ]
    if changes:
        return (date.fromisoformat(changes[0]).fromordinal(date.fromisoformat(changes[0]).toordinal() - 1)).isoformat()
    stop: str | None = event.get("stop")
    return stop
